"""A large dataset from the first row to the last result: memory, and the cost of a case compared with a small one.

Each size runs in its own process. With --calls, each case is one call of a model that replies at once, with the
call log on.

Run: python benchmarks/large.py [--megabytes 1000] [--calls]
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rows import AddRow, add_json, row_output

from evalmark.core.settings import Settings
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Usage
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.targets.model import ModelTarget
from evalmark.store import open_store

MEMORY, FIRST, CONSTANT = 150, 3, 1.1
"""Megabytes, seconds until the first result, and the cost of a case over that of one of a hundredth of the cases."""
ROW = 1_000
TARGET = "async def answer(text):\n    return text[:1]\n"


def write_rows(path: Path, megabytes: float) -> int:
    filler = "x" * (ROW - 69)
    rows = int(megabytes * 1_000_000) // ROW
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            stream.write(json.dumps({"id": f"{number:09}", "input": f"{filler}{number:09}", "expected": "x"}) + "\n")
    return rows


@dataclass(frozen=True)
class InstantModel:
    """A model that replies at once."""

    name: str = "bench/instant"
    identity: str = "bench:instant"

    async def __call__(self, request: Request) -> Reply:
        return Reply(text="x", model="instant-1", usage=Usage(input_tokens=250, output_tokens=1), seconds=0.0)


def measure(folder: Path, calls: bool) -> dict[str, float]:
    """What the run of a folder's cases takes in this process."""
    (folder / "bench_target.py").write_text(TARGET, encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "bench_target:answer", "metrics": ["equals"]}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    started, worked = time.perf_counter(), time.process_time()
    first: list[float] = []
    settings = Settings(store=str(folder / "evalmark.db"))
    with open_store(settings.store) as store:
        plan = plan_suite(folder / "suite.json", settings, Overrides())
        if calls:
            plan = replace(plan, targets=(ModelTarget(model=InstantModel()),))
        watch = lambda results: first or first.append(time.perf_counter() - started)  # noqa: E731
        run = asyncio.run(execute(plan, RunOptions(store=store, settings=settings, on_results=watch)))
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        rows = len(run.results)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    size = sum(path.stat().st_size for path in folder.glob("evalmark.db*")) / 1e6
    return {"rows": rows, "seconds": seconds, "cpu": cpu, "first": first[0], "peak": peak, "store": size}


def apart(megabytes: float, calls: bool) -> dict[str, float]:
    """The same in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        rows = write_rows(Path(name) / "cases.jsonl", megabytes)
        words = [sys.executable, __file__, "--folder", name, *(["--calls"] if calls else [])]
        found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    assert found["rows"] == rows
    return found


def compare(megabytes: float, calls: bool, add_row: AddRow) -> None:
    sizes = [apart(megabytes * share, calls) for share in (0.01, 0.1, 1)]
    for found in sizes:
        each = f"{found['cpu'] * 1_000 / found['rows']:.3f} ms of processor time; {found['seconds']:.1f} s in all"
        name = f"{found['rows']:,} cases: a case"
        add_row(what=name, found=found["seconds"] * 1_000 / found["rows"], unit="ms", note=each)
    small, _, large = sizes
    named = f"{large['rows']:,} cases from {megabytes:,.0f} MB{', a call each' if calls else ''}"
    ratio = large["cpu"] / large["rows"] / (small["cpu"] / small["rows"])
    note = f"by the clock {large['seconds'] / large['rows'] / (small['seconds'] / small['rows']):.2f} x"
    over = f"{named}: processor time a case over that of {small['rows']:,}"
    add_row(what=over, found=ratio, unit="x", at_most=CONSTANT, note=note)
    add_row(what=f"{named}: the first result", found=large["first"], unit="s", at_most=FIRST)
    add_row(what=f"{named}: the most memory", found=large["peak"], unit="MB", at_most=MEMORY)
    each = large["store"] / large["rows"] * 1e3
    add_row(what=f"{named}: the store, a case", found=each, unit="kB", note=f"{large['store']:,.0f} MB in all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--calls", action="store_true", help="one call of a model for each case")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    add_json(parser)
    args = parser.parse_args()
    if args.folder is not None:
        print(json.dumps(measure(args.folder, args.calls)))
        return
    with row_output(args.json) as add_row:
        compare(args.megabytes, args.calls, add_row)


if __name__ == "__main__":
    main()
