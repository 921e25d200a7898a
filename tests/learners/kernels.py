"""Learners that meet examples through a kernel, and those that keep few of them.

Their bounds and problems are in `tests/bounds/kernels.py`: there the space of the kernel has coordinates.
"""

from functools import partial

import river_margins as rm
from tests.learners.entry import Learner

A_POINT = "the kernel of the zero example with another one need not be 0"


def family(name, make, section, golden, tasks=("binary", "multiclass"), space="kernel"):
    sections = {task: section for task in tasks}
    return Learner(name, make, sections=sections, golden=golden, spaces=(space,), zero_is_a_point=A_POINT)


LEARNERS = [
    family("kernel perceptron", rm.KernelPerceptron, "9.2", {"kernel_perceptron": {"kernel": rm.Polynomial(degree=2)}}),
    family(
        "kernel PA-I",
        rm.KernelPAClassifier,
        "9.3",
        {"kernel_pa_i": {"kernel": rm.Polynomial(degree=2), "C": 0.25}},
    ),
    family("kernel PA-II regression", partial(rm.KernelPARegressor, mode=2), "9.3", {}, tasks=["regression"]),
    family(
        "randomised budget perceptron",
        partial(rm.RandomizedBudgetPerceptron, budget=20),
        "9.5",
        # The places to be drawn are 1, 0, 1: those of the first three numbers of this seed, with two supports.
        {"rbp": {"kernel": rm.LinearKernel(), "budget": 2, "seed": 0}},
    ),
    family(
        "Forgetron",
        partial(rm.Forgetron, budget=20),
        "12.7",
        {"forgetron": {"kernel": rm.LinearKernel(), "budget": 2}},
    ),
    family(
        "kernel second-order perceptron",
        rm.KernelSecondOrderPerceptron,
        "7.1",
        {"second_order_perceptron": {"kernel": rm.LinearKernel()}},
        space="secondorderkernel",
    ),
    family("Projectron", rm.Projectron, "12.8", {"projectron": {"kernel": rm.LinearKernel(), "eta": 0.5}}),
    family(
        "Projectron++",
        partial(rm.Projectron, plus_plus=True, eta=0.3),
        "12.8",
        {"projectron_pp": {"kernel": rm.LinearKernel(), "eta": 0.5}},
    ),
    family("budgeted gradient descent", partial(rm.BOGDClassifier, budget=20), "12.9", {}),
    family(
        "budgeted PA",
        partial(rm.BPAClassifier, budget=20),
        "12.10",
        {"bpa_s": {"kernel": rm.LinearKernel(), "budget": 2, "C": 0.5}},
    ),
    family(
        "gradient descent on random features",
        partial(rm.FOGDClassifier, components=20),
        "12.11",
        {},
        space="randomfourier",
    ),
]
