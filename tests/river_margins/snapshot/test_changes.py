"""Changed parameters: `mutate` makes up for those that only say how to learn, and what was learned stays."""

import itertools

import pytest
from river import compose

import river_margins as rm
from connectors.config.classes import our_classes
from river_margins import snapshot
from river_margins.snapshot import codec

STREAM = [({"a": (7 * i % 11) - 5.0, "b": (5 * i % 13) - 6.0}, (7 * i % 11) > (5 * i % 13)) for i in range(60)]
KINDS = [kind for kind in our_classes().values() if isinstance(kind, type) and hasattr(kind, "learn_one")]


def trained(model, stream=STREAM):
    for x, y in stream:
        model.learn_one(x, y)
    return model


def test_a_changed_parameter_learns_on_as_if_it_were_mutated():
    model = trained(rm.StandardScaler() | rm.PAClassifier(C=1.0, mode=1))
    found = snapshot.changes(snapshot.dumps(model), rm.StandardScaler() | rm.PAClassifier(C=0.1, mode=2))
    assert (found.refused, found.made) == ([], ["PAClassifier C 1.0 -> 0.1", "PAClassifier mode 1 -> 2"])
    again = snapshot.loads(snapshot.dumps(model))
    found.apply(again)
    model["PAClassifier"].mutate({"C": 0.1, "mode": 2})
    assert snapshot.dumps(trained(again)) == snapshot.dumps(trained(model))
    assert snapshot.difference(snapshot.dumps(again), rm.StandardScaler() | rm.PAClassifier(C=0.1, mode=2)) == []


def test_a_learner_within_a_union_is_found():
    def build(rate):
        return (compose.Select("a") + compose.Select("b")) | rm.OGDClassifier(lr=rate)

    model = build(0.5)
    found = snapshot.changes(snapshot.dumps(model), build(0.25))
    assert (found.refused, found.made) == ([], ["OGDClassifier lr 0.5 -> 0.25"])
    found.apply(model)
    assert model["OGDClassifier"].lr == 0.25


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (rm.PAClassifier(), rm.Perceptron(), "the learner was `PAClassifier()` and is now `Perceptron()`"),
        (rm.PAClassifier(C=1.0), rm.PAClassifier(C=0.1, intercept=False), "C 1.0 -> 0.1, intercept True -> False"),
        (rm.AROWClassifier(), rm.AROWClassifier(covariance="full"), "covariance"),
        (rm.StandardScaler() | rm.Perceptron(), rm.StandardScaler(with_std=False) | rm.Perceptron(), "with_std"),
        (compose.Select("a") | rm.Perceptron(), compose.Select("b") | rm.Perceptron(), "step 1 was"),
        (rm.MarginClassifier(rm.PA1(0.1)), rm.MarginClassifier(rm.AROWRule(), rm.Diagonal()), "the learner was"),
        (rm.MarginClassifier(rm.AROWRule(), rm.Diagonal()), rm.MarginClassifier(rm.PA1(0.1)), "the learner was"),
    ],
)
def test_other_changes_are_refused(before, after, said):
    found = snapshot.changes(snapshot.dumps(before), after)
    assert found.made == [] and len(found.refused) == 1 and said in found.refused[0]
    untouched = snapshot.dumps(before)
    found.apply(before)
    assert snapshot.dumps(before) == untouched


def test_a_rule_is_changed_with_its_parameters():
    found = snapshot.changes(snapshot.dumps(rm.MarginClassifier(rm.PA1(0.1))), rm.MarginClassifier(rm.PA1(0.2)))
    assert (found.refused, found.made) == ([], ["MarginClassifier rule PA1(C=0.1) -> PA1(C=0.2)"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_learner_is_changed_as_mutate_does_or_refused(kind):
    for old, new in itertools.permutations([{}, *kind._unit_test_params()], 2):
        try:
            model, after = kind(**old), kind(**new)
        except TypeError:  # a parameter without a default
            continue
        found = snapshot.changes(snapshot.dumps(model), after)
        assert bool(found.made) != bool(found.refused) or snapshot.difference(snapshot.dumps(model), after) == []
        if found.made:
            found.apply(model)
            assert snapshot.dumps(model) == snapshot.dumps(after)


def test_what_is_told_about_a_model_is_no_part_of_it():
    model = trained(rm.PAClassifier())
    data = snapshot.dumps(model, about={"record": {"label": "y"}})
    assert snapshot.changes(data, rm.PAClassifier()).about == {"record": {"label": "y"}}
    assert snapshot.changes(snapshot.dumps(model), rm.PAClassifier()).about == {}
    assert snapshot.dumps(snapshot.loads(data)) == snapshot.dumps(model)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rm.OGDRegressor(loss="quantile", quantile=0.9), rm.OGDRegressor()),
        (rm.PAClassifier(class_weight="balanced"), rm.PAClassifier(mode=0)),
        (rm.MIRAClassifier(original=True), rm.MIRAClassifier(best=3)),
    ],
    ids=repr,
)
def test_changes_are_made_whichever_parameter_comes_first(before, after):
    for old, new in ((before, after), (after, before)):
        model, found = old.clone(), snapshot.changes(snapshot.dumps(old), new)
        assert found.refused == []
        found.apply(model)
        assert snapshot.dumps(model) == snapshot.dumps(new)


SAYS_OLD = "(now the default; to keep the old value, write `C: 1.0`"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (rm.SCWClassifier(C=1.0), rm.SCWClassifier(), f"SCWClassifier C 1.0 -> 0.1 {SAYS_OLD})"),
        (rm.SCWClassifier(C=1.0), rm.SCWClassifier(C=0.2), "SCWClassifier C 1.0 -> 0.2"),
        (
            rm.PAClassifier(class_weight="balanced"),
            rm.PAClassifier(),
            "PAClassifier class_weight 'balanced' -> None (now the default; to keep the old value, write "
            '`class_weight: "balanced"`)',
        ),
        (
            rm.Calibrated(rm.SCWClassifier(C=1.0)),
            rm.Calibrated(rm.SCWClassifier()),
            f"Calibrated classifier SCWClassifier(C=1.0) -> SCWClassifier(C=0.1) {SAYS_OLD} of `SCWClassifier`)",
        ),
    ],
)
def test_a_parameter_that_is_at_its_default_now_tells_how_to_keep_the_old_value(before, after, said):
    """A default that changes with a version changes a model although the file is the same."""
    found = snapshot.changes(snapshot.dumps(before), after)
    assert (found.refused, found.made) == ([], [said])


@pytest.mark.parametrize("scales", [False, True])
def test_experts_are_told_as_calls_with_the_parameters_that_differ(scales):
    def build(*parameters):
        expert = rm.SCWClassifier(*parameters)
        return rm.AutoClassifier([rm.StandardScaler() | expert if scales else expert, rm.PAClassifier()])

    (said,) = snapshot.changes(snapshot.dumps(build(1.0)), build()).refused
    scaler = "StandardScaler() | " * scales
    was, now = (f"[{scaler}SCWClassifier(C={value}), PAClassifier()]" for value in (1.0, 0.1))
    assert said == (
        f"the learner was `AutoClassifier(portfolio={was})` and is now `AutoClassifier(portfolio={now})`: "
        f"portfolio {was} -> {now} {SAYS_OLD} of `SCWClassifier`)"
    )


def other_version(model, change):
    """The snapshot of a model as another version writes it: `change` takes the node of its last step."""
    document, arrays = codec.read(snapshot.dumps(model))
    change(
        document["model"]["$object"]["parameters"]["steps"][type(list(model.steps.values())[-1]).__name__]["$object"]
    )
    return codec.write(document, arrays)


def test_a_model_whose_state_has_grown_since_is_no_other_one():
    def take_out(node):
        del node["state"]["lowest"], node["state"]["highest"]

    model = trained(rm.StandardScaler() | rm.AutoRegressor(), [(x, float(y)) for x, y in STREAM])
    data = other_version(model, take_out)
    found = snapshot.changes(data, rm.StandardScaler() | rm.AutoRegressor())
    assert (found.refused, found.made) == ([], [])
    assert snapshot.loads(data).predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})


@pytest.mark.parametrize(
    ("change", "name"),
    [(lambda state: state.update(depth=3), "depth"), (lambda state: state.pop("n_seen"), "n_seen")],
)
def test_a_state_that_cannot_be_loaded_is_another_one(change, name):
    model = rm.StandardScaler() | rm.PAClassifier()
    (said,) = snapshot.changes(other_version(model, lambda node: change(node["state"])), model).refused
    assert said.endswith(f"has another state than when the snapshot was written: `{name}` differ")


@pytest.mark.parametrize("ask", [snapshot.changes, snapshot.difference, lambda data, _: snapshot.describe(data)])
def test_a_parameter_of_a_newer_version_is_told_as_such(ask):
    def put_in(node):
        node["parameters"]["depth"] = None

    model = rm.StandardScaler() | rm.PAClassifier()
    said = "gives `PAClassifier` a parameter `depth`, which it does not have: use the version of its package that wrote"
    with pytest.raises(snapshot.SnapshotError, match=said):
        ask(other_version(model, put_in), model)


@pytest.mark.parametrize("ask", [snapshot.changes, snapshot.difference, lambda data, _: snapshot.describe(data)])
def test_the_version_to_install_is_named(ask):
    """The processor refuses a model of a newer version by these, and says that this version must be installed."""
    model = rm.StandardScaler() | rm.PAClassifier()
    document, arrays = codec.read(other_version(model, lambda node: node["parameters"].update(depth=None)))
    document["written_by"]["river-margins"] = "99.0"
    with pytest.raises(snapshot.SnapshotError, match=r"\(written by river-margins 99\.0, .*; here are river-margins "):
        ask(codec.write(document, arrays), model)


def test_of_two_models_none_is_the_old_one():
    """Those that `mix` compares, for example, so there is no advice for a file."""
    said = "the learner was `SCWClassifier(C=1.0)` and is now `SCWClassifier(C=0.1)`: C 1.0 -> 0.1"
    one, other = trained(rm.SCWClassifier(C=1.0), STREAM), trained(rm.SCWClassifier(), STREAM)
    assert snapshot.difference(one, other) == snapshot.difference(snapshot.dumps(one), other) == [said]
    with pytest.raises(ValueError, match=r"C 1\.0 -> 0\.1$"):
        rm.conversions.mix([one, other])
