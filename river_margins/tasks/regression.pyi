from typing_extensions import disjoint_base

from river_margins.tasks.base import Task

@disjoint_base
class Regression(Task):
    def __init__(self, eps: float, quantile: float | None = None) -> None: ...
