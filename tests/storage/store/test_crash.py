"""Killed at any write: nothing acknowledged is lost, and the resumed run is the uninterrupted one."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark import Score
from evalmark.storage.database.schema import STEPS, version
from evalmark.storage.database.sqlite import open_read_only_file, open_writable_file
from evalmark.storage.results.stored_results import ResultRow, encode_result
from evalmark.storage.results.stored_runs import encode_run
from evalmark.store import open_store

from . import sample

pytestmark = pytest.mark.slow

WHOLE = [sample.answered(trial) for trial in sample.trials([sample.case(n) for n in range(20)])]
SAMPLE = 36
BATCH = 3


@pytest.fixture(scope="module")
def changes(doomed, tmp_path_factory) -> int:
    """How many changes a whole run makes to files."""
    told = doomed.do("go_on", tmp_path_factory.mktemp("counted"))
    assert told["finished"]
    return told["changes"]


def file_in(folder: Path) -> Path:
    return folder / ".evalmark" / "evalmark.db"


def kept(folder: Path) -> list[str]:
    """The ids of the stored results, in a store that must be sound or not yet there."""
    if not file_in(folder).exists():
        return []
    with open_store(file_in(folder), read_only=True) as store:
        assert store.check().problems == ()
        return [result.trial.case.id for run in store.runs() for result in run.results]


def assert_whole(folder: Path) -> None:
    with open_store(file_in(folder), read_only=True) as store:
        (run,) = store.runs()
        assert replace(run, results=()) == sample.run(status="complete", finished="2026-11-21T15:00:00Z")
        assert list(run.results) == WHOLE


def kill_and_resume(doomed, folder: Path, at: int, how: str) -> None:
    told = doomed.do("go_on", folder, at, how)
    assert told["killed"], told
    before = kept(folder)
    assert set(told["acknowledged"]) <= set(before)
    assert len(before) <= len(told["acknowledged"]) + BATCH
    again = doomed.do("go_on", folder)
    assert again["finished"], again
    assert sorted(before + again["acknowledged"]) == [result.trial.case.id for result in WHOLE]
    assert_whole(folder)


@pytest.mark.parametrize("how", ["before", "torn", "after"])
def test_a_kill_at_some_writes_loses_nothing(doomed, changes, tmp_path, how):
    points = random.Random(how).sample(range(1, changes + 1), SAMPLE // 3)  # noqa: S311
    for at in points:
        (folder := tmp_path / str(at)).mkdir()
        kill_and_resume(doomed, folder, at, how)


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["before", "torn", "after"])
def test_a_kill_at_every_write_loses_nothing(doomed, changes, tmp_path, how):
    for at in range(1, changes + 1):
        (folder := tmp_path / str(at)).mkdir()
        kill_and_resume(doomed, folder, at, how)


def test_every_batch_is_on_the_disk_before_it_is_acknowledged(doomed, tmp_path):
    """A kill cannot show this: what a dead process has written is kept by the system, unlike after a power cut."""
    told = doomed.do("count_syncs", tmp_path)
    assert told["error"] is None
    assert all(count >= 1 for count in told["syncs"])
    assert len(told["syncs"]) == 3


@pytest.mark.parametrize("seed", range(3))
def test_five_kills_in_a_row_during_resumes_lose_nothing(doomed, tmp_path, seed):
    choose = random.Random(seed)  # noqa: S311
    acknowledged: list[str] = []
    for _ in range(5):
        told = doomed.do("go_on", tmp_path, choose.randint(8, 40), choose.choice(["before", "torn", "after"]))
        acknowledged += told["acknowledged"]
        assert set(acknowledged) <= set(kept(tmp_path))
    assert len(acknowledged) == len(set(acknowledged)), "an acknowledged result was computed again"
    if not told["finished"]:
        doomed.do("go_on", tmp_path)
    assert_whole(tmp_path)


def test_a_kill_during_a_migration_leaves_the_old_or_the_new_store(doomed, tmp_path):
    reference = tmp_path / "reference"
    reference.mkdir()
    doomed.do("go_on", reference)
    content = file_in(reference).read_bytes()
    at, killed = 1, True
    while killed:
        path = file_in(tmp_path / str(at))
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        killed = doomed.do("migrate", tmp_path / str(at), at, "torn")["killed"]
        db = open_writable_file(path, print, steps=(*STEPS, sample.later_title))
        assert version(db) == len(STEPS) + 1
        assert db.execute("select title from run").get == sample.run().id.upper()
        assert db.execute("select count(*) from result").get == len(WHOLE)
        assert db.pragma("integrity_check") == "ok"
        db.close()
        at += 1
    assert at > 10, "the migration made hardly any write, so nothing was tested"


IN_OWN_UNITS = [
    replace(result, scores=(*result.scores, Score(name="words", raw=number + 0.5)))
    for number, result in enumerate(WHOLE)
]
"""The results with a score that has a number in a unit of its own, which versions before 11 did not index."""
INDEXED = sorted(
    (1, score.name, score.raw if score.value is None else score.value, number)
    for number, result in enumerate(IN_OWN_UNITS, 1)
    for score in result.scores
)


def older_store(path: Path, release: int) -> None:
    """A finished run in a store of an earlier version."""
    db = open_writable_file(path, print, steps=STEPS[:1])
    db.execute(
        "insert into run (number, id, plan, suite, status, pass, header) values (1, ?, 'p', 's.yaml', 'complete', 1, ?)",
        (sample.run().id, encode_run(sample.run(status="complete", finished="2026-11-21T15:00:00Z"))),
    )
    columns = [name for name in ResultRow._fields if name != "mode"]
    db.executemany(
        f"insert into result (run, pass, source, {', '.join(columns)}) values (1, 1, 0 {', ?' * len(columns)})",  # noqa: S608
        [[getattr(encode_result(result).row, name) for name in columns] for result in IN_OWN_UNITS],
    )
    db.close()
    db = open_writable_file(path, print, steps=STEPS[:release])
    assert version(db) == release
    db.close()


@pytest.mark.parametrize(
    "each", [pytest.param(4, id="at some writes"), pytest.param(1, id="at every write", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("how", ["before", "torn", "after"])
@pytest.mark.parametrize("release", [1, len(STEPS) - 1])
def test_a_kill_while_an_older_store_is_brought_up_to_date_loses_nothing(doomed, tmp_path, release, how, each):
    reference = tmp_path / "reference.db"
    older_store(reference, release)
    at, killed = 1, True
    while killed:
        path = file_in(tmp_path / str(at))
        path.parent.mkdir(parents=True)
        path.write_bytes(reference.read_bytes())
        killed = doomed.do("open_it", tmp_path / str(at), at, how)["killed"]
        with open_store(path) as store:
            assert store.check().problems == ()
            (run,) = store.runs()
            assert list(run.results) == IN_OWN_UNITS
            assert replace(run, results=()) == sample.run(status="complete", finished="2026-11-21T15:00:00Z")
        db = open_read_only_file(path)
        assert db.execute("select run, metric, value, result from scored order by 1, 2, 3, 4").fetchall() == INDEXED
        db.close()
        at += each
    assert at > 10, "the migration made hardly any write, so nothing was tested"


@pytest.mark.parametrize("at", [5, 25, 50, 75, 100])
def test_a_disk_that_fills_up_keeps_what_was_acknowledged(doomed, tmp_path, at):
    told = doomed.do("go_on", tmp_path, at, "full")
    assert not told["killed"]
    assert told["error"].startswith("StoreFullError")
    assert kept(tmp_path) == told["acknowledged"]
    assert doomed.do("go_on", tmp_path)["finished"]
    assert_whole(tmp_path)
