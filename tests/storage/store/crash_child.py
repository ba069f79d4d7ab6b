"""The process that is killed: reads one job a line, forks for each, tells how it ended.

A job writes, or resumes, the twenty results of `sample`, and says after each batch which
results were acknowledged; `at` and `how` say where the disk fails.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3]))
import apsw
import sample

from evalmark.storage.database.schema import STEPS
from evalmark.storage.database.sqlite import open_writable_file
from evalmark.storage.store.deletion import Deletion
from evalmark.store import open_store
from evalmark.testing.failing_disk import FailingDisk
from tests.storage.call_log import calls

BATCH = 3


def go_on(path: Path, say) -> None:
    """Start the run or take it up where it stands, to its end."""
    with open_store(path) as store:
        header = sample.run()
        if store.runs():
            header = store.resume(header.id)
        else:
            store.start(header)
        recorded, sink = store.recorded(header.id), store.sink(header.id)
        todo = [trial for trial in sample.trials([sample.case(n) for n in range(20)]) if not recorded(trial)]
        for first in range(0, len(todo), BATCH):
            batch = todo[first : first + BATCH]
            asyncio.run(sink.write([sample.answered(trial) for trial in batch]))
            say("acknowledged", [trial.case.id for trial in batch])
        store.finish(replace(header, status="complete", finished="2026-11-21T15:00:00Z"))
        say("finished", True)


def ask(path: Path, say) -> None:
    """Send and keep the calls that are not recorded yet, several at a time, and finish the run."""
    with open_store(path) as store:
        if store.runs():
            store.resume(sample.run().id)
            say("interrupted", store.interrupted_calls(sample.run().id))
        else:
            store.start(sample.run())
        asyncio.run(_ask_all(store.call_log(sample.run().id), say))
        store.finish(sample.run(status="complete"))
        say("finished", True)


async def _ask_all(journal, say) -> None:
    left = iter(range(calls.COUNT))

    async def hand() -> None:
        for number in left:
            if await journal.find(calls.key(number)) is None:
                await journal.sending(calls.key(number))
                say("sent", [number])
                await asyncio.sleep(0)
                await journal.keep(calls.call(number))
                say("acknowledged", [number])

    await asyncio.gather(*(hand() for _ in range(5)))


def call_tools(path: Path, say) -> None:
    """Call the tools whose results are not recorded yet, in several threads, as an agent does within a run."""
    with open_store(path) as store:
        if store.runs():
            store.resume(sample.run().id)
        else:
            store.start(sample.run())
        journal = store.tool_log(sample.run().id)
        numbers = iter(range(calls.COUNT))

        def hand() -> None:
            for number in numbers:
                if journal.find(calls.tool_call(number).key) is None:
                    say("sent", [number])
                    if journal.keep(calls.tool_call(number)) == calls.tool_call(number):
                        say("acknowledged", [number])

        with ThreadPoolExecutor(4) as hands:
            for done in [hands.submit(hand) for _ in range(4)]:
                done.result()
        store.finish(sample.run(status="complete"))
        say("finished", True)


def open_it(path: Path, say) -> None:
    open_store(path).close()
    say("finished", True)


def migrate(path: Path, say) -> None:
    open_writable_file(path, print, steps=(*STEPS, sample.later_title)).close()
    say("finished", True)


def become_somebody_else() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def delete_run(path: Path, say) -> None:
    """Delete one run of a store with all that only it uses."""
    with open_store(path) as store:
        store.delete(Deletion(runs=(sample.run().id,)))
    say("finished", True)


def look(path: Path, say) -> None:
    """Read a store as a user who may not write."""
    become_somebody_else()
    with open_store(path.parent.parent / "evalmark.db", read_only=True) as store:
        say("results", len(list(store.run("last").results)))


def touch(path: Path, say) -> None:
    """Open a store for writing as a user who may not."""
    become_somebody_else()
    open_store(path.parent.parent / "evalmark.db").close()


def without_shared_memory(path: Path, say) -> None:
    """Write a run where no file can be mapped into memory."""
    signature = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64)
    refuse = signature(lambda *_: -1)
    apsw.VFS("no-map", base="").xSetSystemCall("mmap", ctypes.cast(refuse, ctypes.c_void_p).value)
    notes: list[str] = []
    with open_store(path, notes=notes.append) as store:
        name = f"run-{len(store.runs())}"
        store.start(sample.run(name))
        store.finish(sample.run(name, status="complete"))
        say("journal", store.check().journal_mode)
    say("notes", notes)


@contextlib.contextmanager
def counted_syncs():
    """The names of the files that reach the disk, one for each time."""
    plain = apsw.vfs_names()[0]
    synced: list[str] = []

    class File(apsw.VFSFile):
        def __init__(self, name, flags) -> None:
            super().__init__(plain, name, flags)
            self.name = name.filename() if isinstance(name, apsw.URIFilename) else name

        def xSync(self, flags):  # noqa: N802  SQLite's name
            synced.append(Path(self.name).name)
            return super().xSync(flags)

    class Layer(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("counting", base=plain, makedefault=True)

        def xOpen(self, name, flags):  # noqa: N802  SQLite's name
            return File(name, flags)

    layer = Layer()
    try:
        yield synced
    finally:
        layer.unregister()


def count_syncs(path: Path, say) -> None:
    """How often the log reaches the disk before each of three batches is acknowledged."""
    counts = []
    with counted_syncs() as synced, open_store(path) as store:
        store.start(sample.run())
        for number in range(3):
            synced.clear()
            trials = sample.trials([sample.case(number)])
            asyncio.run(store.sink(sample.run().id).write([sample.answered(trial) for trial in trials]))
            counts.append(synced.count("evalmark.db-wal"))
    say("syncs", counts)


def count_syncs_of_calls(path: Path, say) -> None:
    """How often the log reaches the disk for a note, a call, a note again, 50 calls at once, and a result."""
    with counted_syncs() as synced, open_store(path) as store:
        store.start(sample.run())
        journal, sink = store.call_log(sample.run().id), store.sink(sample.run().id)

        async def many() -> None:
            await asyncio.gather(*(journal.keep(calls.call(number)) for number in range(10, 60)))

        counts = []
        (trial,) = sample.trials([sample.case(1)])
        for act in (
            lambda: journal.sending(calls.key(1)),
            lambda: journal.keep(calls.call(1)),
            lambda: journal.sending(calls.key(2)),
            many,
            lambda: sink.write([sample.answered(trial)]),
        ):
            synced.clear()
            asyncio.run(act())
            counts.append(synced.count("evalmark.db-wal"))
    say("syncs", counts)


JOBS = {
    job.__name__: job
    for job in (
        go_on,
        ask,
        call_tools,
        open_it,
        migrate,
        delete_run,
        look,
        touch,
        without_shared_memory,
        count_syncs,
        count_syncs_of_calls,
    )
}


def child(job: dict, out: int) -> None:
    def say(what: str, value) -> None:
        os.write(out, json.dumps({what: value}).encode() + b"\n")

    folder = Path(job["folder"])
    with FailingDisk(folder, at=job["at"], mode=job["how"]) as disk:
        try:
            JOBS[job["job"]](folder / ".evalmark" / "evalmark.db", say)
        except Exception as error:  # noqa: BLE001  told to the test
            say("error", f"{type(error).__name__}: {error}")
    say("changes", disk.changes)


def main() -> None:
    for line in sys.stdin:
        reading, out = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(reading)
            child(json.loads(line), out)
            os._exit(0)
        os.close(out)
        with os.fdopen(reading) as said:
            told = [json.loads(text) for text in said]
        _, status = os.waitpid(pid, 0)
        report = {
            "killed": os.WIFSIGNALED(status),
            "acknowledged": [],
            "sent": [],
            "changes": None,
            "finished": False,
            "error": None,
        }
        for item in told:
            for what, value in item.items():
                report[what] = report[what] + value if isinstance(value, list) and what in report else value
        print(json.dumps(report), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
