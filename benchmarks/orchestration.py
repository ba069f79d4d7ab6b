"""Whole runs of the command line against a server that answers after 50 ms, with 64 requests in flight.

Each figure is from one process, from its start to its exit, with store and call log. The floor is a bare aiohttp loop over
the same cases. Floor and evalmark run alternately, several rounds; figures are medians of the rounds. Processor time is
compared with that of the floor of the same round, since absolute times differ between machines and hours. The last rows: a
replayed run, what a run adds to replies after 250 ms before each place in flight is used again, a run that is killed half-way
and resumed, and 512 requests in flight, which need a fast --server.

Run: python benchmarks/orchestration.py [--only 2000] [--runs 3] [--short] [--server http://127.0.0.1:8099]
     python benchmarks/orchestration.py --source before=../older/src   # also an older source, alternately
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from rows import AddRow, add_json, row_output

HERE = Path(__file__).parent
JOBS = 64
LATENCY = 0.05
SIZES = ((2_000, 1), (2_000, 2), (10_000, 1), (10_000, 2))
SHORT = ((200, 1), (200, 2))
PROCESSOR = {(2_000, 1): (2.0, 1.7), (10_000, 1): (2.0, 1.5), (10_000, 2): (2.0, 1.5)}
"""The most processor time, as multiples of the floor: the bar and the goal."""
TIME = {(2_000, 1): (1.4, 1.25), (10_000, 1): (1.3, 1.15)}
"""The most time by the clock, as multiples of the floor: the bar and the goal."""
REPLAYED, MEMORY = 0.3, 120
"""Processor time of a replayed run over that of the floor, which sends the requests; megabytes."""
WIDE, WIDE_CASES, WIDE_RATE = 512, 20_000, 0.8
"""Requests in flight, cases, and calls a second at least, over those of the floor."""
SLOW, WAITING = 0.25, 2
"""Seconds until the reply where waiting is measured; milliseconds that may be added to the floor's."""
FILLER = (
    "A customer writes to the shop and wants one thing, which is named at the end of the letter and nowhere else. "
    "The letter also tells of the weather, of the parcel before this one, and of a cousin who recommended the shop; "
    "none of this matters. Answer with the word that is named at the end, as it stands there, and with nothing else. "
)


NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one process took."""

    wall: float
    cpu: float
    memory: float
    code: int
    others: float
    """Cores that other processes kept busy meanwhile, without the server."""
    sending: float
    """Seconds from the first request to the last reply, as the server saw them."""


@dataclass(frozen=True)
class Server:
    url: str
    latency: float = LATENCY
    """Seconds until it replies."""

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


def start(words: list[str], folder: Path, server: Server, more: Mapping[str, str] = NOTHING) -> subprocess.Popen:
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(words, cwd=folder, env={**environment(server), **more}, stdout=log, stderr=log)


def measured(words: list[str], folder: Path, server: Server, more: Mapping[str, str] = NOTHING) -> Taken:
    """Run one command to its end, with more variables in its environment."""
    server.request(f"config?latency_ms={server.latency * 1_000}")
    server.request("reset")
    before, served, started = busy(), server.request()["cpu_s"], time.perf_counter()
    process = start(words, folder, server, more)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    cpu = used.ru_utime + used.ru_stime
    counts = server.request()
    rest = busy() - before - cpu - (counts["cpu_s"] - served)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Taken(
        wall=wall,
        cpu=cpu,
        memory=used.ru_maxrss / 1_024,
        code=process.returncode,
        others=max(0.0, rest / wall),
        sending=(counts["t_last"] or 0.0) - (counts["t_first"] or 0.0),
    )


def write_suite(folder: Path, cases: int, calls: int, name: str = "letters") -> None:
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(cases):
            word = f"word-{number}"
            row = {"id": f"c{number}", "input": f"Letter {number}. {FILLER}[[ECHO:{word}]]", "expected": word}
            stream.write(json.dumps(row) + "\n")
    suite = {
        "name": name,
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
    assert taken.code == 0, (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    counts = server.request()
    assert (counts["requests"], counts["repeated"]) == (calls, 0), counts


Runs = dict[str, list[Taken]]
"""The runs of each program, one a round."""


@dataclass(frozen=True)
class Program:
    """A program that is measured: the floor, evalmark, or evalmark of another source."""

    name: str
    source: str | None = None
    """The folder of another source of evalmark; None: the installed one."""

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.source is None else {"PYTHONPATH": str(Path(self.source).resolve())}


def run_program(program: Program, words: list[str], place: tuple[Path, Server], calls: int) -> Taken:
    """Run a command that makes so many calls; another source is found through PYTHONPATH."""
    taken = measured(words, *place, program.environment)
    ended_well(taken, *place, calls)
    return taken


def rounds(programs: list[Program], work: tuple[int, int], count: int, place: tuple[Path, Server]) -> Runs:
    """Run floor and programs alternately, in an order that turns round, so that a noisy moment hits all of them."""
    (folder, server), (cases, calls) = place, work
    write_suite(folder, cases, calls)
    runs: Runs = {"floor": []} | {program.name: [] for program in programs}
    for number in range(count):
        runs["floor"].append(run_program(Program("floor"), floor(folder, server, calls), place, cases * calls))
        for program in programs[:: 1 if number % 2 == 0 else -1]:
            words = command(store=f"{program.name}-{cases}-{calls}-{number}.db")
            runs[program.name].append(run_program(program, words, place, cases * calls))
    return runs


def multiple(runs: list[Taken], floors: list[Taken], key: str) -> float:
    """Return the median, over the rounds, of a figure as a multiple of that of the floor."""
    return median(getattr(run, key) / getattr(least, key) for run, least in zip(runs, floors, strict=True))


def limits(known: Mapping[tuple[int, int], tuple[float, float]], work: tuple[int, int]) -> dict[str, float]:
    """Return the bar and the goal of a row; empty for work without them."""
    return dict(zip(("at_most", "goal"), known.get(work, ()), strict=False))


def against_the_floor(
    place: tuple[Path, Server], work: tuple[int, int], count: int, programs: list[Program], add_row: AddRow
) -> Runs:
    """Measure the programs on so many cases with so many calls each."""
    cases, calls = work
    runs = rounds(programs, work, count, place)
    floors, name = runs["floor"], f"{cases:,} x {calls} call{'s' * (calls > 1)}"
    for program, taken in runs.items():
        row(
            f"{cases:,} x {calls}  {program}",
            cases,
            calls,
            taken,
            f"{multiple(taken, floors, 'cpu'):.2f} x floor's CPU",
        )
    least = middle(floors)
    for program in programs:
        own = middle(runs[program.name])
        what = name if program.source is None else f"{name}, {program.name}"
        add_row(
            what=f"{what}: processor time over the floor's",
            found=multiple(runs[program.name], floors, "cpu"),
            unit="x",
            floor=f"{least[1] * 1_000 / cases:.2f} ms a case",
            note=f"{own[1] * 1_000 / cases:.2f} ms a case; other processes used {own[3]:.1f} cores",
            **limits(PROCESSOR, work),
        )
        limit = limit_of(cases, calls)
        add_row(
            what=f"{what}: time over the floor's",
            found=multiple(runs[program.name], floors, "wall"),
            unit="x",
            floor=f"{least[0] / limit:.2f} x the limit",
            note=f"{own[0] / limit:.2f} x the limit; {own[0]:.1f} s",
            **limits(TIME, work),
        )
        most = MEMORY if cases > 2_000 else None
        add_row(what=f"{what}: memory", found=own[2], unit="MB", at_most=most, floor=f"{least[2]:.0f} MB")
    return runs


def waiting(place: tuple[Path, Server], cases: int, count: int, programs: list[Program], add_row: AddRow) -> None:
    """Measure how long the place of a request in flight is idle between a reply and the next request."""
    folder = place[0] / "slow"  # apart from stores that have these calls
    folder.mkdir()
    slow = folder, replace(place[1], latency=SLOW)
    runs = rounds(programs, (cases, 1), count, slow)
    added = {name: [1_000 * (each.sending * JOBS / cases - SLOW) for each in taken] for name, taken in runs.items()}
    for program in programs:
        found, least = median(added[program.name]), median(added["floor"])
        what = f"{cases:,} x 1 call of {SLOW * 1_000:.0f} ms" + ("" if program.source is None else f", {program.name}")
        each = ", ".join(f"{one:.0f}" for one in added[program.name])
        note = f"rounds {each}; {multiple(runs[program.name], runs['floor'], 'cpu'):.2f} x the floor's processor time"
        print(f"{what}: {found:.1f} ms added to each request, floor {least:.1f}; {note}")
        add_row(
            what=f"{what}: waiting added to a request",
            found=found,
            unit="ms",
            at_most=least + WAITING,
            floor=f"{least:.1f} ms",
            note=note,
        )


def replayed_run(place: tuple[Path, Server], cases: int, runs: Runs, programs: list[Program], add_row: AddRow) -> None:
    """Measure replays of runs, which send no request, against the floor, which sent them all.

    With an earlier run of the same suite in the store, the end of a run checks the control limits of the series.
    """
    for suite, suffix in (("other letters", ""), ("letters", ", with an earlier run of the suite")):
        write_suite(place[0], cases, 1, suite)
        for program in programs:
            replays = []
            for number, _ in enumerate(runs[program.name]):
                words = command(store=f"{program.name}-{cases}-1-{number}.db")
                replays.append(run_program(program, words, place, 0))
            found, own = multiple(replays, runs["floor"], "cpu"), middle(replays)
            row(f"{cases:,} replayed  {program.name}", cases, 1, replays, f"{found:.2f} x floor's CPU{suffix}")
            what = f"{cases:,} replayed{suffix}" + ("" if program.source is None else f", {program.name}")
            note = f"{own[1]:.1f} s of processor time, {own[0]:.1f} s by the clock"
            add_row(
                what=f"{what}: processor time over the floor's",
                found=found,
                unit="x",
                at_most=REPLAYED,
                floor=f"{middle(runs['floor'])[1]:.1f} s to send them",
                note=note,
            )


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


def many_in_flight(place: tuple[Path, Server], cases: int, count: int, add_row: AddRow) -> None:
    """Measure how many calls a second one process makes where waiting is no limit."""
    folder, server = place
    write_suite(folder, cases, 1)
    floors, taken = [], []
    for number in range(count):
        floors.append(run_program(Program("floor"), floor(folder, server, 1, WIDE), place, cases))
        words = command(store=f"wide-{number}.db", jobs=WIDE)
        taken.append(run_program(Program("evalmark"), words, place, cases))
    own, least = middle(taken), middle(floors)
    share = 1 / multiple(taken, floors, "wall")
    rate = f"{cases / least[0]:,.0f} calls/s"
    note = f"{cases / own[0]:,.0f} calls/s; {own[1] * 1_000 / cases:.2f} ms a case, {own[2]:.0f} MB"
    print(f"{cases:,} x 1, {WIDE} in flight: {share:.2f} of the floor's calls/s ({rate}); {note}")
    what = f"{cases:,} x 1 call, {WIDE} in flight: calls a second over the floor's"
    add_row(what=what, found=share, unit="x", at_least=WIDE_RATE, floor=rate, note=note)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="one that runs already; without it benchmarks/mock_server.py is started")
    parser.add_argument("--runs", type=int, default=3, help="number of rounds; the median counts")
    parser.add_argument(
        "--source",
        metavar="NAME=SRC",
        action="append",
        default=[],
        type=lambda text: Program(*text.split("=", 1)),
        help="also measure the folder `src` of another checkout, alternately; may be repeated",
    )
    parser.add_argument(
        "--only", help="only the rows that start with this: 2000, 10000, replayed, waiting, killed, wide"
    )
    parser.add_argument("--short", action="store_true", help="200 cases, once")
    add_json(parser)
    return parser.parse_args()


def main() -> None:
    args = parsed()
    sizes, count = (SHORT, 1) if args.short else (SIZES, args.runs)
    programs = [*args.source, Program("evalmark")]
    wanted = lambda name: args.only is None or name.startswith(args.only)  # noqa: E731
    with (
        tempfile.TemporaryDirectory() as name,
        server_at(args.server) as server,
        row_output(args.json, table=True) as add_row,
    ):
        place = Path(name), server
        print_head("ms/case")
        known = {
            work: against_the_floor(place, work, count, programs, add_row) for work in sizes if wanted(str(work[0]))
        }
        if wanted("replayed"):
            work = sizes[-2]
            replayed_run(place, work[0], known.get(work) or rounds(programs, work, count, place), programs, add_row)
        if wanted("waiting"):
            waiting(place, sizes[0][0], count, programs, add_row)
        if wanted("killed"):
            killed_half_way(*place, sizes[0][0], add_row)
        if wanted("wide"):
            many_in_flight(place, sizes[0][0] if args.short else WIDE_CASES, count, add_row)


if __name__ == "__main__":
    main()
