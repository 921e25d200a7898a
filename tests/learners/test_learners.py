"""Nothing in the list of learners is left over, and nothing is missing from it."""

import re

import pytest
from river import base

import river_margins as rm
from river_margins import spaces
from tests.bounds.guarantees import BOUNDS
from tests.golden.test_golden import ROUNDS
from tests.helpers.paths import ROOT
from tests.learners import FORMS, LEARNERS
from tests.reference.test_reference import PAIRS, RUNS
from tests.river_margins.rules.test_problems import PROBLEMS

TASKS = {"binary", "multiclass", "regression", "multilabel", "one-class"}
KINDS = base.Classifier | base.Regressor | base.MultiLabelClassifier | base.AnomalyDetector


def test_names_are_different():
    assert len({form.name for form in FORMS}) == len(FORMS)


def test_all_worked_rounds_are_used():
    assert {golden for learner in LEARNERS for golden in learner.golden} == set(ROUNDS)


def test_all_runs_of_other_libraries_are_used_once():
    used = [tuple(run.items()) for _, _, run in (pair.values for pair in PAIRS)]
    assert sorted(used) == sorted(tuple(run.items()) for run in RUNS)


@pytest.mark.parametrize("rows", [rows for learner in LEARNERS for rows in learner.references], ids=repr)
def test_a_reference_has_rows(rows):
    assert any(pair.values[1] is rows for pair in PAIRS)


def test_every_problem_is_solved_by_some_learner():
    assert {learner.problem for learner in LEARNERS if learner.problem} == set(PROBLEMS)


def test_every_bound_is_some_learners():
    assert {name for learner in LEARNERS for name in learner.bounds} == set(BOUNDS)


def test_every_section_is_in_the_documentation():
    pages = "".join(page.read_text() for page in sorted((ROOT / "docs").glob("algorithms*.md")))
    headings = re.findall(r"^#+ ([\d.]+) ", pages, re.MULTILINE)
    assert {section for learner in LEARNERS for section in learner.sections.values()} <= set(headings)


def test_every_exported_estimator_is_listed():
    exported = [getattr(rm, name) for name in rm.__all__]
    inside = {  # which learn as the learners in them; see the tests of their families
        rm.SelectiveSampler,
        rm.RandomizedSelectiveSampler,
        rm.MarginSampler,
        rm.ShareSampler,
        rm.AutoClassifier,
        rm.AutoRegressor,
        rm.Calibrated,
        rm.Averaged,
        rm.AveragedRegressor,
        rm.Conservative,
        rm.Watched,
        rm.OnlineToBatch,
        rm.OnlineToPAC,
    }
    rooms = {getattr(rm, name) for names in rm.ROOMS.values() for name in names}  # see the tests of the rooms
    estimators = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, KINDS)} - inside - rooms
    assert estimators == {type(form.make()) for form in FORMS}


def test_every_space_and_task_is_listed():
    assert {form.space for form in FORMS} == {name.lower() for name in spaces.__all__}
    assert {form.task for form in FORMS} == TASKS
