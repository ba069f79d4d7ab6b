"""`UnitTest` over recorded and labelled answers, compared with the embedding model alone on the same texts.

Run: python benchmarks/unit_tests.py [--cases 1000] [--rounds 5]

Each case has one liked answer and gets a new one from a function that costs nothing. The unit test reads the sessions from
a store, judges every case, and writes run and vectors into it; the other way embeds the same distinct texts in one call of
the model, and stores nothing. Both run in turn in one process, with a new store each time. The share is the rate of the
unit test over that of the model: the median of the rounds, by the clock and by processor time, which
depends less on other processes.
"""

import argparse
import asyncio
import contextlib
import io
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from embedding import local, texts

from evalmark.core.values.label import Label, content_fingerprint
from evalmark.core.values.session import Session, Span
from evalmark.store import open_store
from evalmark.unit_tests import UnitTest

GOAL = 0.8
MOMENT = "2026-01-01T00:00:00.000000Z"


def record(path: Path, pairs: list[tuple[str, str]]) -> None:
    """A session with an answer for each pair, all of them liked."""
    spans = [
        Span(id=f"{n:016x}", session="5" * 16, project="bench", started=MOMENT, input={"question": n}, output=liked)
        for n, (liked, _) in enumerate(pairs)
    ]
    labels = [
        Label(
            about=f"span:{s.id}", liked=True, by="ann", created=MOMENT, content=content_fingerprint(s.input, s.output)
        )
        for s in spans
    ]
    with open_store(path) as store:
        store.sessions.add([Session(id="5" * 16, project="bench", started=MOMENT)], spans)
        store.sessions.add_labels(labels)


class Took(NamedTuple):
    """Seconds."""

    clock: float
    processor: float


def since(started: Took) -> Took:
    """What has passed since."""
    return Took(time.perf_counter() - started.clock, time.process_time() - started.processor)


def tested(path: Path, pairs: list[tuple[str, str]]) -> Took:
    """What the whole unit test takes, from `with` to its end."""
    said = io.StringIO()
    started = Took(time.perf_counter(), time.process_time())
    with (
        contextlib.redirect_stdout(said),
        UnitTest("bench", store=path, raise_on_failure=False).for_project_sessions("bench") as test,
    ):
        for test_case in test.test_cases():
            test_case.evaluate(lambda inputs: pairs[inputs["question"]][1])
    took = since(started)
    assert f"{len(pairs):,} processed" in said.getvalue(), said.getvalue()
    return took


def embedded(wanted: list[str]) -> Took:
    """What the model alone takes."""
    started = Took(time.perf_counter(), time.process_time())
    asyncio.run(local()(wanted))
    return since(started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    made = texts(2 * args.cases)
    pairs = list(zip(made[::2], made[1::2], strict=True))
    distinct = list(dict.fromkeys(made))
    asyncio.run(local()(["warm"]))
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            path = Path(folder) / f"{number}.db"
            record(path, pairs)
            rounds.append((embedded(distinct), tested(path, pairs)))
        again = tested(Path(folder) / "0.db", pairs)
    rows = (
        ("the model alone, one call", [raw for raw, _ in rounds]),
        ("UnitTest, into a new store", [ours for _, ours in rounds]),
        ("UnitTest, vectors in the store", [again]),
    )
    print(f"{args.cases:,} cases, {len(distinct):,} distinct texts{'':14}seconds   of processors")
    for title, took in rows:
        print(f"{title:44}{median(t.clock for t in took):9.2f}{median(t.processor for t in took):16.2f}")
    for number, kind in enumerate(("the clock", "processor time")):
        shares = sorted(raw[number] / ours[number] for raw, ours in rounds)
        spread = f"from {shares[0]:.2f} to {shares[-1]:.2f}"
        print(f"share of the model's rate by {kind}: {median(shares):.2f} ({spread}); the goal is {GOAL}")


if __name__ == "__main__":
    main()
