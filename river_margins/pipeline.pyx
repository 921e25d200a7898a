"""A faster `river.compose.Pipeline`."""

from river import base, compose

cimport cython
from cpython.object cimport PyObject

from river_margins.core.dict_walk cimport dict_walk_suits
from river_margins.core.learner cimport Learner
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.preprocessing.rows cimport RowMaker, has_text



cdef extern from *:
    """
    #define looks_up_in_python(o) (Py_TYPE(o)->tp_getattro != PyObject_GenericGetAttr)
    """
    bint looks_up_in_python(object o)


STEPS_FOR_WORDS = ("BagOfWords", "TFIDF")  # ours and River's; the text is the feature `on`, and only words are left
# Scalers that make 0 of a feature that never varies; River's, too.
_CENTRING = {"StandardScaler", "MinMaxScaler", "RobustScaler", "AdaptiveStandardScaler"}
_SCALING = {*_CENTRING, "MaxAbsScaler", "Normalizer"}
# What such a scaler makes 0 of, by the step that made it.
_ONES = {"OneHotEncoder": "each encoded text", "BagOfWords": "each word that a text has once"}
_ENCODING = {"OneHotEncoder", "FeatureHasher", "Interactions"}  # each makes numbers of all texts


class Pipeline(compose.Pipeline):
    """A `river.compose.Pipeline` with the same results, whose rounds take half the time or less.

    A transformer of this package makes one, as in `StandardScaler() | learner`, and so does `step | (StandardScaler() |
    learner)`. Without the parentheses the first `|` is that of River's step, which makes River's pipeline. Pipelines with a
    union, a supervised transformer or a filter, arguments that not only the last step takes, learning during prediction and
    `utils.log_method_calls` are left to River's code.

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

    def __init__(self, *steps):
        super().__init__(*steps)
        check_order(list(self.steps.values()))

    def __or__(self, other):
        """Insert a step at the end of the pipeline."""
        check_order([*self.steps.values(), other])
        return super().__or__(other)

    def __ror__(self, other):
        """Insert a step at the start of the pipeline."""
        check_order([other, *self.steps.values()])
        if type(other) is compose.Pipeline:  # whose constructor adds its steps so, and keeps itself, not what comes of it
            return compose.Pipeline.__or__(other, self)
        return super().__ror__(other)

    def learn_many(self, X, y=None, **params):
        """Teach each step with the rows of a frame. A pipeline with a step that takes no frames is refused before."""
        for step in within(self):
            method = "transform_many" if isinstance(step, base.Transformer) else "learn_many"
            if not hasattr(step, method):
                raise AttributeError(f"`{type(step).__name__}` takes no frames: call `learn_one` for each row")
        super().learn_many(X, y, **params)

    def _transform_many(self, X):
        """Transform the rows of a frame for the last step. A pipeline with a transformer that takes no frames is refused."""
        for step in within(self):
            if isinstance(step, base.Transformer) and not hasattr(step, "transform_many"):
                raise AttributeError(f"`{type(step).__name__}` takes no frames: call `predict_one` or its like for each row")
        return super()._transform_many(X)

    def learn_one(self, x, y=None, **params):
        """Teach each step with x as transformed by the steps before it, and the last step with y, too."""
        cdef tuple plan = self._plan or self._build_plan()
        if leaves_to_river(self, plan) or not are_for_the_last(plan, params):
            super().learn_one(x, y, **params)
            return
        last, x = (<tuple> plan[len(plan) - 1])[1], transformed(plan, x, True)
        if not params and isinstance(last, Learner) and (<Learner> last).takes_rows:  # else `learn_one` may be another one
            (<Learner> last).learn(x, y, 1.0, False)
        else:
            last.learn_one(x, y, **params)

    def predict_one(self, x, **params):
        """Predict the label of x, after the transformers."""
        cdef tuple plan = self._plan or self._build_plan()
        if params or leaves_to_river(self, plan):
            return super().predict_one(x, **params)
        return (<tuple> plan[len(plan) - 1])[1].predict_one(transformed(plan, x, False))

    def predict_learn_one(self, x, y=None, **params):
        """Predict, then learn: the result of `predict_one`, followed by `learn_one`. Two compiled steps read x once."""
        cdef tuple plan = self._plan or self._build_plan()
        if not (params or leaves_to_river(self, plan)) and are_two_compiled_steps(plan):
            return (<RowMaker> (<tuple> plan[0])[1]).predict_and_learn(<Learner> (<tuple> plan[1])[1], x, y)
        # River's evaluation gives a weight to the learning only, and all else, such as a time, to both.
        prediction = self.predict_one(x, **{name: value for name, value in params.items() if name != "w"})
        self.learn_one(x, y, **params)
        return prediction

    def predict_score_one(self, x):
        """Return the results of `predict_one` and `score_one` for x, and read x once."""
        cdef tuple plan = self._plan or self._build_plan()
        if leaves_to_river(self, plan):
            return super().predict_one(x), super().score_one(x)
        last, x = (<tuple> plan[len(plan) - 1])[1], transformed(plan, x, False)
        return last.predict_score_one(x) if isinstance(last, Learner) else (last.predict_one(x), last.score_one(x))

    def explain_one(self, x):
        """Return what each feature contributes to the score; the features are those that the last step receives."""
        *before, last = self.steps.values()
        for step in before:
            if not isinstance(step, base.AnomalyFilter):  # which only keeps examples from being learned
                x = step.transform_one(x)
        return last.explain_one(x)


def reads_rows(model):
    """Tell whether `predict_score_one` and `learn_one` of a model take a `TransformedRow`, of numbers, in place of a dict."""
    cdef tuple plan
    if not isinstance(model, Pipeline):
        return isinstance(model, Learner) and (<Learner> model).takes_rows
    plan = model._plan or model._build_plan()
    if leaves_to_river(model, plan):
        return False
    first = (<tuple> plan[0])[1]
    if len(plan) == 1:
        return isinstance(first, Learner) and (<Learner> first).takes_rows
    return isinstance(first, RowMaker) and (<RowMaker> first).takes_rows and hands_rows(plan, 0)


def within(model):
    """Yield a model and all that it holds: the steps of a pipeline, the parts of a union, and what a wrapper of River wraps."""
    yield model
    held = [model._wrapped_model] if isinstance(model, base.Wrapper) else []
    if isinstance(model, compose.Pipeline):
        held = model.steps.values()
    elif isinstance(model, compose.TransformerUnion):
        held = model.transformers.values()
    for each in held:
        yield from within(each)


def check_order(steps):
    """Raise ValueError if a step undoes the work of one before it."""
    kinds = [type(step) for step in steps]
    of_words = [kind.__name__ for kind in kinds if kind.__name__ in STEPS_FOR_WORDS]
    if len(of_words) > 1:
        raise ValueError(
            f"`{of_words[1]}` after `{of_words[0]}` finds no text, because only words are left: make a union of the two, such "
            "as ((BagOfWords(on='title') | Prefixer('title ')) + BagOfWords(on='body')) | ..., in a file "
            "`river.compose.TransformerUnion`; the Prefixer keeps equal words apart"
        )
    names = [kind.__name__ for kind in kinds]
    for name in names[: names.index(of_words[0])] if of_words else []:
        if name in _ENCODING:
            raise ValueError(
                f"`{of_words[0]}` after `{name}` finds no text, because `{name}` encodes all texts: write it before `{name}`"
            )
    for place, step in enumerate(steps):
        scaling = [name for name in names[:place] if name in _SCALING]
        if names[place] == "OneHotEncoder" and scaling and getattr(step, "features", None):
            raise ValueError(
                f"`{scaling[0]}` before `OneHotEncoder` scales the numbers of its `features`, and each scaled number would be "
                "a category of its own: make a union of the two, such as (Discard('shop') | StandardScaler()) + "
                "(Select('shop') | OneHotEncoder(['shop'])) | ..., in a file `river.compose.TransformerUnion`; for texts, leave "
                "`features` out"
            )
    for maker, what in _ONES.items():
        places = [i for i, step in enumerate(steps) if any(type(part).__name__ == maker for part in within(step))]
        for name in names[places[0] + 1 :] if places else []:
            if name in _CENTRING:
                raise ValueError(
                    f"`{name}` after `{maker}` makes 0 of {what}, which is 1 wherever it is present: write "
                    f"StandardScaler() | {maker}(...) | ..., whose scaler leaves texts as they are"
                )


def count_rounds(dataset, model, dict counts):
    """Let a model predict and learn each example in turn, and count the pairs of label and prediction."""
    cdef tuple plan = (model._plan or model._build_plan()) if isinstance(model, Pipeline) else ()
    cdef bint compiled = plan and not leaves_to_river(model, plan) and are_two_compiled_steps(plan)
    cdef RowMaker first = (<tuple> plan[0])[1] if compiled else None
    cdef Learner learner = (<tuple> plan[1])[1] if compiled else None
    cdef PairCounts pairs = PairCounts()
    pairs.counts = counts
    both = model.predict_learn_one
    try:
        for row in dataset:
            if len(row) > 2:  # unpacking a rest that is hardly ever there would make a list
                x, y, extra = row
                prediction = both(x, y, **extra)
            else:
                x, y = row
                prediction = both(x, y) if first is None else first.predict_and_learn(learner, x, y)
            pairs.count(y, prediction)
    finally:
        for place in range(PLACES):
            pairs.settle(place)


cdef enum:
    PLACES = 16  # a power of 2


@cython.final
cdef class PairCounts:
    """Counts pairs of objects in a dict. Pairs of the same few objects, such as True and False, are counted without a look-up."""

    cdef dict counts
    cdef list pairs  # those counted last, each at a place of its addresses
    cdef long long more[PLACES]  # what `counts` has not yet of these pairs

    def __cinit__(self):
        self.pairs = [None] * PLACES

    cdef int count(self, object one, object other) except -1:
        cdef size_t place = (3 * (<size_t> <PyObject*> one >> 4) + (<size_t> <PyObject*> other >> 4)) & (PLACES - 1)
        cdef tuple pair = self.pairs[place]
        if pair is None or pair[0] is not one or pair[1] is not other:
            self.settle(place)
            pair = (one, other)
            self.counts.setdefault(pair, 0)  # now, because the order of the dict is that of the first examples
            self.pairs[place] = pair
        self.more[place] += 1
        return 0

    cdef int settle(self, size_t place) except -1:
        """Add to `counts` what it does not have of the pair at a place."""
        pair = self.pairs[place]
        if pair is not None:
            self.counts[pair] += self.more[place]
        self.more[place] = 0
        return 0


cdef object transformed(tuple plan, object x, bint learning):
    """Return x as transformed by all steps but the last one; with `learning`, each step learns x first."""
    cdef Py_ssize_t i
    for i in range(len(plan) - 1):
        step = (<tuple> plan[i])[1]
        # Compiled steps need no dict between them. A subclass written in Python may read one.
        if hands_rows(plan, i) and not leaves_text(step, (<tuple> plan[i + 1])[1], x):
            x = (<RowMaker> step).make_row(x, learning)
        else:
            if learning:
                step.learn_one(x)
            x = step.transform_one(x)
    return x


cdef bint hands_rows(tuple plan, Py_ssize_t i):
    """Tell whether step i gives the following one rows: then all steps up to the learner do. Dicts are for Python."""
    step, following = (<tuple> plan[i])[1], (<tuple> plan[i + 1])[1]
    if not (isinstance(step, RowMaker) and (<RowMaker> step).makes_rows):
        return False
    if isinstance(following, Learner):
        return (<Learner> following).takes_rows
    return isinstance(following, RowMaker) and (<RowMaker> following).takes_rows and i + 2 < len(plan) and hands_rows(plan, i + 1)


cdef bint leaves_text(object step, object following, object x) except -1:
    """Tell whether a step leaves a text of x to the following one. A learner takes none, and refuses it by itself."""
    if not (<RowMaker> step).leaves_texts or isinstance(following, Learner) or type(x) is TransformedRow:
        return False
    return not (type(x) is dict and dict_walk_suits(x)) or has_text(x)


cdef bint are_for_the_last(tuple plan, dict params):
    """Return whether the last step takes all further arguments of `learn_one`, such as `w`, and no other step takes one."""
    cdef Py_ssize_t i, last = len(plan) - 1
    if params:
        for i in range(last + 1):
            accepted = (<tuple> plan[i])[3]  # None is any
            if accepted is None or not (params.keys() <= accepted if i == last else accepted.isdisjoint(params)):
                return False
    return True


cdef bint leaves_to_river(object pipeline, tuple plan) except -1:
    """Return whether River's code must call the steps: each step by its methods, or also in another order."""
    return pipeline._LEARN_UNSUPERVISED_DURING_PREDICT or calls_are_logged(pipeline) or not is_plain_chain(plan)


cdef inline bint calls_are_logged(object pipeline) except -1:
    """Return whether `utils.log_method_calls` of River is on: it replaces `__getattribute__`, and sees only calls of Python."""
    # The first question is the cheap one. A subclass with `__getattr__` answers it with yes, too.
    return looks_up_in_python(pipeline) and type(pipeline).__getattribute__ is not object.__getattribute__


cdef bint is_plain_chain(tuple plan):
    """Return whether the pipeline is a chain of unsupervised transformers with one supervised step at the end."""
    cdef Py_ssize_t i, last = len(plan) - 1
    cdef tuple step
    for i in range(last):
        step = plan[i]
        if <str> step[0] != "transformer" or step[2]:
            return False
    step = plan[last] if last >= 0 else ("", None, False)
    return <str> step[0] == "final" and step[2]


cdef bint are_two_compiled_steps(tuple plan):
    """Return whether a plain chain is a transformer and the learner behind it, and rows go from one to the other."""
    return len(plan) == 2 and hands_rows(plan, 0)
