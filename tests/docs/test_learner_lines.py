"""The table of lines in docs/adding-a-learner.md is the one that its generator writes, and the lines are counted."""

import inspect
import io
import tokenize

import pytest

import river_margins as rm
from tests.helpers.scripts import script

NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@pytest.fixture(scope="module")
def generator():
    with script("docs/generators/learner_lines.py") as module:
        yield module


def test_the_table_is_up_to_date(generator):
    assert generator.PAGE.read_text() == generator.page(), "write it again: python docs/generators/learner_lines.py"


def test_every_learner_with_a_rule_has_a_row(generator):
    names = {line.split("`")[1] for line in generator.table().splitlines()[2:]}
    assert {"PAClassifier", "AROWRegressor", "Forgetron", "SequenceTagger", "CoinBettingClassifier"} <= names
    assert "AutoClassifier" not in names and "StandardScaler" not in names


@pytest.mark.parametrize("kind", [rm.PAClassifier, rm.SequenceTagger, rm.Forgetron, rm.SelectiveSampler])
def test_lines_of_python_are_those_with_tokens(generator, kind):
    source = inspect.getsource(kind)
    found, previous = set(), tokenize.INDENT
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        docstring = token.type == tokenize.STRING and previous in (tokenize.INDENT, tokenize.NEWLINE, tokenize.DEDENT)
        if token.type not in NO_CODE and not docstring:
            found |= {*range(token.start[0], token.end[0] + 1)}
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            previous = token.type
    assert generator.lines_of(kind) == len(found)


def test_lines_of_cython_by_hand(generator):
    assert generator.lines_of(rm.PA1) == 4  # the class, `respond` and its two lines
    assert generator.lines_of(rm.spaces.DualAveraging) == 10
