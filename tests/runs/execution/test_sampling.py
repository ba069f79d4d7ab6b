"""Runs of a random sample of the cases."""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from evalmark import Case
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo, Sample
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.options import BadRow
from evalmark.reports.files.run_json import as_json
from evalmark.runs.dry_run.estimate import estimate
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.scorers import Equals
from evalmark.stats.comparison.compare import compare
from evalmark.store import open_store

ROWS = tuple(Case(id=f"c{number}", input=str(number), expected=str(number)) for number in range(200))
TWENTY = Sample(size=20, seed=7)


class Talk:
    """Judges the turns of a conversation."""

    needs_history = True
    name = "talk"

    def __call__(self, case):
        return len(case.history)


def answer(question):
    return question


def source(rows, name="numbers"):
    return DatasetSource(info=DatasetInfo(name=name), read=lambda note: iter(rows))


def plan(*sources, scorer=None):
    return Plan(
        name="numbers",
        sources=sources or (source(ROWS),),
        targets=(as_target(answer),),
        scorers=(ScorerSpec(scorer=scorer or Equals()),),
    )


def ran(store, sample=TWENTY, wanted=None, **how):
    return asyncio.run(execute(wanted or plan(), RunOptions(store=store, sample=sample, **how)))


def ids(run):
    return {result.trial.case.id for result in run.results}


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def test_a_seed_draws_the_same_cases_in_any_order_of_the_rows(store):
    shuffled = random.Random(1).sample(ROWS, len(ROWS))  # noqa: S311  the same order every time
    first, again, other = (
        ids(ran(store)),
        ids(ran(store, wanted=plan(source(shuffled)))),
        ids(ran(store, Sample(size=20, seed=8))),
    )
    assert first == again
    assert len(first) == len(other) == 20
    assert first != other


def test_a_larger_sample_holds_the_smaller_one_and_more_rows_replace_few_cases(store):
    small = ids(ran(store))
    assert small < ids(ran(store, replace(TWENTY, size=40)))
    grown = (*(Case(id=f"n{number}", input=number) for number in range(20)), *ROWS)
    assert len(small & ids(ran(store, wanted=plan(source(grown))))) > 12


def test_every_dataset_has_its_sample_and_small_ones_are_whole(store):
    few = tuple(Case(id=f"f{number}", input="x", expected="x") for number in range(5))
    run = ran(store, wanted=plan(source(ROWS), source(few, "few")))
    assert run.sample == Sample(size=20, seed=7, taken=25, of=205)
    assert [info.rows for info in run.datasets] == [20, 5]


def test_a_filter_comes_first_and_rows_that_cannot_be_read_are_named(store):
    more = [Case(id=f"more{number}", input=number) for number in range(1_000)]  # the check before a run reads fewer
    bad = BadRow(place="numbers:1201", message="no input")
    run = ran(store, wanted=plan(source((*ROWS, *more, bad))), only=lambda case, dataset: len(case.id) == 2)
    assert run.sample == Sample(size=20, seed=7, taken=10, of=10)
    assert run.notes == (
        "Only a random sample of the cases: 10 of 10 cases (seed 7); 1 row that cannot be read left out.",
    )


def test_a_run_keeps_its_sample_in_the_store_and_in_reports(store):
    run = ran(store)
    assert store.run(run.id).sample == Sample(size=20, seed=7, taken=20, of=200)
    assert run.is_part
    assert json.loads("".join(as_json(run)))["run"]["sample"] == {"size": 20, "seed": 7, "taken": 20, "of": 200}


def test_an_interrupted_sample_is_resumed_with_the_same_cases(store):
    stop = asyncio.Event()
    run = ran(store, stop=stop, on_trial=lambda trial: stop.set(), settings=Settings(jobs=1))
    assert (run.status, len(run.results) < 20) == ("interrupted", True)
    whole = ran(store, sample=None, resume=run.id)
    assert (whole.status, ids(whole)) == ("complete", ids(ran(store)))
    assert len([note for note in whole.notes if "sample" in note]) == 1
    with pytest.raises(ConfigError, match=r"covers a sample of 20 cases of each dataset \(seed 7\), not a sample of"):
        ran(store, sample=Sample(size=30, seed=7), resume=run.id)


def test_a_comparison_names_the_samples(store):
    first, same, other = ran(store), ran(store), ran(store, Sample(size=20, seed=8))
    assert "Both runs have only the same random sample of 20 of 200 cases (seed 7)." in compare(same, first).warnings
    different = compare(other, first).warnings[0]
    assert different.startswith(
        "The runs have different cases: a sample of 20 of 200 cases (seed 8), and in the baseline a"
    )
    assert "all selected cases" in compare(ran(store, None), first).warnings[0]
    assert not any("dataset has changed" in warning for warning in compare(other, first).warnings)


def test_a_plan_counts_the_sample(store):
    forecast = asyncio.run(estimate(plan(), RunOptions(store=store, sample=TWENTY)))
    assert forecast.trials == 20
    assert "Only a random sample of the cases: 20 of 200 cases (seed 7)." in forecast.notes


@pytest.mark.parametrize(
    ("wanted", "how", "why"),
    [
        pytest.param(plan(scorer=Talk()), {}, "a metric here scores whole conversations", id="conversations"),
        pytest.param(plan(), {"limit": 3}, "leave one of them out", id="the first cases"),
        pytest.param(
            plan(), {"sample": Sample(size=0, seed=7)}, "sample has to be .* at least 1; found 0", id="no case"
        ),
        pytest.param(
            plan(), {"sample": Sample(size="x", seed=7)}, "at least 1; found 'x'", id="a size that is no number"
        ),
        pytest.param(
            plan(), {"sample": Sample(size=1, seed=-1)}, "seed has to be .* at least 0; found -1", id="a seed below 0"
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused_before_anything_runs(store, wanted, how, why):
    with pytest.raises(ConfigError, match=why):
        ran(store, wanted=wanted, **how)
    assert store.runs() == []
