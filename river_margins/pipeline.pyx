"""River's pipeline, driven by compiled code."""

from river import compose

from river_margins.core.learner cimport Learner
from river_margins.preprocessing cimport RunningMoments

from river_margins.preprocessing import StandardScaler


class Pipeline(compose.Pipeline):
    """A `river.compose.Pipeline` whose rounds cost half as much or less: the same steps, in the same order.

    `StandardScaler() | learner` makes one. What is out of the ordinary (a union, a supervised transformer, a filter,
    further arguments, learning during prediction) goes River's own way.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.StandardScaler() | rm.PAClassifier(C=0.1)
    >>> type(model).__name__
    'Pipeline'
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.predict_one({"a": 2.0})
    True
    """

    def learn_one(self, x, y=None, **params):
        """Let each step learn from x as the steps before it leave it, and the last one from y too."""
        cdef tuple plan = self._plan or self._build_plan()
        if params or self._LEARN_UNSUPERVISED_DURING_PREDICT or not in_line(plan):
            super().learn_one(x, y, **params)
            return
        (<tuple> plan[len(plan) - 1])[1].learn_one(passed(plan, x, True), y)

    def predict_one(self, x, **params):
        """Predict the label of x as the steps before the last one leave it."""
        cdef tuple plan = self._plan or self._build_plan()
        if params or self._LEARN_UNSUPERVISED_DURING_PREDICT or not in_line(plan):
            return super().predict_one(x, **params)
        return (<tuple> plan[len(plan) - 1])[1].predict_one(passed(plan, x, False))

    def predict_score_one(self, x):
        """The prediction and the score of x: what `predict_one` and `score_one` would say, reading x once."""
        cdef tuple plan = self._plan or self._build_plan()
        if self._LEARN_UNSUPERVISED_DURING_PREDICT or not in_line(plan):
            return super().predict_one(x), super().score_one(x)
        last, x = (<tuple> plan[len(plan) - 1])[1], passed(plan, x, False)
        return last.predict_score_one(x) if isinstance(last, Learner) else (last.predict_one(x), last.score_one(x))


cdef object passed(tuple plan, object x, bint learning):
    """x as the steps before the last one leave it, after they have learned it where they are to."""
    cdef Py_ssize_t i
    for i in range(len(plan) - 1):
        step, following = (<tuple> plan[i])[1], (<tuple> plan[i + 1])[1]
        # Compiled steps need no dict between them; a class that is derived from ours may want to see one.
        if type(step) is StandardScaler and isinstance(following, Learner) and (<Learner> following).plain:
            x = (<RunningMoments> step).pass_on(x, learning)
        else:
            if learning:
                step.learn_one(x)
            x = step.transform_one(x)
    return x


cdef bint in_line(tuple plan):
    """Whether unsupervised transformers lead to one supervised step, and nothing else is there."""
    cdef Py_ssize_t i, last = len(plan) - 1
    cdef tuple step
    cdef str kind
    cdef bint supervised
    for i in range(last + 1):
        step = plan[i]
        kind, supervised = step[0], step[2]
        if kind != ("transformer" if i < last else "final") or supervised != (i == last):
            return False
    return last >= 0
