from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Task: ...

@disjoint_base
class Labels(Task):
    @property
    def labels(self) -> list[Any]: ...
