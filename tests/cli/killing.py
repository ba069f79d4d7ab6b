"""A suite of 20 cases, and programs that are killed at one of their writes after the other."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

TARGET = """
def answer(text):
    with open("asked.txt", "a") as asked:
        asked.write(text + "\\n")
    return text.upper()
"""
CASES, JOBS = 20, 3
HOWS = ["before", "torn", "after"]
ROOT = Path(__file__).parents[2]


def write_suite(folder, **more):
    """A suite whose target notes what it is asked."""
    (folder / "counted.py").write_text(TARGET, encoding="utf-8")
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(CASES)]
    (folder / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "counted:answer", **more}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")


def verdict(said):
    """What a judge says."""
    return json.dumps({"reason": f"{said.model} has read it", "answer": "C"})


def attempts(program, folder, how, points, between=dict, **environment):
    """What became of a program that was killed at each of these points; `between` adds to each what it finds."""
    command = [sys.executable, "-m", f"tests.cli.{program}", str(folder), how, *map(str, points)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    own = {**os.environ, **environment}
    with subprocess.Popen(command, text=True, cwd=ROOT, env=own, **pipes) as running:
        found = []
        for line in running.stdout:
            one = json.loads(line) | between()
            if not one["too_late"]:
                found.append(one)
            running.stdin.write("\n")
            running.stdin.flush()
        said = running.stderr.read()
    assert running.returncode == 0, said
    return found


def program(attempt: Callable[[Path, int | None, str], dict]) -> None:
    """The other side of `attempts`: one JSON line an attempt, and a line is waited for before the next one.

    A busy machine writes in fewer and larger pieces: what ended before its point is tried again at its last write.
    """
    folder, how, *points = sys.argv[1:]
    for text in points:
        point = None if text == "none" else int(text)
        too_late = True
        while too_late:
            found = attempt(Path(folder), point, how)
            too_late = point is not None and found["changes"] is not None and found["changes"] < point
            sys.stdout.write(json.dumps(found | {"too_late": too_late}) + "\n")
            sys.stdout.flush()
            sys.stdin.readline()
            point = found["changes"]


def in_a_fork(act: Callable[[], object]) -> int:
    """The exit code of `act` in a child, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            act()
        except SystemExit as left:
            os._exit(left.code or 0)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
