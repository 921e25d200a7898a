"""The hashing trick as a transformer, with the hash of `max_features`."""

from river import base

from river_margins.core.reader cimport Reader, Row
from river_margins.core.transformed_row cimport TransformedRow, fill_row_from_step, offer_again
from river_margins.preprocessing.rows cimport RowMaker, numbers_of

from river_margins.core.checks import whole
from river_margins.preprocessing.rows import FirstStep


cdef class Hashing(RowMaker):
    """The compiled part of `FeatureHasher`: a reader with buckets, which learners with `max_features` have, too."""

    cdef Reader reader

    @property
    def _is_made(self):
        return self.reader is not None

    cdef TransformedRow make_row(self, object x, bint learning):
        cdef TransformedRow made = self.take_made()
        cdef Row row = made.row
        if type(x) is not TransformedRow:
            x = numbers_of(x)
        fill_row_from_step(self.reader, row, x)
        if row.fresh:
            offer_again(x)
            # Name the new buckets and read again, so that the order of the row depends on x only. The names are a cache:
            # they are not part of the state, because no result depends on them.
            for bucket in row.fresh_keys:
                if self.reader.vocabulary.find(bucket) < 0:
                    self.reader.vocabulary.add(bucket, self.reader.vocabulary.missing_hash)
            fill_row_from_step(self.reader, row, x)
        made.names = self.reader.vocabulary.keys
        return made

    def _open(self, n_features, alternate_sign):
        self.reader = Reader(False, n_features, 1.0, alternate_sign)
        self.open_rows(Hashing)
        self.takes_rows = True

    def __getstate__(self):
        return self.reader.hash_state()

    def __setstate__(self, state):
        self.reader.check_hash_state(state)


class FeatureHasher(FirstStep, Hashing, base.Transformer):
    """Hash features into a fixed number of buckets, so that memory stays bounded whatever names a stream brings.

    A feature adds its value to one bucket, with the sign that its hash decides. The hash is that of `max_features`: the same
    in every process and version, and equal for equal names, such as 1, 1.0 and True. A text `value` of the feature `name`
    counts as the feature "name=value" with the value 1. A scaler belongs before the hasher: it leaves texts as they are.
    After it, a scaler makes 0 of each text that was hashed, and the learner never learns it. For a learner of this library
    alone, `max_features` does the same in one step; the hasher is for pipelines in which another step follows.

    Parameters
    ----------
    n_features
        The number of buckets, >= 1; 2**20 by default.
    alternate_sign
        Whether half of the features change their sign (default), so that collisions cancel on average instead of adding up.

    Raises
    ------
    ValueError
        If a feature is neither a finite number nor a text.

    Examples
    --------
    >>> import river_margins as rm
    >>> hasher = rm.FeatureHasher(n_features=8)
    >>> hasher.transform_one({"country": "CH", "age": 40.0})
    {3: -1.0, 1: -40.0}
    >>> hasher.transform_one({"country=CH": 1})
    {3: -1.0}

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A., Attenberg, J., 2009. Feature hashing for large scale multitask
    learning. ICML, section 2.
    """

    round_cost = "The number of features in x."
    guarantee = "At most `n_features` features; with signs, the inner products of examples are unbiased."
    advice = "Use it if names have no bound and another step follows; a learner alone has `max_features`."

    def __init__(self, n_features=1_048_576, *, alternate_sign=True):
        whole("n_features", n_features, 1)
        vars(self).update(n_features=n_features, alternate_sign=alternate_sign)
        self._open(n_features, alternate_sign)

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"n_features": 5, "alternate_sign": False}
