"""The cost of the pytest plugin: its import, a suite without evals, and each case of an eval over a plain test.

Every row is a whole run of pytest in its own process, with a new store. Compared runs alternate: the same cases as parametrised tests and as an eval, or the plugin left out and loaded.

Run: python benchmarks/pytest_plugin.py [--cases 2000] [--runs 5]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

IMPORTS = 15
IMPORT_GOAL, CASE_GOAL = 20, 1.0
IMPORT = """
import pytest, time
started = time.perf_counter()
import evalmark.harness.pytest_plugin
print((time.perf_counter() - started) * 1_000)
"""
PLAIN = """
import pytest

def answer(text):
    return text

CASES = [(f"question number {{number}}", f"question number {{number}}") for number in range({cases})]

@pytest.mark.parametrize(("text", "expected"), CASES)
def test_answer(text, expected):
    assert answer(text) == expected
"""
EVALS = """
from evalmark import describe_eval

{kind}def answer(text):
    return text

CASES = [(f"question number {{number}}", f"question number {{number}}") for number in range({cases})]

describe_eval(
    "answers", data=[{{"input": text, "expected": said}} for text, said in CASES], task=answer, scorers=["equals"]
)
"""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one run of pytest took, in seconds."""

    wall: float
    cpu: float
    """User and system, with the processes that it started."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Two ways to run pytest that are compared."""

    name: str
    before: Sequence[str]
    after: Sequence[str]
    cases: int
    goal: float | None = None
    """Milliseconds a case at the most."""


def write_tests(folder: Path, cases: int) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for count in {cases, 1}:
        texts = {
            f"test_plain_{count}.py": PLAIN.format(cases=count),
            f"test_sync_{count}.py": EVALS.format(cases=count, kind=""),
            f"test_async_{count}.py": EVALS.format(cases=count, kind="async "),
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")


def rows(cases: int) -> list[Row]:
    """What is measured; the eval runs as people run it, and then one case at a time."""
    plain, sync, coroutine = (f"test_{kind}_{cases}.py" for kind in ("plain", "sync", "async"))
    found = [
        Row(name="no eval in the suite", before=[plain, "-p", "no:evalmark"], after=[plain], cases=cases),
        Row(name="evals left out", before=["test_plain_1.py"], after=["test_async_1.py"], cases=1),
        Row(name="one case", before=["test_plain_1.py"], after=["test_async_1.py", "--evalmark"], cases=1),
        Row(name="async task", before=[plain], after=[coroutine, "--evalmark"], cases=cases, goal=CASE_GOAL),
        Row(name="sync task", before=[plain], after=[sync, "--evalmark"], cases=cases, goal=CASE_GOAL),
        Row(name="sync task, -x", before=[plain, "-x"], after=[sync, "--evalmark", "-x"], cases=cases),
    ]
    if find_spec("xdist") is not None:
        two = ["-n", "2"]
        found.append(Row(name="sync task, -n 2", before=[plain, *two], after=[sync, "--evalmark", *two], cases=cases))
    return found


def environment(folder: Path, store: Path) -> dict[str, str]:
    """Without settings of the caller; byte code is kept, as Python does unless it is told otherwise."""
    left_out = ("EVALMARK_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {"EVALMARK_STORE": str(store), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def measured(folder: Path, words: Sequence[str]) -> Taken:
    """Run pytest once, in a folder that knows nothing of earlier runs."""
    with tempfile.TemporaryDirectory(dir=folder) as kept:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        with (folder / "log.txt").open("w") as log:
            started = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=log, env=environment(folder, Path(kept) / "evalmark.db")
            )
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / "log.txt").read_text(encoding="utf-8")
    assert process.returncode == 0, said
    return Taken(wall=wall, cpu=used.ru_utime + used.ru_stime)


def show(row: Row, before: Sequence[Taken], after: Sequence[Taken]) -> None:
    """Medians of both, and what the second takes over the first: median, least and most, in ms a case."""
    pairs = list(zip(before, after, strict=True))
    over = sorted((b.wall - a.wall) * 1_000 / row.cases for a, b in pairs)
    cpu = median((b.cpu - a.cpu) * 1_000 / row.cases for a, b in pairs)
    walls = f"{median(t.wall for t in before):>8.2f}{median(t.wall for t in after):>8.2f}"
    goal = "" if row.goal is None else f"{row.goal:>7.1f}"
    spread = f"{over[0]:.3f} to {over[-1]:.3f}"
    print(f"{row.name:<22}{walls}{median(over):>10.3f}  {spread:<18}{cpu:>8.3f}{goal}", flush=True)


def import_times() -> list[float]:
    """Milliseconds to import the plugin and evalmark where pytest is loaded already, as it is when it loads plugins."""
    words = [sys.executable, "-c", IMPORT]
    return sorted(float(subprocess.run(words, check=True, capture_output=True).stdout) for _ in range(IMPORTS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name begins so")
    args = parser.parse_args()
    taken = import_times()
    print(f"import of the plugin: best {taken[0]:.1f} ms, median {median(taken):.1f} ms (goal {IMPORT_GOAL})")
    print(f"{args.cases:,} cases; seconds without and with; ms a case over plain: median, spread, processor time; goal")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tests(folder, args.cases)
        for row in rows(args.cases):
            if not row.name.startswith(args.only):
                continue
            for words in (row.before, row.after):  # byte code and caches of the disk are not what is measured
                measured(folder, words)
            pairs = [(measured(folder, row.before), measured(folder, row.after)) for _ in range(args.runs)]
            before, after = zip(*pairs, strict=True)
            show(row, before, after)


if __name__ == "__main__":
    main()
