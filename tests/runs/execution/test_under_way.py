"""What those who follow a run from elsewhere find out about it while it goes on."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo
from evalmark.runs.execution import stop_on_request
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.scorers import Equals
from evalmark.store import open_store


def seen_under_way(folder, rows: int, **how) -> list[int | None]:
    """How many rows of its dataset the header of a run names while its target answers, each answer once."""
    seen = []

    def answer(question):
        with open_store(folder / "s.db", read_only=True) as follower:
            seen.append(follower.run("last").datasets[0].rows)
        return question

    cases = [Case(id=str(number), input="?", expected="?") for number in range(rows)]
    plan = Plan(
        name="asked",
        sources=(DatasetSource(info=DatasetInfo(name="questions"), read=lambda note: iter(cases)),),
        targets=(as_target(answer),),
        scorers=(ScorerSpec(scorer=Equals()),),
    )
    with open_store(folder / "s.db") as store:
        asyncio.run(execute(plan, RunOptions(store=store, **how)))
    return seen


@pytest.mark.parametrize(
    ("how", "rows"),
    [
        pytest.param({}, 3, id="all of them"),
        pytest.param({"limit": 2}, 2, id="as many as the limit lets"),
        pytest.param({"limit": 9}, 3, id="a limit that is never met"),
        pytest.param({"only": lambda case, dataset: case.id == "1"}, None, id="nobody has counted which cases fit"),
    ],
)
def test_a_run_under_way_says_how_many_rows_it_will_ask(world, how, rows):
    assert {*seen_under_way(world, 3, **how)} == {rows}


def test_a_dataset_that_was_looked_at_in_part_has_an_unknown_number_of_rows(world):
    assert seen_under_way(world, 1_001, limit=1) == [None]


def test_a_run_is_stopped_by_a_request_in_its_store_and_goes_on_later(world, monkeypatch):
    monkeypatch.setattr(stop_on_request, "INTERVAL", 0.01)
    called = []

    async def answer(question):
        called.append(question)
        if len(called) == 3:
            with open_store(world / "s.db") as other:
                assert other.request_stop(other.run("last").id, "ann")
                assert other.request_stop(other.run("last").id, "bea")  # the first request counts
        await asyncio.sleep(0.02)
        return question

    rows = [Case(id=str(number), input="?", expected="?") for number in range(100)]
    plan = Plan(
        name="asked",
        sources=(DatasetSource(info=DatasetInfo(name="questions"), read=lambda note: iter(rows)),),
        targets=(as_target(answer),),
        scorers=(ScorerSpec(scorer=Equals()),),
    )
    with open_store(world / "s.db") as store:
        options = RunOptions(store=store, settings=Settings(jobs=2))
        run = asyncio.run(execute(plan, options))
        assert run.status == "stopped"
        assert "Stopped: ann stopped the run in the viewer." in run.notes
        assert len(run.results) == len(called) < 100
        assert run.datasets[0].rows == 100, "the planned number stays"
        assert store.stop_request(run.id) is None
        rest = asyncio.run(execute(plan, replace(options, resume=run.id)))
    assert (rest.status, len(called)) == ("complete", 100)
    assert not [note for note in rest.notes if "stopped the run" in note]
