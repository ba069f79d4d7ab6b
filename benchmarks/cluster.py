"""Runs on Ray on one machine, compared with the same runs in one process.

Calls: the cases of `orchestration.py`, one call each, 64 in flight: seconds, and processor time of the coordinator alone.
Work: a target that computes for 20 ms of processor time, which one process does in one thread at a time and workers side by
side. The seconds of a run on Ray include the start of Ray, which a run of two cases measures.

Run: python benchmarks/cluster.py [--cases 2000] [--server http://127.0.0.1:8099]
"""

import argparse
import importlib.util
import json
import os
import tempfile
from pathlib import Path

from orchestration import JOBS, Server, Taken, command, limit_of, measured, server_at, write_suite
from rows import AddRow, add_json, row_output

WORK = """
import time

def answer(input):
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    return input
"""


def on(place: str, folder: Path, server: Server, *more: str) -> Taken:
    """One whole run there."""
    taken = measured(command("--on", place, "-q", *more, store=f"{place}.db"), folder, server)
    assert taken.code in (0, 1), (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    return taken


def tell_calls(add_row: AddRow, folder: Path, server: Server, cases: int) -> None:
    """Measure the work of the coordinator for each model call."""
    write_suite(folder, 2, 1)
    start = on("ray", folder, server)
    add_row(what="a run of two cases on Ray, with its start", found=start.wall, unit="s")
    write_suite(folder, cases, 1)
    here, there = on("local", folder, server), on("ray", folder, server)
    limit = limit_of(cases, 1)
    name = f"{cases:,} x 1 call on Ray"
    add_row(
        what=f"{name}: time after the start, over the limit",
        found=(there.wall - start.wall) / limit,
        unit="x",
        note=f"here {here.wall / limit:.2f}",
    )
    each = (there.cpu - start.cpu) / cases * 1_000
    add_row(
        what=f"{name}: processor time of the coordinator, a case",
        found=each,
        unit="ms",
        note=f"here {here.cpu / cases * 1_000:.2f}, with HTTP",
    )


def tell_work(add_row: AddRow, folder: Path, server: Server, cases: int) -> None:
    """A target that computes."""
    (folder / "work.py").write_text(WORK, encoding="utf-8")
    rows = [json.dumps({"id": f"c{number}", "input": "x", "expected": "x"}) for number in range(cases)]
    (folder / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "work:answer", "metrics": ["equals"]}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    here, there = on("local", folder, server), on("ray", folder, server)
    found = f"here {here.wall:.1f} s, where one thread computes at a time"
    add_row(what=f"{cases:,} x 20 ms of computing on Ray, with its start", found=there.wall, unit="s", note=found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--server", help="the address of a mock server")
    add_json(parser)
    args = parser.parse_args()
    with row_output(args.json) as add_row, server_at(args.server) as server, tempfile.TemporaryDirectory() as place:
        if importlib.util.find_spec("ray") is None:
            add_row(what="runs on Ray", found=None, note="Ray is not installed: pip install 'evalmark[ray]'")
            return
        os.environ.pop("RAY_ADDRESS", None)
        print(f"{os.cpu_count()} processors, {JOBS} in flight")
        tell_calls(add_row, Path(place), server, args.cases)
        tell_work(add_row, Path(place), server, max(1, args.cases // 4))


if __name__ == "__main__":
    main()
