from typing import Any, ClassVar

from typing_extensions import disjoint_base

@disjoint_base
class Task:
    kind: ClassVar[str]

@disjoint_base
class Labels(Task):
    @property
    def labels(self) -> list[Any]: ...
