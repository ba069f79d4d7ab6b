"""The start-up time of `--help` and `import evalmark`, compared with bare Python.

Also the cost of the parent process that supervises commands with users' code: `validate` with and without it, in turn.

Run: python benchmarks/startup.py [--runs 15]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from rows import add_json, row_output

COMMANDS = {
    "bare Python": ["-c", "pass"],
    "import evalmark": ["-c", "import evalmark"],
    "evalmark --help": ["-m", "evalmark", "--help"],
}
SUITE = Path(__file__).parents[1] / "examples" / "checks" / "suite.yaml"
PARENT = {"with": "1", "without": "0"}
"""Values of EVALMARK_SUPERVISE."""
GOALS = {"import evalmark": 15, "evalmark --help": 150}


def milliseconds(words: list[str], **more: str) -> float:
    """Return the time of one start in milliseconds, with byte code stored, as is Python's default."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment)
    return (time.perf_counter() - started) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="number of runs; the median counts")
    add_json(parser)
    args = parser.parse_args()
    taken = {name: [] for name in (*COMMANDS, *PARENT)}
    for words in COMMANDS.values():
        milliseconds(words)
    for _ in range(args.runs):  # in turn, so that a noisy moment hits all of them
        for name, words in COMMANDS.items():
            taken[name].append(milliseconds(words))
        for name, value in PARENT.items():
            taken[name].append(milliseconds(["-m", "evalmark", "validate", str(SUITE)], EVALMARK_SUPERVISE=value))
    bare = median(taken["bare Python"])
    with row_output(args.json) as add_row:
        for name, goal in GOALS.items():
            middle = median(taken[name])
            note = f"{middle:.1f} ms in all, bare Python {bare:.1f}"
            add_row(what=f"`{name}`, over bare Python", found=middle - bare, unit="ms", at_most=goal, note=note)
        alone = median(taken["without"])
        note = f"{median(taken['with']):.1f} ms with it, {alone:.1f} without"
        add_row(
            what="the parent process of `evalmark validate`",
            found=median(taken["with"]) - alone,
            unit="ms",
            note=note,
        )


if __name__ == "__main__":
    main()
