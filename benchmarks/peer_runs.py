"""Other tools, evalmark and a bare loop on the same work: N cases, one call each, exact match.

Run: python benchmarks/peer_runs.py --peer-env deepeval=PATH [--peer-env …] [--cases 2000] [--runs 3]

A named peer runs in the environment at PATH; others are reported as not installed. benchmarks/peers/README.md says what
to install and what each does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from orchestration import (
    HERE,
    JOBS,
    PROCESSOR,
    TIME,
    Server,
    Taken,
    command,
    ended_well,
    floor,
    limit_of,
    limits,
    measured,
    middle,
    server_at,
    write_suite,
)
from rows import AddRow, add_json, row_output


@dataclass(frozen=True)
class Peer:
    """`package` is its name in the registry."""

    name: str
    script: str
    package: str


PEERS = (
    Peer("pydantic-evals", "with_pydantic_evals.py", "pydantic-evals"),
    Peer("inspect", "with_inspect.py", "inspect-ai"),
    Peer("deepeval", "with_deepeval.py", "deepeval"),
    Peer("ragas", "with_ragas.py", "ragas"),
    Peer("braintrust", "with_braintrust.py", "braintrust"),
    Peer("lm-eval", "with_lm_eval.py", "lm_eval"),
    Peer("promptfoo", "with_promptfoo.py", "promptfoo"),
)
VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


@dataclass(frozen=True)
class Installed:
    python: str
    version: str
    program: str = ""
    """Of promptfoo, which is none of Python's."""


def installed(peer: Peer, path: Path | None) -> Installed | None:
    """How to run it; None where it is not there."""
    if path is None:
        return None
    if peer.name == "promptfoo":
        return of_node(path)
    python = path if path.is_file() else path / "bin" / "python"
    if not python.exists():
        return None
    done = subprocess.run([str(python), "-c", VERSION, peer.package], capture_output=True, text=True, check=False)
    return Installed(str(python.absolute()), done.stdout.strip()) if done.returncode == 0 else None


def of_node(path: Path) -> Installed | None:
    program = path if path.is_file() else path / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        return None
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    return Installed(sys.executable, done.stdout.strip(), str(program.absolute())) if done.returncode == 0 else None


class PeerFailedError(Exception):
    """It did not do the work; in its own last words."""


def once(peer: Peer, there: Installed, folder: Path, server: Server) -> Taken:
    """One run, held to the number of requests and of cases that passed; PeerFailedError where it did something else."""
    (folder / "log.txt").write_text("", encoding="utf-8")
    if there.program:
        os.environ["PROMPTFOO_PROGRAM"] = there.program
    script = HERE / "peers" / peer.script
    taken = measured([there.python, str(script), str(folder / "cases.jsonl"), server.url, str(JOBS)], folder, server)
    said, text = server.request(), (folder / "log.txt").read_text(encoding="utf-8")
    if taken.code != 0:
        print(f"{peer.name} failed:\n{text[-2_000:]}", file=sys.stderr)
        raise PeerFailedError(f"failed: {' '.join(text.split()[-12:])}")
    cases = len((folder / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    told = [json.loads(line) for line in text.splitlines() if line.startswith('{"passed"')]
    if (said["unique_bodies"], said["requests"], told) != (cases, cases, [{"passed": cases}]):
        raise PeerFailedError(f"{said['requests']:,} requests for {cases:,} cases, {told[:1]}")
    return taken


def add_rows(add_row: AddRow, name: str, cases: int, runs: list[Taken], floors: list[Taken]) -> None:
    """Add a tool's processor time and time as multiples of the bare loop's; a tool that failed has fewer runs."""
    wall, cpu, memory, _ = middle(runs)
    least, work = middle(floors), f"{cases:,} x 1 call"
    add_row(
        what=f"{work}: processor time over the floor's",
        by=name,
        found=cpu / least[1],
        unit="x",
        floor=f"{least[1] * 1_000 / cases:.2f} ms a case",
        note=f"{cpu * 1_000 / cases:.2f} ms a case; {memory:.0f} MB",
        **limits(PROCESSOR, (cases, 1)),
    )
    add_row(
        what=f"{work}: time over the floor's",
        by=name,
        found=wall / least[0],
        unit="x",
        floor=f"{least[0]:.1f} s",
        note=f"{wall / limit_of(cases, 1):.2f} x the limit",
        **limits(TIME, (cases, 1)),
    )


def measure(folder: Path, server: Server, args: argparse.Namespace, add_row: AddRow) -> None:
    write_suite(folder, args.cases, 1)
    named = {name: Path(path) for name, _, path in (one.partition("=") for one in args.peer_env)}
    if unknown := set(named) - {peer.name for peer in PEERS}:
        raise SystemExit(f"{min(unknown)!r} is no peer. There are: {', '.join(peer.name for peer in PEERS)}.")
    there = {peer: installed(peer, named.get(peer.name)) for peer in PEERS}
    taken: dict[str, list[Taken]] = {}
    failed: dict[Peer, str] = {}
    for number in range(args.runs):  # in turn, so that a noisy moment hits all of them
        taken.setdefault("floor", []).append(measured(floor(folder, server, 1), folder, server))
        taken.setdefault("evalmark", []).append(measured(command(store=f"{number}.db"), folder, server))
        ended_well(taken["evalmark"][-1], folder, server, args.cases)
        for peer, found in there.items():
            if found is None or peer in failed:
                continue
            try:
                run = once(peer, found, folder, server)
                taken.setdefault(f"{peer.name} {found.version}", []).append(run)
            except PeerFailedError as error:
                failed[peer] = str(error)
    floors = taken.pop("floor")
    for name, runs in taken.items():
        add_rows(add_row, name, args.cases, runs, floors)
    for peer in [peer for peer in PEERS if there[peer] is None or peer in failed]:
        add_row(what="not measured", by=peer.name, found=None, note=failed.get(peer, "not installed"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--peer-env", action="append", default=[], metavar="NAME=PATH", help="where a peer is installed"
    )
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    parser.add_argument("--server", help="one that runs already; without it benchmarks/mock_server.py is started")
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, server_at(args.server) as server, row_output(args.json) as add_row:
        measure(Path(name), server, args, add_row)


if __name__ == "__main__":
    main()
