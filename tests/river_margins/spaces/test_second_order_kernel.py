"""The second-order perceptron with a kernel: as the paper has it, and as the full matrix has it where there is one."""

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.rounds import assert_a_snapshot_goes_on, state
from tests.learners import CLASSES

LABELS = {"binary": [False, True], "multiclass": CLASSES}
RULES = [
    rm.SecondOrderPerceptronRule(),
    rm.SecondOrderPerceptronRule(every_label=True),
    rm.SecondOrderPerceptronRule(tie_update=False),
]


def rows(count, seed=0, d=4):
    """Points around a centre for each class, with gaps and some new features late in the stream."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(3, d))
    for number in range(count):
        true = int(draw.integers(3))
        row = np.round(draw.normal(size=d) + centres[true], 3) * (draw.random(d) < 0.8)
        yield {f"f{i}": value for i, value in enumerate(row.tolist()) if value and (i < d - 1 or number > 20)}, true


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("task", LABELS)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_with_a_linear_kernel_it_is_the_one_with_a_full_matrix(rule, task, seed):
    known, a = LABELS[task], 10.0 ** (seed - 3)
    one = rm.MarginClassifier(rule, rm.SecondOrderKernel(rm.LinearKernel(), a), classes=known, intercept=seed % 2 == 1)
    other = rm.MarginClassifier(rule, rm.Full(a), classes=known, intercept=seed % 2 == 1)
    for x, true in rows(150, seed):
        scores, others = one.score_one(x), other.score_one(x)
        assert scores == pytest.approx(others, rel=1e-9, abs=1e-9)
        label = known[true % len(known)]
        one.learn_one(x, label)
        other.learn_one(x, label)
        assert (one.n_mistakes, one.n_updates) == (other.n_mistakes, other.n_updates)
    assert one.n_updates > 10
    for block, weights in one.weights.items():
        assert weights == pytest.approx(other.weights[block], rel=1e-9, abs=1e-9)


def test_its_scores_are_those_of_the_paper(a=0.5):
    """Cesa-Bianchi et al. 2005, section 4: f = [Y; 0]'(aI + K₊)⁻¹k₊, with the current example appended."""
    kernel = rm.RBF(0.3)
    model = rm.KernelSecondOrderPerceptron(kernel, a=a, classes=[False, True])
    examples, labels = [], []
    for x, true in rows(120):
        label = 1.0 if true else -1.0
        everything = [*examples, x]
        gram = np.array([[kernel(u, v) for u in everything] for v in everything])
        score = np.array([*labels, 0.0]) @ np.linalg.solve(a * np.eye(len(gram)) + gram, gram[-1])
        assert model.score_one(x) == pytest.approx(score, rel=1e-9, abs=1e-12)
        model.learn_one(x, label > 0)
        if label * score <= 0:
            examples.append(x)
            labels.append(label)
    assert [x for x, _ in model.supports] == examples
    assert 20 < len(examples) < 100


def test_learning_from_every_label_is_ridge_regression():
    kernel = rm.Polynomial(2)
    model = rm.KernelSecondOrderPerceptron(kernel, a=3.0, every_label=True)
    examples, labels = [], []
    for x, true in rows(40):
        model.learn_one(x, bool(true))
        examples.append(x)
        labels.append(1.0 if true else -1.0)
    gram = np.array([[kernel(u, v) for u in examples] for v in examples])
    best = np.linalg.solve(3.0 * np.eye(len(gram)) + gram, labels)
    assert [coefficient for _, coefficient in model.supports] == pytest.approx(list(best), rel=1e-9)


def test_a_long_noisy_run_leaves_what_is_counted_anew():
    """Also where examples are long and alike, and the ridge next to nothing."""
    draw, kernel, a = np.random.default_rng(1), rm.Polynomial(2), 0.1
    model, labels = rm.KernelSecondOrderPerceptron(kernel, a=a), []
    for row in (100.0 * np.round(draw.normal(size=(700, 3)), 1)).tolist():
        label, updates = bool(draw.random() < 0.5), model.n_updates
        model.learn_one(dict(enumerate(row)), label)
        labels += [1.0 if label else -1.0] * (model.n_updates - updates)
    examples = [x for x, _ in model.supports]
    X = np.array([[x.get(i, 0.0) for i in range(3)] for x in examples])
    gram = (X @ X.T + 1.0) ** 2
    assert len(examples) > 250
    factor = np.linalg.cholesky(a * np.eye(len(gram)) + gram)
    ours = model.__getstate__()["space"]["factors"][0]
    np.fill_diagonal(ours, 1.0 / np.diagonal(ours))
    assert np.abs(ours @ ours.T - factor @ factor.T).max() <= 1e-12 * gram.max()


def test_more_supports_than_allowed_are_refused_before_anything_is_written():
    model = rm.KernelSecondOrderPerceptron(max_supports=2, every_label=True)
    for number in range(2):
        model.learn_one({"a": float(number)}, True)
    before = state(model)
    with pytest.raises(ValueError, match=r"3 supports, more than `max_supports` = 2.*`BPAClassifier`.*`max_supports`"):
        model.learn_one({"b": 2.0}, True)
    assert state(model) == before
    with pytest.raises(ValueError, match="`max_supports` must be a whole number of at least 1, not 0"):
        rm.KernelSecondOrderPerceptron(max_supports=0)


class Scaling(rm.Rule):
    spaces = ("SecondOrderKernel",)

    def step(self, seen):
        return rm.Step(1.0, 0.5)


def test_what_the_space_cannot_do_is_refused():
    with pytest.raises(ValueError, match="scale and inflate stay 1"):
        rm.MarginClassifier(Scaling(), rm.SecondOrderKernel()).learn_one({"a": 1.0}, True)


class Shrinking(rm.Rule):
    """Every other round adds the example to Σ⁻¹, but not to the weights."""

    _parameter_names = ("shrink",)
    needs = frozenset({"look-ahead score"})
    looks_ahead = True

    def __init__(self, shrink=0.5):
        self.shrink = shrink

    def step(self, seen):
        return rm.Step(float(seen.t % 2), shrink=self.shrink)


@pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS)
def test_a_step_of_0_shrinks_as_in_a_full_matrix(classes):
    one = rm.MarginClassifier(Shrinking(), rm.SecondOrderKernel(rm.LinearKernel()), classes=classes, intercept=False)
    other = rm.MarginClassifier(Shrinking(), rm.Full(), classes=classes, intercept=False)
    for x, true in rows(60):
        assert one.score_one(x) == pytest.approx(other.score_one(x), rel=1e-9, abs=1e-9)
        for model in (one, other):
            model.learn_one(x, classes[true % len(classes)])
    assert len(one.supports) == 60
    assert one.n_updates == other.n_updates == 30
    with pytest.raises(ValueError, match="a step needs a shrink above 0"):
        rm.MarginClassifier(Shrinking(-0.5), rm.SecondOrderKernel(), classes=classes, intercept=False).learn_one(
            {"a": 1.0}, classes[0]
        )


def test_a_class_that_comes_late_has_a_matrix_of_its_own():
    model = rm.KernelSecondOrderPerceptron(rm.LinearKernel())
    other = rm.SecondOrderPerceptron(covariance="full", intercept=False)
    for number, (x, true) in enumerate(rows(90)):
        label = CLASSES[true if number > 60 else min(true, 1)]
        assert model.score_one(x) == pytest.approx(other.score_one(x), rel=1e-9, abs=1e-9)
        model.learn_one(x, label)
        other.learn_one(x, label)
    assert len(model.weights) == 3


def test_a_snapshot_in_mid_stream_goes_on_bit_for_bit():
    model = rm.KernelSecondOrderPerceptron(rm.RBF(0.1), classes=CLASSES)
    assert_a_snapshot_goes_on(model)
