"""Notes of requests: exact at every moment, whatever ends the process, and gone when nobody needs them."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.errors import StoreError, StoreFullError
from evalmark.storage.call_log.requests_in_flight import RequestsInFlight, RunPass, interrupted, notes_path, take_over
from evalmark.store import open_store
from evalmark.testing.failing_disk import FailingDisk
from tests.conftest import ROOT
from tests.storage.store import sample

from .calls import call, failed, key
from .conftest import RUN, break_off, find, keep, send

pytestmark = pytest.mark.slow

FIRST = RunPass(1, 1)


def notes(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.glob("*-sent-*"))


# Killed.

CHILD = """
import asyncio, os, signal, sys
from evalmark.store import open_store
from tests.storage.call_log import calls
from tests.storage.store import sample

path, how = sys.argv[1:]
store = open_store(path)
store.start(sample.run())
journal = store.call_log(sample.run().id)

async def go():
    for number in range(6):
        await journal.sending(calls.key(number))
    for number in range(2):
        await journal.keep(calls.call(number))
    await journal.sending(calls.key(6))
    if how == "torn":
        with open(path + "-sent-1-1", "ab") as file:
            file.write(b'\\n"' + calls.key(7).encode()[:20])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(go())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed like that here")
@pytest.mark.parametrize(
    "how", [pytest.param("noted", id="right after a note"), pytest.param("torn", id="half-way through a note")]
)
def test_a_process_that_is_killed_has_noted_what_it_sent(path, how):
    ended = subprocess.run([sys.executable, "-c", CHILD, str(path), how], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    with open_store(path) as store:
        assert store.interrupted_calls(RUN) == 5
        store.resume(RUN)
        assert store.interrupted_calls(RUN) == 5
        assert notes(path) == []
        keep(store, *map(call, range(2, 8)))
        assert [spent.repeated for spent in store.spending(RUN)] == [5]
        store.finish(sample.run(status="complete"))
        assert (store.interrupted_calls(RUN), notes(path)) == (0, [])


def test_a_note_after_one_that_was_cut_off_is_read(path):
    with open_store(path) as store:
        store.start(sample.run())
        send(store, key(1))
        with notes_path(path, FIRST).open("ab") as file:
            file.write(b'\n"abc')
        send(store, key(2))
    with open_store(path) as store:
        assert store.interrupted_calls(RUN) == 2


# Exact at every moment.

steps = st.lists(
    st.tuples(st.sampled_from(["send", "keep", "fail", "refuse", "resume"]), st.integers(0, 4)), max_size=25
)


@given(steps)
@settings(max_examples=60)
def test_what_is_under_way_is_what_was_sent_and_not_kept_since(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("sent") / "evalmark.db"
    open_store(path).close()
    with closing(apsw.Connection(str(path))) as db:
        number, under_way, lost, repeated = 1, set(), {}, 0
        expected = 0
        sent = RequestsInFlight(path, FIRST, {})
        for what, n in steps:
            if what == "send":
                sent.note(str(n))
                under_way.add(str(n))
            elif what == "resume":
                sent.close()
                for name in under_way:
                    lost[name] = lost.get(name, 0) + 1
                before, number, under_way = len(under_way), number + 1, set()
                with db:
                    sent = RequestsInFlight(path, RunPass(1, number), take_over(db, path, RunPass(1, number)))
                assert interrupted(db, path, RunPass(1, number - 1)) == before
            else:
                answered = {str(n): sent.last_note(str(n))}
                if what == "refuse":  # the transaction fails, so nothing is kept
                    db.execute("begin")
                    sent.save(db, answered)
                    db.execute("rollback")
                else:
                    expected += lost.pop(str(n), 0)
                    repeated += sent.repeats(str(n))
                    with db:
                        sent.save(db, answered)
                    sent.mark_answered(answered)
                    under_way.discard(str(n))
            assert interrupted(db, path, RunPass(1, number)) == len(under_way)
        sent.close()
        assert repeated == expected


def test_a_request_that_goes_out_again_while_its_call_is_kept_stays_under_way(path):
    open_store(path).close()
    sent = RequestsInFlight(path, FIRST, {})
    sent.note("k")
    answered = {"k": sent.last_note("k")}
    sent.note("k")
    with closing(apsw.Connection(str(path))) as db:
        sent.save(db, answered)
        sent.mark_answered(answered)
        assert interrupted(db, path, FIRST) == 1
        sent.save(db, {})
        assert interrupted(db, path, FIRST) == 1
    sent.close()


def test_a_call_that_does_not_take_the_place_of_another_came_back_all_the_same(store):
    keep(store, call(1))
    keep(store, failed(1))
    send(store, key(2))
    break_off(store)
    assert store.interrupted_calls(RUN) == 1


def test_one_who_was_taken_over_changes_no_count(path):
    with open_store(path) as old, open_store(path) as new:
        old.start(sample.run())
        send(old, key(1), key(2))
        new.resume(RUN, force=True)
        assert new.interrupted_calls(RUN) == 2
        send(old, key(3))
        asyncio.run(old.call_log(RUN).keep(call(1)))
        send(new, key(2))
        break_off(new)
        assert new.interrupted_calls(RUN) == 1
        assert notes(path) == []


def test_taking_a_run_over_in_the_same_store_ends_the_pass_before(store):
    journal = store.call_log(RUN)
    asyncio.run(journal.sending(key(1)))
    store.resume(RUN, force=True)
    assert store.interrupted_calls(RUN) == 1
    with pytest.raises(StoreError, match="no longer writes the run"):
        asyncio.run(journal.sending(key(2)))


@pytest.mark.parametrize("text", ["{", "[1]", '"k"', "null"])
@pytest.mark.parametrize("column", ["under_way", "lost"])
def test_a_run_whose_count_is_damaged_can_be_resumed(store, path, column, text):
    keep(store, call(1))
    send(store, key(2))
    break_off(store)
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"update sent set {column} = ?", (text,))  # noqa: S608  a column
    store.resume(RUN)
    assert find(store, key(1)) == call(1).replayed


# The file.


@pytest.mark.skipif(os.name == "nt", reason="rights work otherwise there")
def test_only_the_owner_may_read_what_is_noted_and_a_run_that_sends_nothing_has_no_file(store, path):
    assert notes(path) == []
    send(store, key(1))
    assert notes(path) == ["evalmark.db-sent-1-1"]
    assert stat.S_IMODE(notes_path(path, FIRST).stat().st_mode) == 0o600


@pytest.mark.parametrize("status", ["complete", "interrupted", "stopped"])
def test_a_run_that_is_finished_leaves_one_file(store, path, status):
    send(store, key(1))
    keep(store, call(2))
    store.finish(sample.run(status=status))
    assert notes(path) == []
    assert store.interrupted_calls(RUN) == (status != "complete")


def test_a_run_that_is_forgotten_takes_its_notes_along(path):
    with open_store(path) as store:
        store.start(sample.run())
        send(store, key(1))
    with open_store(path) as store:
        assert notes(path) == ["evalmark.db-sent-1-1"]
        store.forget(RUN)
        assert notes(path) == []


def test_notes_of_a_store_that_is_gone_count_for_no_run_of_the_next_one(path):
    with open_store(path) as store:
        store.start(sample.run())
        send(store, key(1))
    path.unlink()
    with open_store(path) as store:
        store.start(sample.run())
        assert notes(path) == []
        send(store, key(2))
        break_off(store)
        assert store.interrupted_calls(RUN) == 1


def test_notes_that_a_kill_left_behind_are_removed_by_the_next_run_and_those_of_other_runs_stay(path):
    with open_store(path) as store, open_store(path) as second:
        store.start(sample.run())
        keep(store, call(1))
        store.finish(sample.run(status="complete"))
        second.start(sample.run("two"))
        send(second, key(2), run="two")
        stray, other = notes_path(path, FIRST), path.with_name("evalmark.db-sent-of-mine")
        for file in (stray, other):
            file.write_text(f"\n{json.dumps(key(9))}")
        assert store.interrupted_calls(RUN) == 0, "the store knows these bytes"
        store.start(sample.run("three"))
        assert notes(path) == ["evalmark.db-sent-2-1", other.name]


def test_a_copy_knows_what_is_under_way(store, path, tmp_path):
    send(store, key(1), key(2))
    keep(store, call(1))
    send(store, key(3))
    store.copy(tmp_path / "copy.db")
    keep(store, call(2))
    with open_store(tmp_path / "copy.db") as copy:
        copy.resume(RUN, force=True)
        assert copy.interrupted_calls(RUN) == 2
    assert notes(path) == ["evalmark.db-sent-1-1"]
    assert notes(tmp_path / "copy.db") == []


def test_a_note_that_cannot_be_written_stops_the_request(store, path):
    notes_path(path, FIRST).mkdir()
    with pytest.raises(StoreError, match="name another file with --store"):
        send(store, key(1))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")  # noqa: PTH110
def test_a_note_that_finds_no_room_stops_the_request(path):
    open_store(path).close()
    sent = RequestsInFlight(path, FIRST, {})
    sent.note("one")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, sent._file)
    os.close(full)
    with pytest.raises(StoreFullError, match="the disk is full: the note of a request needs about"):
        sent.note("two")
    sent.close()


def test_a_note_costs_one_write_and_no_other_change(store, path):
    send(store, key(0))
    with FailingDisk(path.parent) as disk:
        send(store, *map(key, range(1, 50)))
    assert disk.changes == 49
    assert len(notes_path(path, FIRST).read_text(encoding="ascii").splitlines()) == 51
