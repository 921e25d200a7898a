"""Rules as a user would write them: they show that the three parts carry more than what is compiled here."""

import math

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


class GradientDescent(rm.Rule):
    """Zinkevich 2003, on the hinge loss with steps lr/sqrt(t), and where there is a radius, back into that ball."""

    _parameter_names = ("lr", "radius")

    def __init__(self, lr=1.0, radius=math.inf):
        self.lr, self.radius = lr, radius

    def step(self, seen):
        return rm.Step(self.lr / math.sqrt(seen.t) * self.slope(seen), radius=self.radius)

    def slope(self, seen):
        return 1.0 if seen.loss > 0 else 0.0


class LogisticDescent(GradientDescent):
    """The same on the logistic loss, which slopes everywhere."""

    def slope(self, seen):
        return 1.0 / (1.0 + math.exp(min(seen.margin, 700.0)))  # beyond that exp ends


class Pegasos(rm.Rule):
    """Shalev-Shwartz, Singer & Srebro 2007."""

    _parameter_names = ("regularisation", "project")

    def __init__(self, regularisation=1.0, project=True):
        self.regularisation, self.project = regularisation, project

    def step(self, seen):
        lr = 1.0 / (self.regularisation * seen.t)
        radius = 1.0 / math.sqrt(self.regularisation) if self.project else math.inf
        # Worked in fractions a margin is exactly 1 where shrinking in doubles leaves 1 - 1e-16.
        return rm.Step(lr if seen.loss > 1e-12 else 0.0, scale=1.0 - 1.0 / seen.t, radius=radius)


class ROMMA(rm.Rule):
    """Li & Long 2002: the shortest w that keeps the last half-space and meets this one."""

    _parameter_names = ("tie_update",)

    def __init__(self, tie_update=True):
        self.tie_update = tie_update

    def acts(self, seen):
        return seen.margin <= 0 if self.tie_update else seen.wrong

    def step(self, seen):
        if not self.acts(seen) or seen.gain == 0:
            return 0.0
        if seen.size == 0:
            return 1.0 / seen.gain
        determinant = seen.gain * seen.size - seen.margin**2
        if determinant <= 1e-12 * seen.gain * seen.size:
            return rm.Step(scale=1.0 / seen.margin if seen.margin > 0 else 1.0)
        return rm.Step(
            seen.size * (1.0 - seen.margin) / determinant,
            scale=(seen.gain * seen.size - seen.margin) / determinant,
        )


class AggressiveROMMA(ROMMA):
    """The same on every margin below 1, with the case in which only the new half-space binds."""

    def acts(self, seen):
        return seen.margin < 1

    def step(self, seen):
        if 0 < seen.gain * seen.size <= seen.margin < 1:
            return rm.Step(1.0 / seen.gain, scale=0.0)
        return super().step(seen)


class ALMA(rm.Rule):
    """Gentile 2001, p = 2, with his B = width/alpha."""

    _parameter_names = ("alpha", "width", "C")

    def __init__(self, alpha=0.9, width=8**0.5, C=2**0.5):
        self.alpha, self.width, self.C = alpha, width, C

    def step(self, seen):
        if seen.gain == 0:
            return 0.0
        length = math.sqrt(seen.gain)
        gamma = self.width / self.alpha / math.sqrt(seen.k + 1)
        if seen.margin / length > (1 - self.alpha) * gamma:
            return 0.0
        return rm.Step(self.C / math.sqrt(seen.k + 1) / length, radius=1.0)
