"""How long a command takes before it does anything: `--help` and `import evalmark`, over bare Python.

Run: python benchmarks/startup.py
"""

import subprocess
import sys
import time
from statistics import median

RUNS = 15
COMMANDS = {
    "bare Python": ["-c", "pass"],
    "import evalmark": ["-c", "import evalmark"],
    "evalmark --help": ["-m", "evalmark", "--help"],
}
GOALS = {"import evalmark": 15, "evalmark --help": 150}


def milliseconds(words: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return (time.perf_counter() - started) * 1_000


def main() -> None:
    taken = {name: [] for name in COMMANDS}
    for _ in range(RUNS):  # in turn, so that a noisy moment hits all of them
        for name, words in COMMANDS.items():
            taken[name].append(milliseconds(words))
    bare = median(taken["bare Python"])
    print(f"{'command':<18}{'ms, median':>12}{'over bare':>12}{'goal':>8}")
    for name, times in taken.items():
        goal = f"{GOALS[name]}" if name in GOALS else ""
        print(f"{name:<18}{median(times):>12.1f}{median(times) - bare:>12.1f}{goal:>8}")


if __name__ == "__main__":
    main()
