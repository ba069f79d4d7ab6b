"""How far the reported time of an answer is from a timer inside the target, with 64 jobs on a busy machine.

Each target measures itself: a function that sleeps and one that computes (in threads), a coroutine, and a model whose server
reports its time. An answer counts if the two times differ by at most 1 ms or 5 %. Meanwhile `--busy` processes compute.

Run: python benchmarks/latency.py [--cases 500] [--jobs 64] [--busy 2]
"""

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from limits import run as run_model
from limits import serving, write_cases
from rows import add_json, row_output

from evalmark import evaluate

TIMES: dict[str, float] = {}


def sleeps(question: str) -> str:
    started = time.perf_counter()
    time.sleep(0.0003)
    TIMES[question] = time.perf_counter() - started
    return question


def computes(question: str) -> str:
    started = time.perf_counter()
    for _ in range(50):
        hashlib.sha256(question.encode() * 100).hexdigest()
    TIMES[question] = time.perf_counter() - started
    return question


async def suspends(question: str) -> str:
    started = time.perf_counter()
    await asyncio.sleep(0.02)
    TIMES[question] = time.perf_counter() - started
    return question


def is_near(inside: float, reported: float) -> bool:
    return abs(reported - inside) <= max(0.001, 0.05 * inside)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Others at work on this machine."""
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()


def spin() -> None:
    while True:
        hashlib.sha256(b"x" * 10_000).hexdigest()


def figures(pairs: list[tuple[float, float]]) -> dict[str, object]:
    share = sum(is_near(*pair) for pair in pairs) / len(pairs)
    inside, reported = (median(times) * 1_000 for times in zip(*pairs, strict=True))
    worst = sorted(abs(b - a) for a, b in pairs)[int(0.99 * len(pairs))] * 1_000
    note = f"median inside {inside:.3g} ms, reported {reported:.3g} ms; 99 % differ by less than {worst:.3g} ms"
    return {"found": 100 * share, "unit": "%", "note": note}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=64)
    parser.add_argument("--busy", type=int, default=2, help="processes that compute meanwhile")
    add_json(parser)
    args = parser.parse_args()
    cases = [{"id": str(number), "input": f"question {number}"} for number in range(args.cases)]
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        folder = Path(name)
        (folder / "few.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
        with busy(args.busy):
            for target in (sleeps, computes, suspends):
                TIMES.clear()
                found = evaluate(
                    folder / "few.jsonl", target, [{"length": {"min_chars": 1}}], store=None, jobs=args.jobs
                )
                pairs = [(TIMES[r.trial.case.input], r.output.seconds or 0.0) for r in found.results]
                add_row(what=f"`{target.__name__}`: times within 1 ms or 5 %", at_least=99, **figures(pairs))
            write_cases(folder, args.cases)
            with serving("clean", 250) as url:
                _, _, outputs = run_model(folder, url, "model")
            pairs = [(float(output["value"]), output["seconds"]) for output in outputs]
            add_row(what="a model: times within 1 ms or 5 %", **figures(pairs))


if __name__ == "__main__":
    main()
