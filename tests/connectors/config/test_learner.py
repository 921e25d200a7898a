"""The learner of a file, and the snapshot that it starts from."""

import numpy as np
import pytest
import scipy.sparse

import river_margins as rm
from connectors.config.learner import assemble, first_learner
from connectors.errors import ConfigError
from river_margins import snapshot


def test_a_model_with_numbers_as_names_is_no_first_model(tmp_path):
    """Records have texts as names."""
    rows, path = scipy.sparse.csr_array(np.eye(3)), tmp_path / "numbers.snapshot"
    for labels in ([True, False, True], ["a", "b", "c"]):
        model = rm.PAClassifier()
        model.learn_csr(rows, labels)
        snapshot.save(model, path)
        with pytest.raises(ConfigError, match=r"numbers as names, such as [01], .* in records are texts, such as"):
            first_learner(rm.PAClassifier(), path)
    hashed = rm.PAClassifier(max_features=8)
    hashed.learn_csr(rows, [True, False, True])
    snapshot.save(hashed, path)
    assert first_learner(rm.PAClassifier(max_features=8), path).n_seen == 3


@pytest.mark.parametrize("kind", [rm.KernelPerceptron, rm.KernelPAClassifier, rm.FOGDClassifier])
@pytest.mark.parametrize("labels", [[True, False], ["a", "b"]])
def test_a_model_without_weights_by_feature_is_a_first_model(tmp_path, kind, labels):
    model, path = kind(), tmp_path / "kernel.snapshot"
    for label in labels:
        model.learn_one({"x": 1.0, "y": -1.0}, label)
    snapshot.save(model, path)
    assert first_learner(kind(), path).n_seen == 2


def test_a_field_and_a_label_may_have_the_name_of_a_class():
    model, said = assemble([{"BagOfWords": {"on": "Step"}}, {"PAClassifier": {"class_weight": {"PA": 20}}}])
    assert said == []
    assert model["BagOfWords"].on == "Step" and model["PAClassifier"].class_weight == {"PA": 20}


def test_a_step_is_never_a_part():
    for wrong, right in {"AROW": "AROWClassifier", "ALMA": "ALMAClassifier", "SCW": "SCWClassifier"}.items():
        assert assemble([wrong])[1] == [((0,), f"there is no class `{wrong}`, did you mean `{right}`?")]
    ((_, said),) = assemble(["LogisticRegression"])[1]
    assert "did you mean" not in said


def test_a_part_is_never_a_learner():
    """`ROMMA` is a learner as a step, and a rule as the rule of a learner."""
    for wrong, right in {"ROMMA": "ROMMARule", "MarginPerceptro": "MarginPerceptronRule"}.items():
        ((_, said),) = assemble([{"MarginClassifier": {"rule": wrong}}])[1]
        assert said == f"there is no class `{wrong}`, did you mean `{right}`?"


def test_a_class_of_a_package_that_registers_none():
    name, told = "my_package.rules.FixedStep", "must be registered by it, see docs/adding-a-learner.md"
    for steps in ([name], [{"MarginClassifier": {"rule": {name: {"margin": 0.5}}}}]):
        ((_, said),) = assemble(steps)[1]
        assert said == f"there is no class `{name}`; a class of another package {told}"


def test_an_unknown_class_of_this_package_is_not_of_another_one():
    ((_, said),) = assemble(["river_margins.LogisticRegression"])[1]
    assert said == "there is no class `river_margins.LogisticRegression`; `river-margins learners` lists the learners"


def test_one_mistake_is_told_once():
    for parameters in ({"classes": "true, false"}, {"intercept": "off"}):
        assert len(assemble([{"PAClassifier": parameters}])[1]) == 1


@pytest.mark.parametrize("name", ["AutoClassifier", "Hedge"])
def test_a_portfolio_is_a_list_of_learners(name):
    model, said = assemble([{name: {"portfolio": ["PAClassifier", {"AROWClassifier": {"half_life": 250}}]}}])
    assert said == []
    assert [type(each) for each in model.portfolio] == [rm.PAClassifier, rm.AROWClassifier]
    assert model.portfolio[1].half_life == 250
    ((place, said),) = assemble([{name: {"portfolio": [{"AROWClassifier": {"half_lif": 250}}]}}])[1]
    assert place == (0, name, "portfolio", 0, "AROWClassifier", "half_lif")
    assert "did you mean `half_life`?" in said


@pytest.mark.parametrize("number", [0, -1, 2.5, True, None])
def test_a_hasher_needs_room(number):
    """River's divides by it, in Rust, and what that raises ends the process."""
    name = "river.preprocessing.FeatureHasher"
    ((place, said),) = assemble([{name: {"n_features": number, "seed": 1}}, "PAClassifier"])[1]
    assert place == (0, name, "n_features") and "must be a whole number of at least 1" in said
    assert assemble([{name: {"n_features": 8, "seed": 1}}, "PAClassifier"])[1] == []


@pytest.mark.parametrize(
    ("step", "place", "said"),
    [
        ({"river.preprocessing.StatImputer": {"imputers": [[1, 0]]}}, ("imputers", 0, 0), "`1`, put it in quotes"),
        ({"Interactions": {"pairs": [["a", "b"], ["a", 2]]}}, ("pairs",), "`2` in it, put it in quotes"),
        ({"BagOfWords": {"on": 1}}, ("on",), "`1`, put it in quotes"),
        ({"river.feature_extraction.TFIDF": {"on": ["a"]}}, ("on",), "a list"),
    ],
)
def test_names_of_features_are_texts(step, place, said):
    """A number would be no field of any record."""
    ((found, sentence),) = assemble([step, "PAClassifier"])[1]
    assert found == (0, next(iter(step)), *place) and said in sentence
