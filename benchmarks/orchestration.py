"""Whole runs of the command line against a server that answers after 50 ms, with 64 requests in flight.

Each row is one process from its start to its exit, with store and call log: its time over the limit that latency and
requests in flight allow, its CPU time a case, its peak memory. The floor is a bare aiohttp loop over the same cases,
measured just before. The last rows: a replayed run, a run that is killed half-way and resumed, and 512 requests in
flight, which need a fast --server.

Run: python benchmarks/orchestration.py [--only 2000] [--runs 3] [--short] [--server http://127.0.0.1:8099]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rows import AddRow, add_json, row_output

HERE = Path(__file__).parent
JOBS = 64
LATENCY = 0.05
SIZES = ((2_000, 1), (2_000, 2), (10_000, 1), (10_000, 2))
GOALS = {(2_000, 1): 1.15, (2_000, 2): 1.15, (10_000, 1): 1.06, (10_000, 2): 1.08}
SHORT = ((200, 1), (200, 2))
PROCESSOR = {(2_000, 1): 0.5, (10_000, 1): 0.35}
"""Milliseconds a case."""
REPLAYED, MEMORY = 1.5, 120
WIDE, WIDE_CASES, WIDE_RATE = 512, 20_000, 2_500
"""Requests in flight, cases, and calls a second at least."""
FILLER = (
    "A customer writes to the shop and wants one thing, which is named at the end of the letter and nowhere else. "
    "The letter also tells of the weather, of the parcel before this one, and of a cousin who recommended the shop; "
    "none of this matters. Answer with the word that is named at the end, as it stands there, and with nothing else. "
)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one process took."""

    wall: float
    cpu: float
    memory: float
    code: int
    others: float
    """Cores that other processes kept busy meanwhile, without the server."""


@dataclass(frozen=True)
class Server:
    url: str

    def request(self, address: str = "stats") -> dict:
        with urllib.request.urlopen(f"{self.url}/{address}") as said:  # noqa: S310  our own, on this machine
            return json.loads(said.read())


@contextmanager
def server_at(url: str | None) -> Iterator[Server]:
    """The server that was named, or one of our own."""
    if url is not None:
        yield Server(url.rstrip("/"))
        return
    words = [sys.executable, str(HERE / "mock_server.py")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip())
        assert process.stdin is not None
        process.stdin.close()


def busy() -> float:
    """Seconds that the cores of this machine have worked in all; 0 where nobody counts them."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, *interrupts = map(int, stat.read_text(encoding="ascii").splitlines()[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def environment(server: Server) -> dict[str, str]:
    """That of a user: without settings of ours, and with byte code kept, as Python does unless it is told otherwise."""
    ours = ("EVALMARK_", "PYTHONDONTWRITEBYTECODE")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return plain | {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}


def start(words: list[str], folder: Path, server: Server) -> subprocess.Popen:
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(words, cwd=folder, env=environment(server), stdout=log, stderr=log)


def measured(words: list[str], folder: Path, server: Server) -> Taken:
    """Run one command to its end."""
    server.request(f"config?latency_ms={LATENCY * 1_000}")
    server.request("reset")
    before, served, started = busy(), server.request()["cpu_s"], time.perf_counter()
    process = start(words, folder, server)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    cpu = used.ru_utime + used.ru_stime
    rest = busy() - before - cpu - (server.request()["cpu_s"] - served)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Taken(
        wall=wall, cpu=cpu, memory=used.ru_maxrss / 1_024, code=process.returncode, others=max(0.0, rest / wall)
    )


def write_suite(folder: Path, cases: int, calls: int) -> None:
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(cases):
            word = f"word-{number}"
            row = {"id": f"c{number}", "input": f"Letter {number}. {FILLER}[[ECHO:{word}]]", "expected": word}
            stream.write(json.dumps(row) + "\n")
    suite = {
        "name": "letters",
        "datasets": ["cases.jsonl"],
        "target": {"model": "openai/mock"},
        "metrics": ["equals"] if calls == 1 else ["factuality"],
    }
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")


def command(*more: str, store: str = "evalmark.db", jobs: int = JOBS) -> list[str]:
    judge = ("--judge", "openai/judge-10")
    return [sys.executable, "-m", "evalmark", "run", "suite.json", *judge, "-j", str(jobs), "--store", store, *more]


def floor(folder: Path, server: Server, calls: int, jobs: int = JOBS) -> list[str]:
    return [sys.executable, str(HERE / "floor.py"), str(folder / "cases.jsonl"), server.url, str(calls), str(jobs)]


def print_head(each: str) -> None:
    """Processor time is told for each case or trial, and for each of its calls."""
    columns = ("x limit", each, "ms/call")
    named = "".join(f"{column:>9}" for column in columns)
    print(f"{LATENCY * 1_000:.0f} ms, {JOBS} in flight{'seconds':>15}{named}{'MB':>8}{'others':>9}")


def middle(runs: list[Taken]) -> tuple[float, float, float, float]:
    """Medians of seconds, processor time, memory and what others used."""
    wall, cpu, memory, others = (
        median(getattr(run, key) for run in runs) for key in ("wall", "cpu", "memory", "others")
    )
    return wall, cpu, memory, others


def limit_of(cases: int, calls: int) -> float:
    return cases * calls * LATENCY / JOBS


def row(name: str, cases: int, calls: int, runs: list[Taken], note: str = "") -> None:
    limit = limit_of(cases, calls)
    wall, cpu, memory, others = middle(runs)
    each = f"{cpu * 1_000 / cases:>9.3f}{cpu * 1_000 / (cases * calls):>9.3f}"
    print(f"{name:<26}{wall:>8.2f}{wall / limit:>9.3f}{each}{memory:>8.0f}{others:>9.2f}  {note}", flush=True)


def ended_well(taken: Taken, folder: Path, server: Server, calls: int) -> None:
    said = server.request()
    assert taken.code == 0, (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    assert said["requests"] == calls, said
    assert said["repeated"] == 0, said


def tell_both(add_row: AddRow, work: tuple[int, int], bare: list[Taken], ours: list[Taken]) -> None:
    """The figures of evalmark, and those of the floor."""
    cases, calls = work
    limit, name = limit_of(cases, calls), f"{cases:,} x {calls} call{'s' * (calls > 1)}"
    (least, cpu_least, memory_least, _), (wall, cpu, memory, others) = middle(bare), middle(ours)
    floor, spent, used = least / limit, cpu_least * 1_000 / cases, cpu * 1_000 / cases
    note = f"floor {floor:.2f}; {wall:.1f} s; other processes used {others:.1f} cores"
    add_row(what=f"{name}: time over the limit", found=wall / limit, unit="x", at_most=GOALS.get(work), note=note)
    processor = {"unit": "ms", "at_most": PROCESSOR.get(work), "note": f"floor {spent:.2f}"}
    add_row(what=f"{name}: processor time a case", found=used, **processor)
    most = MEMORY if cases > 2_000 else None
    add_row(what=f"{name}: memory", found=memory, unit="MB", at_most=most, note=f"floor {memory_least:.0f}")


def against_the_floor(folder: Path, server: Server, work: tuple[int, int], runs: int, add_row: AddRow) -> None:
    cases, calls = work
    write_suite(folder, cases, calls)
    bare: list[Taken] = []
    ours: list[Taken] = []
    for number in range(runs):  # in turn, so that a noisy moment hits both
        bare.append(measured(floor(folder, server, calls), folder, server))
        ours.append(measured(command(store=f"{cases}-{calls}-{number}.db"), folder, server))
        ended_well(ours[-1], folder, server, cases * calls)
    name = f"{cases:,} x {calls}"
    row(f"{name}  floor", cases, calls, bare)
    goal = f"goal {GOALS.get(work, '-')}" + (f", {MEMORY} MB" if cases > 2_000 else "")
    row(f"{name}  evalmark", cases, calls, ours, goal)
    tell_both(add_row, work, bare, ours)


def replayed_run(folder: Path, server: Server, cases: int, add_row: AddRow) -> None:
    """Measure a replayed run, which sends no request."""
    write_suite(folder, cases, 1)
    store = f"{cases}-1-0.db"
    if not (folder / store).exists():
        ended_well(measured(command(store=store), folder, server), folder, server, cases)
    taken = measured(command(store=store), folder, server)
    ended_well(taken, folder, server, 0)
    row(f"{cases:,} replayed", cases, 1, [taken], f"goal {REPLAYED} s")
    note = f"{taken.cpu:.1f} s of processor time"
    add_row(what=f"{cases:,} replayed", found=taken.wall, unit="s", at_most=REPLAYED, note=note)


def killed_half_way(folder: Path, server: Server, cases: int, add_row: AddRow) -> None:
    """SIGKILL once half of the requests are out; then the same run goes on.

    At most those that were under way may be asked again: a reply that had come, but was not on the disk, is one of them.
    """
    write_suite(folder, cases, 1)
    server.request("reset")
    process = start(command(store="killed.db"), folder, server)
    while process.poll() is None and server.request()["requests"] < cases // 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    resumed = start(command("--resume", store="killed.db"), folder, server)
    assert resumed.wait() == 0, (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    said = server.request()
    assert said["unique_bodies"] == cases, said
    lost = max(0, said["repeated"] - JOBS)
    print(
        f"{cases:,}, killed half-way and resumed: {lost} answers lost, {said['repeated']} calls repeated (at most {JOBS})"
    )
    name = f"{cases:,} x 1 call, killed half-way and resumed"
    add_row(what=f"{name}: answers lost", found=lost, at_most=0)
    add_row(what=f"{name}: calls repeated", found=said["repeated"], at_most=JOBS, note=f"{JOBS} were under way")


def many_in_flight(folder: Path, server: Server, cases: int, add_row: AddRow) -> None:
    """How many calls a second one process makes where waiting is no limit."""
    write_suite(folder, cases, 1)
    least = measured(floor(folder, server, 1, WIDE), folder, server)
    taken = measured(command(store="wide.db", jobs=WIDE), folder, server)
    ended_well(taken, folder, server, cases)
    rate, most = cases / taken.wall, cases / least.wall
    print(
        f"{cases:,} x 1, {WIDE} in flight: {rate:,.0f} calls/s, {taken.cpu * 1_000 / cases:.2f} ms a case; floor {most:,.0f}"
    )
    note = f"floor {most:,.0f}; {taken.cpu * 1_000 / cases:.2f} ms of processor time a case, {taken.memory:.0f} MB"
    goal = None if cases < WIDE_CASES else WIDE_RATE
    add_row(what=f"{cases:,} x 1 call, {WIDE} in flight", found=rate, unit="calls/s", at_least=goal, note=note)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="one that runs already; without it benchmarks/mock_server.py is started")
    parser.add_argument("--runs", type=int, default=3, help="number of runs with 2,000 cases; the median counts")
    parser.add_argument("--only", help="only the rows that start with this: 2000, 10000, replayed, killed, wide")
    parser.add_argument("--short", action="store_true", help="200 cases, once")
    add_json(parser)
    return parser.parse_args()


def main() -> None:
    args = parsed()
    sizes = SHORT if args.short else SIZES
    wanted = lambda name: args.only is None or name.startswith(args.only)  # noqa: E731
    with (
        tempfile.TemporaryDirectory() as name,
        server_at(args.server) as server,
        row_output(args.json, table=True) as add_row,
    ):
        folder = Path(name)
        print_head("ms/case")
        for work in sizes:
            if wanted(str(work[0])):
                against_the_floor(folder, server, work, args.runs if work[0] == 2_000 else 1, add_row)
        if wanted("replayed"):
            replayed_run(folder, server, sizes[-1][0], add_row)
        if wanted("killed"):
            killed_half_way(folder, server, sizes[0][0], add_row)
        if wanted("wide"):
            many_in_flight(folder, server, sizes[0][0] if args.short else WIDE_CASES, add_row)


if __name__ == "__main__":
    main()
