"""Finite classes of concepts and of experts: consistent, halving, elimination, exponential weights."""

__all__: list[str] = []
