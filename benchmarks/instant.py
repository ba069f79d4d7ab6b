"""What a case costs when target and scorer cost nothing: reading, running, and a durable store.

Run: python benchmarks/instant.py [--cases 10000]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from evalmark import evaluate

GOAL = 0.3


async def instant(text: str) -> str:
    return text


def in_a_thread(text: str) -> str:
    return text


def milliseconds_a_case(folder: Path, path: Path, task, cases: int, *, kept: bool) -> float:
    store = folder / f"{task.__name__}.db" if kept else None
    started = time.perf_counter()
    run = evaluate(path, task, ["equals"], store=store)
    taken = time.perf_counter() - started
    assert len(run.results) == cases
    assert all(result.verdict == "pass" for result in run.results)
    return taken * 1_000 / cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    cases = parser.parse_args().cases
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "cases.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number in range(cases):
                text = f"question number {number}"
                stream.write(json.dumps({"id": str(number), "input": text, "expected": text}) + "\n")
        evaluate(path, instant, ["equals"], store=None, limit=10)  # imports are not what is measured
        print(f"{cases:,} cases, ms a case (goal with a store: {GOAL})")
        for task in (instant, in_a_thread):
            kept = milliseconds_a_case(folder, path, task, cases, kept=True)
            memory = milliseconds_a_case(folder, path, task, cases, kept=False)
            print(f"  {task.__name__:<12} store {kept:.3f}   memory {memory:.3f}")


if __name__ == "__main__":
    main()
