"""The compiled words of a text: those of River, token by token, and River's weights."""

import math
import random
import re

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose, feature_extraction, naive_bayes, preprocessing

import river_margins as rm
from river_margins import snapshot
from river_margins.pipeline import Pipeline
from tests.helpers.paths import ROOT
from tests.helpers.rounds import state

# Letters, digits and hyphens, and characters that change their number in small letters or without accents.
letters = "abZ1_- .'\n\u2013\u00e9\u00c9\u0301\u00df\u0130\u03a3\u03c2\u00b2\u2167\u01c6\u4e2d\u306e\U0001d11e\u200d"
texts = st.text(letters, max_size=30) | st.text(max_size=20)
options = st.fixed_dictionaries(
    {},
    optional={
        "strip_accents": st.booleans(),
        "lowercase": st.booleans(),
        "stop_words": st.just({"ab", "ee", "11"}),
        "ngram_range": st.sampled_from([(1, 2), (2, 2), (1, 3), (3, 4)]),
        "tokenizer_pattern": st.sampled_from([r"\w+", r"(?u)\b\w\w+\b", r"(a)?b|(\d)", r"(\w)-", "", r"-*"]),
    },
)
CORPUS = [
    paragraph for page in sorted((ROOT / "docs").glob("*.md"))[:8] for paragraph in page.read_text().split("\n\n")
]


@given(texts, options)
def test_they_are_rivers_words(text, given):
    ours, rivers = rm.BagOfWords(**given), feature_extraction.BagOfWords(**given)
    assert list(ours.transform_one(text).items()) == list(rivers.transform_one(text).items())
    on = rm.BagOfWords(on="body", **given)
    assert on.transform_one({"body": text, "id": 7}) == rivers.transform_one(text)


@given(st.text("aB-_ \u00e91.", min_size=3, max_size=10))
def test_hyphens_are_where_the_regular_expression_of_river_has_them(text):
    """The default pattern is not compiled but written out."""
    found = rm.BagOfWords(strip_accents=False, lowercase=False).transform_one(text)
    assert list(found) == list(dict.fromkeys(re.findall(r"(?u)\b\w[\w\-]+\b", text)))


@given(st.lists(texts, max_size=6), options, st.booleans())
def test_they_are_rivers_weights(stream, given, normalize):
    ours, rivers = (kind(normalize=normalize, **given) for kind in (rm.TFIDF, feature_extraction.TFIDF))
    for text in stream:
        assert ours.transform_one(text) == pytest.approx(rivers.transform_one(text), rel=1e-12)
        assert list(ours.transform_one(text)) == list(rivers.transform_one(text))
        ours.learn_one(text)
        rivers.learn_one(text)
        assert (ours.n, ours.dfs) == (rivers.n, dict(rivers.dfs))


def test_they_are_rivers_on_texts_that_people_wrote():
    assert len(CORPUS) > 100
    for ngrams in ((1, 1), (1, 2)):
        counts = rm.BagOfWords(ngram_range=ngrams), feature_extraction.BagOfWords(ngram_range=ngrams)
        weights = rm.TFIDF(ngram_range=ngrams), feature_extraction.TFIDF(ngram_range=ngrams)
        for text in CORPUS:
            assert counts[0].transform_one(text) == counts[1].transform_one(text)
            for step in weights:
                step.learn_one(text)
            assert weights[0].transform_one(text) == pytest.approx(weights[1].transform_one(text), rel=1e-12)


def test_weights_worked_by_hand():
    tfidf = rm.TFIDF(normalize=False)
    for text in ("red car", "red red bus", "blue car"):
        tfidf.learn_one(text)
    assert (tfidf.n, tfidf.dfs) == (3, {"red": 2, "car": 2, "bus": 1, "blue": 1})
    red, new = math.log(4 / 3) + 1, math.log(4 / 1) + 1
    assert tfidf.transform_one("Red, red or new") == pytest.approx({"red": red / 2, "or": new / 4, "new": new / 4})
    long = math.sqrt((red / 2) ** 2 + (new / 2) ** 2)
    with_norm = rm.TFIDF()
    with_norm.__setstate__(tfidf.__getstate__())
    assert with_norm.transform_one("red new") == pytest.approx({"red": red / 2 / long, "new": new / 2 / long})


def test_a_text_longer_than_any_before_leaves_the_next_ones_right():
    words, rivers = rm.BagOfWords(), feature_extraction.BagOfWords()
    for text in ("one two", " ".join(f"word{n % 30_000}" for n in range(40_000)), "one two two", "", "three"):
        assert words.transform_one(text) == rivers.transform_one(text)


PIPELINES = {
    "counts": lambda: (rm.BagOfWords(on="body"), rm.PAClassifier(C=0.01)),
    "buckets": lambda: (rm.BagOfWords(on="body", ngram_range=(1, 2)), rm.PAClassifier(C=0.01, max_features=50)),
    "weights": lambda: (rm.TFIDF(on="body"), rm.AROWClassifier()),
    "weights in buckets": lambda: (rm.TFIDF(on="body"), rm.PAClassifier(max_features=50)),
    "a hasher between": lambda: (rm.BagOfWords(on="body"), rm.FeatureHasher(50), rm.PAClassifier()),
    "products of words": lambda: (rm.BagOfWords(on="body"), rm.Interactions(), rm.PAClassifier()),
    "a scaler between": lambda: (rm.TFIDF(on="body"), rm.StandardScaler(), rm.PAClassifier()),
}


@pytest.mark.parametrize("steps", PIPELINES.values(), ids=PIPELINES)
def test_the_pipeline_goes_rivers_way(steps):
    """River's pipeline has a dict between the steps, ours has none: the same bits."""
    ours, rivers = Pipeline(*steps()), compose.Pipeline(*steps())
    for n, text in enumerate(CORPUS[:150]):
        x = {"body": text[:300], "id": n}
        assert ours.predict_one(x) == rivers.predict_one(x)
        assert ours.predict_score_one(x)[1] == rivers.score_one(x)
        for model in (ours, rivers):
            model.learn_one(x, len(text) % 3 == 0)
        if n == 75:
            data = snapshot.dumps(ours)
            ours = snapshot.loads(data)
            assert snapshot.dumps(ours) == data
    assert [state(step) for step in ours.steps.values()] == [state(step) for step in rivers.steps.values()]
    assert any(ours[-1].weights.values())


def test_a_subclass_in_python_has_its_way():
    class Shouted(rm.BagOfWords):
        def transform_one(self, x):
            return {word.upper(): count for word, count in super().transform_one(x).items()}

    model = Shouted(on="body") | rm.PAClassifier()
    model.learn_one({"body": "free prize"}, True)
    assert {"FREE", "PRIZE"} <= set(model["PAClassifier"].weights)


@pytest.mark.parametrize(
    "kinds", [(rm.BagOfWords, feature_extraction.BagOfWords), (rm.TFIDF, feature_extraction.TFIDF)]
)
def test_frames_are_those_of_river(kinds):
    column = ["The first text", "", "the second, the last", "third"]
    ours, rivers = (kind(on="body") for kind in kinds)
    ours_of_texts, rivers_of_texts = (kind() for kind in kinds)
    for library in (pd, polars):
        frame, series = library.DataFrame({"id": [1, 2, 3, 4], "body": column}), library.Series(column)
        for step, many in ((ours, frame), (rivers, frame), (ours_of_texts, series), (rivers_of_texts, series)):
            step.learn_many(many)
        for one, other in (
            (ours.transform_many(frame), rivers.transform_many(frame)),
            (ours_of_texts.transform_many(series), rivers_of_texts.transform_many(series)),
        ):
            assert type(one) is type(other) and list(one.columns) == list(other.columns)
            # with pandas 3.0, River's frame has NaN where ours has 0
            assert np.asarray(one) == pytest.approx(np.nan_to_num(np.asarray(other)))
    indexed = pd.Series(column, index=list("abcd"))
    found = ours_of_texts.transform_many(indexed)
    assert list(found.index) == list("abcd")
    assert found.sparse.density < 0.5
    for text, row in zip(column, found.sparse.to_dense().to_dict(orient="records"), strict=True):
        assert {word: value for word, value in row.items() if value} == ours_of_texts.transform_one(text)


@pytest.mark.parametrize(
    ("x", "error", "said"),
    [
        ({"id": 1}, ValueError, "feature 'body', in which `on` looks for words, is missing"),
        ({"body": None}, ValueError, "feature 'body' is None, of type NoneType: `on` needs a text"),
        ({"body": 1.5}, ValueError, "feature 'body' is 1.5, of type float"),
        ({"body": b"bytes"}, ValueError, "feature 'body' is b'bytes'"),
        ("a text with the body", TypeError, "a dict is needed, not a str: `on` names its feature with the text"),
    ],
)
@pytest.mark.parametrize("kind", [rm.BagOfWords, rm.TFIDF])
def test_what_is_no_text_is_refused_and_not_learned(kind, x, error, said):
    model = kind(on="body") | rm.PAClassifier()
    model.learn_one({"body": "one text"}, True)
    before = snapshot.dumps(model)
    for call in (model.predict_one, lambda x: model.learn_one(x, True), model[0].transform_one):
        with pytest.raises(error, match=re.escape(said)):
            call(x)
    assert snapshot.dumps(model) == before


def test_a_frame_is_checked_before_its_first_text_is_learned():
    tfidf = rm.TFIDF(on="body")
    with pytest.raises(ValueError, match=r"row 1 of the batch: feature 'body' is (nan|None), of type"):
        tfidf.learn_many(pd.DataFrame({"body": ["one text", None]}))
    with pytest.raises(ValueError, match="column 'body', in which `on` looks for words, is missing"):
        tfidf.learn_many(pd.DataFrame({"id": [1]}))
    assert (tfidf.n, tfidf.dfs) == (0, {})
    with pytest.raises(TypeError, match="a text is needed, not a dict: name the feature with the text by `on`"):
        rm.TFIDF().learn_one({"body": "one text"})


@pytest.mark.parametrize("kind", [rm.BagOfWords, rm.TFIDF])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ngram_range": (0, 1)}, "`ngram_range` must be two whole numbers"),
        ({"ngram_range": (2, 1)}, "`ngram_range` must be two whole numbers"),
        ({"ngram_range": 2}, "such as (1, 2), not 2"),
        ({"stop_words": "the"}, "`stop_words` must be None or a list of words, not 'the'"),
        ({"stop_words": [1]}, "`stop_words` must be None or a list of words"),
        ({"tokenizer_pattern": "("}, "`tokenizer_pattern` must be a regular expression, not '(': missing )"),
        ({"tokenizer_pattern": None}, "`tokenizer_pattern` must be a regular expression, not None"),
    ],
)
def test_wrong_parameters_are_named(kind, given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        kind(**given)


def test_parameters_from_a_file():
    from connectors.config.learner import assemble

    words = {"BagOfWords": {"on": "body", "ngram_range": [1, 2], "stop_words": ["the", "a"]}}
    learner, problems = assemble([words, {"PAClassifier": {"max_features": 1000}}])
    assert problems == [] and type(learner) is Pipeline
    assert (learner[0].ngram_range, learner[0].stop_words) == ((1, 2), {"the", "a"})
    learner.learn_one({"body": "The free prize"}, True)
    again = snapshot.loads(snapshot.dumps(learner))
    assert again.score_one({"body": "a free prize"}) == learner.score_one({"body": "a free prize"}) > 0.0
    learner, problems = assemble([{"TFIDF": {"on": "body", "ngram_range": [2, 1]}}, "PAClassifier"])
    assert learner is None and "`TFIDF` refuses `ngram_range`" in problems[0][1]


@pytest.mark.parametrize(
    "state",
    [
        {"n": 2, "terms": ["a", "a"], "texts": np.ones(2)},
        {"n": 2, "terms": ["a", "b"], "texts": np.ones(3)},
    ],
)
def test_a_state_that_does_not_fit_is_refused(state):
    with pytest.raises(ValueError, match=r"is there twice|2 terms, but numbers of texts of shape \(3,\)"):
        rm.TFIDF().__setstate__(state)


@pytest.mark.parametrize("steps", PIPELINES.values(), ids=PIPELINES)
def test_predicting_and_learning_at_once_is_one_after_the_other(steps):
    ours, rivers = Pipeline(*steps()), compose.Pipeline(*steps())
    for n, text in enumerate(CORPUS[:100]):
        x, y = {"body": text[:300], "id": n}, len(text) % 3 == 0
        expected = rivers.predict_one(x)
        rivers.learn_one(x, y)
        assert ours.predict_learn_one(x, y) == expected
    assert [state(step) for step in ours.steps.values()] == [state(step) for step in rivers.steps.values()]


@pytest.mark.parametrize("value", [list(range(10_000)), 10**5000], ids=["list", "number"])
def test_a_long_value_that_is_no_text_is_cut(value):
    with pytest.raises(ValueError, match="`on` needs a text") as refused:
        rm.BagOfWords("b").transform_one({"b": value})
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("kind", [rm.BagOfWords, rm.TFIDF])
def test_two_texts_need_a_union(kind):
    with pytest.raises(ValueError, match=r"`on` must name one feature, not \['title', 'body'\]"):
        kind(on=["title", "body"])
    with pytest.raises(ValueError, match=f"`{kind.__name__}` after `BagOfWords` finds no text"):
        rm.BagOfWords(on="title") | kind(on="body") | rm.PAClassifier()
    both = (rm.BagOfWords(on="title") + kind(on="body")) | rm.PAClassifier()
    both.learn_one({"title": "a text", "body": "another"}, True)
    assert {"text", "another"} <= set(both["PAClassifier"].weights)


@pytest.mark.parametrize("kind", [rm.BagOfWords, feature_extraction.BagOfWords])
@pytest.mark.parametrize("scaler", [rm.StandardScaler, preprocessing.StandardScaler])
def test_a_scaler_after_words_is_refused(kind, scaler):
    """It would make 0 of each word that a text has once."""
    both = compose.TransformerUnion(kind(on="body"), compose.Select("length"))
    for words in (kind(on="body"), both):
        with pytest.raises(ValueError, match=rf"`{scaler.__name__}` after `BagOfWords` makes 0 of each word"):
            Pipeline(words, scaler(), rm.PAClassifier())
    Pipeline(rm.BagOfWords(on="body"), preprocessing.MaxAbsScaler(), rm.PAClassifier())


@pytest.mark.parametrize("encoder", [rm.OneHotEncoder, rm.FeatureHasher, rm.Interactions, preprocessing.OneHotEncoder])
def test_words_after_an_encoder_are_refused(encoder):
    with pytest.raises(ValueError, match=f"`BagOfWords` after `{encoder.__name__}` finds no text, because"):
        Pipeline(encoder(), rm.BagOfWords(on="body"), rm.PAClassifier())
    Pipeline(rm.BagOfWords(on="body"), rm.OneHotEncoder(), rm.PAClassifier())


def test_the_learner_for_texts_is_the_one_that_the_page_names():
    page = (ROOT / "docs" / "learners.md").read_text()
    (advised,) = re.findall(r"^\| texts \| `(.*?)`", page, re.MULTILINE)
    draw, rows = random.Random(5), []
    frequent = [f"w{n}" for n in range(3000)]
    for _ in range(2000):
        topic = draw.randrange(10)
        words = [f"t{topic if draw.random() < 0.6 else draw.randrange(10)}x{draw.randrange(60)}" for _ in range(12)]
        words += [frequent[min(2999, int(draw.paretovariate(0.8)) - 1)] for _ in range(50)]
        rows.append(({"body": " ".join(words)}, str(topic)))

    def right(model):
        found = 0
        for n, (x, y) in enumerate(rows):
            found += n >= 1000 and model.predict_one(x) == y
            model.learn_one(x, y)
        return found

    best = right(eval(advised.replace("\\|", "|"), vars(rm)))
    assert best > right(rm.TFIDF(on="body") | rm.PAClassifier(C=1)) + 30
    assert best > right(rm.BagOfWords(on="body") | rm.PAClassifier()) + 100
    assert best > right(feature_extraction.BagOfWords(on="body") | naive_bayes.MultinomialNB()) - 30


def test_stop_words_are_compared_without_accents_and_capitals():
    """As River does."""
    for kind in (rm.BagOfWords, feature_extraction.BagOfWords):
        assert dict(kind(stop_words={"für", "uber"}).transform_one("Für Über Paris")) == {"fur": 1, "paris": 1}


def test_numbers_of_texts_must_be_finite():
    with pytest.raises(ValueError, match="must be finite"):
        rm.TFIDF().__setstate__({"n": 1, "terms": ["a"], "texts": np.array([math.nan])})


class Upper(rm.TFIDF):
    """Counts words in capitals."""

    def learn_one(self, x):
        super().learn_one({"t": x["t"].upper()})


def test_a_subclass_that_learns_one_text_in_another_way_learns_a_frame_so():
    model = Upper(on="t", lowercase=False) | rm.PAClassifier()
    model.learn_many(pd.DataFrame({"t": ["some words", "some more"]}), [True, False])
    assert model["Upper"].dfs == {"SOME": 2, "WORDS": 1, "MORE": 1}


@pytest.mark.parametrize("kind", [rm.BagOfWords, rm.TFIDF])
def test_batches_of_another_kind_and_missing_texts_are_named(kind):
    frame = pd.DataFrame({"t": ["some words", None]})
    cases = [
        (None, ["some", "words"], "takes a series of pandas or polars, not a list: for a frame, name the column"),
        (None, frame, "takes a series of pandas or polars, not a DataFrame"),
        ("t", frame["t"], "takes a frame of pandas or polars, not a Series: without `on`, it takes a series of texts"),
        (None, frame["t"], "row 1 of the batch: a text is needed, and it is missing .*: write '' for an empty one"),
    ]
    for on, X, said in cases:
        with pytest.raises(TypeError, match=said):
            kind(on=on).transform_many(X)
    with pytest.raises(ValueError, match="row 1 of the batch: feature 't' is"):
        kind(on="t").transform_many(frame)
