"""A store on a PostgreSQL server: calls and results that 1, 4 and 8 processes store at once, compared with a file.

Each process stores calls of some 4 kB, 64 at a time, as fast as it can, and then results in batches of 50; a call or a result
counts when it is on the disk. One transaction writes at a time; in the last rows each process has its own lock,
which shows the cost of the shared lock.

Run: python benchmarks/server_store.py [--calls 2000] [--server postgresql://…]
Without `--server` it starts its own server, with fsync on, which needs an installed PostgreSQL.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from call_log import IN_FLIGHT, made
from rows import AddRow, add_json, row_output

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.protocols import CallLog, Sink
from evalmark.core.values.score import Trial
from evalmark.storage.postgres.connection import ServerConnection
from evalmark.store import open_store

ROOT = Path(__file__).parent.parent
FILE, SERVER = "a file", "a server"
WRITERS = (1, 4, 8)
BATCH = 50


def result(number: int) -> Result:
    trial = Trial(case=Case(id=f"c{number}", input="What is it? " * 20), dataset="d", target="t", position=number)
    return Result(
        trial=trial, output=Output(value="It is that. " * 40), scores=(Score(name="x", value=1.0, passed=True),)
    )


async def keep_calls(call_log: CallLog, calls: list) -> None:
    left = iter(calls)

    async def worker() -> None:
        for call in left:
            await call_log.sending(call.key)
            await call_log.keep(call)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def keep_results(sink: Sink, results: list[Result]) -> None:
    for first in range(0, len(results), BATCH):
        await sink.write(results[first : first + BATCH])


def turn(what: str) -> float:
    """Say that all is ready, wait for the others, and give the time."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
    sys.stdin.readline()
    return time.perf_counter()


def write(place: str, name: str, count: int) -> None:
    """One of the processes that write."""
    first = int(name) * count
    calls, results = [made(first + n) for n in range(count)], [result(n) for n in range(count)]
    with open_store(place) as store:
        store.start(Run(id=name, name=name, created="2026-11-21T14:32:05Z", status="running"))
        turn("ready")
        asyncio.run(keep_calls(store.call_log(name), calls))
        turn("calls")
        asyncio.run(keep_results(store.sink(name), results))
        turn("results")


def measured(place: str, writers: int, count: int, more: list[str]) -> tuple[float, float]:
    """Calls and results that all processes together store in a second."""
    command = [sys.executable, __file__, "--place", place, "--calls", str(count), *more, "--name"]
    processes = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(writers)
    ]

    def at(what: str) -> float:
        for process in processes:
            assert process.stdout is not None
            said = process.stdout.readline().strip()
            assert said == what, said
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return time.perf_counter()

    began, calls, results = (at(what) for what in ("ready", "calls", "results"))
    for process in processes:
        process.communicate()
    return writers * count / (calls - began), writers * count / (results - calls)


@contextmanager
def places(server: str) -> Iterator[dict[str, str]]:
    """A folder for files, and a server where there is one."""
    with tempfile.TemporaryDirectory() as name:
        where = {FILE: f"{name}/evalmark.db"}
        sys.path.insert(0, str(ROOT))
        postgres = import_module("tests.postgres")
        if server:
            yield {**where, SERVER: server}
        elif postgres.program("initdb") is None or find_spec("psycopg") is None:
            yield where
        else:
            with postgres.cluster(fsync="on") as started:
                yield {**where, SERVER: started.address}


def measure(args: argparse.Namespace, add_row: AddRow) -> None:
    with places(args.server) as where:
        for kind, place in where.items():
            for writers in WRITERS:
                fresh = f"{place}?schema=bench_{writers}" if kind == SERVER else f"{place}.{writers}"
                show(kind, writers, measured(fresh, writers, args.calls, []), add_row)
        if SERVER not in where:
            add_row(what="a store on a server", found=None, note="needs PostgreSQL and the extra postgres")
            return
        own = f"{where[SERVER]}?schema=bench_own"
        open_store(own).close()  # else each would make the tables
        show("a server, a lock each", max(WRITERS), measured(own, max(WRITERS), args.calls, ["--own-lock"]), add_row)


def show(kind: str, writers: int, found: tuple[float, float], add_row: AddRow) -> None:
    who = f"{kind}, {writers} writing"
    add_row(what=f"{who}: calls", found=found[0], unit="calls/s", note=f"{found[0] / writers:,.0f} each")
    add_row(what=f"{who}: results", found=found[1], unit="results/s", note=f"{found[1] / writers:,.0f} each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2_000, help="calls, and results, of each process")
    parser.add_argument("--server", default="", help="the address of a database to measure")
    for name in ("place", "name"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--own-lock", action="store_true", help=argparse.SUPPRESS)
    add_json(parser)
    args = parser.parse_args()
    if args.place:
        if args.own_lock:
            shared = ServerConnection._key
            ServerConnection._key = lambda self, *whose: shared(self, *(whose or (int(args.name), 0)))  # type: ignore[method-assign]
        write(args.place, args.name, args.calls)
        return
    with row_output(args.json) as add_row:
        measure(args, add_row)


if __name__ == "__main__":
    main()
