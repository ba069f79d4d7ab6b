"""The list of runs of a large store, and requests for a run in progress: how long the server takes.

Run: python benchmarks/run_list.py [--runs 1000] [--results 100000]
"""

import argparse
import asyncio
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rows import AddRow, add_json, row_output
from viewer import RUN, fill, one, random_text
from viewer_client import POLICY, answer

from evalmark import Run
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import Store, open_store

GOING = "20261122-101500-7k2m"
CASES = 20
"""Of each of the many runs."""
TIMES = 9


def fill_many(store: Store, runs: int) -> None:
    draw = random.Random(2)  # noqa: S311  the same rows every time

    async def write(run: str) -> None:
        await store.sink(run).write([one(draw, number) for number in range(CASES)])

    for number in range(runs):
        run = Run(
            id=f"20261120-{number:06}-aaaa",
            name=f"suite {number % 10}",
            created=f"2026-11-20T{number // 60 % 24:02}:{number % 60:02}:00+00:00",
            status="running",
            target="my_app:answer",
            datasets=(DatasetInfo(name="questions"),),
            metrics=(Metric(name="similarity", threshold=0.6), Metric(name="correct", unit="1..5")),
            notes=(random_text(draw, 30),),
        )
        store.start(run)
        asyncio.run(write(run.id))
        store.finish(replace(run, status="complete", finished=run.created))


def begin(store: Store, results: int) -> None:
    run = replace(store.run(RUN), id=GOING, status="running", finished=None, datasets=(DatasetInfo(name="questions"),))
    store.start(run)
    draw = random.Random(3)  # noqa: S311  the same rows every time

    async def write() -> None:
        for first in range(0, results, 1_000):
            await store.sink(GOING).write([one(draw, number) for number in range(first, min(first + 1_000, results))])

    asyncio.run(write())


def taken(app: object, address: str, status: int = 200, mark: str = "") -> float:
    started = time.perf_counter()
    found, _ = asyncio.run(answer(app, address, mark))
    assert found == status, (address, found)
    return (time.perf_counter() - started) * 1_000


def measure(store: Store, runs: int, results: int, add_row: AddRow) -> None:
    named = f"{runs:,} runs of {CASES} results, one of {results:,} and one as long under way"
    app = viewer_app(store, POLICY, patience=0)
    add_row(what="first look, templates included", found=taken(app, "/"), unit="ms", note=named)
    started = time.perf_counter()
    while b"data-pending" in asyncio.run(answer(app, "/"))[1]:
        time.sleep(0.05)
    add_row(what="until all trends are there", found=(time.perf_counter() - started) * 1_000, unit="ms")
    for what, address in {"again": "/", "the last page": f"/?page={runs // 25}", "a search": "/?text=suite+3"}.items():
        add_row(what=what, found=statistics.median(taken(app, address) for _ in range(TIMES)), unit="ms")
    for what, address in {"a look at the list": "/", "a look at the run under way": run_path(GOING)}.items():
        mark = re.search(rb'data-mark="(\w+)"', asyncio.run(answer(app, address))[1])[1].decode()
        looks = statistics.median(taken(app, address, 304, mark) for _ in range(TIMES))
        add_row(what=f"{what}, nothing new", found=looks, unit="ms")


def measure_command(path: Path, runs: int, add_row: AddRow) -> None:
    """`evalmark list` as a process of its own: first with totals to calculate, then with stored ones."""
    for what, words in {
        "evalmark list, first time": [],
        "evalmark list": [],
        f"evalmark list -n {runs}, first time": ["-n", str(runs)],
        f"evalmark list -n {runs}": ["-n", str(runs)],
        "evalmark list, of a suite": ["suite 3"],
    }.items():
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "evalmark", "list", *words, "--store", path], check=True, capture_output=True
        )
        add_row(what=what, found=(time.perf_counter() - started) * 1_000, unit="ms", note=f"{runs:,} runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--results", type=int, default=100_000)
    add_json(parser)
    how = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        row_output(how.json) as add_row,
        open_store(Path(name) / "evalmark.db") as store,
    ):
        fill_many(store, how.runs)
        fill(Path(name) / "evalmark.db", how.results)
        begin(store, how.results)
        measure(store, how.runs, how.results, add_row)
        measure_command(Path(name) / "evalmark.db", how.runs, add_row)


if __name__ == "__main__":
    main()
