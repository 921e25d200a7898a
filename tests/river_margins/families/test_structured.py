"""Structured learners, which are of none of River's kinds: decoders, rounds, problem, bound, copies, refusals."""

import copy
import itertools
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest
from scipy.optimize import nnls

import river_margins as rm
from river_margins import snapshot
from river_margins.families.tagger import viterbi
from tests.river_margins.rules.test_problems import PROBLEMS

NAMES, TAGS = "pqr", ("A", "B", "C")
KEYS = [*itertools.product(NAMES, TAGS), *((one, other, "follows") for one in TAGS for other in TAGS)]

# Worked in exact fractions: PA-I with C = 1, the prediction-based form, tags 0 and 1.
ROUNDS = [
    ("pq", [0, 1], [0, 0], {(0, 0): -0.25, (0, 1): 0.25, ("q", 0): -0.25, ("q", 1): 0.25}),
    ("qp", [1, 0], [1, 0], {}),
    ("pp", [0, 0], [0, 1], {(0, 0): 0.125, (0, 1): -0.125, ("p", 0): 0.375, ("p", 1): -0.375}),
    ("pq", [0, 1], [0, 1], {}),
    ("qq", [1, 1], [1, 1], {}),
]


@pytest.mark.lecture("structured-pa")
def test_every_round_is_as_worked_out():
    model, expected = rm.SequenceTagger(C=1.0, tags=(0, 1)), {}
    for x, y, predicted, changed in ROUNDS:
        assert model.predict_one(list(x)) == predicted
        updates = model.n_updates
        model.learn_one(list(x), y)
        expected |= {(*key, "follows") if isinstance(key[0], int) else key: value for key, value in changed.items()}
        assert {name: weight for name, weight in model.weights.items() if weight} == pytest.approx(expected)
        assert model.n_updates - updates == bool(changed)
    assert (model.n_seen, model.n_mistakes) == (5, 2)


def sequences(length):
    return [list(tags) for tags in itertools.product(range(3), repeat=length)]


@pytest.mark.parametrize("lead", [None, math.sqrt, float], ids=["prediction", "sqrt", "linear"])
def test_viterbi_finds_what_trying_all_finds(lead):
    for seed in range(60):
        draw = np.random.default_rng(seed)
        length = int(draw.integers(0, 6))
        # Small whole numbers, so that there are ties; with errors in between, only their score is compared.
        emissions = draw.integers(-2, 3, size=(length, 3)).astype(float).tolist()
        transitions = draw.integers(-2, 3, size=(3, 3)).astype(float).tolist()
        truth = draw.integers(3, size=length).tolist()

        def worth(tags, emissions=emissions, transitions=transitions, truth=truth):
            score = sum(row[tag] for row, tag in zip(emissions, tags, strict=True))
            score += sum(transitions[one][other] for one, other in itertools.pairwise(tags))
            return score + (lead(sum(a != b for a, b in zip(tags, truth, strict=True))) if lead else 0.0)

        found = viterbi(emissions, transitions, *((truth, lead) if lead else ()))
        best = max(sequences(length), key=worth)  # of equal ones the first
        assert found == best if lead is None else worth(found) == pytest.approx(worth(best))


def corpus(seed, count=12, noise=0.0):
    """Sequences with the tags that random weights give them."""
    draw = np.random.default_rng(seed)
    teacher = {(name, tag): draw.normal() for name in NAMES for tag in TAGS}
    teacher |= {(one, other, "follows"): draw.normal() for one in TAGS for other in TAGS}
    for _ in range(count):
        x = [NAMES[i] for i in draw.integers(3, size=int(draw.integers(1, 5)))]
        if draw.random() < noise:
            yield x, [TAGS[i] for i in draw.integers(3, size=len(x))], teacher
        else:
            yield x, max(outputs(x), key=lambda y, x=x: product(teacher, features(x, y))), teacher


def outputs(x):
    return [list(tags) for tags in itertools.product(TAGS, repeat=len(x))]


def features(x, y):
    """Φ(x, y), counted once more."""
    counts = {}
    for key in [*zip(x, y, strict=True), *((one, other, "follows") for one, other in itertools.pairwise(y))]:
        counts[key] = counts.get(key, 0.0) + 1.0
    return counts


def product(weights, counts):
    return sum(value * weights.get(key, 0.0) for key, value in counts.items())


def difference(x, y, other):
    first, second = features(x, y), features(x, other)
    return {key: first.get(key, 0.0) - second.get(key, 0.0) for key in {**first, **second}}


def cost(y, other):
    return sum(a != b for a, b in zip(y, other, strict=True))


@pytest.mark.parametrize("max_loss", [False, True], ids=["prediction", "max loss"])
@pytest.mark.parametrize(("mode", "problem"), [(0, "PA"), (1, "PA-I"), (2, "PA-II")])
def test_an_update_solves_its_problem(mode, problem, max_loss):
    moved = 0
    for seed in range(30):
        C = 10.0 ** np.random.default_rng(seed).uniform(-2, 1)
        model = rm.SequenceTagger(C, mode=mode, max_loss=max_loss, tags=TAGS)
        for x, y, _ in corpus(seed, count=6, noise=0.3):
            w = {key: model.weights.get(key, 0.0) for key in KEYS}
            model.learn_one(x, y)

        def worth(other, w=w, x=x, y=y):
            return product(w, features(x, other)) + (math.sqrt(cost(y, other)) if max_loss else 0.0)

        other = max(outputs(x), key=worth)
        d = {key: value for key, value in difference(x, y, other).items() if value}
        assert all(model.weights.get(key, 0.0) == w[key] for key in KEYS if key not in d)
        before, after = (np.array([weights.get(key, 0.0) for key in d]) for weights in (w, model.weights))
        best = before
        if d:
            lead = np.array([math.sqrt(cost(y, other))])
            best = PROBLEMS[problem](before, np.array([list(d.values())]), lead, C)
        assert np.linalg.norm(after - best) <= 1e-5 * max(1.0, np.linalg.norm(best))
        moved += (after != before).any()
    assert moved >= 8


@pytest.mark.lecture("structured-pa")
@pytest.mark.parametrize("max_loss", [False, True], ids=["prediction", "max loss"])
def test_the_costs_of_all_predictions_are_bounded(max_loss):
    """Crammer et al. 2006, sections 8 and 9: Σ cost(y, ŷ) <= R²U² where u leads every other output by sqrt(cost)."""
    nearest = 0.0
    for seed in range(15):
        rounds = [(x, y) for x, y, _ in corpus(seed, count=8)]
        pairs = [(x, y, other) for x, y in rounds for other in outputs(x) if other != y]
        rows = np.array([[difference(*pair).get(key, 0.0) for key in KEYS] for pair in pairs])
        u = shortest(rows, np.array([math.sqrt(cost(y, other)) for _, y, other in pairs]))
        model, paid = rm.SequenceTagger(mode=0, max_loss=max_loss, tags=TAGS), 0
        for x, y in rounds * 4:
            paid += cost(y, model.predict_one(x))
            model.learn_one(x, y)
        bound = (rows**2).sum(axis=1).max() * (u @ u)
        assert paid <= bound * (1 + 1e-9)
        nearest = max(nearest, paid / bound)
    assert nearest > 0.05


def shortest(rows, targets):
    """The shortest u with rows·u >= targets, by Lawson & Hanson's least-distance programming."""
    system, goal = np.vstack([rows.T, targets]), np.append(np.zeros(rows.shape[1]), 1.0)
    rest = system @ nnls(system, goal)[0] - goal
    u = -rest[:-1] / rest[-1]
    return u / min((rows @ u / targets).min(), 1.0)


@pytest.mark.parametrize("max_loss", [False, True], ids=["prediction", "max loss"])
def test_the_bound_is_nearly_reached(max_loss):
    """Words that share nothing, each seen once: u = Σ d/|d|² has no loss, and each round costs what it adds."""
    words = [f"word {i}" for i in range(20)]
    model, paid = rm.SequenceTagger(mode=0, max_loss=max_loss, tags=("A", "B")), 0
    for word in words:
        paid += model.predict_one([word]) != ["B"]
        model.learn_one([word], ["B"])
    # d = (word, B) - (word, A), |d|² = 2, and u leads by ⟨u, d⟩ = 1.
    u = {(word, tag): 0.5 if tag == "B" else -0.5 for word in words for tag in "AB"}
    assert paid == len(words) == 2 * sum(value**2 for value in u.values())
    assert {name: weight for name, weight in model.weights.items() if weight} == pytest.approx(u)


# --------------------------------------------------------------------------------------------- joint features


def blocks(x, k):
    return {(name, k): value for name, value in x.items()}


@pytest.mark.lecture("pa-joint-features")
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_block_of_features_for_each_class_is_the_multiclass_learner(mode):
    draw = np.random.default_rng(mode)
    joint = rm.StructuredPA(blocks, list(TAGS), decode_cost=True, C=0.3, mode=mode)
    several = rm.PAClassifier(0.3, mode=mode, classes=TAGS, intercept=False)
    for row in draw.normal(size=(200, 4)):
        x, y = dict(enumerate(row.tolist())), TAGS[int(draw.integers(3))]
        assert joint.predict_one(x) == several.predict_one(x)
        joint.learn_one(x, y)
        several.learn_one(x, y)
        for k in TAGS:
            assert [joint.weights.get((i, k), 0.0) for i in x] == pytest.approx(
                [several.weights[k].get(i, 0.0) for i in x], rel=1e-9, abs=1e-12
            )
    assert joint.n_mistakes == several.n_mistakes


def test_what_the_features_cannot_tell_apart_teaches_nothing():
    model = rm.StructuredPA(lambda x, y: x, ["a", "b"])
    model.learn_one({"f": 1.0}, "b")
    assert (model.n_seen, model.n_mistakes, model.n_updates, dict(model.weights)) == (1, 1, 0, {})


def far(y, other):
    return 4.0 * (y != other)


@pytest.mark.parametrize(("cost_scale", "step"), [("sqrt", 1.0), ("linear", 2.0)])
def test_the_cost_is_the_lead_or_its_square(cost_scale, step):
    model = rm.StructuredPA(blocks, ["a", "b"], far, mode=0, cost_scale=cost_scale)
    model.learn_one({"f": 1.0}, "b")  # |d|² = 2, so half the lead
    assert dict(model.weights) == {("f", "b"): step, ("f", "a"): -step}


def best(w, x):
    return max("ab", key=lambda k: sum(value * w.get((name, k), 0.0) for name, value in x.items()))


def test_decoders_may_be_functions():
    def dearest(w, x, y):
        return max("ab", key=lambda k: sum(v * w.get((name, k), 0.0) for name, v in x.items()) + (k != y))

    models = [
        rm.StructuredPA(blocks, best, decode_cost=dearest),
        rm.StructuredPA(blocks, ("a", "b"), decode_cost=True),
    ]
    for model in models:
        for x, y in [({"f": 1.0}, "b"), ({"f": 0.5, "g": 1.0}, "a"), ({"g": 1.0}, "b")]:
            model.learn_one(x, y)
    assert dict(models[0].weights) == dict(models[1].weights)


# ----------------------------------------------------------------------------------- copies, snapshots, refusals


def trained(**parameters):
    model = rm.SequenceTagger(**parameters)
    for x, y, _ in corpus(1, count=30, noise=0.2):
        model.learn_one(x, y)
    return model


MODELS = [{"mode": 0}, {"mode": 2, "max_loss": True}, {"tags": TAGS, "cost_scale": "linear"}]


@pytest.mark.parametrize("parameters", MODELS, ids=str)
@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.clone(include_attributes=True),
        lambda model: snapshot.loads(snapshot.dumps(model)),
    ],
    ids=["deepcopy", "pickle", "clone", "snapshot"],
)
def test_a_copy_goes_on_bit_for_bit(parameters, duplicate):
    model = trained(**parameters)
    twin, untouched = duplicate(model), snapshot.dumps(model)
    assert (twin.n_seen, twin.n_mistakes, twin.n_updates) == (model.n_seen, model.n_mistakes, model.n_updates)
    for x, y, _ in corpus(2, count=30):
        twin.learn_one([*x, "new"], [*y, "D"])
    assert snapshot.dumps(model) == untouched != snapshot.dumps(twin)
    for x, y, _ in corpus(2, count=30):
        model.learn_one([*x, "new"], [*y, "D"])
    assert snapshot.dumps(twin) == snapshot.dumps(model)
    assert snapshot.dumps(model.clone()) == snapshot.dumps(rm.SequenceTagger(**parameters))


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        (["p"], ["A", "B"], ValueError, "1 positions, but 2 tags"),
        ([{"p": math.nan}], ["new"], ValueError, "is nan"),
        ([{"p": "red"}], ["new"], ValueError, "feature 'p' is the text 'red'"),
        ([{"p": None}], ["new"], ValueError, "feature 'p' is None"),
        ([{"p": 1e200}], ["new"], OverflowError, "scale the features"),
    ],
)
def test_what_is_refused_changes_nothing(x, y, error, words):
    model = trained()
    before = pickle.dumps(model)
    with pytest.raises(error, match=words):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before


def test_parameters_out_of_range_are_named():
    for make, words in [
        (lambda: rm.SequenceTagger(C=-1.0), "`C`"),
        (lambda: rm.SequenceTagger(mode=3), "`mode`"),
        (lambda: rm.SequenceTagger(cost_scale="root"), "`cost_scale` must be 'sqrt' or 'linear'"),
        (lambda: rm.StructuredPA(blocks, best, decode_cost=True), "`decode` must be the list"),
        (lambda: rm.StructuredPA(blocks, ["a", "b"], lambda *_: -1.0).learn_one({"f": 1.0}, "b"), "a cost must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()


def test_functions_are_refused_by_snapshots():
    with pytest.raises(snapshot.SnapshotError, match="`StructuredPA` cannot be written"):
        snapshot.check(rm.StructuredPA(blocks, ["a", "b"]))


def test_odd_sequences():
    model = rm.SequenceTagger(mode=0)
    assert model.predict_one(["p"]) is None
    model.learn_one([], [])
    model.learn_one(["p"], ("A",))  # one tag: nothing to tell apart
    assert (model.n_seen, model.n_updates, model.predict_one([]), model.predict_one(["q"])) == (2, 0, [], ["A"])
    model.learn_one([{"p": 1.0, "big": 2.0}, "q"], ["A", "B"])
    assert model.predict_one([{"p": 1.0, "big": 2.0}, "q"]) == ["A", "B"]
    assert model.score_one(["q"], ["B"]) > 0 > model.score_one(["q"], ["A"])


def test_an_output_that_is_not_in_the_list_is_refused():
    model = rm.StructuredPA(lambda x, k: {(n, k): v for n, v in x.items()}, ["x", "y"])
    with pytest.raises(ValueError, match="output 'z' is not in `decode`, the list of all outputs"):
        model.learn_one({"a": 1.0}, "z")
    assert model.n_seen == 0


@pytest.mark.parametrize(
    ("phi", "decode", "words"),
    [
        (None, ["a", "b"], r"`phi` must be a function phi\(x, y\) .*, not None"),
        (dict, "ab", r"`decode` must be a function decode\(w, x\) or a list of all outputs, not 'ab'"),
        (dict, [], r"`decode` must be a function decode\(w, x\) or a list of all outputs, not \[\]"),
    ],
)
def test_what_is_no_function_is_refused(phi, decode, words):
    with pytest.raises(TypeError, match=words):
        rm.StructuredPA(phi, decode)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_a_missing_tag_is_refused(missing):
    model = rm.SequenceTagger()
    model.learn_one(["a", "b"], ["X", "Y"])
    before = snapshot.dumps(model)
    with pytest.raises(ValueError, match="missing"):
        model.learn_one(["a", "b"], ["X", missing])
    assert snapshot.dumps(model) == before


def test_tags_of_numpy_come_back_as_those_of_python():
    model = rm.SequenceTagger(mode=0)
    model.learn_one(["a", "b"], np.array([0, 1]))
    assert [type(tag) for tag in model.predict_one(["a", "b"])] == [int, int]


@pytest.mark.parametrize("value", [np.bool_(True), Decimal("1.5"), True, 2])
def test_joint_features_are_read_like_other_features(value):
    model = rm.StructuredPA(lambda x, k: {k: value, "both": value}, ["p", "q"], decode_cost=True, mode=0)
    model.learn_one({}, "q")
    assert model.score_one({}, "q") - model.score_one({}, "p") == pytest.approx(1.0)
