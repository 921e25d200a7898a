from typing_extensions import disjoint_base

from river_margins.tasks.multiclass import Multiclass

@disjoint_base
class Multilabel(Multiclass): ...
