from typing import ClassVar, final

from typing_extensions import disjoint_base

from river_margins.core.recipe import Recipe

@final
class Direction: ...

@disjoint_base
class Space(Recipe):
    offers: ClassVar[frozenset[str]]
