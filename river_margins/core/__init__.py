"""The compiled core: reading examples, rounds, batches, numeric kernels."""
