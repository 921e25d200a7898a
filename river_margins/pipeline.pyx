"""A faster `river.compose.Pipeline`."""

from river import base, compose

cimport cython
from cpython.object cimport PyObject

from river_margins.core.dict_walk cimport dict_walk_suits
from river_margins.core.learner cimport Learner
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.preprocessing.rows cimport RowMaker, has_text

from river_margins.core.frames import numbers_of


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
# Where the methods for frames take `Numbers`, too.
_TAKING_NUMBERS = {
    f"river_margins.{place}" for place in ("core.learner", "families.by_row", "families.composed", "preprocessing.scaler")
}


@cython.final
cdef class Plan(list):
    """River's plan of a pipeline, and which of its steps need not be called by their methods."""

    cdef bint is_chain  # of unsupervised transformers with one supervised step at the end
    cdef Py_ssize_t rows_from  # this step and all after it give the following one rows: dicts are for Python
    # The steps, if they are two and rows go from one to the other; else None.
    cdef RowMaker first
    cdef Learner learner

    def __init__(self, steps):
        super().__init__(steps)
        cdef Py_ssize_t last = len(self) - 1
        self.is_chain = (
            last >= 0 and self[last][0] == "final" and self[last][2]
            and all([step[0] == "transformer" and not step[2] for step in self[:last]])
        )
        self.rows_from = max(last, 0)
        while self.is_chain and self.rows_from > 0 and gives_rows(self[self.rows_from - 1][1], self[self.rows_from][1]):
            self.rows_from -= 1
        if last == 1 and self.rows_from == 0:
            self.first, self.learner = self[0][1], self[1][1]

    def __reduce__(self):  # as River's plan, so that also River alone, or an older version, reads a copy
        return tuple, (list(self),)


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
            if isinstance(step, RowMaker):
                (<RowMaker> step).refuse_frames("learn_one", "learn_many")
                (<RowMaker> step).refuse_frames("transform_one", "transform_many")
        super().learn_many(read_once(self, X, "learn_many"), y, **params)

    def predict_many(self, X):
        """Predict the labels of the rows of a frame, after the transformers."""
        refuse_without(self, "predict_many", "predict_one")
        return super().predict_many(read_once(self, X, "predict_many"))

    def predict_proba_many(self, X):
        """Return the probabilities of the classes for the rows of a frame, after the transformers."""
        refuse_without(self, "predict_proba_many", "predict_proba_one")
        return super().predict_proba_many(read_once(self, X, "predict_proba_many"))

    def _transform_many(self, X):
        """Transform the rows of a frame for the last step. A pipeline with a transformer that takes no frames is refused."""
        for step in within(self):
            if isinstance(step, base.Transformer) and not hasattr(step, "transform_many"):
                raise AttributeError(f"`{type(step).__name__}` takes no frames: call `predict_one` or its like for each row")
        return super()._transform_many(X)

    def learn_one(self, x, y=None, **params):
        """Teach each step with x as transformed by the steps before it, and the last step with y, too."""
        cdef Plan plan = plan_of(self)
        if leaves_to_river(self, plan) or not are_for_the_last(plan, params):
            super().learn_one(x, y, **params)
            return
        last, x = last_of(plan), transformed(plan, x, True)
        if not params and isinstance(last, Learner) and (<Learner> last).takes_rows:  # else `learn_one` may be another one
            (<Learner> last).learn(x, y, 1.0, False)
        else:
            last.learn_one(x, y, **params)

    def predict_one(self, x, **params):
        """Predict the label of x, after the transformers."""
        cdef Plan plan = plan_of(self)
        if params or leaves_to_river(self, plan):
            return super().predict_one(x, **params)
        return last_of(plan).predict_one(transformed(plan, x, False))

    def predict_learn_one(self, x, y=None, **params):
        """Predict, then learn: the result of `predict_one`, followed by `learn_one`. Two compiled steps read x once."""
        cdef Plan plan = plan_of(self)
        if plan.first is not None and not params and not leaves_to_river(self, plan):
            return plan.first.predict_and_learn(plan.learner, x, y)
        # River's evaluation gives a weight to the learning only, and all else, such as a time, to both.
        prediction = self.predict_one(x, **{name: value for name, value in params.items() if name != "w"})
        self.learn_one(x, y, **params)
        return prediction

    def predict_score_one(self, x):
        """Return the results of `predict_one` and `score_one` for x, and read x once."""
        cdef Plan plan = plan_of(self)
        if leaves_to_river(self, plan):
            return super().predict_one(x), super().score_one(x)
        last, x = last_of(plan), transformed(plan, x, False)
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
    cdef Plan plan
    if not isinstance(model, Pipeline):
        return takes_rows(model)
    plan = plan_of(model)
    return not leaves_to_river(model, plan) and plan.rows_from == 0 and takes_rows((<tuple> plan[0])[1])


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
    cdef Plan plan = plan_of(model) if isinstance(model, Pipeline) else None
    cdef RowMaker first = None if plan is None or leaves_to_river(model, plan) else plan.first
    cdef Learner learner = None if first is None else plan.learner
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


cdef inline Plan plan_of(object pipeline):
    plan = pipeline._plan
    if type(plan) is not Plan:  # None after a new step, and River's plan in a copy
        plan = pipeline._plan = Plan(plan or pipeline._build_plan())
    return <Plan> plan


cdef inline object last_of(Plan plan):
    return (<tuple> plan[len(plan) - 1])[1]


cdef object transformed(Plan plan, object x, bint learning):
    """Return x as transformed by all steps but the last one; with `learning`, each step learns x first."""
    cdef Py_ssize_t i
    for i in range(len(plan) - 1):
        step = (<tuple> plan[i])[1]
        # Compiled steps need no dict between them. A subclass written in Python may read one.
        if i >= plan.rows_from and not leaves_text(step, (<tuple> plan[i + 1])[1], x):
            x = (<RowMaker> step).make_row(x, learning)
        else:
            if learning:
                step.learn_one(x)
            x = step.transform_one(x)
    return x


cdef int refuse_without(object pipeline, str method, str of_one) except -1:
    """Raise AttributeError if the last step predicts a row, and no frame: River would name neither the step nor a way."""
    last = next(reversed(pipeline.steps.values()))
    if hasattr(last, of_one) and not hasattr(last, method):
        raise AttributeError(f"`{type(last).__name__}` takes no frames: call `{of_one}` for each row")
    return 0


cdef object read_once(object pipeline, object X, str method):
    """Return the numbers of a frame in its place, if only steps of this package see them: a frame between two steps is slow."""
    cdef Plan plan = plan_of(pipeline)
    cdef Py_ssize_t i, last = len(plan) - 1
    if leaves_to_river(pipeline, plan) or not takes_numbers((<tuple> plan[last])[1], (method,)):
        return X
    if type(pipeline)._transform_many is not Pipeline._transform_many:  # a subclass by a user looks at the frame
        return X
    for i in range(last):
        if not takes_numbers((<tuple> plan[i])[1], ("learn_many", "transform_many")):
            return X
    return numbers_of(X)


cdef bint takes_numbers(object step, tuple methods) except -1:
    """Tell whether these methods of a step take `Numbers` in place of a frame. Those of a subclass by a user may not."""
    for name in methods:
        method = getattr(type(step), name, None)
        # `functools.wraps` gives a user's function the module of ours.
        if getattr(method, "__module__", None) not in _TAKING_NUMBERS or hasattr(method, "__wrapped__"):
            return False
    return True


cdef bint takes_rows(object step) except -1:
    """Tell whether a step reads a `TransformedRow` as it reads a dict."""
    if isinstance(step, Learner):
        return (<Learner> step).takes_rows
    return isinstance(step, RowMaker) and (<RowMaker> step).takes_rows


cdef bint gives_rows(object step, object following) except -1:
    return isinstance(step, RowMaker) and (<RowMaker> step).makes_rows and takes_rows(following)


cdef bint leaves_text(object step, object following, object x) except -1:
    """Tell whether a step leaves a text of x to the following one. A learner takes none, and refuses it by itself."""
    if not (<RowMaker> step).leaves_texts or isinstance(following, Learner) or type(x) is TransformedRow:
        return False
    return not (type(x) is dict and dict_walk_suits(x)) or has_text(x)


cdef bint are_for_the_last(Plan plan, dict params):
    """Return whether the last step takes all further arguments of `learn_one`, such as `w`, and no other step takes one."""
    cdef Py_ssize_t i, last = len(plan) - 1
    if params:
        for i in range(last + 1):
            accepted = (<tuple> plan[i])[3]  # None is any
            if accepted is None or not (params.keys() <= accepted if i == last else accepted.isdisjoint(params)):
                return False
    return True


cdef inline bint leaves_to_river(object pipeline, Plan plan) except -1:
    """Return whether River's code must call the steps: each step by its methods, or also in another order."""
    return not plan.is_chain or pipeline._LEARN_UNSUPERVISED_DURING_PREDICT or calls_are_logged(pipeline)


cdef inline bint calls_are_logged(object pipeline) except -1:
    """Return whether `utils.log_method_calls` of River is on: it replaces `__getattribute__`, and sees only calls of Python."""
    # The first question is the cheap one. A subclass with `__getattr__` answers it with yes, too.
    return looks_up_in_python(pipeline) and type(pipeline).__getattribute__ is not object.__getattribute__
