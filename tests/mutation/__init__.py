"""Faults on purpose: `python -m tests.mutation` makes each, and says which the tests do not find."""
