"""What River and its users expect of an estimator: checks, copies, parameters, signatures."""

import copy
import gc
import inspect
import math
import pickle
import random
import subprocess
import sys
from functools import partial

import pytest
from river import base, checks, compose, datasets, linear_model, preprocessing, utils

import river_margins as rm
from river_margins import snapshot
from river_margins.concepts.finite_class import FiniteClass
from river_margins.core.checks import LARGEST_WEIGHT
from river_margins.families.structured import Structured
from river_margins.families.two_labels import TwoLabelClassifier
from tests.helpers.cases import case
from tests.helpers.deadline import DEADLINE
from tests.helpers.rounds import labels_of, state, stream, stream_for, trained
from tests.learners import FORMS, LEARNERS, forms
from tests.river_margins.rules.test_weights import BY_FORMULA

PUBLIC = [getattr(rm, name) for name in rm.__all__]
ESTIMATORS = [thing for thing in PUBLIC if isinstance(thing, type) and issubclass(thing, base.Base)]
MODELS = [
    pytest.param(kind(**parameters), id=f"{kind.__name__}-{i}")
    for kind in ESTIMATORS
    for i, parameters in enumerate(kind._unit_test_params())
]


# The data of River's checks for these kinds are not part of its package: where they were not downloaded, data of the
# same kind take their place.
INSTEAD = {
    base.MultiLabelClassifier: (datasets.Music, datasets.Yeast, 50),
    base.AnomalyDetector: (datasets.CreditCard, datasets.Shuttle, 1000),
}


def on_data_at_hand(model, check):
    for kind, (rivers, ours, rows) in INSTEAD.items():
        if isinstance(model, kind) and hasattr(check, "keywords") and not rivers().is_downloaded:
            longer = 10 if check.__name__ == "check_bounded_memory_growth" else 1
            return partial(check.func, dataset=list(ours().take(rows * longer)))
    return check


@pytest.fixture(scope="module")
def data_read_once():
    """River reads a file anew for each of its checks; here each file is read once, and its rows are copied."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (datasets.Phishing, datasets.ImageSegments, datasets.TrumpApproval):
            rows = list(kind())
            patch.setattr(kind, "__iter__", lambda self, rows=rows: ((dict(x), y) for x, y in rows))
        yield


@pytest.mark.parametrize("model", MODELS)
def test_river_checks(model, data_read_once):
    gc.freeze()  # checks of memory collect garbage: among what was there before, that would be most of their time
    for check in checks.yield_checks(model):
        with case(check.__name__):
            random.seed(0)  # by which some checks shuffle
            on_data_at_hand(model, check)(model.clone())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_no_river_check_is_skipped(kind):
    assert not kind(**next(iter(kind._unit_test_params())))._unit_test_skips()


# ------------------------------------------------------------------------------------------------------- copies


DUPLICATES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "clone": lambda model: model.clone(include_attributes=True),
    "in a pipeline": lambda model: copy.deepcopy(compose.Pipeline(rm.StandardScaler(), model))[-1],
}


@forms
def test_a_copy_goes_on_bit_for_bit(form):
    model = trained(form.make())
    untouched, twins = pickle.dumps(model), {}
    for name, duplicate in DUPLICATES.items():
        with case(name):
            twins[name] = duplicate(model)
            assert state(twins[name]) == state(model)
            trained(twins[name], rounds=50)
            assert pickle.dumps(model) == untouched
    trained(model, rounds=50)
    for name, twin in twins.items():
        with case(name):
            assert state(twin) == state(model)


@forms
def test_a_clone_is_fresh_and_equal(form):
    model = trained(form.make())
    assert state(model.clone()) == state(form.make())
    assert repr(model.clone()) == repr(model)
    assert repr(model).startswith(type(model).__name__)


GO_ON = """
import pickle, sys
from tests.helpers.cases import case
from tests.helpers.rounds import state, trained
models = pickle.load(sys.stdin.buffer)
pickle.dump([state(trained(model, seed=1)) for model in models], sys.stdout.buffer)
"""


def test_a_pickle_goes_on_in_another_process():
    models = [trained(form.make()) for form in FORMS] + [rm.PAClassifier(max_features=3, intercept=True)]
    other = subprocess.run(
        [sys.executable, "-c", GO_ON], input=pickle.dumps(models), capture_output=True, check=True, timeout=DEADLINE
    )
    assert pickle.loads(other.stdout) == [state(trained(model, seed=1)) for model in models]


@forms
def test_predict_learn_one_is_the_two_calls(form):
    two, fused = form.make(), form.make()
    for x, y in stream_for(two):
        predicted = two.predict_one(x)
        two.learn_one(x, y)
        assert fused.predict_learn_one(x, y) == predicted
    assert state(two) == state(fused)


@forms
def test_predict_score_one_is_the_two_calls(form):
    model = form.make()
    for x, y in stream_for(model):
        assert model.predict_score_one(x) == (model.predict_one(x), model.score_one(x))
        model.learn_one(x, y)


class Careful(rm.PAClassifier):
    """A user's own default, and a word added to a method."""

    def __init__(self, C=0.01):
        super().__init__(C, mode=2)

    @classmethod
    def _unit_test_params(cls):
        yield {"C": 0.5}

    def predict_one(self, x):
        return super().predict_one(x) if self.n_seen > 3 else None


def test_a_named_estimator_may_be_subclassed():
    for check in checks.yield_checks(Careful()):
        if "predict" not in check.__name__:  # those compare two ways to predict, of which this class changes one
            check(Careful())
    model = trained(Careful())
    assert state(model) == state(trained(rm.PAClassifier(0.01, mode=2)))
    for twin in (model.clone(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(twin) is Careful and twin.C == 0.01
    model.mutate({"C": 0.5})
    assert (model.C, model.rule) == (0.5, rm.PA2(0.5))


def test_a_snapshot_of_the_scaler_goes_on_too():
    scaler = rm.StandardScaler()
    for x, _ in stream():
        scaler.learn_one(x)
    for twin in (copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler)), scaler.clone(include_attributes=True)):
        assert state(twin) == state(scaler)
        twin.learn_one({"f0": 3.0, "new": 1.0})
        assert "new" not in scaler.means


# --------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rm.PAClassifier(C=0.0), "`C` must be a finite number above 0, not 0.0"),
        (lambda: rm.PAClassifier(C=math.nan), "`C`"),
        (lambda: rm.PAClassifier(C="x"), "`C` must be a finite number above 0, not 'x'"),
        (lambda: rm.PAClassifier(mode=3), "`mode` must be 0"),
        (lambda: rm.PARegressor(eps=-1.0), "`eps`"),
        (lambda: rm.Perceptron(lr=-1.0), "`lr`"),
        (lambda: rm.Perceptron(classes=["a"]), "`classes`"),
        (lambda: rm.Perceptron(classes=["a", "a"]), "`classes`"),
        (lambda: rm.Perceptron(classes=[True, "a"]), "do not mix"),
        (lambda: rm.Perceptron(max_features=0), "`max_features`"),
    ],
)
def test_parameters_out_of_range_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_what_shapes_the_memory_is_fixed_once_made():
    model = rm.PAClassifier()
    with pytest.raises(AttributeError, match="clone"):
        model.intercept = True
    with pytest.raises(ValueError, match="not a mutable attribute"):
        model.mutate({"intercept": True})
    with pytest.raises(ValueError, match="not an attribute"):
        model.mutate({"learning_rate": True})
    assert model.clone({"intercept": True}).intercept
    with pytest.raises(ValueError, match="not a mutable attribute"):
        rm.StandardScaler().mutate({"with_std": False})


def test_what_says_how_to_learn_may_be_mutated_in_mid_stream():
    model = rm.StandardScaler() | rm.PAClassifier(C=0.1, intercept=False)
    learner = model["PAClassifier"]
    learner.learn_one({"a": 1.0}, True)
    model.mutate({"PAClassifier": {"C": 0.5}})
    learner.learn_one({"a": 1.0}, True)
    assert dict(learner.weights) == {"a": 0.6}  # 0.1, and then min(0.5, 1 - 0.1)
    with pytest.raises(ValueError, match="`C` must be a finite number above 0, not -1"):
        model.mutate({"PAClassifier": {"C": -1.0}})
    assert learner.C == 0.5
    assert learner.clone().C == 0.5
    assert pickle.loads(pickle.dumps(learner)).C == 0.5
    learner.C = 0.25  # the way River's mutate goes
    assert learner.rule == rm.PA1(0.25)


def test_a_mutated_regressor_keeps_what_it_learned():
    model = rm.PARegressor(mode=0, eps=0.5)
    model.learn_one({"a": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0}) == 1.5
    model.mutate({"eps": 0.0})
    assert model.predict_one({"a": 1.0}) == 1.5
    model.learn_one({"a": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0}) == 2.0


@forms
def test_what_is_mutable_is_a_parameter_and_mutating_it_to_itself_changes_nothing(form):
    model, twin = trained(form.make()), trained(form.make())
    assert model._mutable_attributes <= set(model._get_params())
    model.mutate({name: getattr(model, name) for name in model._mutable_attributes})
    assert repr(model) == repr(twin)
    assert state(trained(model, seed=1)) == state(trained(twin, seed=1))


def test_a_rule_may_be_exchanged():
    model = rm.MarginClassifier(rm.PA1(0.1), intercept=False)
    model.learn_one({"a": 1.0}, True)
    model.mutate({"rule": rm.PA()})
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": pytest.approx(1.0)}
    with pytest.raises(TypeError, match="`rule` must be a rule"):
        model.mutate({"rule": 0.5})


def test_a_dict_changes_parameters_of_a_part():
    """In clone and mutate as River has them for its own parts, and in grids."""
    model = rm.MarginClassifier(rm.PA1(0.1), intercept=False)
    model.learn_one({"a": 1.0}, True)
    model.mutate({"rule": {"C": 0.5}})
    assert model.rule == rm.PA1(0.5) and dict(model.weights) == {"a": 0.1}
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": pytest.approx(0.6)}
    assert model.clone({"rule": {"C": 0.25}}).rule == rm.PA1(0.25)
    kernel = rm.KernelPAClassifier(rm.RBF(gamma=1.0), C=0.1).clone({"kernel": {"gamma": 2.0}})
    assert kernel.kernel == rm.RBF(gamma=2.0) and kernel.C == 0.1
    nested = rm.MarginClassifier(rm.PA1(), rm.Kernel(rm.RBF(), rm.OldestRemoval(5)))
    nested = nested.clone({"space": {"kernel": {"gamma": 3.0}, "budget": {"size": 7}}})
    assert (nested.space.kernel, nested.space.budget) == (rm.RBF(gamma=3.0), rm.OldestRemoval(7))
    grid = utils.expand_param_grid(rm.StandardScaler() | model, {"MarginClassifier": {"rule": {"C": [0.1, 1.0]}}})
    assert [each["MarginClassifier"].rule for each in grid] == [rm.PA1(0.1), rm.PA1(1.0)]
    for change in (model.mutate, model.clone):
        with pytest.raises(ValueError, match="`PA1` has no parameter `c`; its parameters are `C`"):
            change({"rule": {"c": 1.0}})
        with pytest.raises(ValueError, match="`C` must be a finite number above 0, not -1"):
            change({"rule": {"C": -1.0}})
    assert model.rule == rm.PA1(0.5)


@pytest.mark.parametrize(
    ("wrap", "name"),
    [(rm.Calibrated, "classifier"), (rm.SelectiveSampler, "classifier"), (rm.Averaged, "learner")],
)
def test_a_model_within_another_is_shown_and_cloned_with_its_parameters(wrap, name):
    model = wrap(rm.PAClassifier(C=0.3))
    model.learn_one({"a": 1.0}, True)
    assert f"  {name}=PAClassifier (\n    C=0.3\n    mode=1\n" in repr(model)
    assert repr(wrap(rm.PAClassifier(C=0.2))) != repr(model)
    changed = model.clone({name: {"C": 0.5}})
    assert getattr(changed, name).C == 0.5 and getattr(changed, name).n_seen == 0 and getattr(model, name).C == 0.3
    pipeline = rm.StandardScaler() | model
    grid = utils.expand_param_grid(pipeline, {wrap.__name__: {name: {"C": [0.1, 1.0]}}})
    assert [getattr(each[-1], name).C for each in grid] == [0.1, 1.0]
    assert "\n      C=0.3\n" in repr(pipeline)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        model.clone({name: {"c": 0.5}})


# --------------------------------------------------------------------------------------------------- signatures

WORDS = r"(?u)\b\w[\w\-]+\b"
CONSTRUCTORS = {
    rm.Perceptron: "(lr=1.0, *, tie_update=True, classes=None, "
    "class_weight=None, rivals='max', intercept=True, max_features=None)",
    rm.AveragedPerceptron: "(lr=1.0, *, burn_in=0, half_life=None, tie_update=True, classes=None, "
    "class_weight=None, intercept=True, "
    "max_features=None)",
    rm.MarginPerceptron: "(margin=1.0, *, lr=0.03, classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.PNormPerceptron: "(p=4, *, lr=1.0, tie_update=True, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.Winnow: "(theta, *, beta=2.0, demotion='divide', classes=None, "
    "class_weight=None, intercept=False, max_features=None)",
    rm.BalancedWinnow: "(beta=1.5, *, theta=1.0, classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.VotedPerceptron: "(lr=1.0, *, tie_update=True, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.PocketPerceptron: "(ratchet=True, *, window=200, lr=1.0, tie_update=True, classes=None, "
    "class_weight=None, intercept=True, "
    "max_features=None)",
    rm.ShiftingPerceptron: "(lam=2.0, *, tie_update=True, classes=None, intercept=True, max_features=None)",
    rm.PAClassifier: "(C=0.01, *, mode=1, exact=False, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.AveragedPAClassifier: "(C=0.1, *, mode=1, burn_in=0, half_life=None, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.PAMultiLabelClassifier: "(C=1.0, *, mode=1, classes=None, intercept=True, max_features=None)",
    rm.PAOneClass: "(C=1.0, *, mode=1, eps=1.0, learn_radius=False, max_features=None)",
    rm.StructuredPA: "(phi, decode, cost=None, *, decode_cost=None, C=1.0, mode=1, cost_scale='sqrt')",
    rm.SequenceTagger: "(C=1.0, *, mode=1, max_loss=False, cost_scale='sqrt', tags=None)",
    rm.MIRAClassifier: "(C=0.01, *, best=1, original=False, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.PARegressor: "(C=1.0, *, mode=2, eps=0.0, intercept=True, max_features=None)",
    rm.ROMMAClassifier: "(*, aggressive=True, tie_update=True, classes=None, intercept=True, max_features=None)",
    rm.ALMAClassifier: f"(alpha=0.5, *, p=2, B=None, C={2**0.5}, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.AdalineClassifier: "(lr=0.1, *, normalised=True, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.AdalineRegressor: "(lr=0.5, *, normalised=True, intercept=True, max_features=None)",
    rm.OGDClassifier: "(lr=0.3, *, loss='hinge', schedule='1/sqrt(t)', radius=None, classes=None, "
    "class_weight=None, intercept=True, "
    "max_features=None)",
    rm.OGDRegressor: "(lr=1.0, *, loss='squared', quantile=0.5, eps=0.0, schedule='1/sqrt(t)', radius=None, "
    "intercept=True, max_features=None)",
    rm.PegasosClassifier: "(lam=0.2, *, project=True, classes=None, "
    "class_weight=None, intercept=True, max_features=None)",
    rm.CoinBettingClassifier: "(loss='logistic', *, classes=None, class_weight=None, intercept=True, "
    "max_features=None)",
    rm.CoinBettingRegressor: "(eps=0.0, *, intercept=True, max_features=None)",
    rm.FTRLProximalClassifier: "(alpha=0.1, *, beta=1.0, l1=0.0, l2=0.0, loss='logistic', classes=None, "
    "class_weight=None, "
    "intercept=True, max_features=None)",
    rm.AdaGradRDAClassifier: "(lr=0.1, *, delta=1.0, lam=0.0, loss='hinge', classes=None, "
    "class_weight=None, intercept=True, "
    "max_features=None)",
    rm.FOBOSClassifier: "(lr=0.3, *, lam=0.001, loss='hinge', schedule='1/sqrt(t)', delta=None, classes=None, "
    "class_weight=None, "
    "intercept=True, max_features=None)",
    rm.SelectiveSampler: "(classifier, *, c=1.0)",
    rm.RandomizedSelectiveSampler: "(classifier, *, b=1.0, seed=None)",
    rm.MarginSampler: "(classifier, *, margin=1.0)",
    rm.ShareSampler: "(classifier, *, share=0.1, seed=None)",
    rm.AutoClassifier: "(portfolio=None, *, eta=0.5, share=0.001)",
    rm.CON: "(concepts, *, strict=False)",
    rm.HAL: "(concepts, *, weights=None, strict=False)",
    rm.ELIM: "(classes=None, *, flip=True)",
    rm.Hedge: "(portfolio=None, *, eta=None, horizon=None, randomised=False, seed=0)",
    rm.VersionSpace: "(dimension, *, method='auto', samples=200, seed=0)",
    rm.EllipsoidClassifier: "(dimension=None, *, cut='deep', margin=0.0, radius=1.0, classes=None, intercept=True, "
    "max_dimension=5000)",
    rm.VolumetricCenterClassifier: "(kappa=0.25, *, eps=0.01, classes=None, intercept=True, max_dimension=500)",
    rm.CenterOfGravityClassifier: "(method='auto', *, samples=200, seed=0, classes=None, intercept=True, "
    "max_dimension=100)",
    rm.AutoRegressor: "(portfolio=None, *, eta=1.0, share=0.001)",
    rm.Calibrated: "(classifier, *, half_life=1000)",
    rm.Averaged: "(learner, *, burn_in=0)",
    rm.AveragedRegressor: "(learner, *, burn_in=0)",
    rm.Conservative: "(learner)",
    rm.Watched: "(learner, comparator=None, *, constant=0.0)",
    rm.OnlineToBatch: "(learner, *, penalty='bernstein', delta=0.05, max_hypotheses=100)",
    rm.OnlineToPAC: "(learner, *, epsilon=0.05, delta=0.05, mistake_bound=None)",
    rm.MarginClassifier: "(rule, space=None, *, classes=None, "
    "class_weight=None, rivals='max', intercept=None, max_features=None)",
    rm.AROWClassifier: "(r=1.0, *, covariance='diagonal', a=1.0, max_dimension=5000, half_life=None, "
    "classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.NAROWClassifier: "(b=1.0, *, covariance='diagonal', a=1.0, max_dimension=5000, half_life=None, "
    "classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.NHERDClassifier: "(C=0.1, *, covariance='diagonal', a=1.0, max_dimension=5000, half_life=None, classes=None, "
    "class_weight=None, "
    "intercept=True, max_features=None)",
    rm.CWClassifier: "(eta=0.7, *, phi=None, form='deviation', covariance='diagonal', a=1.0, "
    "max_dimension=5000, half_life=None, "
    "classes=None, intercept=True, max_features=None)",
    rm.SCWClassifier: "(C=0.1, *, mode=1, eta=None, phi=None, covariance='diagonal', a=1.0, max_dimension=5000, "
    "half_life=None, "
    "classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.IELLIPClassifier: "(b=0.3, *, c=0.1, tie_update=True, covariance='diagonal', a=1.0, max_dimension=5000, "
    "half_life=None, "
    "classes=None, intercept=True, max_features=None)",
    rm.SecondOrderPerceptron: "(*, tie_update=True, every_label=False, covariance='diagonal', a=1.0, "
    "max_dimension=5000, half_life=None, classes=None, class_weight=None, intercept=True, max_features=None)",
    rm.KernelSecondOrderPerceptron: "(kernel=None, *, a=1.0, tie_update=True, every_label=False, max_supports=5000, "
    "classes=None, class_weight=None, intercept=False, max_features=None)",
    rm.AROWRegressor: "(r=1.0, *, eps=0.0, covariance='diagonal', a=100.0, max_dimension=5000, half_life=None, "
    "intercept=True, "
    "max_features=None)",
    rm.KernelPerceptron: "(kernel=None, *, budget=1000, lr=1.0, tie_update=True, classes=None, class_weight=None, "
    "intercept=False, max_features=None)",
    rm.KernelPAClassifier: "(kernel=None, *, C=0.3, mode=1, budget=1000, classes=None, class_weight=None, "
    "intercept=False, max_features=None)",
    rm.KernelPARegressor: "(kernel=None, *, C=1.0, mode=2, eps=0.0, budget=1000, intercept=False, max_features=None)",
    rm.RandomizedBudgetPerceptron: "(kernel=None, *, budget=300, seed=0, classes=None, intercept=False, "
    "max_features=None)",
    rm.Forgetron: "(kernel=None, *, budget=300, classes=None, intercept=False, max_features=None)",
    rm.Projectron: "(kernel=None, *, eta=0.1, plus_plus=False, classes=None, intercept=False, max_features=None)",
    rm.BOGDClassifier: "(kernel=None, *, lr=0.5, lam=0.001, budget=300, classes=None, "
    "class_weight=None, intercept=False, "
    "max_features=None)",
    rm.BPAClassifier: "(kernel=None, *, C=0.3, budget=300, classes=None, "
    "class_weight=None, intercept=False, max_features=None)",
    rm.FOGDClassifier: "(gamma=None, *, components=300, lr=0.5, loss='hinge', seed=0, classes=None, class_weight=None, "
    "intercept=False, max_features=None)",
    rm.MarginRegressor: "(rule, space=None, *, eps=0.0, intercept=None, max_features=None)",
    rm.LogLinearClassifier: "(lr=0.03, *, schedule='constant', l2=0.0, phi=None, classes=None, intercept=True)",
    rm.DiscriminativeRidge: "(beta=1.0, *, alpha=0.1, recursive=False, forgetting=1.0)",
    rm.BayesMixture: "(model, M=50, *, sigma=0.1, delta=1.0, seed=0)",
    rm.OneStepAdaptation: "(model, loss=None, *, optimizer='adagrad', lr=0.01, n_steps=1)",
    rm.OnlineMLPClassifier: "(hidden=(16,), *, lr=0.05, activation='tanh', classes=None, seed=0)",
    rm.OnlineMLPRegressor: "(hidden=(16,), *, lr=0.02, activation='tanh', scale_target=True, seed=0)",
    rm.HedgeBackpropClassifier: "(layers=3, width=32, *, lr=0.1, beta=0.99, s=0.2, activation='tanh', "
    "rescale_losses=False, classes=None, seed=0)",
    rm.StandardScaler: "(with_std=True, *, half_life=None)",
    rm.BagOfWords: "(on=None, *, strip_accents=True, lowercase=True, stop_words=None, "
    f"tokenizer_pattern={WORDS!r}, ngram_range=(1, 1))",
    rm.TFIDF: "(normalize=True, *, on=None, strip_accents=True, lowercase=True, stop_words=None, "
    f"tokenizer_pattern={WORDS!r}, ngram_range=(1, 1))",
    rm.Interactions: "(degree=2, *, interaction_only=False, pairs=None)",
    rm.FeatureHasher: "(n_features=1048576, *, alternate_sign=True)",
    rm.OneHotEncoder: "(features=None)",
}
LEARNING = {
    "learn_one": "(self, x, y, w=1.0)",
    "predict_learn_one": "(self, x, y, w=1.0)",
    "predict_one": "(self, x)",
    "score_one": "(self, x)",
    "predict_score_one": "(self, x)",
    "check_label": "(self, y)",
    "learn_many": "(self, X, y, w=1.0)",
    "predict_many": "(self, X)",
    "learn_csr": "(self, X, y, w=1.0)",
    "predict_csr": "(self, X)",
}
TRANSFORMING = dict.fromkeys(["learn_one", "transform_one"], "(self, x)")
SCALING = TRANSFORMING | dict.fromkeys(["learn_many", "transform_many"], "(self, X)")
ASKING = {
    "query_one": "(self, x)",
    "learn_one": "(self, x, y, w=1.0)",
    **dict.fromkeys(["predict_one", "predict_proba_one", "score_one"], "(self, x)"),
    "check_label": "(self, y)",
}
CALIBRATING = {name: signature for name, signature in ASKING.items() if name != "query_one"}
WITHOUT_LABELS = LEARNING | {
    "learn_one": "(self, x, y=None, w=1.0)",
    "predict_learn_one": "(self, x, y=None, w=1.0)",
    "learn_many": "(self, X, y=None, w=1.0)",
    "learn_csr": "(self, X, y=None, w=1.0)",
}
CLASSIFYING = LEARNING | {"predict_proba_one": "(self, x)", "predict_proba_many": "(self, X)"}
OF_RIVER = {"clone": "(self, new_params=None, include_attributes=False)"}


def signature(callable):
    """Names, kinds and defaults."""
    found = inspect.signature(callable)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


FINITE = {"learn_one": "(self, x, y)", "predict_one": "(self, x)"}
STRUCTURED = {"learn_one": "(self, x, y)", "predict_one": "(self, x)", "score_one": "(self, x, y)"}
AUTOMATIC = {
    "learn_one": "(self, x, y, w=1.0)",
    "predict_one": "(self, x)",
    "score_one": "(self, x)",
    "check_label": "(self, y)",
}
PLAIN = {"learn_one": "(self, x, y)", "predict_one": "(self, x)"}
UNWEIGHTED = AUTOMATIC | {"learn_one": "(self, x, y)", "predict_proba_one": "(self, x)"}
METHODS = {
    Structured: STRUCTURED,
    FiniteClass: FINITE,
    rm.VersionSpace: {"add": "(self, x, y=1.0)", "contains": "(self, w)"},
    TwoLabelClassifier: UNWEIGHTED,
    rm.Hedge: AUTOMATIC,
    rm.AutoClassifier: AUTOMATIC,
    rm.AutoRegressor: AUTOMATIC,
    rm.Calibrated: CALIBRATING,
    rm.LogLinearClassifier: CALIBRATING,
    rm.DiscriminativeRidge: PLAIN | {"score_one": "(self, x)"},
    rm.BayesMixture: CALIBRATING | PLAIN,
    rm.OneStepAdaptation: PLAIN,
    rm.OnlineMLPClassifier: CALIBRATING,
    rm.OnlineMLPRegressor: AUTOMATIC,
    rm.HedgeBackpropClassifier: CALIBRATING,
    rm.Averaged: CALIBRATING,
    rm.AveragedRegressor: AUTOMATIC,
    rm.Conservative: CALIBRATING,
    rm.Watched: CALIBRATING | {"learn_one": "(self, x, y)"},
    rm.OnlineToBatch: CALIBRATING,
    rm.OnlineToPAC: CALIBRATING,
    base.MiniBatchTransformer: SCALING,
    base.Transformer: TRANSFORMING,
    base.Classifier: CLASSIFYING,
    base.AnomalyDetector: WITHOUT_LABELS,
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_signatures_say_what_a_method_takes(kind):
    methods = next((methods for base, methods in METHODS.items() if issubclass(kind, base)), LEARNING)
    methods = ASKING if hasattr(kind, "query_one") else methods
    assert signature(kind) == CONSTRUCTORS[kind]
    assert {name: signature(getattr(kind, name)) for name in methods | OF_RIVER} == methods | OF_RIVER


def test_methods_can_be_called_by_keyword():
    model = compose.Pipeline(rm.StandardScaler(), rm.PAClassifier(C=1.0, intercept=False))
    model.learn_one(x={"a": 1.0}, y=True)
    assert model.predict_one(x={"a": 1.0}) is True
    learner = model[-1]
    learner.learn_one(x={"a": 1.0}, y=True, w=2.0)
    assert learner.predict_learn_one(x={"a": 1.0}, y=False, w=1.0) is True
    assert learner.score_one(x={}) == 0.0
    assert learner.check_label(y=False) is None


# ----------------------------------------------------------------------------------------------- sample weights

WEIGHTED = {"C", "lr"}


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_sample_weight_multiplies_C_or_lr_or_is_refused(learner):
    model = learner.make()
    label = labels_of(model)[-1]
    if not model.rule.weighted:
        for weight in (2.0, 0.0):
            with pytest.raises(ValueError, match="takes no sample weights"):
                model.learn_one({"a": 0.1}, label, w=weight)
        assert model.n_seen == 0
        return
    if type(model.rule) in BY_FORMULA:
        return
    (parameter,) = WEIGHTED & set(model.rule.parameters)
    weighted, scaled = learner.make(**{parameter: 0.1}), learner.make(**{parameter: 0.25})
    for x, y in stream_for(model):
        weighted.learn_one(x, y, w=2.5)
        scaled.learn_one(x, y)
    for x, _ in stream_for(model, seed=1, rounds=20):
        assert weighted.score_one(x) == pytest.approx(scaled.score_one(x), rel=1e-9, abs=1e-9)
    assert (weighted.n_updates, weighted.n_mistakes) == (scaled.n_updates, scaled.n_mistakes)


@pytest.mark.parametrize("form", [form for form in FORMS if form.make().rule.weighted], ids=str)
def test_a_sample_weight_of_0_changes_nothing_but_the_counts(form):
    model = trained(form.make())
    before, updates = model.__getstate__()["space"], model.n_updates
    for x, y in stream_for(model, seed=1, rounds=20):
        model.learn_one(x | {"new": 1.0}, y, w=0.0)
    assert pickle.dumps(model.__getstate__()["space"]) == pickle.dumps(before)
    assert (model.n_seen, model.n_updates) == (220, updates)


@forms
def test_a_sample_weight_out_of_range_is_refused(form):
    model = trained(form.make())
    before = pickle.dumps(model)
    for weight in (-1.0, math.nan, math.inf):
        with case(weight):
            with pytest.raises(ValueError, match="`w` must be a finite number of at least 0"):
                model.learn_one({"a": 1.0}, labels_of(model)[0], w=weight)
            assert pickle.dumps(model) == before
    for weight in ("2", None):
        with pytest.raises(TypeError, match=f"`w` must be a number, the sample weight, not {weight!r}"):
            model.learn_one({"a": 1.0}, labels_of(model)[0], w=weight)
        assert pickle.dumps(model) == before


def test_rivers_union_takes_the_scaler():
    ours = (compose.Select("f0", "f1") | rm.StandardScaler()) + (compose.Select("f2") | rm.StandardScaler(False))
    rivers = (compose.Select("f0", "f1") | preprocessing.StandardScaler()) + (
        compose.Select("f2") | preprocessing.StandardScaler(with_std=False)
    )
    for x, _ in stream(rounds=100):
        x = dict.fromkeys(("f0", "f1", "f2"), 0.0) | x
        ours.learn_one(x)
        rivers.learn_one(x)
        assert ours.transform_one(x) == pytest.approx(rivers.transform_one(x), rel=1e-9, abs=1e-9)


EMPTY = {
    rm.Interactions: "pairs",
    rm.OneHotEncoder: "features",
    rm.PAMultiLabelClassifier: "classes",
    rm.SequenceTagger: "tags",
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_parameter_that_is_an_empty_tuple_can_be_cloned(kind):
    assert type(kind(**{EMPTY[kind]: ()}).clone()) is kind


@forms
def test_the_largest_weight_leaves_a_model_that_can_be_saved(form):
    model, (x, y) = form.make(), next(iter(stream_for(form.make())))
    for w in 3 * [LARGEST_WEIGHT]:
        try:
            model.learn_one(x, y, w=w)
        except (ValueError, OverflowError):
            return  # weights are refused, or this one is
    model.predict_one(x)
    again = snapshot.loads(snapshot.dumps(model))
    assert state(again) == state(model)


def test_larger_weights_are_refused():
    with pytest.raises(ValueError, match=r"`w` must be a finite number of at least 0 and at most 1e\+100, not 1e\+101"):
        rm.PAClassifier().learn_one({"a": 1.0}, True, w=1e101)


@pytest.mark.parametrize(
    ("river", "ours"),
    [
        (linear_model.LogisticRegression(), rm.OGDClassifier(lr=0.01, loss="logistic", schedule="constant")),
        (linear_model.LinearRegression(), rm.OGDRegressor(lr=0.02, loss="squared", schedule="constant")),
    ],
)
def test_regressions_of_river_have_a_counterpart(river, ours):
    draw = random.Random(1)
    for _ in range(500):
        x = {"a": draw.gauss(0, 1), "b": draw.random()}
        y = x["a"] > x["b"] if isinstance(ours, base.Classifier) else 2 * x["a"] - x["b"]
        river.learn_one(x, y)
        ours.learn_one(x, y)
    assert ours.weights == pytest.approx({**river.weights, rm.INTERCEPT: river.intercept}, rel=1e-9)


@pytest.mark.parametrize(
    "kind",
    [
        rm.Perceptron,
        rm.PNormPerceptron,
        rm.ShiftingPerceptron,
        rm.ROMMAClassifier,
        rm.KernelPerceptron,
        rm.SecondOrderPerceptron,
        rm.KernelSecondOrderPerceptron,
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_bound_says_what_holds_without_updates_on_ties(kind):
    more = {"aggressive": False} if kind is rm.ROMMAClassifier else {}
    model = kind(tie_update=False, intercept=False, **more)
    for _ in range(50):
        model.learn_one({"a": 1.0}, True)
    assert (model.n_mistakes, model.n_updates) == (50, 0)
    notes = kind.__doc__.partition("Notes")[2].partition("Examples")[0]
    assert "tie_update=False" in notes and "`n_updates`" in notes
