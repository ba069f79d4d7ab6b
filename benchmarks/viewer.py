"""The pages of the viewer over a store with many results: how long the server takes, and how much memory.

Run: python benchmarks/viewer.py [--results 100000]
"""

import argparse
import asyncio
import random
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from evalmark.addresses.paths import run_path
from evalmark.doorway import Door
from evalmark.store import Store, open_store
from evalmark.values import Case, DatasetInfo, Metric, Output, Result, Run, Score, Trial
from evalmark.web import pages

RUN = "20261121-101500-3f9a"
WORDS = (
    "the quick brown",
    "fox",
    "jumps over",
    "lazy dog",
    "while parcels",
    "travel",
    "slowly",
    "to",
    "Peru",
    "and back",
)
DOOR = Door(token="a-token-of-this-benchmark", hosts=frozenset({"127.0.0.1:7878"}), cookie="evalmark")  # noqa: S106
HEADERS = [(b"host", b"127.0.0.1:7878"), (b"cookie", f"{DOOR.cookie}={DOOR.token}".encode())]
ADDRESSES = {
    "the list of runs": ("/", 150),
    "a run, first look": (run_path(RUN), 300),
    "a run, again": (run_path(RUN), 300),
    "a run, last page": (run_path(RUN, "?page=1999"), 300),
    "those that failed": (run_path(RUN, "?verdict=fail"), 300),
    "by tag": (run_path(RUN, "?tag=even"), 300),
    "by a text that many hold": (run_path(RUN, "?text=Peru+and"), 300),
    "by a text that none holds": (run_path(RUN, "?text=nowhere"), 300),
    "sorted by score, first time": (run_path(RUN, "?sort=score:similarity"), 1_000),
    "sorted by score, again": (run_path(RUN, "?sort=-score:similarity"), 300),
    "by a range of a score": (run_path(RUN, "?metric=similarity&low=0.1&high=0.11"), 300),
    "a case, first look": (f"{run_path(RUN)}/results/500?at=499", 100),
    "another case": (f"{run_path(RUN)}/results/90000?at=89999", 100),
    "its pictures": (f"{run_path(RUN)}/pictures", 300),
    "its pictures, by a metric": (f"{run_path(RUN)}/pictures?against=similarity", 300),
    "over time": ("/course", 300),
}
"""What is asked for, and the goal in milliseconds."""


def said(draw: random.Random, n: int) -> str:
    return " ".join(draw.choices(WORDS, k=n))


def one(draw: random.Random, number: int) -> Result:
    value, grade = draw.random(), draw.randint(1, 5)
    case = Case(id=f"q{number}", input=said(draw, 20), expected=said(draw, 20), tags=(("even", "odd")[number % 2],))
    scores = (
        Score(name="similarity", raw=value, value=value, passed=value >= 0.6, reason=said(draw, 8)),
        Score(name="correct", raw=grade, value=(grade - 1) / 4, passed=grade >= 3, reason=said(draw, 20)),
        Score(name="polite", raw=number % 7 > 0, value=float(number % 7 > 0), passed=number % 7 > 0),
    )
    trial = Trial(case=case, dataset="questions", target="my_app:answer", position=number)
    return Result(trial=trial, output=Output(value=said(draw, 60), seconds=draw.random()), scores=scores)


def fill(store: Store, results: int) -> None:
    draw = random.Random(1)  # noqa: S311  the same rows every time
    metrics = (Metric(name="similarity", threshold=0.6), Metric(name="correct", unit="1..5"), Metric(name="polite"))
    run = Run(
        id=RUN,
        name="support bot",
        created="2026-11-21T10:15:00+00:00",
        status="running",
        datasets=(DatasetInfo(name="questions"),),
        metrics=metrics,
    )
    store.start(run)
    sink = store.sink(RUN)

    async def write() -> None:
        for first in range(0, results, 1_000):
            await sink.write([one(draw, number) for number in range(first, min(first + 1_000, results))])

    asyncio.run(write())
    store.finish(replace(run, status="complete", finished="2026-11-21T10:25:00+00:00"))


async def asked(app: object, address: str) -> tuple[int, int]:
    path, _, query = address.partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": HEADERS}
    sent = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    async def send(message: dict) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sum(len(message.get("body", b"")) for message in sent[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=int, default=100_000)
    results = parser.parse_args().results
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "evalmark.db"
        with open_store(path) as store:
            fill(store, results)
        with open_store(path, read_only=True) as store:
            measure(store, results)


def measure(store: Store, results: int) -> None:
    app = pages(store, DOOR, patience=0)
    print(f"{results:,} results; figures are worked out beside the first pages")
    for what, (address, goal) in ADDRESSES.items():
        started = time.perf_counter()
        status, size = asyncio.run(asked(app, address))
        taken = (time.perf_counter() - started) * 1_000
        assert status == 200, (what, status)
        print(f"{what:30} {taken:6.0f} ms (goal {goal:,}), {size / 1_000:.0f} kB")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024:.0f} MB (goal 200)")


if __name__ == "__main__":
    main()
