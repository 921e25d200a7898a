"""Texts as features of their own, which a linear learner can weigh."""

from collections.abc import Iterable
from numbers import Number

import numpy as np
from river import base

from river_margins.preprocessing.rows cimport RowMaker, numbers_of, text_of

from river_margins.preprocessing.rows import FirstStep
from river_margins.tasks.labels import plain


class OneHotEncoder(FirstStep, RowMaker, base.Transformer):
    """Turn a text `value` of the feature `name` into the feature "name=value" with the value 1, and leave numbers as they are.

    So `{"country": "CH", "amount": 12.5}` becomes `{"country=CH": 1.0, "amount": 12.5}`. River's OneHotEncoder encodes numbers,
    too: there each new amount is a new feature. The encoder learns nothing and has no state. A scaler comes before it, and leaves
    texts as they are: after it, a scaler would make 0 of each encoded text, which is 1 wherever it is present.

    Parameters
    ----------
    features
        Names of features to encode although their values are numbers, such as postcodes or numbers of shops. None (default)
        for texts only. A number that is whole is written without a point: 3 and 3.0 are both "name=3".

    Raises
    ------
    TypeError
        If `features` is a text instead of a list of names.
    ValueError
        If a feature has the name that the text of another one makes, such as "a=b" beside the text "b" of "a".

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.OneHotEncoder(features=["shop"]).transform_one({"country": "CH", "amount": 12.5, "shop": 3})
    {'country=CH': 1.0, 'amount': 12.5, 'shop=3': 1.0}
    >>> model = rm.StandardScaler() | rm.OneHotEncoder() | rm.PAClassifier()
    >>> model.learn_one({"country": "CH", "amount": 12.5}, True)
    """

    round_cost = "The number of features in x."
    guarantee = "The same names for the same values, in every process."
    advice = "Put it before the learner where records have texts, after a scaler."

    def __init__(self, features=None):
        if not (features is None or isinstance(features, Iterable)) or isinstance(features, str):
            raise TypeError(f"`features` must be a list of names or None, not {features!r}")
        if isinstance(features, frozenset):
            features = set(features)  # which a snapshot holds
        elif not (features is None or isinstance(features, (list, tuple, set))):
            features = [plain(name) for name in features]  # of pandas, numpy or an iterator, which is read once
        if isinstance(features, tuple) and not features:
            features = []  # River's clone looks at the first entry of a tuple
        vars(self).update(features=features, _encoded=frozenset(features or ()))

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"features": ["shop"]}

    def transform_one(self, x):
        """Return the features with texts encoded."""
        cdef object given = x
        cdef dict features
        if self._encoded:
            # A null stays null, for an imputer. NaN, lists and the like stay, too, and the learner refuses them.
            x = {name: text_of(x[name]) if name in self._encoded and is_category(x[name]) else x[name] for name in x.keys()}
        features = numbers_of(x)
        # The next step may change what it gets, as River's Renamer does; the example belongs to the caller.
        return features.copy() if features is given else features


cdef bint is_category(object value) except -1:
    return isinstance(value, (str, Number, np.bool_)) and value == value
