"""The start-up time of `--help` and `import evalmark`, and the processor time of a run of one case.

`--help` and `import evalmark` are compared with bare Python; a run of one case on a mock server, with a new store, with what it takes
to import aiohttp. `--source` measures the same runs of another working tree, in turn, so that two states can be compared. Last comes the cost of
the parent process that supervises commands with users' code: `validate` with and without it, in turn.

Run: python benchmarks/startup.py [--runs 15]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from orchestration import Server, server_at
from rows import AddRow, add_json, row_output

COMMANDS = {
    "bare Python": ["-c", "pass"],
    "import evalmark": ["-c", "import evalmark"],
    "evalmark --help": ["-m", "evalmark", "--help"],
}
SUITE = Path(__file__).parents[1] / "examples" / "checks" / "suite.yaml"
PARENT = {"with": "1", "without": "0"}
"""Values of EVALMARK_SUPERVISE."""
GOALS = {"import evalmark": 15, "evalmark --help": 150}
AIOHTTP = ["-c", "import aiohttp"]
TARGETS = {"a model": {"model": "openai/mock"}, "a function": "echo:echo"}
ONE_CASE = ["-m", "evalmark", "run", "suite.json", "--store", "new.db"]


def environment(**more: str) -> dict[str, str]:
    """That of a user, with byte code stored, as is Python's default."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more


def milliseconds(words: list[str], **more: str) -> float:
    """Return the time of one start in milliseconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment(**more))
    return (time.perf_counter() - started) * 1_000


def processor_milliseconds(words: list[str], folder: Path, **more: str) -> float:
    """Return the processor time of one process, and of those it starts, in milliseconds."""
    for old in folder.glob("new.db*"):
        old.unlink()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True, env=environment(**more))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000


def write_suites(folder: Path) -> None:
    for name, target in TARGETS.items():
        home = folder / name
        home.mkdir()
        (home / "echo.py").write_text("def echo(text):\n    return text\n", encoding="utf-8")
        (home / "cases.jsonl").write_text(json.dumps({"id": "1", "input": "ok", "expected": "ok"}), encoding="utf-8")
        suite = {"datasets": ["cases.jsonl"], "target": target, "metrics": [{"length": {"min_chars": 1}}]}
        (home / "suite.json").write_text(json.dumps(suite), encoding="utf-8")


def one_case(folder: Path, server: Server, runs: int, other: Path | None, add_row: AddRow) -> None:
    """Measure runs of one case in turn with the import of aiohttp."""
    write_suites(folder)
    ours = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
    starts: dict[str, Callable[[], float]] = {
        "bare Python": partial(processor_milliseconds, ["-c", "pass"], folder),
        "aiohttp": partial(processor_milliseconds, AIOHTTP, folder),
    }
    for name in TARGETS:
        starts[name] = partial(processor_milliseconds, ONE_CASE, folder / name, **ours)
        if other is not None:
            starts[f"{name}, {other}"] = partial(
                processor_milliseconds, ONE_CASE, folder / name, **ours, PYTHONPATH=str(other / "src")
            )
    taken: dict[str, list[float]] = {name: [] for name in starts}
    for start in starts.values():
        start()
    for _ in range(runs):
        for name, start in starts.items():
            taken[name].append(start())
    bare = median(taken.pop("bare Python"))
    floor = median(taken.pop("aiohttp")) - bare
    add_row(what="`import aiohttp`, processor time over bare Python", found=floor, unit="ms")
    for name, times in taken.items():
        cost = median(times) - bare
        add_row(
            what=f"a run of one case on {name}, over `import aiohttp`",
            found=cost / floor,
            unit="x",
            at_most=1.0 if name == "a model" else None,
            floor=f"{floor:.0f} ms",
            note=f"{cost:.0f} ms of processor time over bare Python",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="number of runs; the median counts")
    parser.add_argument("--source", type=Path, help="another working tree, to compare runs of one case with")
    add_json(parser)
    args = parser.parse_args()
    with row_output(args.json) as add_row:
        against_bare_python(args.runs, add_row)
        with tempfile.TemporaryDirectory() as name, server_at(None) as server:
            one_case(Path(name), server, args.runs, args.source and args.source.resolve(), add_row)


def against_bare_python(runs: int, add_row: AddRow) -> None:
    taken: dict[str, list[float]] = {name: [] for name in (*COMMANDS, *PARENT)}
    for words in COMMANDS.values():
        milliseconds(words)
    for _ in range(runs):  # in turn, so that a noisy moment hits all of them
        for name, words in COMMANDS.items():
            taken[name].append(milliseconds(words))
        for name, value in PARENT.items():
            taken[name].append(milliseconds(["-m", "evalmark", "validate", str(SUITE)], EVALMARK_SUPERVISE=value))
    bare = median(taken["bare Python"])
    for name, goal in GOALS.items():
        middle = median(taken[name])
        add_row(
            what=f"`{name}`, over bare Python",
            found=middle - bare,
            unit="ms",
            at_most=goal,
            floor=f"{bare:.1f} ms",
            note=f"{middle:.1f} ms in all",
        )
    alone = median(taken["without"])
    note = f"{median(taken['with']):.1f} ms with it, {alone:.1f} without"
    add_row(what="the parent process of `evalmark validate`", found=median(taken["with"]) - alone, unit="ms", note=note)


if __name__ == "__main__":
    main()
