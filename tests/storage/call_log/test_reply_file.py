"""Files of replies: what a killed process leaves is recovered exactly once, and never into another store."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings

from evalmark.core.values.call import Call
from evalmark.errors import StoreError, StoreFullError
from evalmark.storage.call_log import reply_file, reply_log, reply_recovery
from evalmark.storage.call_log.entries import LogEntry
from evalmark.storage.call_log.requests_in_flight import RequestsInFlight, RunPass
from evalmark.storage.call_log.rows import encode_call
from evalmark.storage.call_log.spending import spent_by
from evalmark.store import Store, open_store, salvage
from tests.conftest import ROOT
from tests.storage.store import sample
from tests.storage.store.places import until

from .calls import call, failed, key, reply
from .conftest import RUN, break_off, find, keep, send
from .test_stored_log import any_calls

pytestmark = pytest.mark.skipif(not reply_file.CAN_LOCK, reason="this system has no locks for the file")

DIRECT = 2
"""Calls that are saved in the store before a file is open."""


@pytest.fixture(autouse=True)
def _not_moved(monkeypatch):
    """Calls stay in the file until something reads the store."""
    monkeypatch.setattr(reply_log, "MOVE_AFTER", 3600)


def files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}-replies-*"))


def keep_in_file(store: Store, *calls: Call, run: str | None = RUN) -> None:
    """Send and keep calls one after the other; the first ones of a store are saved directly."""
    for one in calls:
        keep(store, one, run=run)


@pytest.fixture
def in_file(store, path) -> Path:
    """The file of a living store: calls 0 to 9 are kept, 8 of them in the file, and request 10 is in flight."""
    keep_in_file(store, *map(call, range(10)))
    send(store, key(10))
    (file,) = files(path)
    return file


def killed(path: Path, to: Path) -> Path:
    """Copy a store and all its files as they would be after a kill at this moment."""
    to.mkdir()
    for file in path.parent.iterdir():
        shutil.copy(file, to)
    with closing(apsw.Connection(str(to / path.name))) as db:
        db.execute("update run set holder = null")  # this process lives, but it does not write the copy
    return to / path.name


@pytest.fixture
def left(in_file, path, tmp_path) -> Path:
    """The store that a killed process has left."""
    return killed(path, tmp_path / "left")


def rows(path: Path, query: str = "select key from call where ok = 1") -> list:
    with closing(apsw.Connection(str(path))) as db:
        return db.execute(query).fetchall()


def found(store: Store, count: int = 12) -> set[int]:
    numbers = {number for number in range(count) if find(store, key(number)) is not None}
    assert all(find(store, key(number)) == call(number).replayed for number in numbers)
    return numbers


def assert_recovered(path: Path, calls: int = 10, lost: int = 1) -> None:
    """All calls are in the store, each is paid for once, and no file is left."""
    assert len(rows(path)) == calls
    with open_store(path, read_only=True) as store:
        assert store.check().sound
        (spent,) = store.spending(RUN)
        assert (spent.calls, spent.cost, spent.output_tokens) == (calls, 0.25 * calls, sum(range(calls)))
        assert store.interrupted_calls(RUN) == lost
    assert files(path) == []


# The format.


@given(any_calls)
@settings(max_examples=50)
def test_any_call_comes_back_from_a_record(made):
    sent = RequestsInFlight(Path("x"), RunPass(3, 2), {}, "an id")
    entry = LogEntry(made.key, encode_call(made), spent_by(made), sent, 77)
    data = reply_file.encode_record(entry)
    ((record, end),) = reply_file.parse_records(data + b"\x00" * 20)
    assert (record, end) == (("an id", 2, 77, entry.row), len(data))
    assert [type(a) for a in record.row] == [bytes if isinstance(b, bytes) else type(b) for b in entry.row]


def test_a_record_that_is_cut_off_or_changed_anywhere_ends_the_replies():
    one, two = (
        reply_file.encode_record(LogEntry("k", encode_call(call(n)), spent_by(call(n)), None, 0)) for n in (1, 2)
    )
    for size in range(len(one), len(one) + len(two)):
        assert len(list(reply_file.parse_records((one + two)[:size]))) == 1
    for position in range(len(two)):
        changed = bytearray(two)
        changed[position] ^= 0x41
        assert [end for _, end in reply_file.parse_records(one + bytes(changed) + one)] == [len(one)]


# A living process.


def test_a_call_waits_in_the_file_and_every_reader_of_this_process_sees_it_in_the_store(store, path, in_file):
    assert len(rows(path)) == DIRECT
    assert found(store) == set(range(10))
    assert len(rows(path)) == DIRECT
    assert [model.calls for model in store.recordings.by_model()] == [10]
    assert len(rows(path)) == 10


def test_another_store_finds_what_waits_in_the_file_also_one_that_only_reads(path, in_file, store):
    with open_store(path) as second, open_store(path, read_only=True) as third:
        assert found(second) == found(third) == set(range(10))
        keep_in_file(store, call(10))
        assert found(second) == found(third) == set(range(11))
        store.runs()
        keep_in_file(store, call(11))
        assert found(second) == found(third) == set(range(12))
        break_off(store)
        assert files(path) == []
        assert found(second) == found(third) == set(range(12))


def test_the_file_of_a_living_process_is_left_alone(path, in_file, store):
    notes: list[str] = []
    before = in_file.read_bytes()
    for read_only in (False, True):
        with open_store(path, read_only=read_only, notes=notes.append) as second:
            assert len(second.runs()) == 1
    assert (in_file.read_bytes(), notes, len(rows(path))) == (before, [], DIRECT)
    keep_in_file(store, call(10))
    break_off(store)
    assert_recovered(path, calls=11, lost=0)


def test_calls_reach_the_store_in_time_though_no_event_loop_runs(store, path, monkeypatch):
    monkeypatch.setattr(reply_log, "MOVE_AFTER", 0.05)
    keep_in_file(store, *map(call, range(10)))
    until(lambda: len(rows(path)) == 10)


def test_many_calls_are_moved_without_a_wait(store, path):
    keep(store, *map(call, range(4)))
    keep(store, *map(call, range(4, 8)))
    keep(store, *map(call, range(8, 8 + reply_log.MOVE_AT)))
    until(lambda: len(rows(path)) >= reply_log.MOVE_AT)


def test_a_reader_waits_for_calls_that_are_just_being_moved(store, in_file, monkeypatch):
    plain, begun = reply_log.save_calls, threading.Event()

    def slow(*arguments) -> None:
        begun.set()
        time.sleep(0.3)
        plain(*arguments)

    monkeypatch.setattr(reply_log, "save_calls", slow)
    moving = threading.Thread(target=store.runs)
    moving.start()
    assert begun.wait(10)
    assert [model.calls for model in store.recordings.by_model()] == [10]
    moving.join()


def test_only_the_owner_may_read_the_file_and_no_secret_reaches_it(store, path, monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", secret := "k-4711/aB3+9f8e7d6c")
    keep_in_file(store, *map(call, range(4)), replace(failed(5), error=f"401 for {secret}"))
    (file,) = files(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret.encode() not in file.read_bytes()
    assert b"(not kept)" in file.read_bytes()


@pytest.mark.parametrize("end", [break_off, Store.close], ids=["the run is over", "the store is closed"])
def test_no_file_is_left_when(path, in_file, store, end):
    end(store)
    assert_recovered(path)


def test_one_call_needs_no_file(store, path):
    keep(store, call(1))
    assert files(path) == []


def test_a_store_without_a_write_ahead_log_has_no_file(path, monkeypatch):
    monkeypatch.setattr("evalmark.storage.database.sqlite.network_file_system", lambda *_: "nfs4")
    with open_store(path) as store:
        store.start(sample.run())
        keep_in_file(store, *map(call, range(5)))
        assert files(path) == []
        assert len(rows(path)) == 5


def test_a_file_system_without_locks_has_no_file(store, path, monkeypatch):
    def refuse(*_: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(reply_file.fcntl, "flock", refuse)
    keep_in_file(store, *map(call, range(5)))
    assert files(path) == []
    assert len(rows(path)) == 5


def test_a_file_that_grows_is_followed_by_another_one(store, path, tmp_path, monkeypatch):
    monkeypatch.setattr(reply_log, "LARGEST_FILE", 3_000)
    for number in range(30):
        keep_in_file(store, call(number))
        if number % 4 == 3:
            store.runs()
        if number % 10 == 6:
            left = killed(path, tmp_path / str(number))
            assert len(files(left)) <= 2
            open_store(left).close()
            assert_recovered(left, calls=number + 1, lost=0)
    assert len(files(path)) <= 2


# A killed process.


@pytest.mark.parametrize("read_only", [False, True], ids=["by a writer", "by a reader"])
def test_what_is_left_is_recovered_once(left, read_only):
    notes: list[str] = []
    for _ in range(3):
        open_store(left, read_only=read_only, notes=notes.append).close()
        assert_recovered(left)
    assert notes == []


def test_a_run_that_goes_on_knows_which_requests_were_lost(left):
    with open_store(left) as store:
        store.resume(RUN, force=True)
        assert store.interrupted_calls(RUN) == 1
        keep_in_file(store, call(10))
        store.finish(sample.run(status="complete"))
        (spent,) = store.spending(RUN)
        assert (spent.calls, spent.repeated) == (11, 1)


CHILD = """
import asyncio, os, signal, sys
from evalmark.storage.call_log import reply_log
from evalmark.store import open_store
from tests.storage.call_log.calls import call, key
from tests.storage.call_log.conftest import keep, send
from tests.storage.store import sample
from tests.storage.store.places import until

reply_log.MOVE_AFTER = 3600
store = open_store(sys.argv[1])
store.start(sample.run())
for number in range(10):
    keep(store, call(number))
send(store, key(10))
print("ready", flush=True)
input()
"""


@pytest.fixture
def other(path):
    """Another process that has kept calls 0 to 9 and is waiting."""
    command = [sys.executable, "-c", CHILD, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_no_process_pays_for_what_another_one_has_received_whether_it_lives_or_not(path, other):
    with open_store(path) as store:
        assert len(rows(path)) == DIRECT
        assert found(store) == set(range(10))
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert found(store) == set(range(10))
        store.resume(RUN)
        assert store.interrupted_calls(RUN) == 1
        assert len(rows(path)) == 10
        break_off(store)
    assert_recovered(path, lost=0)


@pytest.mark.slow
def test_a_reader_recovers_what_a_killed_process_left_and_nothing_while_it_lives(path, other):
    with open_store(path, read_only=True) as store:
        assert [model.calls for model in store.recordings.by_model()] == [DIRECT]
    other.kill()
    other.wait()
    with open_store(path, read_only=True) as store:
        assert [model.calls for model in store.recordings.by_model()] == [10]
    assert_recovered(path)


def test_a_kill_before_the_file_is_deleted_recovers_nothing_twice(left):
    (file,) = files(left)
    data = file.read_bytes()
    with closing(apsw.Connection(str(left))) as db:
        reply_recovery.recover(db, left, print)
    file.write_bytes(data)
    open_store(left).close()
    assert_recovered(left)


def test_a_file_that_was_made_and_never_used_is_deleted(path, tmp_path):
    with open_store(path):
        for number, text in enumerate((b"", b"evalmark rep", b"evalmark replies 1 0123456789abcdef\n")):
            path.with_name(f"{path.name}-replies-{number:016x}").write_bytes(text)
    notes: list[str] = []
    open_store(path, notes=notes.append).close()
    assert (files(path), notes) == ([], [])


def test_replies_of_a_run_that_was_deleted_stay_recorded(left):
    with closing(apsw.Connection(str(left))) as db:
        db.execute("delete from run")
    open_store(left).close()
    assert len(rows(left)) == 10
    assert rows(left, "select count(*) from call where run is null") == [(8,)]
    assert files(left) == []


def test_a_run_that_another_process_took_over_keeps_its_own_requests(in_file, path, tmp_path):
    with open_store(path) as second:
        second.resume(RUN, force=True)
        assert second.interrupted_calls(RUN) == 9, "the first process lives, and has not moved its calls"
        left = killed(path, tmp_path / "left")
    with open_store(left) as store:
        assert len(rows(left)) == 10
        assert sum(spent.calls for spent in store.spending(RUN)) == 10


# Damage.


def test_a_reply_that_was_cut_off_is_left_out_wherever_the_cut_is(left, tmp_path):
    (file,) = files(left)
    data = file.read_bytes()
    start = rows(left, "select processed from reply_log")[0][0]
    *_, last = (start + end for _, end in reply_file.parse_records(data[start:]))
    assert last == len(data)
    for cut in [*range(1, 40), 200, 300]:
        (folder := tmp_path / str(cut)).mkdir()
        for each in left.parent.iterdir():
            shutil.copy(each, folder)
        path = folder / left.name
        files(path)[0].write_bytes(data[:-cut])
        notes: list[str] = []
        open_store(path, notes=notes.append).close()
        assert_recovered(path, calls=9, lost=2)
        assert "are no complete call and were left out; all calls before that are in the store." in notes[0]


def test_a_reply_with_a_changed_byte_and_what_follows_it_is_left_out_and_sent_again(left):
    (file,) = files(left)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x20
    file.write_bytes(data)
    notes: list[str] = []
    with open_store(left, notes=notes.append) as store:
        numbers = found(store)
        assert DIRECT < len(numbers) < 10
        assert numbers == set(range(len(numbers)))
        assert store.interrupted_calls(RUN) == 11 - len(numbers)
    assert "its last" in notes[0]


def test_a_call_that_cannot_be_read_ends_the_replies(store, path, tmp_path, monkeypatch):
    keep_in_file(store, *map(call, range(4)))
    with monkeypatch.context() as patch:
        plain = reply_log.encode_record
        damaged = lambda entry: plain(entry._replace(row=entry.row._replace(checksum=1)))  # noqa: E731
        patch.setattr(reply_log, "encode_record", damaged)
        keep_in_file(store, call(4))
    keep_in_file(store, call(5))
    left, notes = killed(path, tmp_path / "left"), []
    with open_store(left, notes=notes.append) as recovered:
        assert found(recovered) == {0, 1, 2, 3}
    assert ["are no complete call" in note for note in notes] == [True]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_reader_that_cannot_report_it_leaves_what_is_damaged_for_a_writer(left, damage):
    (file,) = files(left)
    if damage == "cut":
        os.truncate(file, file.stat().st_size - 1)
    else:
        file.unlink()
    for _ in range(2):
        with open_store(left, read_only=True) as store:
            assert str(file) in store.check().warnings[-1]
            assert store.check().calls == (9 if damage == "cut" else DIRECT)
            assert store.interrupted_calls(RUN) == (2 if damage == "cut" else 9)
    notes: list[str] = []
    open_store(left, notes=notes.append).close()
    assert [str(file) in note for note in notes] == [True]


def test_salvage_rescues_what_waits_in_the_file(left, tmp_path):
    saved = salvage(left, tmp_path / "saved.db")
    assert (saved.runs, saved.calls, saved.lost) == (1, 10, 0)
    with open_store(tmp_path / "saved.db") as store:
        assert found(store) == set(range(10))


# Copies.


def test_a_copy_without_its_file_is_sound_and_says_once_what_is_missing(left):
    (file,) = files(left)
    file.unlink()
    notes: list[str] = []
    for _ in range(2):
        with open_store(left, notes=notes.append) as store:
            assert store.check().sound
            assert found(store) == set(range(DIRECT))
            assert sum(spent.calls for spent in store.spending(RUN)) == DIRECT
    assert [note.partition(":")[0] for note in notes] == [str(file)]
    assert "the store was copied without it, or it was deleted" in notes[0]


def test_a_file_next_to_another_store_is_not_read_and_stays(left, tmp_path):
    other = tmp_path / "other.db"
    open_store(other).close()
    moved = files(left)[0].rename(tmp_path / files(left)[0].name.replace(left.name, other.name))
    notes: list[str] = []
    with open_store(other, notes=notes.append) as store:
        assert store.check().calls == 0
        assert found(store) == set()
        assert store.check().warnings == (reply_recovery.unknown_file_message(moved),)
    assert notes == [reply_recovery.unknown_file_message(moved)]
    assert moved.exists()


def test_a_file_next_to_an_older_copy_of_its_store_is_not_read(path, tmp_path):
    with open_store(path) as store:
        store.start(sample.run())
        store.copy(tmp_path / "older.db")
        keep_in_file(store, *map(call, range(10)))
        (file,) = files(path)
        shutil.copy(file, tmp_path / file.name.replace(path.name, "older.db"))
    notes: list[str] = []
    with open_store(tmp_path / "older.db", notes=notes.append) as store:
        assert found(store) == set()
    assert "belongs to another store, or to another copy of this one" in notes[0]


def test_a_copy_of_a_store_that_two_processes_write_has_every_reply(in_file, path, tmp_path):
    with open_store(path) as second:
        second.start(sample.run("two"))
        keep_in_file(second, *map(call, range(20, 26)), run="two")
        second.copy(tmp_path / "copy.db")
        keep_in_file(second, call(26), run="two")
    copied = tmp_path / "copy.db"
    assert len(files(copied)) == 1
    with open_store(copied) as copy:
        assert found(copy, 30) == {*range(10), *range(20, 26)}
        assert [sum(spent.calls for spent in copy.spending(name)) for name in (RUN, "two")] == [10, 6]
        assert copy.check().calls == 16
    assert files(copied) == []
    assert files(path) == [in_file]


# A disk that is full or broken.


@pytest.mark.parametrize("written", [0, 1, 100], ids=["nothing", "one byte", "a part"])
def test_a_reply_that_finds_no_room_is_refused_and_those_around_it_are_kept(
    store, path, tmp_path, monkeypatch, written
):
    keep_in_file(store, *map(call, range(5)))
    (file,) = files(path)
    plain = os.write

    def full(handle: int, data: bytes) -> int:
        if Path(f"/proc/self/fd/{handle}").readlink() != file:
            return plain(handle, data)
        if not written:
            raise OSError(28, "No space left on device")
        return plain(handle, data[:written])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="the disk is full: a reply needs about"):
            keep_in_file(store, call(5))
    keep_in_file(store, call(6))
    left = killed(path, tmp_path / "left")
    with open_store(left) as recovered:
        assert found(recovered) == {0, 1, 2, 3, 4, 6}
        assert recovered.interrupted_calls(RUN) == 1


@pytest.mark.parametrize("nth", range(1, 5))
def test_a_sync_that_fails_is_an_error_and_later_replies_go_to_another_file(store, path, tmp_path, monkeypatch, nth):
    acknowledged: set[int] = set()
    syncs = []
    plain = reply_file._sync

    def full(handle: int) -> None:
        syncs.append(handle)
        if len(syncs) == nth:
            raise OSError(28, "No space left on device")
        plain(handle)

    monkeypatch.setattr(reply_file, "_sync", full)
    for number in range(10):
        try:
            keep_in_file(store, call(number))
        except StoreFullError as error:
            assert "the disk is full: a reply needs more space" in str(error)  # noqa: PT017
            (damaged,) = {number} - acknowledged
        else:
            acknowledged.add(number)
    assert len(acknowledged) == 9
    left = killed(path, tmp_path / "left")
    with open_store(left) as recovered:
        assert found(recovered) == {*acknowledged, damaged}, "what was refused is in the store all the same"
    break_off(store)
    assert files(path) == []


def test_a_file_whose_sync_has_failed_is_never_taken_for_durable(path, monkeypatch):
    path.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(reply_file, "_sync", lambda _: os.fsync(999_999))
        file = reply_file.ReplyFile(path)
        with pytest.raises(OSError, match="Bad file descriptor"):
            file.sync()
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.remove()
    file.sync()


def test_calls_that_cannot_be_moved_stop_the_run_and_stay_in_the_file(path):
    with open_store(path, max_pages=70) as store:
        store.start(sample.run())
        keep_in_file(store, *map(call, range(3)))
        keep(store, *(call(number, reply=reply(number, reasoning="words " * 200)) for number in range(3, 300)))
        store.runs()
        with pytest.raises(StoreError, match=r"the disk is full: saving 298 calls needs about"):
            keep(store, call(300))
    assert len(files(path)) == 1
    open_store(path).close()
    assert len(rows(path)) == 300
    assert files(path) == []
