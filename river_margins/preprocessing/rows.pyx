"""What the compiled transformers share: they hand rows to the next step, and start a compiled pipeline."""

from math import isfinite
from numbers import Real

import numpy as np
from river import compose

from river_margins.core.dict_walk cimport DictWalk, dict_walk, dict_walk_next
from river_margins.core.estimator cimport Estimator
from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Reader
from river_margins.core.transformed_row cimport TransformedRow

from river_margins.core.described import Described

cdef Reader ANY_READER = Reader()  # whose state plays no part in making a dict of an example


cdef class RowMaker(Estimator):
    """The compiled part of a transformer. Here it learns nothing, and a subclass implements `make_row`."""

    cdef TransformedRow take_made(self):
        """Return a row to fill for the next step. One that was not read yet belongs to another thread, or to an error."""
        cdef TransformedRow made = self.spare_made
        if made is None or made.unread:
            self.spare_made = made = TransformedRow()
        made.unread = True
        return made

    cdef int open_rows(self, type compiled) except -1:
        self.compiled = compiled
        self.makes_rows = all(
            [getattr(type(self), name) is getattr(compiled, name) for name in ("learn_one", "transform_one")]
        )
        return 0

    cdef int refuse_frames(self, str one, str many) except -1:
        """Raise TypeError if a subclass has its own method for one example, and for frames still the compiled one."""
        kind = type(self)
        if self.learns_by_one and one == "learn_one":
            return 0
        own_one, own_many = (getattr(kind, each, None) is not getattr(self.compiled, each, None) for each in (one, many))
        if own_one and not own_many:
            raise TypeError(
                f"`{kind.__name__}` has a `{one}` of its own, so it needs a `{many}` of its own; without it, "
                f"call `{one}` for each row"
            )
        return 0

    cdef TransformedRow make_row(self, object x, bint learning):
        """Return x transformed, for the next step, which reads it at once. With `learning`, learn x first."""
        raise NotImplementedError

    cdef object predict_and_learn(self, Learner learner, object x, object y):
        """Return the prediction of the learner that is the next step; then let both learn x. Read x once."""
        return learner.learn(self.make_row(x, False), y, 1.0, True)

    def learn_one(self, x):
        """Do nothing: this transformer learns nothing."""

    def transform_one(self, x):
        """Return the transformed features."""
        cdef TransformedRow made = self.make_row(x, False)
        cdef dict features = made.as_dict()
        made.unread = False
        return features

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        if state:
            raise ValueError(f"`{type(self).__name__}` learns nothing, and has no {', '.join(map(repr, state))}")


class FirstStep(Described):
    """A transformer that starts a compiled pipeline: `transformer | learner`."""

    def __or__(self, other):
        from river_margins.pipeline import Pipeline  # which knows these classes

        return super().__or__(other) if isinstance(other, compose.Pipeline) else Pipeline(self, other)


cdef dict numbers_of(object x):
    """Return x as a dict in which a text `value` of the feature `name` is the feature "name=value", with the value 1."""
    cdef dict features = ANY_READER.features_of(x)
    return texts_encoded(features) if has_text(features) else features


cdef bint has_text(dict x) except -1:
    """Tell whether a feature is a text. The dict is one that `DictWalk` can read."""
    cdef DictWalk walk = dict_walk(x)
    while dict_walk_next(&walk):
        if isinstance(<object> walk.value, str):
            return True
    return False


cdef dict texts_encoded(dict x):
    cdef dict features = {}
    for key, value in x.items():
        if isinstance(value, str):
            key, value = f"{key}={value}", 1.0
        if key in features:
            raise ValueError(f"two features are called {key!r}, one of them after its text: rename one")
        features[key] = value
    return features


cdef str text_of(object value):
    """Return the text of a name or a value, the same for equal numbers such as 1, 1.0 and True."""
    if isinstance(value, np.bool_):  # the one number of numpy that is not a `Real`
        value = bool(value)
    if isinstance(value, Real) and isfinite(value) and value == int(value):
        value = int(value)
    return str(value)
