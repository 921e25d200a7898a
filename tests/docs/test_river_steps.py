"""The table of River's transformers in `docs/configuration.md`: each one is tried."""

import importlib
import math
import re

import pytest
from river import base, feature_extraction, preprocessing, stats

from connectors.config.classes import NOT_FOR_FILES, RIVER_MODULES, find_class
from connectors.config.learner import assemble
from river_margins import snapshot
from tests.helpers.paths import ROOT

ROW = re.compile(r"^\| `(river\.[a-z_]+\.\w+)` \| (yes|no) \| (.+) \|$", re.MULTILINE)
TABLE = {
    name: (is_step == "yes", why) for name, is_step, why in ROW.findall((ROOT / "docs/configuration.md").read_text())
}
PARAMETERS = {
    "FuncTransformer": {"func": abs},
    "Grouper": {"transformer": preprocessing.StandardScaler(), "by": "a"},
    "Prefixer": {"prefix": "p"},
    "Suffixer": {"suffix": "s"},
    "Renamer": {"mapping": {"a": "b"}},
    "Agg": {"on": "a", "by": "b", "how": stats.Mean()},
    "TargetAgg": {"by": "b", "how": stats.Mean()},
    "PoissonInclusion": {"p": 0.5},
    "SelectKBest": {"similarity": stats.PearsonCorr()},
    "BagOfWords": {"on": "text"},
    "TFIDF": {"on": "text"},
    "GapEncoder": {"on": "text"},
    "FeatureHasher": {"seed": 1},
}
POSITIONAL = {"SelectType": [float], "StatImputer": [("c", stats.Mean())], "Select": ["a"], "Discard": ["a"]}
EXAMPLES = [
    ({"a": n % 3 - 1.0, "b": n % 4 + 1, "c": None if n % 3 else n, "text": f"word{n % 7} the end"}, n % 2 == 0)
    for n in range(20)
]
NUMBERS_ONLY = {
    "Binarizer", "FeatureHasher", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "PolynomialExtender", "StandardScaler",
    "TransformerProduct", "TransformerUnion", "VarianceThreshold",
}  # fmt: skip
UNITED = (preprocessing.MaxAbsScaler(), preprocessing.StandardScaler())


def transformers():
    for module in RIVER_MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            kind = getattr(found, name, None)
            is_transformer = isinstance(kind, type) and issubclass(kind, base.Transformer | base.SupervisedTransformer)
            if is_transformer and not issubclass(kind, base.Wrapper):
                yield f"{module}.{name}", kind


def made(kind):
    if kind.__name__ in ("TransformerUnion", "TransformerProduct"):
        return kind(*(each.clone() for each in UNITED))
    return kind(*POSITIONAL.get(kind.__name__, ()), **PARAMETERS.get(kind.__name__, {}))


def test_the_table_has_each_transformer_of_river():
    assert list(TABLE) == sorted(dict(transformers()), key=str.lower)
    assert all(why.strip() for _, why in TABLE.values())


@pytest.mark.parametrize(("name", "kind"), [*transformers()], ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_table_says_is_so(name, kind):
    step = made(kind)
    if name in NOT_FOR_FILES:
        assert not TABLE[name][0] and find_class(name) is None
        assert all(math.isnan(value) for value in step.transform_one({"a": 1.0, "b": 2.0}).values())
        return
    if not TABLE[name][0]:
        with pytest.raises(snapshot.SnapshotError, match=re.escape(name)):
            snapshot.check(step)
        return
    of_numbers = name.rpartition(".")[2] in NUMBERS_ONLY
    for features, label in EXAMPLES:
        x = {key: features[key] for key in ("a", "b")} if of_numbers else dict(features)
        first = step.transform_one(dict(x))  # as a processor does: it predicts before it learns
        assert not any(isinstance(value, float) and math.isnan(value) for value in first.values())
        step.learn_one(x, label) if step._supervised else step.learn_one(x)
        step.transform_one(x)
    again = snapshot.loads(snapshot.dumps(step))
    assert repr(again.transform_one(dict(x))) == repr(step.transform_one(dict(x)))
    assert find_class(name) is kind


IMPUTER = {
    "river.preprocessing.StatImputer": {
        "imputers": [["a", "river.stats.Mean"], ["b", {"river.stats.Mode": {"k": 3}}], ["c", "x"]]
    }
}


def test_a_stat_imputer_from_a_file():
    learner, problems = assemble([IMPUTER, "river.preprocessing.OneHotEncoder", "PAClassifier"])
    assert problems == []
    imputer = learner["StatImputer"]
    assert [(feature, type(what)) for feature, what in imputer.imputers] == [
        ("a", stats.Mean),
        ("b", stats.Mode),
        ("c", str),
    ]
    assert imputer.stats["b"].k == 3
    for value in (1.0, 3.0):
        imputer.learn_one({"a": value, "b": "r", "c": None})
    assert imputer.transform_one({"a": None, "b": None, "c": None}) == {"a": 2.0, "b": "r", "c": "x"}


@pytest.mark.parametrize(
    ("imputers", "path", "said"),
    [
        (
            [["a", "river.stats.Quantile"]],
            (0, 1),
            "a snapshot cannot hold `river.stats.Quantile`: use one of `river.stats.Mean`",
        ),
        ([["a", "river.stats.os"]], (0, 1), "a snapshot cannot hold `river.stats.os`"),
        ([["a", {"river.stats.Mode": {"j": 3}}]], (0, 1, "river.stats.Mode", "j"), "has no parameter `j`"),
        (["a"], (0,), "an imputer is `[feature, statistic or constant]`, found the text `a`"),
        ([["a", 1, 2]], (0,), "an imputer is `[feature, statistic or constant]`"),
    ],
)
def test_wrong_imputers(imputers, path, said):
    name = "river.preprocessing.StatImputer"
    learner, problems = assemble([{name: {"imputers": imputers}}, "PAClassifier"])
    assert learner is None and [found for found, _ in problems] == [(0, name, "imputers", *path)]
    assert said in problems[0][1]


def test_a_binarizer_of_an_unknown_kind_is_refused():
    with pytest.raises(snapshot.SnapshotError, match="none of bool, int, float"):
        snapshot.check(preprocessing.Binarizer(dtype=complex))
    with pytest.raises(snapshot.SnapshotError, match=r"`river.feature_extraction.BagOfWords` cannot be written"):
        snapshot.check(feature_extraction.BagOfWords(on="t", tokenizer=str.split))


def test_a_binarizer_from_a_file():
    name = "river.preprocessing.Binarizer"
    learner, problems = assemble([{name: {"dtype": "int"}}, "PAClassifier"])
    assert problems == [] and learner["Binarizer"].dtype is int
    ((_, said),) = assemble([{name: {"dtype": "complex"}}, "PAClassifier"])[1]
    assert "turns features into `complex`, which is none of bool, int, float" in said
