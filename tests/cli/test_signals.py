"""Signals other than one Ctrl-C in the middle of a run: early, twice, from the system, and a machine that sleeps."""

import json
import os
import signal
import sys
import time

import pytest

from evalmark.store import open_store

from .test_interrupt import CASES, SLOW, asked, results_so_far, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def suite(world):
    (world / "slow.py").write_text(SLOW, encoding="utf-8")
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(CASES)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "slow:answer", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    return "suite.json"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_system_asking_to_end_is_like_ctrl_c(process, suite, world, name):
    running = process("run", suite, "-j", "2")
    wait_for(2, world, running)
    running.send_signal(getattr(signal, name))
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Resume with: evalmark run suite.json -j 2 --resume 2" in err
    assert "Traceback" not in out + err
    assert 2 <= results_so_far(world) == len(asked(world)) < CASES


def test_a_terminal_that_closes_for_good_ends_a_run_that_hangs(process, suite, world):
    running = process("run", suite, "--target", "slow:hangs", "-o", "never.json")
    give_up = time.monotonic() + 60
    while not (world / ".evalmark" / "evalmark.db").exists() and time.monotonic() < give_up:
        time.sleep(0.01)
    time.sleep(0.5)
    running.stdout.close()
    running.stderr.close()
    running.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    running.send_signal(signal.SIGHUP)
    assert running.wait(timeout=8) == 130
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert store.check().sound


def test_a_machine_that_sleeps_goes_on_where_it_was(process, suite, world):
    running = process("run", suite, "-j", "2", "--timeout", "30")
    wait_for(2, world, running)
    running.send_signal(signal.SIGSTOP)
    time.sleep(1)
    running.send_signal(signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert sorted(asked(world)) == sorted(f"x{n}" for n in range(CASES))


LOADING = """
import os, signal, sys
import evalmark.cli

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
evalmark.cli.main(["list"])
"""


def test_ctrl_c_while_the_program_is_still_loading_is_one_sentence(world):
    import subprocess

    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\nInterrupted before anything started.\n")
    assert os.listdir(world) == []  # noqa: PTH208  names are enough


PREPARING = """
import os, signal
import evalmark.cli
from evalmark.cli.commands import app

app._prepare_streams = lambda: os.kill(os.getpid(), signal.SIGINT)
evalmark.cli.main(["list"])
"""


def test_ctrl_c_before_the_command_is_parsed_is_one_word(world):
    import subprocess

    done = subprocess.run([sys.executable, "-c", PREPARING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\nInterrupted.\n")


@pytest.mark.sweep
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("after", [0.15 + 0.03 * n for n in range(17)])
def test_ctrl_c_at_any_moment_leaves_no_traceback_and_a_whole_store(process, suite, world, after, times):
    running = process("run", suite)
    time.sleep(after)
    for _ in range(times):
        running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode in (0, 130, -signal.SIGINT)
    assert "/evalmark/cli/" not in out + err  # a traceback of ours; before, it is still Python that loads
    if (world / ".evalmark" / "evalmark.db").exists():
        with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
            assert store.check().sound


def test_the_next_start_after_a_kill_says_how_to_go_on(process, suite, world):
    running = process("run", suite, "-j", "1")
    wait_for(2, world, running)
    running.kill()
    running.communicate()
    kept = results_so_far(world)
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last").id
    again = process("run", suite)
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0
    assert f"The run {run} before this one was interrupted with {kept} results. " in err
    assert f"Resume it with: evalmark run suite.json --resume {run}\n" in err
    third = process("run", suite)
    _, err = third.communicate(timeout=60)
    assert "broke off" not in err  # the run before that one was whole
