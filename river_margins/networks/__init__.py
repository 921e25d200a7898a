"""Neural networks that learn from one example at a time."""

__all__: list[str] = []
