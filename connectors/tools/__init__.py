"""Tools around a processor: evaluation, explanation, the comparison with the bare learner, demos."""
