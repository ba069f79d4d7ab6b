"""A blank expected answer is none: nothing is judged against it, and no model is asked."""

import asyncio
import inspect
from dataclasses import replace
from importlib.metadata import entry_points

import pytest

from evalmark import Case, Example, Factuality, Output
from evalmark.judges import Faithfulness, MetricFile, Pairwise, Rubric
from evalmark.scorers import Contains, ContextRelevance, ContextSufficiency
from evalmark.scoring.judges.measure import Measure
from evalmark.testing.chat import ScriptedModel

from .asking import Angles

CASE = Case(id="1", input="deg=0", contexts=("deg=0",), metadata={"other": "Bergen"})
OUTPUT = Output(value="deg=10", seconds=0.5)
BLANK = ("", "  ", "\n\t", "\u00a0", "\u200b", "\ufeff", " \u200e\u00ad")
KEEPS_BLANKS = {"equals"}
"""`equals` compares data with data: an empty answer may be what is expected."""
NEED_MORE = {"length", "compliance", "rules"}
"""Scorers that need a setting or a prompt under test."""
NEEDS = MetricFile(
    name="agrees",
    description="Does it agree?",
    measure=Measure(kind="scale", description="5 agrees", low=1, high=5),
    needs_example_output=True,
)


def built_in():
    """Every scorer that can be named without settings."""
    for entry in entry_points(group="evalmark.scorers"):
        scorer = entry.load()
        needed = [p for p in inspect.signature(scorer).parameters.values() if p.default is p.empty]
        if not needed and entry.name not in NEED_MORE:
            yield pytest.param(scorer(), id=entry.name)
    yield pytest.param(Rubric(metric=NEEDS), id="a metric file that needs an example output")
    yield pytest.param(Pairwise(against="other"), id="pairwise against a column")


def ask(scorer, case):
    """The score, and how often a judge or an embedding model was asked."""
    judge, embedder = ScriptedModel(['{"reason": "fine", "answer": "C", "score": 5}'] * 9), Angles()
    known = {"case": case, "output": OUTPUT, "judge": judge, "embedder": embedder}
    wanted = inspect.signature(scorer.__call__).parameters
    found = scorer(**{name: value for name, value in known.items() if name in wanted})
    score = asyncio.run(found) if inspect.isawaitable(found) else found
    return score, len(judge.requests) + len(embedder.requests)


@pytest.mark.parametrize("blank", BLANK, ids=repr)
@pytest.mark.parametrize("scorer", list(built_in()))
def test_what_is_unscored_without_an_expected_answer_is_unscored_with_a_blank_one(scorer, blank):
    without, calls = ask(scorer, CASE)
    if without.status != "unscored" or calls or without.name in KEEPS_BLANKS:
        return  # it judges without an expected answer
    score, asked = ask(scorer, replace(CASE, expected=blank))
    assert (score.status, score.value, score.passed, asked) == ("unscored", None, None, 0)
    assert score.reason == without.reason


@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_a_column_with_a_blank_answer_has_none_for_pairwise(blank):
    score, asked = ask(Pairwise(against="other"), replace(CASE, metadata={"other": blank}))
    assert (score.status, asked) == ("unscored", 0)


@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_contexts_that_are_all_blank_are_none(blank):
    for scorer in (Faithfulness(), ContextRelevance(), ContextSufficiency()):
        score, asked = ask(scorer, replace(CASE, contexts=(blank, "")))
        assert (score.status, score.reason, asked) == ("unscored", "there are no contexts", 0)


def test_a_liked_example_takes_the_place_of_a_blank_expected_answer():
    case = replace(CASE, expected=" ", examples=(Example(value="Oslo"),))
    score, asked = ask(Contains(), case)
    assert score.reason == "'Oslo' is not in the output 'deg=10'"
    assert asked == 0
    judge = ScriptedModel(['{"reason": "fine", "answer": "C"}'])
    asyncio.run(Factuality()(case, OUTPUT, judge))
    assert "Oslo" in judge.requests[0].messages[1].content
