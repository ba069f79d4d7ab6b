"""Outputs of an earlier run, judged anew: conversations are judged as they went."""

import asyncio
import json
from dataclasses import replace

import pytest

from evalmark import Case, evaluate
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo, Shard
from evalmark.errors import ConfigError
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.rescore import RescoreRequest, plan_rescore
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.store import open_store

ROWS = [Case(id=f"{number}", input=f"question {number}") for number in range(4)]


class Before:
    """How much was said before the turn."""

    needs_history = True
    name = "before"

    def __call__(self, case):
        return len(case.history)


def answer(question):
    return f"the answer to {question}"


PLAN = Plan(
    name="talk",
    sources=(DatasetSource(info=DatasetInfo(name="talk"), read=lambda note: iter(ROWS)),),
    targets=(as_target(answer),),
    scorers=(ScorerSpec(scorer=Before()),),
)


def carried_out(plan, store, **how):
    """The run, and what was said before each of its turns."""
    run = asyncio.run(execute(plan, RunOptions(store=store, **how)))
    return run, {result.trial.case.id: result.scores[0].raw for result in run.results}


@pytest.fixture
def store(world):
    with open_store(world / "s.db") as store:
        yield store


def test_a_rescored_conversation_that_is_taken_up_again_knows_all_that_was_said(store):
    earlier, said = carried_out(PLAN, store)
    assert said == {"0": 0, "1": 2, "2": 4, "3": 6}
    again = replace(PLAN, rescored=earlier)
    begun, first = carried_out(again, store, limit=2)
    assert first == {"0": 0, "1": 2}
    assert carried_out(again, store, resume=begun.id)[1] == said


def test_some_turns_of_a_rescored_conversation_are_judged_with_those_before_them(store):
    earlier, _ = carried_out(PLAN, store)
    only_the_last = {"only": lambda case, dataset: case.id == "3"}
    assert carried_out(replace(PLAN, rescored=earlier), store, **only_the_last)[1] == {"3": 6}


def test_a_shard_is_not_judged_anew_by_itself(store):
    earlier, _ = carried_out(PLAN, store, shard=Shard(number=1, of=2))
    with pytest.raises(ConfigError) as refused:
        carried_out(replace(PLAN, rescored=earlier), store)
    assert str(refused.value) == (
        f"run {earlier.id} is shard 1/2 and holds a share of the cases only; make one run of all shards with evalmark merge, "
        "and rescore that."
    )
    assert [run.id for run in store.runs()] == [earlier.id]


@pytest.mark.parametrize("limit", [2, None])
def test_a_part_that_is_judged_anew_is_still_a_part(store, limit):
    earlier, _ = carried_out(PLAN, store, limit=limit)
    again, _ = carried_out(replace(PLAN, rescored=earlier), store)
    assert again.is_part == (limit is not None)


def test_the_results_of_both_modes_stand_in_one_order_wherever_a_run_is_kept(world):
    def short(output):
        return len(output) < 99

    def order(run):
        return [(result.trial.position, result.trial.mode) for result in run.results]

    in_memory = evaluate(ROWS, answer, [short, Before()], store=None)
    handed_back = evaluate(ROWS, answer, [short, Before()], store=world / "both.db")
    with open_store(world / "both.db", read_only=True) as store:
        assert order(in_memory) == order(handed_back) == order(store.run("last"))


def test_a_metric_that_the_run_was_not_made_for_is_refused_by_its_name(world):
    metric = {"name": "flow", "config": {"needs_history": True, "needs_example_output": False}}
    metric |= {"metric_description": "Does it go on?", "score": {"type": "boolean", "description": "true if it does"}}
    (world / "flow.json").write_text(json.dumps(metric), encoding="utf-8")
    run = evaluate(ROWS, answer, ["is_json"], store=world / "s.db")
    with pytest.raises(ConfigError) as refused:
        plan_rescore(RescoreRequest(run=run, metrics=("flow.json",)), Settings(judge=("openai/m",)))
    assert str(refused.value) == (
        f"flow: needs conversations, but run {run.id} ran each row separately; run the suite again."
    )
