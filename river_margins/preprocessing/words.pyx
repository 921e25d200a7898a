"""The words of a text as features."""

import re
import unicodedata

import numpy as np
from river import base
from river.utils import dataframe

from cpython.unicode cimport (
    PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ, PyUnicode_Substring, Py_UNICODE_ISALNUM,
)
from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Row
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.core.vocabulary cimport Vocabulary
from river_margins.preprocessing.rows cimport RowMaker

from river_margins.core.checks import abridged
from river_margins.preprocessing.rows import FirstStep

WORDS = r"(?u)\b\w[\w\-]+\b"  # of River, for which `words_of` needs no regular expression
cdef size_t MOST_SLOTS = 8192  # to clear; an example with more words than that leaves its table behind



cdef class WordCounts(RowMaker):
    """The compiled part of `BagOfWords`."""

    cdef object on, pattern
    cdef bint strip_accents, lowercase
    cdef set stop_words
    cdef Py_ssize_t shortest, longest  # n-grams
    cdef Vocabulary spare_terms

    cdef TransformedRow make_row(self, object x, bint learning):
        return self.count(self.text_of(x))

    cdef str text_of(self, object x):
        """Return the text of an example."""
        if self.on is None:
            if not isinstance(x, str):
                if x is None or (isinstance(x, float) and x != x):  # so a column of texts shows that one is missing
                    raise TypeError(f"a text is needed, and it is missing ({x}): write '' for an empty one")
                raise TypeError(f"a text is needed, not a {type(x).__name__}: name the feature with the text by `on`")
            return str(x)
        if isinstance(x, str) or x is None:
            raise TypeError(
                f"a dict is needed, not a {type(x).__name__}: `on` names its feature with the text; leave `on` out for texts"
            )
        if self.on not in x:
            raise ValueError(f"feature {self.on!r}, in which `on` looks for words, is missing")
        text = x[self.on]
        if not isinstance(text, str):
            raise ValueError(f"feature {self.on!r} is {abridged(text)}, of type {type(text).__name__}: `on` needs a text")
        return str(text)

    cdef list terms_of(self, str text):
        """Return the words and n-grams of a text, in order."""
        cdef list words, terms
        cdef Py_ssize_t n, i
        if self.strip_accents and not text.isascii():
            text = "".join([c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)])
        if self.lowercase:
            text = text.lower()
        words = words_of(text) if self.pattern is None else matches_of(self.pattern, text)
        if self.stop_words is not None:
            words = [word for word in words if word not in self.stop_words]
        if self.longest == 1:
            return words
        terms = []
        for n in range(self.shortest, self.longest + 1):
            if n == 1:
                terms.extend(words)
            else:
                terms.extend([tuple(words[i:i + n]) for i in range(len(words) - n + 1)])
        return terms

    cdef TransformedRow count(self, str text):
        """Return a row of the terms of a text and their counts."""
        cdef list terms = self.terms_of(text)
        cdef TransformedRow made = self.take_made()
        cdef Row row = made.row
        cdef Vocabulary distinct = self.take_terms()
        cdef int32_t index
        row.reserve(len(terms) + 1)
        row.forget_fresh()
        for term in terms:
            index = distinct.find(term)
            if index < 0:
                index = distinct.add(term, distinct.missing_hash)
                row.own_index[index] = index
                row.own_value[index] = 0.0
            row.own_value[index] += 1.0
        row.finish(len(distinct.keys), row.own_index, row.own_value, False)
        # The row takes the list: another thread may count the words of another text before this row is read.
        made.names, distinct.keys = distinct.keys, []
        self.spare_terms = distinct
        return made

    cdef Vocabulary take_terms(self):
        """Return an empty vocabulary."""
        cdef Vocabulary terms = self.spare_terms
        self.spare_terms = None
        if terms is None or terms.mask >= MOST_SLOTS:
            return Vocabulary()
        memset(terms.slots, -1, (terms.mask + 1) * sizeof(int32_t))
        return terms

    def transform_one(self, x):
        """Return the counts of the words in the text."""
        cdef TransformedRow made = self.make_row(x, False)
        cdef Py_ssize_t i
        cdef dict counts = {made.names[i]: <long long> made.row.value[i] for i in range(made.row.known)}
        made.unread = False
        return counts

    def transform_many(self, X):
        """Return the results of `transform_one` for each text of a series, or of the column `on` of a frame, as a frame.

        For pandas the frame is sparse.
        """
        from scipy import sparse  # slow to import, and needed for frames only

        cdef TransformedRow made
        cdef Py_ssize_t i
        cdef list starts = [0], columns = [], values = []
        cdef dict names = {}
        self.refuse_frames("transform_one", "transform_many")
        like, texts = self.texts_of(X)
        for number, text in enumerate(texts):
            try:
                made = self.make_row(text, False)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {number} of the batch: {error}") from error
            for i in range(made.row.known):
                columns.append(names.setdefault(made.names[made.row.index[i]], len(names)))
                values.append(made.row.value[i])
            made.unread = False
            starts.append(len(values))
        matrix = sparse.csr_matrix(
            (np.array(values, dtype=self.number()), columns, starts), shape=(len(starts) - 1, len(names))
        )
        frame = dataframe.sparse_to_native_frame(matrix, columns=names.keys(), like=like)
        # pandas 3.0 has NaN, not 0, where a sparse matrix of floats has no entry
        is_wrong = like.implementation.is_pandas() and any(kind.fill_value != 0 for kind in frame.dtypes)
        return frame.fillna(0) if is_wrong else frame

    cdef object number(self):
        return np.int64

    cdef object texts_of(self, X):
        """Return a frame or series, and its rows as examples."""
        try:
            given = dataframe.into_series(X) if self.on is None else dataframe.into_frame(X)
        except TypeError:
            needed, otherwise = "series", "for a frame, name the column with the texts by `on`"
            if self.on is not None:
                needed, otherwise = "frame", "without `on`, it takes a series of texts"
            raise TypeError(
                f"`{type(self).__name__}` takes a {needed} of pandas or polars, not a {type(X).__name__}: {otherwise}"
            ) from None
        if self.on is None:
            return given, given.to_list()
        frame = given
        if self.on not in frame.columns:
            raise ValueError(f"column {self.on!r}, in which `on` looks for words, is missing")
        return frame, [{self.on: text} for text in frame[self.on].to_list()]

    def _open(self, on, strip_accents, lowercase, stop_words, tokenizer_pattern, ngram_range):
        self.on, self.strip_accents, self.lowercase, self.stop_words = on, strip_accents, lowercase, stop_words
        self.pattern = None if tokenizer_pattern == WORDS else compiled_pattern(tokenizer_pattern)
        self.shortest, self.longest = ngram_range
        self.open_rows(WordCounts)


cdef inline bint is_word(uint32_t c) noexcept:
    """Return whether `\\w` matches this code point."""
    if c < 128:
        return c"a" <= (c | 32) <= c"z" or c"0" <= c <= c"9" or c == c"_"
    return Py_UNICODE_ISALNUM(<Py_UCS4> c)


cdef list words_of(str text):
    """Return the matches of `WORDS`: two or more letters, digits, underscores and hyphens, with no hyphen at either end."""
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), i = 0, start, end
    cdef uint32_t c
    cdef list words = []
    while i < length:
        if not is_word(PyUnicode_READ(kind, data, i)):
            i += 1
            continue
        start, end = i, i + 1
        i += 1
        while i < length:
            c = PyUnicode_READ(kind, data, i)
            i += 1
            if is_word(c):
                end = i
            elif c != c"-":
                break
        if end - start > 1:
            words.append(PyUnicode_Substring(text, start, end))
    return words


cdef list matches_of(object pattern, str text):
    """Return the matches of a pattern, or of its first group if a group took part, as River does."""
    if not pattern.groups:
        return pattern.findall(text)
    return [match[1] if match.lastindex else match.group() for match in pattern.finditer(text)]


cdef class WordWeights(WordCounts):
    """The compiled part of `TFIDF`: in how many texts each term was."""

    cdef Vocabulary terms
    cdef double* texts_with  # of each term
    cdef Py_ssize_t capacity
    cdef double texts
    cdef bint normalize

    def __dealloc__(self):
        free(self.texts_with)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.capacity * sizeof(double)

    cdef TransformedRow make_row(self, object x, bint learning):
        cdef TransformedRow made = self.count(self.text_of(x))
        if learning:
            self.learn(made)
        self.weigh(made)
        return made

    cdef object predict_and_learn(self, Learner learner, object x, object y):
        # The text counts between prediction and learning, as in River, so the weights are others then.
        prediction = learner.predict(self.make_row(x, False))
        learner.learn(self.make_row(x, True), y, 1.0, False)
        return prediction

    cdef int learn(self, TransformedRow made) except -1:
        """Count a text, and each of its terms once."""
        cdef Py_ssize_t i
        cdef int32_t index
        self.start_learning()
        try:
            self.reserve(len(self.terms.keys) + made.row.known)
            for i in range(made.row.known):
                term = made.names[i]
                index = self.terms.find(term)
                if index < 0:
                    index = self.terms.add(term, self.terms.missing_hash)
                    self.texts_with[index] = 0.0
                self.texts_with[index] += 1.0
            self.texts += 1.0
        finally:
            self.end_learning()
        return 0

    cdef int weigh(self, TransformedRow made) except -1:
        """Turn counts into weights."""
        cdef Row row = made.row
        cdef double* value = row.own_value
        cdef double total = 0.0, known, norm
        cdef Py_ssize_t i
        cdef int32_t index
        for i in range(row.known):
            total += value[i]
        for i in range(row.known):
            index = self.terms.find(made.names[i])
            known = self.texts_with[index] if index >= 0 else 0.0
            value[i] = value[i] / total * (log((1.0 + self.texts) / (1.0 + known)) + 1.0)
        row.finish(row.known, row.own_index, value, False)
        if self.normalize and row.known:
            norm = sqrt(row.norm2)
            for i in range(row.known):
                value[i] /= norm
            row.finish(row.known, row.own_index, value, False)
        return 0

    cdef int reserve(self, Py_ssize_t length) except -1:
        cdef Py_ssize_t wanted = length + length // 2
        cdef double* larger
        if length > self.capacity:
            larger = <double*> realloc(self.texts_with, wanted * sizeof(double))
            if larger == NULL:
                raise MemoryError()
            self.texts_with, self.capacity = larger, wanted
        return 0

    cdef object number(self):
        return np.float64

    def learn_one(self, x):
        """Count a text, and each of its words once."""
        cdef TransformedRow made = self.count(self.text_of(x))
        self.learn(made)
        made.unread = False

    def transform_one(self, x):
        """Return the weights of the words in the text."""
        return RowMaker.transform_one(self, x)

    def learn_many(self, X):
        """Learn each text of a series, or of the column `on` of a frame. All are read before the first is learned."""
        cdef Py_ssize_t i
        texts = self.texts_of(X)[1]
        for i, text in enumerate(texts):
            try:
                self.text_of(text)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {i} of the batch: {error}") from error
        for text in texts:
            self.learn_one(text)

    @property
    def n(self):
        """The number of texts."""
        return int(self.texts)

    @property
    def dfs(self):
        """In how many texts each term was."""
        return {term: int(self.texts_with[i]) for i, term in enumerate(self.terms.keys)}

    def _open(self, normalize, *parameters):
        WordCounts._open(self, *parameters)
        self.normalize, self.terms, self.texts = normalize, Vocabulary(), 0.0
        self.open_rows(WordWeights)
        self.learns_by_one = True

    def __getstate__(self):
        return {"n": self.n, "terms": list(self.terms.keys), "texts": np.array(list(self.dfs.values()), dtype=np.float64)}

    def __setstate__(self, state):
        cdef Py_ssize_t i
        cdef list terms = state["terms"]
        cdef Vocabulary vocabulary = Vocabulary()
        texts = np.ascontiguousarray(state["texts"], dtype=np.float64)
        if texts.shape != (len(terms),):
            raise ValueError(f"{len(terms)} terms, but numbers of texts of shape {texts.shape}")
        if not np.isfinite(texts).all():
            raise ValueError("numbers of texts must be finite")
        for i in range(len(terms)):
            if vocabulary.find(terms[i]) >= 0:
                raise ValueError(f"term {terms[i]!r} is there twice")
            vocabulary.add(terms[i], vocabulary.missing_hash)
        self.reserve(len(terms))
        self.texts = state["n"]
        self.terms = vocabulary
        for i in range(len(terms)):
            self.texts_with[i] = texts[i]


class BagOfWords(FirstStep, WordCounts, base.MiniBatchTransformer):
    r"""Count the words of a text.

    The results are those of River's BagOfWords. Nothing is learned or kept: the memory that grows with the words of a stream
    is that of the learner behind, which `max_features` bounds.

    Parameters
    ----------
    on
        The feature with the text; other features are left out. None (default) if each example is a text.
    strip_accents
        Whether to replace letters with accents by those without; True by default.
    lowercase
        Whether to replace capitals by small letters; True by default.
    stop_words
        A list of words to leave out; None (default) leaves out none. They are compared with the words after `strip_accents`
        and `lowercase`: with both, write "fur" for "Für".
    tokenizer_pattern
        The regular expression of a word; if it has a group, that group is the word. The default matches words of two
        characters or more, with hyphens.
    ngram_range
        The least and the largest number of words, >= 1, that are counted together; (1, 1) by default. The feature name
        of one word is a text, and that of several words is a tuple of texts.

    Raises
    ------
    ValueError
        If the feature `on` is missing or no text, or if a parameter is out of range.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.BagOfWords(on="body").transform_one({"body": "The café, the price", "id": 7})
    {'the': 2, 'cafe': 1, 'price': 1}
    >>> rm.BagOfWords(ngram_range=(2, 2)).transform_one("free prize now")
    {('free', 'prize'): 1, ('prize', 'now'): 1}
    >>> model = rm.BagOfWords(on="body") | rm.PAClassifier(max_features=2**18)
    >>> model.learn_one({"body": "Win a free prize!"}, True)
    """

    round_cost = "The length of the text."
    guarantee = "The results of River's BagOfWords."
    advice = "Put it before a learner with `max_features`, which bounds the memory that new words take."

    def __init__(
        self, on=None, *, strip_accents=True, lowercase=True, stop_words=None, tokenizer_pattern=WORDS, ngram_range=(1, 1)
    ):
        on, stop_words, ngram_range = checked_on(on), checked_words(stop_words), checked_range(ngram_range)
        vars(self).update(
            on=on, strip_accents=strip_accents, lowercase=lowercase, stop_words=stop_words,
            tokenizer_pattern=tokenizer_pattern, ngram_range=ngram_range,
        )
        self._open(on, strip_accents, lowercase, stop_words, tokenizer_pattern, ngram_range)

    def _more_tags(self):
        return {base.tags.TEXT_INPUT} if self.on is None else set()

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"ngram_range": (1, 2), "stop_words": ["the"]}


class TFIDF(FirstStep, WordWeights, base.MiniBatchTransformer):
    r"""Weigh the words of a text: by their share of the text, and by how rare they are among the texts so far.

    The weight of a term is tf·(ln((1 + n)/(1 + df)) + 1), where tf is the share of the term in the text, df the number of
    texts with the term, and n that of all texts. The results are those of River's TFIDF, to rounding. The document
    frequencies grow with each new term of the stream, and nothing bounds them; `BagOfWords` keeps nothing.

    Parameters
    ----------
    normalize
        Whether to divide the weights of a text by their norm; True by default.
    on
        The feature with the text; other features are left out. None (default) if each example is a text.
    strip_accents
        Whether to replace letters with accents by those without; True by default.
    lowercase
        Whether to replace capitals by small letters; True by default.
    stop_words
        A list of words to leave out; None (default) leaves out none. They are compared with the words after `strip_accents`
        and `lowercase`: with both, write "fur" for "Für".
    tokenizer_pattern
        The regular expression of a word; if it has a group, that group is the word. The default matches words of two
        characters or more, with hyphens.
    ngram_range
        The least and the largest number of words, >= 1, that are counted together, as in `BagOfWords`; (1, 1) by default.

    Raises
    ------
    ValueError
        If the feature `on` is missing or no text, or if a parameter is out of range.

    Examples
    --------
    >>> import river_margins as rm
    >>> tfidf = rm.TFIDF()
    >>> for text in ("This is the first document.", "This document is the second document."):
    ...     tfidf.learn_one(text)
    >>> {word: round(weight, 3) for word, weight in tfidf.transform_one("This document is the second document.").items()}
    {'this': 0.334, 'document': 0.668, 'is': 0.334, 'the': 0.334, 'second': 0.469}
    >>> tfidf.n, tfidf.dfs["first"]
    (2, 1)

    References
    ----------
    Salton, G., Buckley, C., 1988. Term-weighting approaches in automatic text retrieval. Information Processing and
    Management 24; smoothed as in scikit-learn.
    """

    round_cost = "The length of the text."
    guarantee = "The results of River's TFIDF, to within 1e-9."
    advice = "Use it for texts of different length; its memory grows with the words of the stream."

    def __init__(
        self, normalize=True, *, on=None, strip_accents=True, lowercase=True, stop_words=None, tokenizer_pattern=WORDS,
        ngram_range=(1, 1),
    ):
        on, stop_words, ngram_range = checked_on(on), checked_words(stop_words), checked_range(ngram_range)
        vars(self).update(
            normalize=normalize, on=on, strip_accents=strip_accents, lowercase=lowercase, stop_words=stop_words,
            tokenizer_pattern=tokenizer_pattern, ngram_range=ngram_range,
        )
        self._open(normalize, on, strip_accents, lowercase, stop_words, tokenizer_pattern, ngram_range)

    def _more_tags(self):
        return {base.tags.TEXT_INPUT} if self.on is None else set()

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"normalize": False, "ngram_range": (1, 2)}


cdef object checked_on(object on):
    if isinstance(on, (list, set, dict)):
        raise ValueError(f"`on` must name one feature, not {on!r}: for several texts make a union of a step for each")
    return on


cdef object checked_words(object words):
    if words is None:
        return None
    if not (isinstance(words, (list, tuple, set, frozenset)) and all([isinstance(word, str) for word in words])):
        raise ValueError(f"`stop_words` must be None or a list of words, not {words!r}")
    return set(words) or None


cdef object compiled_pattern(object pattern):
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"`tokenizer_pattern` must be a regular expression, not {pattern!r}: {error}") from error


cdef tuple checked_range(object ends):
    if not (
        isinstance(ends, (list, tuple)) and len(ends) == 2 and all([type(end) is int for end in ends])
        and 1 <= ends[0] <= ends[1]
    ):
        raise ValueError(f"`ngram_range` must be two whole numbers, 1 <= least <= largest, such as (1, 2), not {ends!r}")
    return tuple(ends)
