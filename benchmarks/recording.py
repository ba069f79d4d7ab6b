"""The cost of recording for an app: microseconds a call on the app's own thread, compared with no recording.

    python benchmarks/recording.py

Each figure is the median over rounds of the time a call takes, and the slowest round; the writer works meanwhile, so
what it takes of the interpreter is part of the figure. The last line is what a burst loses when it is faster than the disk.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from evalmark import record
from evalmark.recording import flush
from evalmark.store import open_store

ROUNDS = 40
CALLS = 100
PAUSE = 0.05
"""Seconds between rounds: 2,000 calls a second, more than most apps answer."""
TURNS = [{"role": "user", "content": f"turn {number}, some fifty characters of what was said"} for number in range(40)]


def plain(question):
    return "Oslo"


def stream(question):
    yield from ("Os", "lo")


async def coroutine(question):
    return "Oslo"


def measured(name: str, call) -> None:
    for _ in range(CALLS):
        call()
    flush(10)
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - start) / CALLS * 1e6)
        time.sleep(PAUSE)
    print(f"  {name:<44} {statistics.median(rounds):8.1f} µs   slowest round {max(rounds):8.1f} µs")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "recorded.db"
        recorded = record("benchmark", store=store)
        one, text = recorded(plain), "x" * 100_000
        step = record.step(kind="tool")(plain)

        @recorded
        def with_three_steps(question):
            return step(question), step(question), step(question)

        async def many(function):
            for _ in range(CALLS):
                await function("Where?")

        measured("a call without recording", lambda: plain("Where?"))
        measured("a recorded call", lambda: one("Where?"))
        measured("a recorded call with three steps", lambda: with_three_steps("Where?"))
        measured("a recorded call, input of 40 messages", lambda: one(TURNS))
        measured("a recorded call, input of 100,000 characters", lambda: one(text))
        measured("a stream of two pieces, not recorded", lambda: list(stream("Where?")))
        made = recorded(stream)
        measured("a recorded stream of two pieces", lambda: list(made("Where?")))
        unsampled = record("benchmark", store=store, sample=0)(plain)
        measured("a call that is not sampled", lambda: unsampled("Where?"))
        start = time.perf_counter()
        asyncio.run(many(recorded(coroutine)))
        print(f"  {'a recorded coroutine':<44} {(time.perf_counter() - start) / CALLS * 1e6:8.1f} µs")
        flush(30)
        one = record("burst", store=store)(plain)
        start = time.perf_counter()
        for _ in range(30_000):
            one("Where?")
        burst = time.perf_counter() - start
        flush(60)
        with open_store(store, read_only=True) as opened:
            dropped = sum(found.session.dropped for found in opened.sessions.summaries("burst"))
        print(f"  a burst of 30,000 calls: {burst / 30_000 * 1e6:.1f} µs a call, {dropped:,} dropped and counted")


if __name__ == "__main__":
    main()
