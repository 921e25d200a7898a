"""Which task a list of classes makes."""

from river_margins.tasks.binary import Binary
from river_margins.tasks.labels import plain
from river_margins.tasks.multiclass import Multiclass

RIVALS = ("max", "uniform", "proportional")


def task_of(classes, rivals="max"):
    """The task that `classes` fixes beforehand, or None if the first label is to decide."""
    if classes is None:
        return None
    labels = [plain(label) for label in classes]
    if len(labels) < 2:
        raise ValueError(f"`classes` must name two classes or more, not {classes!r}")
    return task_with(labels, len(labels) == 2, rivals)


def task_with(labels, one_vector, rivals):
    """The task for labels known beforehand, all of one kind and no two alike."""
    if one_vector and all(isinstance(label, bool) for label in labels) and len(set(labels)) == 2:
        return Binary(*labels)
    several = Multiclass(labels, rivals)
    return Binary(*labels) if one_vector else several
