"""River's pipeline, driven by compiled code."""

from river import compose


class Pipeline(compose.Pipeline):
    """A `river.compose.Pipeline` whose rounds cost half as much: the same steps, called in the same order.

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
        cdef Py_ssize_t i, last = len(plan) - 1
        for i in range(last):
            step = (<tuple> plan[i])[1]
            step.learn_one(x)
            x = step.transform_one(x)
        (<tuple> plan[last])[1].learn_one(x, y)

    def predict_one(self, x, **params):
        """Predict the label of x as the steps before the last one leave it."""
        cdef tuple plan = self._plan or self._build_plan()
        if params or self._LEARN_UNSUPERVISED_DURING_PREDICT or not in_line(plan):
            return super().predict_one(x, **params)
        cdef Py_ssize_t i, last = len(plan) - 1
        for i in range(last):
            x = (<tuple> plan[i])[1].transform_one(x)
        return (<tuple> plan[last])[1].predict_one(x)


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
