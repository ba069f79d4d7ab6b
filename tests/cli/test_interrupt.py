"""Ctrl-C, kill -9 and resume, with real processes."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_jsonl
from evalmark.store import open_store

pytestmark = pytest.mark.slow

SLOW = """
import os, pathlib, time

def answer(text):
    with open("asked.txt", "a") as asked:
        asked.write(text + "\\n")
    time.sleep(0.1)
    return text.upper()

def hangs(text):
    time.sleep(3600)
"""
CASES = 20


@pytest.fixture
def suite(world):
    (world / "slow.py").write_text(SLOW, encoding="utf-8")
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(CASES)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "slow:answer", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    return "suite.json"


def results_so_far(world: Path) -> int:
    path = world / ".evalmark" / "evalmark.db"
    if not path.exists():
        return 0
    with open_store(path, read_only=True) as store:
        runs = store.runs(1)
        return len(runs[0].results) if runs else 0


def wait_for(count: int, world: Path, process) -> None:
    give_up = time.monotonic() + 60
    while results_so_far(world) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.01)


def export(world: Path) -> str:
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        return "".join(as_jsonl(store.run("last"), options=ReportOptions(times=False)))


def asked(world: Path) -> list[str]:
    return (world / "asked.txt").read_text(encoding="utf-8").split()


def test_ctrl_c_once_finishes_saves_and_says_how_to_go_on(process, suite, world):
    running = process("run", suite, "-j", "2")
    wait_for(2, world, running)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Resume with: evalmark run suite.json -j 2 --resume 2" in err
    assert "Traceback" not in out + err
    before = results_so_far(world)
    assert 2 <= before < CASES
    assert before == len(asked(world))
    again = process("run", suite, "--resume")
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0
    assert f"{before} results are stored" in err
    assert sorted(asked(world)) == sorted(f"x{n}" for n in range(CASES))


def test_ctrl_c_in_the_first_of_two_suites_begins_no_second(process, suite, world):
    (world / "other.json").write_text((world / "suite.json").read_text(encoding="utf-8"), encoding="utf-8")
    running = process("run", suite, "other.json", "-j", "1")
    wait_for(2, world, running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "evalmark run suite.json -j 1 --resume" in err
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert [run.suite for run in store.runs()] == ["suite.json"]


def test_a_run_is_not_taken_up_by_another_target(process, suite, world):
    running = process("run", suite, "-j", "1")
    wait_for(2, world, running)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    before = results_so_far(world)
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last").id
    other = process("run", suite, "--target", "slow:hangs", "--resume", run)
    _, err = other.communicate(timeout=60)
    assert other.returncode == 2
    assert f"run {run} used a different target" in err
    assert results_so_far(world) == before
    same = process("run", suite, "--resume", run)
    same.communicate(timeout=60)
    assert same.returncode == 0


def test_ctrl_c_twice_leaves_at_once_and_the_store_is_whole(process, suite, world):
    running = process("run", suite, "--target", "slow:hangs")
    give_up = time.monotonic() + 60
    while not (world / ".evalmark" / "evalmark.db").exists() and time.monotonic() < give_up:
        time.sleep(0.01)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    time.sleep(0.3)
    before = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert time.monotonic() - before < 5
    assert "Traceback" not in out + err
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert store.check().sound


def test_a_killed_run_goes_on_where_it_was_and_exports_the_same(process, suite, world, tmp_path_factory):
    whole = process("run", suite, "--store", "whole.db")
    whole.communicate(timeout=60)
    with open_store(world / "whole.db", read_only=True) as store:
        wanted = "".join(as_jsonl(store.run("last"), options=ReportOptions(times=False)))
    (world / "asked.txt").unlink()

    running = process("run", suite, "-j", "3")
    wait_for(5, world, running)
    running.kill()
    running.communicate()
    kept = results_so_far(world)
    under_way = len(asked(world)) - kept
    assert under_way <= 3 + 3  # being answered, and answered but not yet saved
    again = process("run", suite, "--resume")
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert export(world) == wanted
    assert len(asked(world)) <= CASES + under_way


def test_an_edited_case_runs_again_and_an_unchanged_one_does_not(process, suite, world):
    running = process("run", suite, "-j", "1")
    wait_for(6, world, running)
    running.kill()
    running.communicate()
    done = results_so_far(world)
    rows = (world / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows[2] = json.dumps({"id": "2", "input": "edited", "expected": "EDITED"})
    moved = [*rows[10:], *rows[:10]]  # the order changes too
    (world / "cases.jsonl").write_text("\n".join(moved), encoding="utf-8")
    before = asked(world)
    again = process("run", suite, "--resume")
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    new = asked(world)[len(before) :]
    assert "edited" in new
    assert len(new) == CASES - done + 1
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        found = list(store.run("last").results)
    assert [r.trial.case.input for r in found] == [json.loads(row)["input"] for row in moved]
    assert {r.verdict for r in found} == {"pass"}


def test_a_target_that_hangs_does_not_keep_the_command_alive(process, suite, world):
    running = process("run", suite, "--target", "slow:hangs", "--timeout", "0.2", "-n", "3")
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 3
    assert "no answer within 0.2 s" in out


def test_output_cut_off_by_a_closed_pipe_is_no_crash(process, suite, world):
    reading, writing = os.pipe()
    os.close(reading)
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "evalmark", "run", suite], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert results_so_far(world) == CASES


def test_two_runs_at_once_share_one_store(process, suite, world):
    both = [process("run", suite), process("run", suite)]
    said = [running.communicate(timeout=90) for running in both]
    assert [running.returncode for running in both] == [0, 0], said
    assert all("locked" not in out + err for out, err in said)
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert [len(run.results) for run in store.runs()] == [CASES, CASES]
