"""Too few open files, too little memory, no home: the run goes on, or says what is missing."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

resource = pytest.importorskip("resource", reason="limits of a process are POSIX's")

TARGET = """
import threading, time
LOCK, NOW, MOST = threading.Lock(), [0], [0]

def answer(text):
    with LOCK:
        NOW[0] += 1
        MOST[0] = max(MOST[0], NOW[0])
    with open("/dev/null"), open("/dev/null"):
        time.sleep(0.05)
    with LOCK:
        NOW[0] -= 1
        open("most.txt", "w").write(str(MOST[0]))
    return text.upper()

def greedy(text):
    if text == "x3":
        bytearray(1 << 40)
    return text.upper()
"""
CASES = 60


@pytest.fixture
def limited(world):
    """Calls the command line in a process with a limit of its own, and an environment of its own."""
    (world / "slow.py").write_text(TARGET, encoding="utf-8")
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(CASES)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "slow:answer", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")

    def call(*words, limit=None, **more):
        def set_limit():
            kind, most = limit
            resource.setrlimit(kind, (most, most))

        command = [sys.executable, "-m", "evalmark", "run", "suite.json", "-o", "out.json", *words]
        before = set_limit if limit else None
        done = subprocess.run(command, preexec_fn=before, capture_output=True, text=True, check=False, **more)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done.returncode, json.loads((world / "out.json").read_text(encoding="utf-8"))

    return call


def test_with_few_open_files_fewer_trials_go_on_at_once_and_that_is_said(limited, world):
    code, run = limited("-j", "50", limit=(resource.RLIMIT_NOFILE, 64))
    assert code == 0
    assert int((world / "most.txt").read_text()) <= 16
    assert run["run"]["notes"] == [
        "The system allows 64 open files, so 16 trials at a time instead of 50; `ulimit -n` raises it."
    ]


def test_with_enough_open_files_nothing_is_said(limited):
    code, run = limited("-j", "50", limit=(resource.RLIMIT_NOFILE, 256))
    assert (code, run["run"]["notes"]) == (0, [])


def test_a_case_that_needs_more_memory_than_there_is_costs_itself_only(limited):
    code, run = limited("--target", "slow:greedy", limit=(resource.RLIMIT_AS, 16 << 30))
    failed = {r["case"]["id"]: r["output"]["error"] for r in run["results"] if r["output"]["error"]}
    assert (code, failed) == (3, {"3": "MemoryError"})


def test_without_a_home_and_a_place_for_temporary_files_a_run_is_a_run(limited):
    code, run = limited(env={"TMPDIR": "/nowhere/at/all", "PATH": "/usr/bin:/bin"})
    assert (code, len(run["results"])) == (0, CASES)
