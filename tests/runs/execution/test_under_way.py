"""What those who follow a run from elsewhere find out about it while it goes on."""

import asyncio

import pytest

from evalmark import Case
from evalmark.core.values.run import DatasetInfo
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
