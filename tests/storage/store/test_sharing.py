"""Several processes, threads and forks on one store."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

from evalmark.errors import StoreBusyError, StoreError
from evalmark.storage.database.sqlite import LockTimeout
from evalmark.storage.database.sqlite import open_writable_file as open_for_writing
from evalmark.store import open_store

from . import sample
from .conftest import record, save
from .places import in_a_file, until

pytestmark = pytest.mark.slow

EVERYWHERE = True


def begin(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, str(Path(__file__).with_name("busy_child.py")), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(processes: list[subprocess.Popen]) -> list[str]:
    told = [process.communicate(timeout=120) for process in processes]
    assert [error for _, error in told if error] == []
    return [said.strip() for said, _ in told]


@in_a_file
def test_processes_that_open_a_new_store_at_once_share_one(path):
    said = end([begin("write", str(path), f"run-{n}") for n in range(3)])
    assert said == [f"written {sample.COUNT}"] * 3
    with open_store(path) as store:
        assert store.check().sound
        assert sorted(run.id for run in store.runs()) == ["run-0", "run-1", "run-2"]
        assert {len(run.results) for run in store.runs()} == {sample.COUNT}


@in_a_file
def test_eight_readers_and_two_writers_never_see_a_lock_or_lose_sight_of_a_result(path):
    open_store(path).close()
    readers = [begin("read", str(path), "2") for _ in range(8)]
    writers = [begin("write", str(path), f"run-{n}") for n in range(2)]
    assert end(writers) == [f"written {sample.COUNT}"] * 2
    assert end(readers) == [f"seen {2 * sample.COUNT}"] * 8


def test_two_stores_in_one_process_take_turns(path):
    with open_store(path) as one, open_store(path) as two:
        one.start(sample.run("one"))
        two.start(sample.run("two"))
        for number in range(5):
            (trial,) = sample.trials([sample.case(number)])
            save(one, "one", [trial])
            save(two, "two", [trial])
        assert [len(run.results) for run in one.runs()] == [5, 5]


def test_many_threads_may_read_and_write(store):
    store.start(sample.run())
    faults = []

    def work(number: int) -> None:
        try:
            save(store, sample.run().id, sample.trials([sample.case(number)]))
            list(store.run("last").results)
        except Exception as error:  # noqa: BLE001  told below
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(store.run("last").results) == 12


@in_a_file
def test_a_wait_is_announced_once_and_ends_when_the_other_does(path):
    notes: list[str] = []
    with open_store(path, notes=notes.append) as store:
        other = open_for_writing(path, lambda _: None)
        other.execute("begin immediate")
        letting_go = threading.Timer(2.6, lambda: other.execute("rollback"))
        letting_go.start()
        store.start(sample.run())
        letting_go.join()
        other.close()
        assert notes == [f"Waiting for another process that is writing {path}."]
        assert store.run("last").id == sample.run().id


@in_a_file
def test_patience_ends(path):
    patience = LockTimeout(path, lambda _: None, longest=0.05)
    tries = 0
    started = time.monotonic()
    while patience(tries) and time.monotonic() - started < 30:
        tries += 1
    assert 0 < tries < 100


@in_a_file
def test_waiting_for_too_long_is_explained(path):
    open_store(path).close()
    holder, db = (open_for_writing(path, lambda _: None) for _ in range(2))
    holder.execute("begin immediate")
    db.set_busy_handler(None)
    from evalmark.storage.database.errors import store_errors
    from evalmark.storage.database.schema import transaction

    with (
        pytest.raises(StoreBusyError, match="another process has been writing for too long"),
        store_errors(path),
        transaction(db),
    ):
        pass
    holder.execute("rollback")
    holder.close()
    db.close()


@in_a_file
def test_a_write_that_starts_after_a_read_of_the_same_file_never_fails(path):
    """A deferred transaction would: its snapshot is old once another process has written."""
    with open_store(path) as one, open_store(path) as two:
        one.start(sample.run("one"))
        results = iter(one.run("one").results)
        two.start(sample.run("two"))
        save(one, "one", sample.trials([sample.case(1)]))
        assert len(list(results)) <= 1
        save(two, "two", sample.trials([sample.case(1)]))


def test_a_run_is_taken_over_from_a_process_that_was_killed(path):
    code = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[2]); import sample\n"
        "from evalmark.store import open_store\n"
        "open_store(sys.argv[1]).start(sample.run()); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(Path(__file__).parent)], check=False)
    with open_store(path) as store:
        until(lambda: store.run("last").status == "interrupted")
        assert store.resume(sample.run().id).status == "running"


def test_a_run_that_is_written_elsewhere_says_by_whom_and_since_when(path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import sample\n"
        "from evalmark.store import open_store\n"
        "store = open_store(sys.argv[1]); store.start(sample.run()); print('ready', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        with open_store(path) as store:
            assert store.run("last").status == "running"
            with pytest.raises(StoreBusyError, match=rf"is being written by process {other.pid} since 20\d\d-"):
                store.resume(sample.run().id)
        other.communicate("\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_is_told_to_open_the_store_again_and_harms_nothing(path):
    with open_store(path) as store:
        store.start(sample.run())
        save(store, sample.run().id, sample.trials([sample.case(1)]))
        run = store.run("last")
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            said = []
            for act in (store.runs, lambda: save(store, run.id, []), lambda: store.start(sample.run("other"))):
                try:
                    act()
                except StoreError as error:
                    said.append("open it again in the child" in str(error))
            said.append(len(list(run.results)) == 1)  # results open the file for themselves
            store.close()
            os.write(writing, str(said).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reading, 1000) == b"[True, True, True, True]"
        os.close(reading)
        os.close(writing)
        save(store, run.id, sample.trials([sample.case(2)]))
        assert len(run.results) == 2
        assert store.check().sound


def test_vectors_are_shared_while_a_run_is_written(path):
    import numpy as np

    async def both(one, two) -> None:
        for number in range(20):
            trials = sample.trials([sample.case(number)])
            await asyncio.gather(
                one.sink("one").write([sample.answered(trial) for trial in trials]),
                two.put("m", {str(number): np.zeros(4, dtype=np.float32)}),
            )
        assert len(await one.get("m", [str(number) for number in range(20)])) == 20

    with open_store(path) as one, open_store(path) as two:
        one.start(sample.run("one"))
        asyncio.run(both(one, two))


@in_a_file
def test_a_store_replaced_by_another_version_while_open_is_not_written_by_old_code(path):
    with open_store(path) as store:
        record(store, sample.run(), [])
        db = apsw.Connection(str(path))
        db.pragma("user_version", 99)
        db.close()
        with pytest.raises(StoreError, match="newer evalmark"):
            store.runs()
