"""Runs on a Ray of one machine beside the same runs in one process.

Calls: the cases of `orchestration.py`, one call each, 64 in flight: seconds, and processor time of the desk alone.
Work: a target that computes for 20 ms of processor time, which one process does in one thread at a time and workers side by
side. The seconds of a run on Ray hold the start of Ray; a run of two cases tells how long that takes.

Run: python benchmarks/cluster.py [--cases 2000] [--server http://127.0.0.1:8099]
"""

import argparse
import importlib.util
import json
import os
import tempfile
from pathlib import Path

from orchestration import JOBS, Server, Taken, command, limit_of, measured, server_at, write_suite
from rows import Tell, add_json, telling

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


def tell_calls(tell: Tell, folder: Path, server: Server, cases: int) -> None:
    """Calls of a model: what the desk has to do for each."""
    write_suite(folder, 2, 1)
    start = on("ray", folder, server)
    tell(what="a run of two cases on Ray, with its start", found=start.wall, unit="s")
    write_suite(folder, cases, 1)
    here, there = on("local", folder, server), on("ray", folder, server)
    limit = limit_of(cases, 1)
    name = f"{cases:,} x 1 call on Ray"
    tell(
        what=f"{name}: time after the start, over the limit",
        found=(there.wall - start.wall) / limit,
        unit="x",
        beside=f"here {here.wall / limit:.2f}",
    )
    each = (there.cpu - start.cpu) / cases * 1_000
    tell(
        what=f"{name}: processor time of the desk, a case",
        found=each,
        unit="ms",
        beside=f"here {here.cpu / cases * 1_000:.2f}, with HTTP",
    )


def tell_work(tell: Tell, folder: Path, server: Server, cases: int) -> None:
    """A target that computes."""
    (folder / "work.py").write_text(WORK, encoding="utf-8")
    rows = [json.dumps({"id": f"c{number}", "input": "x", "expected": "x"}) for number in range(cases)]
    (folder / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "work:answer", "metrics": ["equals"]}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    here, there = on("local", folder, server), on("ray", folder, server)
    found = f"here {here.wall:.1f} s, where one thread computes at a time"
    tell(what=f"{cases:,} x 20 ms of computing on Ray, with its start", found=there.wall, unit="s", beside=found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--server", help="the address of a mock server")
    add_json(parser)
    given = parser.parse_args()
    with telling(given.json) as tell, server_at(given.server) as server, tempfile.TemporaryDirectory() as place:
        if importlib.util.find_spec("ray") is None:
            tell(what="runs on Ray", found=None, beside="Ray is not installed: pip install 'evalmark[ray]'")
            return
        os.environ.pop("RAY_ADDRESS", None)
        print(f"{os.cpu_count()} processors, {JOBS} in flight")
        tell_calls(tell, Path(place), server, given.cases)
        tell_work(tell, Path(place), server, max(1, given.cases // 4))


if __name__ == "__main__":
    main()
