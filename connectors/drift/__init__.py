"""Drift: a detector of River watches the loss of a learner, and the file says what a rise leads to."""
