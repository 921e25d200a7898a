"""Rules that look at all wrong classes of a round. Other rules look at the best-scoring wrong class only.

With two classes in one weight vector there is one wrong class, and each rule is the simpler rule that it generalises.
"""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc, qsort

from river_margins.rules.base cimport Rule, Seen, Step, hinge
from river_margins.rules.passive_aggressive cimport PA, PA1, PA2
from river_margins.core.checks import positive


cdef class AllClassesRule(Rule):
    """A rule that gives each class a step of its own: w_k' = w_k + steps[k]·x."""

    tasks = ("classification",)

    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1:
        """Fill `steps`, which has zeros. `seen` is for the best-scoring wrong class, with gain 2|x|²."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `solve`, which fills the steps of all classes")


cdef class SupportClassPA(AllClassesRule):
    """SupportClassPA(C=1.0, mode=1)\n--\n
    PA, PA-I or PA-II with a constraint for each wrong class, and one slack for the round.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. With `mode=0` it has no effect.
    mode
        0 for PA, 1 (default) for PA-I, 2 for PA-II.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.SupportClassPA(mode=0), classes=["a", "b", "c"], intercept=False)
    >>> model.learn_one({"x": 1.0}, "a")
    >>> model.score_one({"x": 1.0})
    {'a': 0.6666666666666667, 'b': -0.33333333333333337, 'c': -0.33333333333333337}
    """

    _parameter_names = ("C", "mode")

    def __init__(self, C=1.0, mode=1):
        if mode not in (0, 1, 2):
            raise ValueError(f"`mode` must be 0 (PA), 1 (PA-I) or 2 (PA-II), not {mode!r}")
        self.C = positive("C", C)
        self.mode = mode
        self.two_class_rule = PA() if mode == 0 else PA1(C) if mode == 1 else PA2(C)

    @property
    def weighted(self):
        return self.two_class_rule.weighted

    cdef int respond(self, Seen seen, Step out) except -1:
        return self.two_class_rule.respond(seen, out)

    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1:
        # Matsushima et al. 2010: the classes whose loss is above a threshold move. The threshold depends on their losses.
        cdef double square = seen.gain / 2.0, C = self.C * seen.weight, total = 0.0, threshold = 0.0, next
        cdef Py_ssize_t block, count = 0, losing = 0
        if square <= 0.0 or (C <= 0.0 and self.mode != 0):
            return 0
        cdef double* losses = <double*> malloc(blocks * sizeof(double))
        if losses == NULL:
            raise MemoryError()
        for block in range(blocks):
            if block != true and seen.target - (scores[true] - scores[block]) > 0.0:
                losses[losing] = seen.target - (scores[true] - scores[block])
                losing += 1
        qsort(losses, losing, sizeof(double), &descending)
        while count < losing:
            next = self.threshold(total + losses[count], count + 1, square, C)
            if losses[count] <= next:
                break
            total += losses[count]
            count += 1
            threshold = next
        free(losses)
        for block in range(blocks):
            if block != true:
                next = seen.target - (scores[true] - scores[block])
                if count and next > threshold:
                    steps[block] = -(next - threshold) / square
                    steps[true] -= steps[block]
        return 0

    cdef double threshold(self, double total, Py_ssize_t count, double square, double C) noexcept:
        """Return the loss that is left after `count` classes have moved, whose losses add up to `total`."""
        cdef double damped
        if self.mode == 2:
            damped = 1.0 + 0.5 / (C * square)
            return total * damped / (1.0 + count * damped)
        if self.mode == 1 and total / (count + 1) > C * square:
            return (total - C * square) / count
        return total / (count + 1)


cdef class MIRARule(AllClassesRule):
    """MIRARule(C=1.0, best=1)\n--\n
    The margin infused relaxed algorithm: PA-I with a constraint and a slack for each of several wrong classes.

    Parameters
    ----------
    C
        The largest step away from any one class, > 0; 1 by default.
    best
        The number of best-scoring wrong classes that get a constraint, >= 1; 1 by default, None for all.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.MIRARule(C=0.25, best=2), classes=["a", "b", "c"], intercept=False)
    >>> model.learn_one({"x": 1.0}, "a")
    >>> model.score_one({"x": 1.0})
    {'a': 0.5, 'b': -0.25, 'c': -0.25}
    """

    _parameter_names = ("C", "best")
    weighted = True

    def __init__(self, C=1.0, best=1):
        if best is not None and (type(best) is not int or best < 1):
            raise ValueError(f"`best` must be a whole number of at least 1, or None for all classes, not {best!r}")
        self.C = positive("C", C)
        self.best = best
        self.two_class_rule = PA1(C)

    cdef int respond(self, Seen seen, Step out) except -1:
        return self.two_class_rule.respond(seen, out)

    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1:
        cdef double C = self.C * seen.weight, square = seen.gain / 2.0
        cdef Py_ssize_t count = blocks - 1 if self.best is None else min(<Py_ssize_t> self.best, blocks - 1)
        if square <= 0.0:
            return 0
        cdef Py_ssize_t* chosen = <Py_ssize_t*> malloc(count * sizeof(Py_ssize_t))
        if chosen == NULL:
            raise MemoryError()
        choose(scores, blocks, true, count, chosen)
        hildreth(scores, true, count, chosen, seen.target, square, C, steps)
        free(chosen)
        return 0


cdef class OriginalMIRARule(AllClassesRule):
    """Of all moves that add at most x to the true class and subtract it from others, the one with the least |w'|.

    The rule moves on mistakes only, and to a margin of 0 at most. The first step, from zero weights, is a perceptron's.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.OriginalMIRARule().step(rm.Seen(margin=-1.0, gain=4.0, size=3.0)).step
    0.25

    References
    ----------
    Crammer, K. and Singer, Y., 2003. Ultraconservative online algorithms for multiclass problems. JMLR 3.
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        if seen.gain > 0.0:
            out.step = 1.0 if seen.size == 0.0 else min(max(-seen.margin / seen.gain, 0.0), 1.0)
        return 0

    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1:
        # steps[k] = min(threshold - (f_k - f_y)/|x|², [k = y]), with the threshold at which they add up to 0.
        cdef double square = seen.gain / 2.0, total = -1.0, threshold
        cdef Py_ssize_t block, count = blocks
        if square <= 0.0:
            return 0
        if seen.size == 0.0:
            steps[true] = 1.0
            steps[0 if true else 1] = -1.0
            return 0
        cdef double* ends = <double*> malloc(blocks * sizeof(double))
        if ends == NULL:
            raise MemoryError()
        for block in range(blocks):
            ends[block] = 1.0 if block == true else (scores[block] - scores[true]) / square
            total += ends[block]
        qsort(ends, blocks, sizeof(double), &descending)
        while count > 1 and total / count > ends[count - 1]:
            count -= 1
            total -= ends[count]
        free(ends)
        threshold = total / count
        for block in range(blocks):
            if block != true:
                steps[block] = min(threshold - (scores[block] - scores[true]) / square, 0.0)
                steps[true] -= steps[block]
        return 0


cdef int descending(const void* one, const void* other) noexcept nogil:
    cdef double first = (<const double*> one)[0], second = (<const double*> other)[0]
    return (first < second) - (first > second)


cdef void choose(const double* scores, Py_ssize_t blocks, Py_ssize_t true, Py_ssize_t count, Py_ssize_t* chosen) noexcept:
    """Fill `chosen` with the best-scoring wrong classes, the best first. Of equal scores the earlier class comes first."""
    cdef Py_ssize_t block, place, filled = 0
    for block in range(blocks):
        if block == true or (filled == count and scores[block] <= scores[chosen[filled - 1]]):
            continue
        place = filled if filled < count else count - 1
        filled = min(filled + 1, count)
        while place > 0 and scores[chosen[place - 1]] < scores[block]:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = block


cdef void hildreth(const double* scores, Py_ssize_t true, Py_ssize_t count, const Py_ssize_t* chosen, double target,
                   double square, double C, double* steps) noexcept:
    """Fill `steps` by the method of Hildreth 1957: satisfy one constraint after the other, and sum the moves of each.

    d_k is x in the block of y and -x in that of k, so that |d_k|² is 2|x|² and ⟨d_j, d_k⟩ is |x|².
    """
    cdef Py_ssize_t sweep, i, block
    cdef double moved, largest, before
    for sweep in range(1000):
        largest = 0.0
        for i in range(count):
            block = chosen[i]
            before = -steps[block]
            moved = target - (scores[true] - scores[block]) - square * (before + steps[true])
            moved = min(max(before + moved / (2.0 * square), 0.0), C) - before
            steps[block] -= moved
            steps[true] += moved
            largest = max(largest, fabs(moved))
        if largest <= 1e-15 * steps[true] or count == 1:
            return
