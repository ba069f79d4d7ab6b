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

from evalmark.api import Conduct, execute
from evalmark.plans import Overrides, plan_suite
from evalmark.settings import Settings
from evalmark.store import open_store

GOAL = 300
ROW = 1_000
TARGET = "async def answer(text):\n    return text[:1]\n"


def write_rows(path: Path, megabytes: int) -> int:
    filler = "x" * (ROW - 60)
    rows = megabytes * 1_000_000 // ROW
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            stream.write(json.dumps({"id": f"{number:09}", "input": filler, "expected": "x"}) + "\n")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1_000)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
        print(f"{megabytes:,} MB of JSONL, {rows:,} cases: {seconds:.0f} s, {seconds * 1_000 / rows:.3f} ms a case,")
        print(f"first result after {first[0]:.2f} s, peak {peak:.0f} MB (goal {GOAL})")


if __name__ == "__main__":
    main()
