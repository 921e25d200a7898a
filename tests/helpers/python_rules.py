"""Rules written in Python, as users write them. The tests hold them to their papers, like the compiled rules."""

import river_margins as rm


class MarginPerceptron(rm.Rule):
    """Krauth & Mézard 1987."""

    _parameter_names = ("lr", "margin")

    def __init__(self, lr=1.0, margin=1.0):
        self.lr, self.margin = lr, margin

    def step(self, seen):
        return self.lr if seen.margin <= self.margin else 0.0


class Adaline(rm.Rule):
    """Widrow & Hoff 1960: a step in every round."""

    _parameter_names = ("lr",)

    def __init__(self, lr=0.01):
        self.lr = lr

    def step(self, seen):
        return self.lr * (seen.target - seen.margin)
