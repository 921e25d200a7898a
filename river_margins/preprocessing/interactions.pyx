"""Products of features."""

from collections import Counter
from collections.abc import Sequence
from math import comb

from river import base

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc

from river_margins.core.dict_walk cimport DictWalk, dict_walk, dict_walk_known
from river_margins.core.reader cimport Reader, Row, as_float
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.preprocessing.rows cimport RowMaker, numbers_of, text_of

from river_margins.core.checks import whole
from river_margins.preprocessing.rows import FirstStep


cdef Py_ssize_t MOST_FEATURES = 1_000_000  # of one transformed example; a name takes some 60 bytes


cdef struct Factors:
    int32_t left, right


cdef class Plan:
    """The products for examples with these features in this order: their names, and the two factors of each.

    The factors of a product of three features are a product of two and a feature, so each product takes one multiplication.
    """

    cdef list keys
    cdef list names  # of the features, and then of the products
    cdef list texts  # the text of each feature, and for each product a tuple of those of its features
    cdef PyObject** expected  # borrowed from `keys`
    cdef Factors* factors
    cdef Py_ssize_t features, products, capacity

    def __init__(self, list keys):
        cdef Py_ssize_t i
        self.keys, self.names, self.features = keys, list(keys), len(keys)
        self.texts = [text_of(key) for key in keys]
        self.expected = <PyObject**> malloc((self.features or 1) * sizeof(PyObject*))
        if self.expected == NULL:
            raise MemoryError()
        for i in range(self.features):
            self.expected[i] = <PyObject*> PyList_GET_ITEM(keys, i)

    def __dealloc__(self):
        free(self.expected)
        free(self.factors)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.features * sizeof(PyObject*) + self.capacity * sizeof(Factors)

    cdef Py_ssize_t last_feature(self, Py_ssize_t position) noexcept:
        return position if position < self.features else self.factors[position - self.features].right

    cdef int add(self, Py_ssize_t left, Py_ssize_t right) except -1:
        """Add the product of two entries of `names`, of which the right one is a feature."""
        cdef str text = self.texts[right], first
        cdef Factors* larger
        if left < self.features:
            first = self.texts[left]
            first, text = (first, text) if first <= text else (text, first)
            self.names.append(first + "*" + text)
            self.texts.append((first, text))
        else:
            texts = tuple(sorted((*self.texts[left], text)))
            self.names.append("*".join(texts))
            self.texts.append(texts)
        if self.products == self.capacity:
            larger = <Factors*> realloc(self.factors, (2 * self.capacity + 8) * sizeof(Factors))
            if larger == NULL:
                raise MemoryError()
            self.factors, self.capacity = larger, 2 * self.capacity + 8
        self.factors[self.products] = Factors(<int32_t> left, <int32_t> right)
        self.products += 1
        return 0

    cdef int close(self) except -1:
        """Check the names, and forget what only making them takes."""
        self.texts = None
        if len(set(self.names)) < len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise ValueError(f"two features are called {twice!r}, one of them after the product: rename one")
        return 0


cdef class Products(RowMaker):
    """The compiled part of `Interactions`. It keeps the plan of the last example: most streams repeat their features."""

    cdef Plan plan
    cdef Py_ssize_t degree
    cdef bint repeats
    cdef tuple pairs

    cdef TransformedRow make_row(self, object x, bint learning):
        cdef TransformedRow made = self.take_made()
        cdef Row row = made.row
        row.forget_fresh()
        cdef Plan plan = self.read(x, row)
        cdef double* value = row.own_value
        cdef Py_ssize_t length = plan.features, i
        for i in range(plan.products):
            value[length + i] = value[plan.factors[i].left] * value[plan.factors[i].right]
        for i in range(length + plan.products):
            row.own_index[i] = <int32_t> i
        row.finish(length + plan.products, row.own_index, value, True)
        if not isfinite(row.norm2):
            self.refuse(plan, row)
        made.names = plan.names
        return made

    cdef Plan read(self, object x, Row row):
        """Return the plan for the features of x, with their values in the row."""
        cdef Plan plan = self.plan
        cdef dict features
        cdef DictWalk walk
        if plan is not None:
            row.reserve(len(plan.names))
        if type(x) is TransformedRow:
            if plan is None or not (<TransformedRow> x).copy_values(plan.expected, plan.features, row.own_value):
                plan = self.read_slowly((<TransformedRow> x).as_dict(), row)
            (<TransformedRow> x).unread = False
            return plan
        features = numbers_of(x)
        if plan is not None and len(features) == plan.features:
            walk = dict_walk(features)
            if dict_walk_known(&walk, plan.expected, plan.features, row.own_value) == plan.features:
                return plan
        return self.read_slowly(features, row)

    cdef Plan read_slowly(self, dict features, Row row):
        """Return the plan for these features, with their values in the row."""
        cdef list keys = list(features), values = [as_float(key, value) for key, value in features.items()]
        cdef Plan plan = self.plan
        cdef Py_ssize_t i
        if plan is None or keys != plan.keys:
            plan = self.plan = self.plan_for(keys)
        row.reserve(len(plan.names))
        for i in range(len(values)):
            row.own_value[i] = values[i]
        return plan

    cdef Plan plan_for(self, list keys):
        cdef Plan plan = Plan(keys)
        if self.pairs is None:
            self.add_all(plan)
        else:
            self.add_pairs(plan)
        plan.close()
        return plan

    cdef int add_all(self, Plan plan) except -1:
        """Add the products of each degree, in the order of River's PolynomialExtender."""
        cdef Py_ssize_t features = plan.features, first = 0, last = features, left, right, size
        check_number(features, sum([
            comb(features + (size - 1 if self.repeats else 0), size) for size in range(1, self.degree + 1)
        ]))
        for size in range(2, self.degree + 1):
            for left in range(first, last):
                for right in range(plan.last_feature(left) + (not self.repeats), features):
                    plan.add(left, right)
            first, last = last, len(plan.names)
        return 0

    cdef int add_pairs(self, Plan plan) except -1:
        """Add the products that `pairs` asks for, each once."""
        cdef Py_ssize_t left, right
        cdef set added = set()
        for one, other in self.pairs:
            rights = [i for i, key in enumerate(plan.keys) if suits(other, key)]
            for left in [i for i, key in enumerate(plan.keys) if suits(one, key)]:
                check_number(plan.features, len(plan.names) + len(rights))
                for right in rights:
                    pair = (min(left, right), max(left, right))
                    if pair not in added and (left != right or self.repeats):
                        added.add(pair)
                        plan.add(left, right)
        return 0

    cdef int refuse(self, Plan plan, Row row) except -1:
        """Raise the error for a feature that is not finite, or for a product; large values alone are none."""
        cdef Py_ssize_t i
        Reader().fill_row_from_dict(Row(), {plan.names[i]: row.value[i] for i in range(plan.features)})
        for i in range(row.known):
            if not isfinite(row.value[i]):
                raise OverflowError(
                    f"`{type(self).__name__}`: the product {plan.names[i]!r} is beyond floating point: scale the features"
                )
        return 0

    def _open(self, degree, interaction_only, pairs):
        self.degree, self.repeats, self.pairs = degree, not interaction_only, pairs
        self.open_rows(Products)
        self.takes_rows = True


cdef int check_number(Py_ssize_t features, object wanted) except -1:
    if wanted > MOST_FEATURES:
        raise ValueError(
            f"an example of {features} features has more than {MOST_FEATURES} with their products: name the products in "
            "`pairs`, or take a smaller `degree`"
        )
    return 0


cdef bint suits(object side, object key):
    """Return whether one side of a pair means this feature."""
    if not (isinstance(side, str) and isinstance(key, str)):
        return side == key
    return side == key or key.startswith(f"{side}=") or side.endswith("*") and key.startswith(side.removesuffix("*"))


class Interactions(FirstStep, Products, base.Transformer):
    """Add the products of features, so that a linear learner weighs them together.

    The product of the features "a" and "b" is the feature "a*b", whatever their order in the example. A text `value` of the
    feature `name` counts as the feature "name=value" with the value 1. A scaler belongs before this step: after it, a scaler
    makes 0 of such a feature, and the learner never learns it. The results are those of River's PolynomialExtender, without
    its bias, but the features themselves keep their names. Nothing is learned or kept but the names of one example.

    Parameters
    ----------
    degree
        The largest number of factors, >= 2; 2 by default. n features have about n^degree/degree! products.
    interaction_only
        Whether to leave out products in which a feature occurs twice; False by default.
    pairs
        The products to make, as pairs of names; None (default) for all up to `degree`. "user" also means each text
        "user=value", and "user_*" all features whose names begin with "user_". Only with degree 2.

    Raises
    ------
    ValueError
        If a feature is neither a finite number nor a text, if a product has the name of a feature, or if one example would
        have more than a million features.
    OverflowError
        If a product is beyond floating point.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.Interactions().transform_one({"a": 2.0, "b": 3.0})
    {'a': 2.0, 'b': 3.0, 'a*a': 4.0, 'a*b': 6.0, 'b*b': 9.0}
    >>> rm.Interactions(pairs=[("user", "item_*")]).transform_one({"user": "ann", "item_price": 5.0, "hour": 7.0})
    {'user=ann': 1.0, 'item_price': 5.0, 'hour': 7.0, 'item_price*user=ann': 5.0}

    References
    ----------
    Langford, J., Li, L., Strehl, A., 2007. Vowpal Wabbit: the option `-q`.
    """

    round_cost = "The number of features in x and of their products."
    guarantee = "The products of River's PolynomialExtender, by the same names."
    advice = "Use it if features matter together; name `pairs` if there are many, and scale features before."

    def __init__(self, degree=2, *, interaction_only=False, pairs=None):
        whole("degree", degree, 2)
        if pairs is not None:
            pairs = checked_pairs(pairs)
            if degree != 2:
                raise ValueError(f"`pairs` are products of two features, so `degree` must be 2, not {degree}")
        kept = [] if pairs == () else pairs  # River's clone looks at the first entry of a tuple
        vars(self).update(degree=degree, interaction_only=interaction_only, pairs=kept)
        self._open(degree, interaction_only, pairs)

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"degree": 3, "interaction_only": True}
        yield {"pairs": [("ordinal_date", "*")]}


cdef tuple checked_pairs(object pairs):
    is_list = isinstance(pairs, Sequence) and not isinstance(pairs, str)
    if not (is_list and all([isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs])):
        raise ValueError(f"`pairs` must be None or a list of pairs of feature names, such as [('a', 'b')], not {pairs!r}")
    return tuple([tuple(pair) for pair in pairs])
