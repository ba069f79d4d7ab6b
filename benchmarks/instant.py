"""The cost of a case whose target and scorer cost nothing: reading, running, and a durable store.

Run: python benchmarks/instant.py [--cases 10000]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from rows import add_json, row_output

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    add_json(parser)
    args = parser.parse_args()
    cases = args.cases
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        folder = Path(name)
        path = folder / "cases.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number in range(cases):
                text = f"question number {number}"
                stream.write(json.dumps({"id": str(number), "input": text, "expected": text}) + "\n")
        evaluate(path, instant, ["equals"], store=None, limit=10)  # imports are not what is measured
        for task in (instant, in_a_thread):
            kept = milliseconds_a_case(folder, path, task, cases, kept=True)
            memory = milliseconds_a_case(folder, path, task, cases, kept=False)
            note = f"{memory:.3f} without a store; {cases:,} cases"
            add_row(what=f"a case of `{task.__name__}`", found=kept, unit="ms", at_most=GOAL, note=note)


if __name__ == "__main__":
    main()
