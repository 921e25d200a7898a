"""Tasks: one file for each kind of label."""
