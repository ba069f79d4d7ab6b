"""The time of `evalmark compare` for two runs of 10,000 cases and five metrics, from the start of the process to its end.

Run: python benchmarks/comparing.py [--cases 10000]
"""

import argparse
import asyncio
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from rows import AddRow, add_json, row_output

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.protocols import Sink
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.storage.results.run_ids import new_run_id
from evalmark.store import open_store

CASES, GOAL = 10_000, 3.0
"""Seconds for two runs of so many cases."""
GRADED = ("similarity", "correctness", "relevance")
TRUTHS = ("equals", "polite")


def results(cases: int, shift: float, seed: int) -> Iterator[Result]:
    """Answers of some length to the same questions, whose scores are lower by `shift` on average."""
    luck = random.Random(seed)  # noqa: S311  no secret
    for number in range(cases):
        ease = random.Random(number).random()  # noqa: S311  the same in both runs
        graded = [min(1.0, max(0.0, ease - shift + luck.gauss(0, 0.1))) for _ in GRADED]
        truths = [luck.random() < 0.5 + ease / 2 - shift for _ in TRUTHS]
        scores = [Score(name=n, raw=v, value=v, passed=v >= 0.2) for n, v in zip(GRADED, graded, strict=True)]
        scores += [
            Score(name=n, raw=v, value=float(v), passed=v, reason="so it is")
            for n, v in zip(TRUTHS, truths, strict=True)
        ]
        case = Case(
            id=f"case-{number}",
            input=f"Question {number}: " + "what is known of it? " * 10,
            expected="It is known.",
            tags=("short" if number % 2 else "long", f"topic {number % 20}"),
        )
        output = Output(value=f"Answer {number} of run {seed}. " * 10, seconds=0.5)
        trial = Trial(case=case, dataset="cases", position=number, target="app")
        yield Result(trial=trial, output=output, scores=tuple(scores))


async def write(sink: Sink, every: Iterator[Result]) -> None:
    while some := [*islice(every, 1_000)]:
        await sink.write(some)


def keep(path: Path, cases: int) -> None:
    """A store with two runs."""
    with open_store(path) as store:
        for seed, shift in ((1, 0.0), (2, 0.02)):
            run = Run(
                id=new_run_id(),
                name="cases",
                created=f"2026-01-0{seed}T00:00:00Z",
                status="running",
                target="app",
                datasets=(DatasetInfo(name="cases", rows=cases),),
                metrics=tuple(Metric(name=name, threshold=0.2) for name in (*GRADED, *TRUTHS)),
            )
            store.start(run)
            asyncio.run(write(store.sink(run.id), results(cases, shift, seed)))
            store.finish(replace(run, status="complete"))


def measure(path: Path, cases: int, words: list[str], add_row: AddRow) -> None:
    command = [sys.executable, "-m", "evalmark", "compare", "last", "last~1", "--store", str(path), *words]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    taken, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1, 3), done.stderr.decode()
    used = after.ru_utime - before.ru_utime
    named = " ".join(["evalmark compare", *words])
    note = f"{used:.2f} s of processor time, {after.ru_maxrss / 1_024:.0f} MB at most, exit code {done.returncode}"
    goal = GOAL if cases <= CASES else None
    add_row(what=f"`{named}`, two runs of {cases:,} cases", found=taken, unit="s", at_most=goal, note=note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=CASES)
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        path = Path(name) / "runs.db"
        keep(path, args.cases)
        for words in ([], ["--pairs"]):
            measure(path, args.cases, words, add_row)


if __name__ == "__main__":
    main()
