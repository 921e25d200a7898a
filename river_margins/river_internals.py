"""Every private name of River that this library uses, with the place, the reason and the versions it was tried with.

River's own estimators override some of these names, and its checks read them, so an estimator needs them too. The
others save time or have no public counterpart. `tests/river_margins/test_river_internals.py` fails by name when a
release of River no longer has what is used here, and when a file uses a private name that is not in this table.

Compiled code uses the names of a pipeline directly: a call into this file would cost as much as a step of the pipeline.
"""

from typing import Any, NamedTuple

from river import base

TRIED_VERSIONS = ("0.26.1",)


class Use(NamedTuple):
    """The use of one private name.

    Attributes
    ----------
    owner
        The class of River that has the name, as `module.Class`.
    where
        The files that use it, or folders whose files do.
    why
        The reason.
    """

    owner: str
    where: tuple[str, ...]
    why: str


_FAMILIES = "river_margins/families"
_ADAPTATION, _NETWORKS = "river_margins/adaptation", "river_margins/networks"
_CONCEPTS, _VERSION_SPACE = "river_margins/concepts", "river_margins/version_space"
_CONVERSIONS, _THEORY = "river_margins/conversions", "river_margins/theory"
_ROOMS = (_ADAPTATION, _CONCEPTS, _NETWORKS, _VERSION_SPACE)
_PIPELINE = "river_margins/pipeline.pyx"
_SNAPSHOT = "river_margins/snapshot/river_steps.py"
_STEP_STATE = "a snapshot writes what a step has learned, and River has no public way to read it"

USES: dict[str, Use] = {
    "_get_params": Use(
        "base.Base",
        ("river_margins/core/estimator.pyx", "river_margins/river_internals.py"),
        "River's clone reads the parameters of an estimator by it, and so do pickles here",
    ),
    "_mutable_attributes": Use(
        "base.Base",
        (_FAMILIES, *_ROOMS, "river_margins/core/estimator.pyx", "river_margins/snapshot/changes.py"),
        "overridden, and read: River's `mutate` changes only the attributes that it names",
    ),
    "_wrapped_model": Use(
        "base.Wrapper",
        ("river_margins/families/auto.py", _PIPELINE),
        "whether an expert takes sample weights, and a pipeline data frames, depends on the models that are wrapped",
    ),
    "_unit_test_params": Use(
        "base.Base",
        (_FAMILIES, *_ROOMS, _CONVERSIONS, _THEORY, "river_margins/preprocessing"),
        "overridden: River's `check_estimator` makes estimators with these parameters",
    ),
    "_is_stochastic": Use(
        "base.Base",
        ("river_margins/river_internals.py",),
        "tells whether an estimator draws at random without a seed, so that a replay would differ",
    ),
    "_multiclass": Use(
        "base.Classifier",
        (_FAMILIES, _ADAPTATION, _NETWORKS, _THEORY),
        "overridden: River's checks and wrappers ask a classifier whether it takes more than two labels",
    ),
    "_more_tags": Use(
        "base.Estimator",
        (_FAMILIES, _CONVERSIONS, "river_margins/preprocessing"),
        "overridden: River's checks leave out data that an estimator with these tags does not take",
    ),
    "_tags": Use(
        "base.Estimator",
        ("river_margins/river_internals.py",),
        "tells whether the examples of an estimator are texts, which a record is not",
    ),
    "_ask_for_label": Use(
        "active.base.ActiveLearningClassifier",
        (_FAMILIES,),
        "overridden: the one abstract method of a sampler for River's evaluation",
    ),
    "_plan": Use(
        "compose.Pipeline",
        (_PIPELINE, _SNAPSHOT),
        "the steps with their kinds, found once: to find them in each round takes longer than the round",
    ),
    "_transform_many": Use(
        "compose.Pipeline",
        (_PIPELINE,),
        "overridden: all methods that predict for frames call it, and a step that takes no frames is named before",
    ),
    "_build_plan": Use("compose.Pipeline", (_PIPELINE,), "makes `_plan` after a step was added"),
    "_LEARN_UNSUPERVISED_DURING_PREDICT": Use(
        "compose.Pipeline",
        (_PIPELINE,),
        "set by `compose.learn_during_predict`, which the compiled pipeline leaves to River",
    ),
    "_inference_transformers": Use("compose.Pipeline", (_SNAPSHOT,), "derived from the steps: no part of a snapshot"),
    "_last_step_cached": Use("compose.Pipeline", (_SNAPSHOT,), "derived from the steps: no part of a snapshot"),
    "_last_step_params": Use("compose.Pipeline", (_SNAPSHOT,), "derived from the steps: no part of a snapshot"),
    "_zero_dict": Use("preprocessing.OneHotEncoder", (_SNAPSHOT,), _STEP_STATE),
    "_seed": Use("preprocessing.FeatureHasher", (_SNAPSHOT,), _STEP_STATE),
    "_latest": Use("preprocessing.PreviousImputer", (_SNAPSHOT,), _STEP_STATE),
    "_reserved_category_codes": Use(
        "preprocessing.OrdinalEncoder", (_SNAPSHOT,), "derived from the parameters: no part of a snapshot"
    ),
    "_mean": Use("stats.Mean", (_SNAPSHOT,), _STEP_STATE),
    "_S": Use("stats.Var", (_SNAPSHOT,), _STEP_STATE),
    "_window_size": Use("utils.Rolling", (_SNAPSHOT,), _STEP_STATE),
}


def parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that an estimator was made with, by name."""
    found: dict[str, Any] = estimator._get_params()
    return found


def draws_at_random(estimator: Any) -> bool:
    """Tell whether an estimator draws at random and has no seed."""
    return bool(estimator._is_stochastic)


def reads_texts(estimator: Any) -> bool:
    """Tell whether the examples of an estimator are texts, and not features of which one is a text."""
    # River's `_tags` fails for a `BagOfWords` that names the feature with the text.
    return getattr(estimator, "on", "") is None and base.tags.TEXT_INPUT in estimator._tags
