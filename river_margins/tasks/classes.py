"""The task of a classifier, from its parameter `classes`."""

from river_margins.tasks.base import Task
from river_margins.tasks.binary import binary_task
from river_margins.tasks.first_label import FirstLabel
from river_margins.tasks.labels import plain
from river_margins.tasks.multiclass import Multiclass

RIVALS = ("max", "uniform", "proportional")


def task_of(classes, rivals: str = "max") -> Task:
    """Return the task for these classes; for None, the task that the first label decides."""
    if classes is None:
        return FirstLabel(rivals)
    labels = [plain(label) for label in classes]
    if len(labels) < 2:
        raise ValueError(f"`classes` must name two classes or more, not {classes!r}")
    return binary_task(labels) if len(labels) == 2 else Multiclass(labels, rivals)
