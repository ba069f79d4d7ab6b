"""What happens to a run on Ray when workers, nodes or the coordinator itself end while it goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalmark.store import open_store

from .conftest import NODE

pytestmark = pytest.mark.slow

CASES = 300
JOBS = 8
APP = """
import os, time

def answer(input):
    with open("pids.txt", "a") as pids:
        pids.write(f"{os.getpid()} {input}\\n")
    time.sleep(0.05)
    return input.upper()

def greedy(input):
    if input == "q7" and not os.path.exists("grown"):
        open("grown", "w").close()
        hoard = [bytearray(1_000_000) for _ in range(int(os.environ.get("HOARD", "3000")))]
        time.sleep(30)
    return input.upper()

def deadly(input):
    if input == "q7":
        os._exit(1)
    return input.upper()
"""
OURS = [
    sys.executable,
    "-m",
    "evalmark",
    "run",
    "suite.json",
    "--store",
    "runs.db",
    "-j",
    str(JOBS),
    "--on",
    "ray:auto",
]


@pytest.fixture
def suite(cluster, models):
    """Writes a suite of some hundred cases for a target."""

    def write(target, cases=CASES) -> None:
        Path("app.py").write_text(APP, encoding="utf-8")
        rows = [json.dumps({"id": f"c{n}", "input": f"q{n}", "expected": f"Q{n}"}) for n in range(cases)]
        Path("cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
        whole = {"datasets": ["cases.jsonl"], "metrics": ["equals"], "target": target}
        Path("suite.json").write_text(json.dumps(whole), encoding="utf-8")

    return write


def started_run(*more) -> subprocess.Popen[str]:
    return subprocess.Popen([*OURS, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(run: subprocess.Popen[str], *, code: int = 0) -> str:
    """What a run said until its end, with each space as one."""
    out, err = run.communicate(timeout=240)
    assert run.returncode == code, out + err
    assert "Traceback" not in err
    return " ".join(out.split())


def answers() -> dict[str, object]:
    """What each case was answered in the last run, which is complete."""
    with open_store("runs.db") as store:
        run = store.run("last")
        assert run.status == "complete"
        found = [(result.trial.case.id, result.output.value) for result in run.results]
    assert len(found) == len(dict(found)), "a case has two results"
    return dict(found)


def right(cases=CASES) -> dict[str, object]:
    return {f"c{n}": f"Q{n}" for n in range(cases)}


def until(holds, seconds=180.0):
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def pids() -> list[int]:
    path = Path("pids.txt")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [int(line.split()[0]) for line in lines if " " in line]


def test_workers_that_are_killed_twenty_times_cost_no_result(suite):
    suite("app:answer")
    run = started_run()
    killed: set[int] = set()
    while len(killed) < 20:
        pid = until(lambda: next((pid for pid in reversed(pids()) if pid not in killed), None))
        time.sleep(0.15)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            assert run.poll() is None, "the run was over before all were killed"
        killed.add(pid)
    said = ended(run)
    assert answers() == right()
    told = re.search(r"(\d+) workers ended during the run", said)
    assert told is not None
    assert int(told[1]) in (19, 20)  # the last one may end when nothing is left to do


def test_model_calls_that_are_repeated_after_kills_are_those_that_were_under_way(suite, models):
    suite({"models": ["openai/small"]}, cases=120)
    before, killed = models.count, 0
    models.latency, usual = 0.1, models.latency
    run = started_run()
    try:
        for kill in range(1, 4):
            until(lambda wanted=before + 25 * kill: models.count >= wanted)
            killed += kill_a_worker(run)
        ended(run, code=1)
    finally:
        models.latency = usual
    assert killed
    with open_store("runs.db") as store:
        found = store.run("last")
        assert {result.output.error for result in found.results} == {None}
        assert len(found.results) == 120
        (spent,) = found.spending
    assert models.count - before <= 120 + killed * JOBS
    assert spent.repeated <= killed * JOBS


def kill_a_worker(run: subprocess.Popen[str]) -> int:
    """Kill one of the workers of a run; gives how many."""
    alive = [pid for pid in workers() if cluster_of(pid) == os.environ["RAY_AUTH_TOKEN"]]
    if not alive or run.poll() is not None:
        return 0
    os.kill(alive[-1], signal.SIGKILL)
    return 1


def workers() -> list[int]:
    """All that work for anybody on this machine: other tests have workers too."""
    found = subprocess.run(["pgrep", "-f", "ray::WorkerActor"], capture_output=True, text=True, check=False)  # noqa: S607
    return [int(pid) for pid in found.stdout.split()]


def cluster_of(pid: int) -> str:
    """The token of the cluster that a process belongs to."""
    try:
        lines = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    except OSError:
        return ""
    return next((line.partition("=")[2] for line in lines if line.startswith("RAY_AUTH_TOKEN=")), "")


def test_a_node_that_goes_away_takes_no_result_with_it(suite, cluster):
    second = cluster.add_node(**{**NODE, "num_cpus": 2})
    cluster.wait_for_nodes()
    suite("app:answer")
    run = started_run()
    try:
        until(lambda: len(set(pids())) >= 3)
    finally:
        cluster.remove_node(second, allow_graceful=False)
    said = ended(run)
    assert answers() == right()
    assert "ended during the run" in said


def test_a_coordinator_that_is_killed_is_resumed_with_what_it_had(suite):
    suite("app:answer")
    run = started_run()
    until(lambda: len(pids()) > 60)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    until(lambda: not ({*workers()} & {*pids()}))  # its workers end a little later, and answer until then
    with open_store("runs.db") as store:
        kept = len(store.run("last").results)
    before = len(pids())
    assert 0 < kept < CASES
    ended(started_run("--resume"))
    assert answers() == right()
    assert len(pids()) <= CASES + before - kept


def test_a_worker_that_runs_out_of_memory_is_replaced(suite, tmp_path):
    """Ray's own watch over memory ends the worker; the limit lies a little above what is used now."""
    suite("app:greedy", cases=40)
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    whole, free = (int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    if free < 6_000_000:
        pytest.skip("too little memory is free to use some up")
    share = (whole - free + 2_000_000) / whole
    limits = {"RAY_memory_usage_threshold": f"{share:.3f}", "RAY_memory_monitor_refresh_ms": "100", "HOARD": "5000"}
    words = [word if word != "ray:auto" else "ray" for word in OURS]
    run = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **limits, "RAY_ADDRESS": ""},
    )
    said = ended(run)
    assert Path("grown").exists()
    assert answers() == right(40)
    assert "ended during the run" in said


def test_a_case_that_ends_every_worker_is_given_up_and_the_others_are_not(suite):
    suite("app:deadly", cases=40)
    ended(started_run(), code=3)
    found = answers()
    assert found.pop("c7") is None
    assert found == {case: value for case, value in right(40).items() if case != "c7"}
    with open_store("runs.db") as store:
        lost = next(result for result in store.run("last").results if result.trial.case.id == "c7")
    assert "5 workers ended while they ran this case" in (lost.output.error or "")


def test_ctrl_c_ends_a_run_that_goes_on_later(suite):
    suite("app:answer")
    run = started_run()
    until(lambda: len(pids()) > 30)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, out + err
    assert "--resume" in err
    ended(started_run("--resume"))
    assert answers() == right()
