from typing_extensions import disjoint_base

from river_margins.tasks.base import Task

@disjoint_base
class FirstLabel(Task):
    def __init__(self, rivals: str = "max") -> None: ...
