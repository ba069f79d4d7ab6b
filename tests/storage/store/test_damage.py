"""Flipped bytes: never a traceback, never a wrong result, never a deleted file; what can be read is saved."""

import asyncio
import os
import random
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from evalmark import Output
from evalmark.errors import StoreError
from evalmark.storage.database.schema import STEPS
from evalmark.store import open_store, salvage
from tests.storage.call_log import calls

from . import sample
from .test_migrations import RELEASED, RESULT

PAGE = 4096
TRIALS = sample.trials([sample.case(n) for n in range(120)])
RESULTS = [sample.answered(trial) for trial in TRIALS]
CALLS = {calls.key(number): calls.call(number) for number in range(60)}
RESULTS[7] = replace(RESULTS[7], output=Output(value="long " * 5_000))  # on overflow pages


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "evalmark.db"
    with open_store(path) as store:
        store.start(sample.run())
        asyncio.run(store.sink(sample.run().id).write(RESULTS))
        asyncio.run(keep_all(store.call_log(sample.run().id)))
        store.finish(sample.run(status="complete"))
    return path.read_bytes()


async def keep_all(journal) -> None:
    await asyncio.gather(*(journal.keep(call) for call in CALLS.values()))


def assert_calls_true(store) -> None:
    """A recorded call may be hidden by damage; it is never another one."""
    try:
        keys = [recording.key for recording in store.recordings.newest()]
    except StoreError:
        keys = []
    for key in {*keys, *CALLS}:
        try:
            found = asyncio.run(store.call_log().find(key))
        except StoreError:
            continue
        assert found is None or found == CALLS[key].replayed


def page_of(content: bytes, tmp_path: Path, table: str) -> list[int]:
    """The pages of a table or an index, as SQLite itself tells them."""
    file = tmp_path / "pages.db"
    file.write_bytes(content)
    db = apsw.Connection(str(file))
    found = [row[0] for row in db.execute("select pageno from dbstat where name = ? order by path", (table,))]
    db.close()
    return found


def look(path: Path) -> list:
    """All results; raises only StoreError."""
    with open_store(path) as store:
        return list(store.run("last").results)


def flip(content: bytes, offsets: list[int], choose: random.Random) -> bytes:
    damaged = bytearray(content)
    for offset in offsets:
        damaged[offset] ^= choose.randrange(1, 256)
    return bytes(damaged)


def content(result):
    """What must be true of a result; where its case stands is no part of it."""
    return replace(result, trial=replace(result.trial, position=0, case=replace(result.trial.case, place="")))


def all_results(path: Path) -> list:
    """Every result of every run that can be read; raises nothing but StoreError."""
    found = []
    try:
        with open_store(path, read_only=True) as store:
            store.check()
            assert_calls_true(store)
            for run in store.runs():
                found += [content(result) for result in run.results]
    except StoreError as error:
        said = str(error)
        assert str(path) in said, said
    return found


TRUE = {content(result).trial.case.id: content(result) for result in RESULTS}


def survive(path: Path, damaged: bytes) -> None:
    """Damage may hide results, but no result that is shown is wrong, before and after salvage."""
    path.write_bytes(damaged)
    saved = path.with_name("saved.db")
    saved.unlink(missing_ok=True)
    assert all(TRUE[result.trial.case.id] == result for result in all_results(path))
    assert path.exists()
    try:
        salvage(path, saved)
    except StoreError:
        return
    with open_store(saved) as store:
        assert store.check().sound
    assert all(TRUE[result.trial.case.id] == result for result in all_results(saved))


REGIONS = [
    pytest.param(lambda content, tmp_path: range(100), id="the file's header"),
    pytest.param(lambda content, tmp_path: range(100, PAGE), id="the schema"),
    *(
        pytest.param(
            lambda content, tmp_path, table=table: [
                (page - 1) * PAGE + at for page in page_of(content, tmp_path, table) for at in range(PAGE)
            ],
            id=f"the pages of {table}",
        )
        for table in (
            "run",
            "result",
            "result_order",
            "result_once",
            "sqlite_sequence",
            "call",
            "sqlite_autoindex_call_1",
        )
    ),
]


@pytest.mark.parametrize("region", REGIONS)
def test_flipped_bytes_never_show_a_traceback(sound, tmp_path, region):
    choose = random.Random(11)  # noqa: S311
    offsets = list(region(sound, tmp_path))
    for _ in range(10):
        survive(tmp_path / "evalmark.db", flip(sound, choose.choices(offsets, k=8), choose))


@pytest.mark.sweep
@pytest.mark.parametrize("region", REGIONS)
def test_many_flipped_bytes_never_show_a_traceback(sound, tmp_path, region):
    choose = random.Random(12)  # noqa: S311
    offsets = list(region(sound, tmp_path))
    for _ in range(60):
        survive(tmp_path / "evalmark.db", flip(sound, choose.choices(offsets, k=choose.randint(1, 20)), choose))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_cut_short_is_named(sound, tmp_path, share):
    path = tmp_path / "evalmark.db"
    path.write_bytes(sound[: int(len(sound) * share)])
    with pytest.raises(StoreError, match=r"damaged.*salvage"):
        look(path)


def test_a_damaged_page_costs_only_its_own_results(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    leaf = page_of(sound, tmp_path, "result")[3]
    path.write_bytes(sound[: (leaf - 1) * PAGE] + b"\xff" * PAGE + sound[leaf * PAGE :])
    with pytest.raises(StoreError, match=r"damaged.*Nothing was changed or deleted.*salvage"):
        look(path)
    before = path.read_bytes()
    found = salvage(path, tmp_path / "saved.db")
    assert path.read_bytes() == before
    saved = look(tmp_path / "saved.db")
    assert len(RESULTS) - 20 < len(saved) < len(RESULTS)
    assert all(result in RESULTS for result in saved)
    assert (found.runs, found.results) == (1, len(saved))
    assert found.lost == len(RESULTS) - len(saved)
    with open_store(tmp_path / "saved.db") as store:
        assert replace(store.run("last"), results=()) == sample.run(status="complete")


def test_results_without_a_header_get_a_run_that_says_so(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    (page,) = page_of(sound, tmp_path, "run")
    path.write_bytes(sound[: (page - 1) * PAGE] + b"\xff" * PAGE + sound[page * PAGE :])
    assert salvage(path, tmp_path / "saved.db").results == len(RESULTS)
    with open_store(tmp_path / "saved.db") as store:
        run = store.run("last")
        assert run.notes == ("The header of this run could not be read when its store was salvaged.",)
        assert list(run.results) == RESULTS


def test_a_sound_store_is_salvaged_whole(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    path.write_bytes(sound)
    found = salvage(path, tmp_path / "saved.db")
    assert (found.runs, found.results, found.calls, found.lost) == (1, len(RESULTS), len(CALLS), 0)
    assert look(tmp_path / "saved.db") == RESULTS
    with open_store(tmp_path / "saved.db") as store:
        assert all(store.recordings.call(key) == call for key, call in CALLS.items())


def test_a_damaged_page_of_calls_costs_only_its_own(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    leaf = page_of(sound, tmp_path, "call")[2]
    path.write_bytes(sound[: (leaf - 1) * PAGE] + b"\xff" * PAGE + sound[leaf * PAGE :])
    found = salvage(path, tmp_path / "saved.db")
    assert (found.runs, found.results) == (1, len(RESULTS))
    assert len(CALLS) - 20 < found.calls < len(CALLS)
    assert found.lost == len(CALLS) - found.calls
    with open_store(tmp_path / "saved.db") as store:
        assert_calls_true(store)
        assert store.check().calls == found.calls


def test_a_store_of_version_1_is_salvaged_too(tmp_path):
    path = tmp_path / "evalmark.db"
    db = apsw.Connection(str(path))
    db.execute(RELEASED[1])
    db.close()
    found = salvage(path, tmp_path / "saved.db")
    assert (found.runs, found.results, found.calls, found.lost) == (1, 1, 0, 0)
    assert look(tmp_path / "saved.db") == [RESULT]


def test_nothing_is_written_over_by_salvage(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    path.write_bytes(sound)
    with pytest.raises(StoreError, match="already"):
        salvage(path, path)


def test_a_file_without_a_readable_schema_is_named(tmp_path):
    path = tmp_path / "evalmark.db"
    path.write_bytes(os.urandom(3 * PAGE))
    with pytest.raises(StoreError, match="damaged or is not a store"):
        salvage(path, tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


def test_check_reports_damage_and_goes_on(sound, tmp_path):
    path = tmp_path / "evalmark.db"
    page = page_of(sound, tmp_path, "result_verdict")[-1]
    path.write_bytes(sound[: (page - 1) * PAGE] + b"\xff" * PAGE + sound[page * PAGE :])
    with open_store(path) as store:
        health = store.check()
    assert not health.sound
    assert health.problems


def test_check_of_a_sound_store_tells_what_is_in_it(store, finished):
    health = store.check()
    assert (health.sound, health.version, health.journal_mode) == (True, len(STEPS), "wal")
    assert (health.runs, health.results, health.vectors, health.calls, health.tool_calls) == (1, 5, 0, 0, 0)
    assert health.size > PAGE
    assert health.sqlite == apsw.sqlite_lib_version()
    assert health.warnings == ()
