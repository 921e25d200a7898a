"""Learners that keep, or approximate, the set of all weight vectors that are consistent with the examples."""

__all__: list[str] = []
