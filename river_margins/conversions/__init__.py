"""From online learners to other learners: averages, conservative copies, single hypotheses with certificates."""

__all__: list[str] = []
