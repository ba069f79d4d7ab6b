"""kill -9 at the write points of a 20-case run: no result lost, none computed twice but those under way."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

TARGET = """
import os

def answer(text):
    with open("asked.txt", "a") as asked:
        asked.write(text + "\\n")
    return text.upper()
"""
CASES, JOBS = 20, 3
PROGRAM = Path(__file__).with_name("killed_runs.py")


def attempts(folder, how, points, between=dict, **environment):
    """What became of a run that was killed at each of these points; `between` adds to each what it finds."""
    command = [sys.executable, str(PROGRAM), str(folder / "suite.json"), how, *map(str, points)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes) as program:
        found = []
        for line in program.stdout:
            found.append(json.loads(line) | between())
            program.stdin.write("\n")
            program.stdin.flush()
        said = program.stderr.read()
    assert program.returncode == 0, said
    return found


@pytest.fixture(scope="module")
def attempt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    (folder / "counted.py").write_text(TARGET, encoding="utf-8")
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(CASES)]
    (folder / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "counted:answer", "metrics": ["equals"], "repeat": 1}
    (folder / "suite.json").write_text(json.dumps(found), encoding="utf-8")

    return lambda how, points: attempts(folder, how, points)


@pytest.fixture(scope="module")
def whole(attempt):
    """The same run, never killed."""
    (found,) = attempt("before", ["none"])
    assert (found["first"], found["kept"], found["asked_before"]) == (0, CASES, CASES)
    return found


def check(attempts, whole):
    killed = [found for found in attempts if found["changes"] is None]
    assert len(killed) >= 0.5 * len(attempts)  # batches grow where the machine is busy: some end before the point
    for found in killed:
        assert found["first"] == -9, found
        assert found["second"] == 0, found
        assert found["export"] == whole["export"], found["point"]
        assert found["asked"] <= found["asked_before"] + CASES - found["kept"], found
        assert found["asked"] >= CASES
        assert found["kept"] <= found["asked_before"]


HOWS = ["before", "torn", "after"]


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_of_a_run_loses_nothing(attempt, whole, how):
    points = random.Random(f"run {how}").sample(range(1, whole["changes"] + 1), 3)  # noqa: S311  seeded
    check(attempt(how, points), whole)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_of_a_run_loses_nothing(attempt, whole, how):
    check(attempt(how, range(1, whole["changes"] + 1)), whole)
