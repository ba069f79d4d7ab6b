"""A run that grows part by part is the run that one go would have made."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.errors import StoreError
from evalmark.runs.execution.run_writer import start_run, with_part
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.storage.results.stored_runs import pack_run, unpack_run
from evalmark.store import open_store

EQUALS = Metric(name="equals")
STRICT = Metric(name="equals", threshold=0.9)


def part(dataset, *values, metrics=(EQUALS,), target="bot", spending=(), plan=""):
    """What was found for the cases of one dataset."""
    results = tuple(
        Result(
            trial=Trial(case=Case(id=str(n), input=n), dataset=dataset, target=target, position=n),
            output=Output(value=value),
            scores=(Score(name="equals", value=value, passed=value == 1),),
        )
        for n, value in enumerate(values)
    )
    info = DatasetInfo(name=dataset, plan=plan)
    return Run(
        id="", name="", created="", target=target, datasets=(info,), metrics=metrics, spending=spending, results=results
    )


def take(writer, found):
    writer.add_part(found)
    asyncio.run(writer.write(tuple(found.results)))


@pytest.fixture(params=["store", "memory"])
def ledger(request, tmp_path):
    if request.param == "memory":
        yield MemoryRunStore()
    else:
        with open_store(tmp_path / "evalmark.db") as store:
            yield store


def test_parts_come_together_in_the_order_in_which_their_datasets_were_met(ledger):
    writer = start_run(ledger, "pytest", Gate(min_pass_rate=0.5))
    take(writer, part("b", 1.0, 0.0))
    take(writer, part("a", 1.0))
    take(writer, part("b", 0.5))  # the first case again, say
    run = writer.finish("complete", ["Something to know.", "Something to know."])
    assert [info.name for info in run.datasets] == ["b", "a"]
    assert [info.rows for info in run.datasets] == [2, 1]
    assert [result.trial.dataset for result in run.results][-1] == "a"
    assert (run.status, run.gate, run.notes) == ("complete", Gate(min_pass_rate=0.5), ("Something to know.",))


def test_a_result_of_a_dataset_met_later_is_durable_at_once(tmp_path):
    with open_store(tmp_path / "evalmark.db") as store:
        writer = start_run(store, "pytest")
        take(writer, part("a", 1.0))
        take(writer, part("b", 0.0))
        with open_store(tmp_path / "evalmark.db", read_only=True) as other:
            seen = other.run(writer.run.id)
            assert [r.trial.dataset for r in seen.results] == ["a", "b"]
            assert [info.name for info in seen.datasets] == ["a", "b"]
            assert seen.status == "running"


def test_an_interrupted_run_is_taken_up_again_with_what_it_has(tmp_path):
    with open_store(tmp_path / "evalmark.db") as store:
        writer = start_run(store, "pytest")
        take(writer, part("a", 1.0, 0.0, plan="one"))
        writer.finish("interrupted")
        again = start_run(store, "pytest", resume="last")
        assert again.run.id == writer.run.id
        take(again, part("a", 1.0, 0.0, plan="two"))
        take(again, part("b", 1.0))
        run = again.finish("complete")
    assert [(r.trial.dataset, r.trial.case.id) for r in run.results] == [("a", "0"), ("a", "1"), ("b", "0")]
    assert [info.plan for info in run.datasets] == ["two", ""]


def test_a_run_that_is_not_there_cannot_be_taken_up(tmp_path):
    with open_store(tmp_path / "evalmark.db") as store, pytest.raises(StoreError, match="no run"):
        start_run(store, "pytest", resume="last")


@pytest.mark.parametrize(
    ("known", "met", "metrics"),
    [
        pytest.param((EQUALS,), (EQUALS,), (EQUALS,), id="the same metric once"),
        pytest.param((), (STRICT,), (STRICT,), id="a new one"),
        pytest.param(
            (EQUALS,),
            (STRICT,),
            (EQUALS, Metric(name="equals", threshold=0.9, dataset="b")),
            id="another threshold holds for the dataset that has it",
        ),
    ],
)
def test_metrics_of_one_name_keep_their_thresholds(known, met, metrics):
    run = with_part(
        Run(id="r", name="", created="", datasets=(DatasetInfo(name="a"),), metrics=known), part("b", metrics=met)
    )
    assert run.metrics == metrics
    assert with_part(run, part("b", metrics=met)).metrics == metrics  # each of its tests brings it again


def test_a_dataset_is_told_its_metrics_once_by_the_first_part_that_has_any(tmp_path):
    with open_store(tmp_path / "evalmark.db") as store:
        writer = start_run(store, "pytest")
        writer.add_part(part("a", metrics=(EQUALS,)))
        writer.add_part(part("b", metrics=()))  # a row that was no case
        writer.add_part(part("b", metrics=(STRICT,)))
        writer.add_part(part("b", metrics=(EQUALS,)))
        own = (EQUALS, replace(STRICT, dataset="b"))
        assert writer.run.metrics == own
        writer.finish("interrupted")
        again = start_run(store, "pytest", resume="last")
        again.add_part(part("b", metrics=(STRICT,)))
        assert again.run.metrics == own
        again.add_part(part("a", metrics=(STRICT,)))  # its scorers were changed in between
        assert again.run.metrics == (*own, replace(STRICT, dataset="a"))


def test_targets_are_named_once_and_spending_adds_up():
    one = Spending(model="openai/a", calls=1, input_tokens=10, cost=0.5)
    other = Spending(model="openai/b", calls=2)
    run = Run(id="r", name="", created="")
    for spending in ((one,), (one, other), ()):
        run = with_part(run, part("a", target="bot", spending=spending))
    run = with_part(run, part("b", target="other bot"))
    assert run.target == "bot, other bot"
    assert [(s.model, s.calls, s.cost) for s in run.spending] == [("openai/a", 2, 1.0), ("openai/b", 2, None)]


def test_a_part_survives_the_way_to_another_process():
    found = part("a", 1.0, 0.0, spending=(Spending(model="m", calls=1),))
    again = unpack_run(pack_run(found))
    assert (again.results, again.metrics, again.spending, again.datasets) == (
        found.results,
        found.metrics,
        found.spending,
        found.datasets,
    )
