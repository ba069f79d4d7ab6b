"""How runs are counted for those who look at them again and again: how far they are, and how their trials ended."""

import asyncio
import contextlib
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from evalmark import Case
from evalmark.core.values.run import DatasetInfo
from evalmark.errors import StoreError
from evalmark.stats.summary.summarise import summarise
from evalmark.store import open_store
from tests.storage.store import sample
from tests.storage.store.conftest import go_on, record, save
from tests.storage.store.places import until

pytestmark = pytest.mark.slow

EVERYWHERE = True


def trials(count=5, **fields):
    return sample.trials([sample.case(number) for number in range(count)], **fields)


def test_a_run_has_another_mark_whenever_there_is_something_new_to_see(store):
    run = sample.run()
    store.start(run)
    marks = [store.run_progress(run.id).mark]
    for trial in trials():
        save(store, run.id, [trial])
        marks.append(store.run_progress(run.id).mark)
    assert store.run_progress("last").status == "running"
    assert {verdict: n for verdict, (n, _) in store.run_progress("last").results.items()} == {"pass": 3, "fail": 2}
    store.finish(replace(run, status="interrupted"))
    marks.append(store.run_progress(run.id).mark)
    store.resume(run.id)
    marks.append(store.run_progress(run.id).mark)
    assert len({*marks}) == len(marks)


def test_a_mark_stays_while_nothing_happens_to_the_run(store):
    run = sample.run()
    store.start(run)
    save(store, run.id, trials())
    mark = store.run_progress(run.id).mark
    record(store, sample.run("other"), trials())
    assert store.run_progress(run.id).mark == mark


def test_an_edited_case_that_ends_as_before_is_something_new(store):
    run = sample.run()
    record(store, run, trials(3), status="interrupted")
    store.resume(run.id)
    mark = store.run_progress(run.id).mark
    save(store, run.id, sample.trials([sample.case(0, "How much is")]))
    assert {verdict: n for verdict, (n, _) in store.run_progress(run.id).results.items()} == {"pass": 2, "fail": 1}
    assert store.run_progress(run.id).mark != mark


def test_a_run_that_is_not_there_has_no_standing(store):
    with pytest.raises(StoreError, match="no runs"):
        store.run_progress("none")


def test_the_moment_of_a_store_names_the_runs_under_way_and_changes_with_any_of_them(store):
    marks = [store.progress().mark]
    store.start(sample.run("one"))
    marks.append(store.progress().mark)
    save(store, "one", trials())
    marks.append(store.progress().mark)
    store.start(sample.run("two"))
    marks.append(store.progress().mark)
    assert [standing.run for standing in store.progress().running] == ["one", "two"]
    assert store.progress().runs == 2
    store.finish(replace(sample.run("one"), status="complete"))
    marks.append(store.progress().mark)
    store.finish(replace(sample.run("two"), status="stopped"))
    marks.append(store.progress().mark)
    store.forget("two")
    marks.append(store.progress().mark)
    assert store.progress().running == ()
    assert len({*marks}) == len(marks)


def test_a_run_whose_process_was_killed_is_not_under_way(path):
    code = f"""
import asyncio, os, signal
from evalmark.store import open_store
from tests.storage.store import sample
store = open_store({str(path)!r})
store.start(sample.run())
asyncio.run(store.sink(sample.run().id).write([sample.answered(sample.trials([sample.case(1)])[0])]))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -9
    with open_store(path, read_only=True) as store:
        until(lambda: store.progress().running == ())
        assert store.run_progress("last").status == "interrupted"
        assert store.run_progress("last").results == {"pass": (1, 1)}


def test_runs_are_read_a_part_at_a_time(store):
    for number in range(5):
        record(store, sample.run(f"run-{number}"), [])
    assert [run.id for run in store.runs(2, 1)] == ["run-3", "run-2"]
    assert [run.id for run in store.runs(offset=3)] == ["run-1", "run-0"]
    assert store.runs(2, 9) == []


def test_a_case_that_repeats_tells_the_list_of_runs_how_often_it_passed(store):
    record(store, sample.run(repeat=2), trials(3, repeats=2))
    found = store.verdict_counts(store.run("last"))
    assert found.verdicts == found.counted == {"pass": 4, "fail": 2}
    assert sorted(found.by_case) == [(0, 2), (2, 2), (2, 2)]


def test_trials_that_are_no_longer_part_of_a_resumed_run_are_not_counted(store):
    run = sample.run()
    record(store, run, trials(6), status="interrupted")
    go_on(store, run.id, trials(3))
    assert store.verdict_counts(store.run("last")).verdicts == {"pass": 2, "fail": 1}


def test_a_run_that_is_not_there_any_more_has_nothing_to_count(store, finished):
    store.forget(finished.id)
    assert store.verdict_counts(finished).verdicts == {}


MARKED = [
    Case(id="plain", metadata={"ruleid": 1}),
    Case(id="of no rule", metadata={"rule": None, "valid": True, "grounded": True, "baseline": False}),
    Case(id="not valid", metadata={"ruleid": 1, "valid": False}),
    Case(id="of an ungrounded rule", metadata={"rule": "r", "grounded": False}),
    Case(id="a baseline", metadata={"rule": "r", "baseline": True}),
    Case(id="a baseline by its tag", metadata={"rule": "r"}, tags=("x", "baseline")),
    Case(id="valid is a word", metadata={"rule": "r", "valid": "false", "baseline": "true", "grounded": 0}),
    Case(id="another tag", metadata={"rule": "r"}, tags=("baseline-2",)),
    Case(id="no test of a prompt", metadata={"valid": False, "baseline": True}, tags=("baseline",)),
]


@pytest.mark.parametrize(
    ("first", "repeats"), [(first, 1 + first % 2) for first in range(len(MARKED))] + [(0, 2), (1, 1)]
)
def test_what_the_list_counts_is_what_reports_count(store, first, repeats):
    cases = [replace(case, input=case.id) for case in (*MARKED[first:], *MARKED[:first])]
    of_rules = [case for case in cases if case.id != "no test of a prompt"]
    plain = [case for case in cases if case.id == "no test of a prompt"]
    made = [*sample.trials(plain, repeats, "plain"), *sample.trials(of_rules, repeats, "tests")]
    run = replace(sample.run(repeat=repeats), datasets=(DatasetInfo(name="plain"), DatasetInfo(name="tests")))
    kept = [replace(sample.answered(replace(one, case=sample.case(n))), trial=one) for n, one in enumerate(made)]
    store.start(run)
    asyncio.run(store.sink(run.id).write(kept))
    store.finish(replace(run, status="complete"))
    found, total = store.verdict_counts(store.run("last")), summarise(store.run("last")).total
    assert (found.counted["pass"], found.counted["fail"]) == (total.passed, total.failed)
    assert sum(found.verdicts.values()) == len(made)
    assert sum(judged for _, judged in found.by_case) == (total.passed + total.failed if repeats > 1 else 0)


def test_the_version_of_a_store_changes_when_anything_is_written_and_only_then(store, path):
    run = sample.run()
    with contextlib.closing(store.version()) as version:
        versions = [version.read()]
        store.start(run)
        versions.append(version.read())
        save(store, run.id, trials())
        versions.append(version.read())
        with open_store(path) as other:
            record(other, sample.run("other"), trials())
        versions.append(version.read())
        assert len({*versions}) == 4
        store.run_progress(run.id)
        list(store.run(run.id).results)
        assert version.read() == versions[-1]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not delete open files")
def test_the_version_changes_when_the_store_is_deleted_and_made_again(tmp_path):
    path = tmp_path / "store.db"
    open_store(path).close()
    with open_store(path) as store, contextlib.closing(store.version()) as version:
        before = version.read()
        for file in tmp_path.iterdir():
            file.unlink()
        with pytest.raises(StoreError, match="store"):
            version.read()
        open_store(path).close()
        assert before != version.read() == version.read()
