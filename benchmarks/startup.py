"""How long a command takes before it does anything: `--help` and `import evalmark`, over bare Python.

And what the parent process costs that a command has which runs users' code: `validate` with it and without, in turn.

Run: python benchmarks/startup.py [--runs 15]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from rows import add_json, telling

COMMANDS = {
    "bare Python": ["-c", "pass"],
    "import evalmark": ["-c", "import evalmark"],
    "evalmark --help": ["-m", "evalmark", "--help"],
}
SUITE = Path(__file__).parents[1] / "examples" / "checks" / "suite.yaml"
PARENT = {"with": "1", "without": "0"}
"""What EVALMARK_SUPERVISE says."""
GOALS = {"import evalmark": 15, "evalmark --help": 150}


def milliseconds(words: list[str], **more: str) -> float:
    """Of one start, with byte code kept, as Python does unless it is told otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment)
    return (time.perf_counter() - started) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="of each, of which the median counts")
    add_json(parser)
    said = parser.parse_args()
    taken = {name: [] for name in (*COMMANDS, *PARENT)}
    for words in COMMANDS.values():
        milliseconds(words)
    for _ in range(said.runs):  # in turn, so that a noisy moment hits all of them
        for name, words in COMMANDS.items():
            taken[name].append(milliseconds(words))
        for name, value in PARENT.items():
            taken[name].append(milliseconds(["-m", "evalmark", "validate", str(SUITE)], EVALMARK_SUPERVISE=value))
    bare = median(taken["bare Python"])
    with telling(said.json) as tell:
        for name, goal in GOALS.items():
            middle = median(taken[name])
            beside = f"{middle:.1f} ms in all, bare Python {bare:.1f}"
            tell(what=f"`{name}`, over bare Python", found=middle - bare, unit="ms", at_most=goal, beside=beside)
        alone = median(taken["without"])
        beside = f"{median(taken['with']):.1f} ms with it, {alone:.1f} without"
        tell(
            what="the parent process of `evalmark validate`",
            found=median(taken["with"]) - alone,
            unit="ms",
            beside=beside,
        )


if __name__ == "__main__":
    main()
