"""What a run would take, before anything is sent."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo, Shard
from evalmark.judges import Criteria
from evalmark.runs.dry_run.estimate import estimate
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.runs.targets.function import as_target
from evalmark.store import open_store
from evalmark.testing.chat import ScriptedModel


def answer(question):
    return "Oslo"


def planned(judge, *scorers, inputs=range(10)):
    """Cases with these inputs, each judged by these scorers."""
    rows = [Case(id=f"{number}", input=f"question {text}") for number, text in enumerate(inputs)]
    return Plan(
        name="cities",
        sources=(DatasetSource(info=DatasetInfo(name="cities"), read=lambda note: iter(rows)),),
        targets=(as_target(answer),),
        scorers=tuple(ScorerSpec(scorer=scorer, name=f"s{n}", judge=judge) for n, scorer in enumerate(scorers)),
    )


def forecast(plan, **conduct):
    """The forecast of the one model that judges."""
    (found,) = asyncio.run(estimate(plan, RunOptions(**conduct))).models
    return found


SHORT = Criteria(criteria="It names a city.", settings={"max_tokens": 5})
LONG = Criteria(criteria="It says why.")


@pytest.mark.parametrize(
    ("scorers", "calls", "tokens"),
    [
        pytest.param([LONG], 10, 10 * 150, id="nothing is known of the replies"),
        pytest.param([SHORT], 10, 10 * 5, id="all replies have a limit"),
        pytest.param([SHORT, LONG], 20, 10 * 5 + 10 * 150, id="the limit of some replies is not that of the others"),
    ],
)
def test_a_reply_counts_as_long_as_usual_and_no_longer_than_its_limit(scorers, calls, tokens):
    judge = ScriptedModel([])
    found = forecast(planned(judge, *scorers), store=MemoryRunStore())
    assert (found.calls, found.output_tokens) == (calls, tokens)
    assert judge.requests == [], "nothing is sent"


@pytest.mark.parametrize(
    ("replay", "calls", "cached"),
    [("auto", 2, 2), ("strict", 2, 2), ("record", 2, 0), ("off", 3, 0)],
)
def test_what_is_recorded_counts_as_the_run_would_use_it(world, replay, calls, cached):
    settings = Settings(replay=replay)
    judge = ScriptedModel(lambda request: {"reason": "It does.", "answer": "A"})
    plan = planned(judge, LONG, inputs=["one", "two", "one"])
    with open_store(world / "s.db") as store:
        asyncio.run(execute(plan, RunOptions(store=store)))
        found = forecast(plan, store=store, settings=settings)
        assert (found.calls, found.cached) == (calls, cached)
        asked = len(judge.requests)
        asyncio.run(execute(plan, RunOptions(store=store, settings=settings)))
    assert len(judge.requests) - asked == calls - cached, "as foreseen"


def test_a_judge_is_counted_for_each_of_several_targets_whose_answers_nobody_knows():
    def other(question):
        return "Bergen"

    plan = replace(
        planned(ScriptedModel([]), LONG, inputs=["a", "b", "a"]), targets=(as_target(answer), as_target(other))
    )
    assert forecast(plan, store=MemoryRunStore()).calls == 4, (
        "two questions, the third being one of them, to two targets"
    )


def test_shards_are_foreseen_by_what_falls_to_each():
    plan = planned(ScriptedModel([]), LONG, SHORT)
    wanted = replace(plan, sources=plan.sources + planned(None, inputs="abcde").sources)
    found = [
        forecast(wanted, store=MemoryRunStore(), shard=Shard(number=number, of=4)).calls for number in (1, 2, 3, 4)
    ]
    assert found == [8, 8, 8, 6], "15 cases, two judges"
