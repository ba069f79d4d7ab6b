"""A large dataset, from the first row to the last result, in flat memory.

Run: python benchmarks/large.py [--megabytes 1000]
"""

import argparse
import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path

from rows import Tell, add_json, telling

from evalmark.api import Conduct, execute
from evalmark.plans import Overrides, plan_suite
from evalmark.settings import Settings
from evalmark.store import open_store

MEMORY, FIRST = 300, 3
"""Megabytes, and seconds until the first result."""
ROW = 1_000
TARGET = "async def answer(text):\n    return text[:1]\n"


def write_rows(path: Path, megabytes: int) -> int:
    filler = "x" * (ROW - 60)
    rows = megabytes * 1_000_000 // ROW
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            stream.write(json.dumps({"id": f"{number:09}", "input": filler, "expected": "x"}) + "\n")
    return rows


def measure(folder: Path, megabytes: int, tell: Tell) -> None:
    rows = write_rows(folder / "cases.jsonl", megabytes)
    (folder / "bench_target.py").write_text(TARGET, encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "bench_target:answer", "metrics": ["equals"]}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    started = time.perf_counter()
    first: list[float] = []
    settings = Settings(store=str(folder / "evalmark.db"))
    with open_store(settings.store) as store:
        plan = plan_suite(folder / "suite.json", settings, Overrides())
        watch = lambda results: first or first.append(time.perf_counter() - started)  # noqa: E731
        run = asyncio.run(execute(plan, Conduct(ledger=store, settings=settings, watch=watch)))
        seconds = time.perf_counter() - started
        assert len(run.results) == rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    named = f"{rows:,} cases from {megabytes:,} MB"
    tell(what=f"{named}: a case", found=seconds * 1_000 / rows, unit="ms", beside=f"{seconds:.0f} s in all")
    tell(what=f"{named}: the first result", found=first[0], unit="s", at_most=FIRST)
    tell(what=f"{named}: the most memory", found=peak, unit="MB", at_most=MEMORY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1_000)
    add_json(parser)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, telling(said.json) as tell:
        measure(Path(name), said.megabytes, tell)


if __name__ == "__main__":
    main()
