"""Names, suites and totals of runs, in a file and on a server."""

from dataclasses import replace

import pytest

from evalmark.core.values.run import RunTotals
from evalmark.errors import StoreError
from evalmark.store import open_store

from . import sample
from .conftest import record

EVERYWHERE = True
FIRST, SECOND, THIRD = "20261121-143205-aaaa", "20261121-150000-bbbb", "20261121-160000-cccc"
TOTALS = RunTotals(verdict="pass", trials=1, passed=1, judged=1, rate=1.0, low=0.2, high=1.0)


@pytest.fixture
def notes():
    return []


@pytest.fixture
def store(path, notes):
    with open_store(path, notes=notes.append) as opened:
        for run_id, name, suite in (
            (FIRST, "nightly", "evals/s.yaml"),
            (SECOND, "", "other/s.yaml"),
            (THIRD, "nightly", "evals/t.yaml"),
        ):
            run = sample.run(run_id, given_name=name, suite=suite, tags=("weekly", "model=x"))
            record(opened, run, sample.trials([sample.case(1)]))
        yield opened


@pytest.mark.parametrize(
    ("reference", "run_id"),
    [
        pytest.param("nightly", THIRD, id="the newest of a name"),
        pytest.param("nightly~1", FIRST, id="the one before it"),
        pytest.param("evals/s.yaml", FIRST, id="a suite by its path"),
        pytest.param("s.yaml", SECOND, id="a suite by the name of its file"),
        pytest.param("s.yaml~1", FIRST, id="the one before it, in any folder"),
        pytest.param("last~1", SECOND, id="the one before the last"),
        pytest.param("20261121-16", THIRD, id="the start of an id"),
    ],
)
def test_a_run_is_found(store, reference, run_id):
    assert store.run(reference).id == run_id


def test_a_name_of_several_runs_is_noted(store, notes):
    store.run("nightly")
    assert notes == ["2 runs have the name 'nightly'; this is the newest. nightly~1 is the one before it."]


@pytest.mark.parametrize("reference", ["nightly~2", "weekly", "u.yaml", "s.yaml~2", "last~3", ""])
def test_what_names_no_run_is_refused(store, reference):
    with pytest.raises(StoreError, match="there is no run"):
        store.run(reference)


def test_a_run_keeps_its_name_and_tags(store):
    run = store.run(FIRST)
    assert (run.given_name, run.tags) == ("nightly", ("weekly", "model=x"))


def test_totals_are_kept_until_the_run_goes_on(store, path):
    finished = [replace(store.run(run_id), finished="2026-11-21T17:00:00Z") for run_id in (FIRST, SECOND)]
    for run in finished:
        store.resume(run.id)
        store.recorded(run.id)(next(iter(run.results)).trial)
        store.finish(replace(run, status="complete"))
    with open_store(path, read_only=True) as reader:
        reader.save_totals([(run, TOTALS) for run in finished])
        assert reader.totals(reader.runs()) == {FIRST: TOTALS, SECOND: TOTALS}
    store.save_totals([(replace(finished[0], finished="earlier"), replace(TOTALS, passed=0))])
    assert store.totals(store.runs())[FIRST] == TOTALS
    store.resume(SECOND)
    assert store.totals(store.runs()) == {FIRST: TOTALS}
    store.forget(FIRST)
    assert store.totals(store.runs()) == {}


def test_a_summary_is_kept_until_the_run_goes_on(store, path):
    run = replace(store.run(FIRST), finished="2026-11-21T17:00:00Z")
    store.resume(FIRST)
    store.recorded(FIRST)(next(iter(run.results)).trial)
    store.finish(replace(run, status="complete"))
    with open_store(path, read_only=True) as reader:
        reader.save_summary(run, "{}")
        assert reader.summary(run) == "{}"
        assert reader.summary(replace(run, finished="earlier")) is None
    store.save_summary(replace(run, finished="earlier"), "[]")
    assert store.summary(run) == "{}"
    store.resume(FIRST)
    assert store.summary(run) is None
