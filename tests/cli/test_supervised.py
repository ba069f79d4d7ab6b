"""Users' code that ends or breaks the process of a run, and the parent process that notices; all with the real command."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalmark.cli.terminal import supervised, supervisor
from evalmark.store import open_store

from .test_interrupt import wait_for

pytestmark = pytest.mark.slow

TARGETS = """
import asyncio, contextlib, ctypes, io, os, signal, sys, threading, time

def fine(text): return text.upper()
def leaves(text): os._exit(0)
def leaves_later(text):
    threading.Timer(0.05, os._exit, (0,)).start()
    time.sleep(30)
def aborts(text): os.abort()
def crashes(text): ctypes.string_at(0)
def is_killed(text): os.kill(os.getpid(), signal.SIGKILL)
def has_a_handler(text):
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(30)
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))

async def stops_the_loop(text):
    asyncio.get_running_loop().stop()
    return text.upper()
async def cancels_all(text):
    for task in asyncio.all_tasks():
        task.cancel()
    return text.upper()
async def cancels_others(text):
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    return text.upper()
async def leaves_the_loop(text):
    asyncio.get_running_loop().call_soon(sys.exit, 0)
    await asyncio.sleep(30)
def shallow(text):
    sys.setrecursionlimit(25)
    return text.upper()
def closes_files(text):
    os.closerange(3, 256)
    return text.upper()
def closes_all_files(text):
    os.closerange(0, 256)
    return text.upper()
def closes_both(text):
    if text == "a":
        os.close(1)
        os.close(2)
    return text.upper()
def takes_stdout(text):
    sys.stdout = None
    return text.upper()
def closes_stdout(text):
    sys.stdout.close()
    return text.upper()
def redirects(text):
    sys.stdout = io.StringIO()  # as `redirect_stdout` leaves it where two threads use it
    return text.upper()

def asks(text):
    with open("asked.txt", "a") as asked:
        asked.write(f"{os.getpid()} {text}\\n")
    time.sleep(0.1)
    return text.upper()
def hangs(text):
    with open("asked.txt", "a") as asked:
        asked.write(f"{os.getpid()} {text}\\n")
    time.sleep(3600)

def scores_and_leaves(output): os._exit(0)
"""
LETTERS = "abc"


@pytest.fixture
def suite(world):
    (world / "targets.py").write_text(TARGETS, encoding="utf-8")
    (world / "leaves_at_import.py").write_text("import os\nos._exit(0)\n", encoding="utf-8")
    rows = [json.dumps({"id": n, "input": n, "expected": n.upper()}) for n in LETTERS]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "targets:fine", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    return "suite.json"


def ended(process, *words, **more):
    running = process(*words, **more)
    out, err = running.communicate(timeout=120)
    return running.returncode, out, err


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or only waits to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def soon(found, what="it"):
    give_up = time.monotonic() + 60
    while not found():
        assert time.monotonic() < give_up, what
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("leaves", "its process exited with status 0"),
        ("leaves_later", "its process exited with status 0"),
        ("aborts", "its process crashed with SIGABRT"),
        ("crashes", "its process crashed with SIGSEGV"),
        ("is_killed", "its process was killed with SIGKILL"),
        ("has_a_handler", "ended the event loop of the run with SystemExit(0)"),
        ("stops_the_loop", "stopped the event loop of the run"),
        ("cancels_all", "cancelled tasks that are not its own"),
        ("cancels_others", "cancelled tasks that are not its own"),
        ("leaves_the_loop", "ended the event loop of the run with SystemExit(0)"),
        ("closes_files", "closed files that evalmark needs"),
        ("closes_all_files", "closed files that evalmark needs"),
    ],
)
def test_a_target_that_ends_the_run_is_never_a_success(process, suite, world, target, says):
    assert ended(process, "run", suite, "-o", "out.json", "-o", "out.junit.xml")[0] == 0
    code, out, err = ended(
        process, "run", suite, "--target", f"targets:{target}", "-o", "out.json", "-o", "out.junit.xml"
    )
    if target == "has_a_handler" and code == 1:
        return  # the handler ran while an answer was judged, which made it the error of that case: no success either
    assert (code, out) == (3, "")
    assert "Traceback" not in err
    assert err.count(says) == 1, err
    assert "Resume with: evalmark run suite.json" in err
    assert " --resume" in err
    found = json.loads((world / "out.json").read_text(encoding="utf-8"))
    assert found["run"]["status"] == "interrupted"  # and not the one of the run before, which was fine
    assert found["gate"]["outcome"] == "cannot tell"
    assert any(note.startswith("Incomplete: ") for note in found["run"]["notes"])
    assert "The run is incomplete" in (world / "out.junit.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["closes_both", "takes_stdout", "closes_stdout"])
def test_a_target_that_takes_away_what_the_process_needs_is_told_from_a_success(process, suite, target):
    code, out, err = ended(process, "run", suite, "--target", f"targets:{target}")
    assert code == 3, out + err
    assert "Traceback" not in out + err
    assert "equals" in out  # the table is there all the same


def test_a_recursion_limit_that_leaves_no_room_is_named(process, suite):
    code, out, err = ended(process, "run", suite, "--target", "targets:shallow")
    assert code == 3, out + err
    assert "Traceback" not in out + err
    assert "set the recursion limit of Python to 25, which is too low" in err


def test_a_stream_that_was_replaced_is_put_back(process, suite):
    code, out, err = ended(process, "run", suite, "--target", "targets:redirects")
    assert (code, err) == (0, "")
    assert "3 of 3 passed" in out


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "md", "html", "junit.xml"])
def test_every_report_of_a_run_that_was_cut_off_says_so(process, suite, world, ending):
    report = world / f"out.{ending}"
    assert ended(process, "run", suite, "-o", report.name)[0] == 0
    before = report.read_text(encoding="utf-8")
    assert "ncomplete" not in before
    code, _, err = ended(process, "run", suite, "--target", "targets:leaves", "-o", report.name)
    assert code == 3
    assert f"Marked as incomplete: {report}" in err
    assert "ncomplete" in report.read_text(encoding="utf-8")


def test_a_module_that_leaves_while_it_is_imported_leaves_no_earlier_report_behind(process, suite, world):
    assert ended(process, "run", suite, "-o", "out.json")[0] == 0
    code, _, err = ended(process, "run", suite, "--target", "leaves_at_import:answer", "-o", "out.json")
    assert code == 3
    assert "before any request was sent. Start again with: evalmark run suite.json" in err
    assert json.loads((world / "out.json").read_text(encoding="utf-8"))["run"]["status"] == "interrupted"


def test_reports_of_a_rescoring_that_was_cut_off_say_so(process, suite, world):
    assert ended(process, "run", suite)[0] == 0
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        first = store.run("last").id
    for metric in ("targets:scores_and_leaves", "leaves_at_import:score"):
        assert ended(process, "rescore", first, "--metric", "equals", "-o", "out.json")[0] == 0
        assert ended(process, "rescore", first, "--metric", metric, "-o", "out.json")[0] == 3
        assert json.loads((world / "out.json").read_text(encoding="utf-8"))["run"]["status"] == "interrupted"


def test_a_dataset_is_never_taken_for_a_report(process, suite, world):
    before = (world / "cases.jsonl").read_text(encoding="utf-8")
    code, _, _ = ended(process, "run", suite, "--target", "leaves_at_import:answer", "-o", "cases.jsonl")
    assert code == 3
    assert (world / "cases.jsonl").read_text(encoding="utf-8") == before


def test_validate_and_plan_do_not_pass_where_the_target_left(process, suite, world):
    found = json.loads((world / suite).read_text(encoding="utf-8")) | {"target": "leaves_at_import:answer"}
    (world / suite).write_text(json.dumps(found), encoding="utf-8")
    for verb in ("validate", "plan"):
        code, _, err = ended(process, verb, suite)
        assert code == 3
        assert f"evalmark {verb} did not finish: its process exited with status 0" in err


def test_a_scorer_that_leaves_ends_a_run_and_a_rescoring(process, suite, world):
    assert ended(process, "run", suite)[0] == 0
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        first = store.run("last").id
    code, _, err = ended(process, "rescore", "last", "--metric", "targets:scores_and_leaves")
    assert code == 3
    assert f"Resume with: evalmark rescore {first} --metric targets:scores_and_leaves --resume 2" in err
    found = json.loads((world / suite).read_text(encoding="utf-8")) | {"metrics": ["targets:scores_and_leaves"]}
    (world / suite).write_text(json.dumps(found), encoding="utf-8")
    assert ended(process, "run", suite)[0] == 3


def test_a_run_that_was_cut_off_goes_on_as_it_says(process, suite, world):
    code, _, err = ended(process, "run", suite, "--target", "targets:leaves")
    assert code == 3
    words = err.partition("Resume with: evalmark ")[2].split()
    source = (
        (world / "targets.py").read_text(encoding="utf-8").replace("def leaves(text): os._exit(0)", "leaves = fine")
    )
    (world / "targets.py").write_text(source, encoding="utf-8")
    code, _, err = ended(process, *words[:-1], "--resume")
    assert code == 0, err


def test_codes_of_a_command_that_comes_to_its_end_are_its_own(process, suite, world):
    assert ended(process, "run", suite, "--target", "targets:missing")[0] == 2
    (world / "cases.jsonl").write_text('{"id": "a", "input": "a", "expected": "b"}', encoding="utf-8")
    assert ended(process, "run", suite)[0] == 1
    assert ended(process, "validate", suite)[0] == 0
    assert ended(process, suite)[0] == 1  # a suite in the place of a verb


def test_without_a_parent_the_command_is_one_process(process, suite, world):
    env = {**os.environ, "EVALMARK_SUPERVISE": "0"}
    running = process("run", suite, "--target", "targets:asks", env=env)
    running.communicate(timeout=60)
    assert {line.split()[0] for line in (world / "asked.txt").read_text(encoding="utf-8").splitlines()} == {
        str(running.pid)
    }


def worker_of(world) -> int:
    asked = world / "asked.txt"
    soon(lambda: asked.exists() and asked.read_text(encoding="utf-8"), "nothing is asked")
    return int(asked.read_text(encoding="utf-8").split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_goes_on_when_the_parent_is_killed(process, suite, world):
    running = process("run", suite, "--target", "targets:hangs")
    child = worker_of(world)
    assert child != running.pid
    running.kill()
    running.communicate(timeout=60)
    soon(lambda: has_ended(child), "the child goes on")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_the_whole_group_counts_once(process, suite, world, name):
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(30)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    running = process("run", suite, "--target", "targets:asks", "-j", "1", start_new_session=True)
    wait_for(2, world, running)
    os.killpg(running.pid, getattr(signal, name))
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Finishing the running trials" in err
    assert "Exited at once" not in err
    assert "Resume with: evalmark run suite.json --target targets:asks -j 1 --resume 2" in err


def test_a_signal_that_is_ignored_stays_ignored(process, suite, world):
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(10)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does

    running = process("run", suite, "--target", "targets:asks", "-j", "1", preexec_fn=ignore, start_new_session=True)
    wait_for(1, world, running)
    os.killpg(running.pid, signal.SIGHUP)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err


def in_a_terminal(words, world, act, program=("-m", "evalmark")):
    """What the command shows in a terminal in which `act` types, and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, *program, *words])  # noqa: S606  the real command
    act(terminal, pid)
    shown = b""
    try:
        while more := os.read(terminal, 4_096):
            shown += more
    except OSError:  # the terminal is closed
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def test_ctrl_c_in_a_terminal_counts_once(suite, world):
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(30)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")

    def type_ctrl_c(terminal, pid):
        worker_of(world)
        os.write(terminal, b"\x03")

    code, shown = in_a_terminal(["run", suite, "--target", "targets:asks", "-j", "1"], world, type_ctrl_c)
    assert code == 130, shown
    assert "Finishing the running trials" in shown
    assert "Exited at once" not in shown


def test_ctrl_c_twice_in_a_terminal_leaves_at_once_and_marks_the_report(suite, world):
    def type_ctrl_c_twice(terminal, pid):
        worker_of(world)
        os.write(terminal, b"\x03")
        time.sleep(1)
        os.write(terminal, b"\x03")

    words = ["run", suite, "--target", "targets:hangs", "-o", "out.json"]
    code, shown = in_a_terminal(words, world, type_ctrl_c_twice)
    assert code == 130, shown
    assert "Exited at once" in shown
    assert json.loads((world / "out.json").read_text(encoding="utf-8"))["run"]["status"] == "interrupted"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_stopping_and_going_on_reach_both_processes(process, suite, world):
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(60)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    # In a group of its own: where the group of the tests has no parent in its session, as under a service, systems stop none of it.
    running = process("run", suite, "--target", "targets:asks", "-j", "1", process_group=0)
    child = worker_of(world)

    def state(pid):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]

    running.send_signal(signal.SIGTSTP)
    soon(lambda: state(child) == state(running.pid) == "T", "they go on")
    running.send_signal(signal.SIGCONT)
    running.communicate(timeout=60)
    assert running.returncode == 0


ELSEWHERE = """
import os, sys
from evalmark.cli import main
del os.fork  # as on a system that has none
main()
"""


@pytest.mark.parametrize(("target", "code"), [("fine", 0), ("leaves", 3), ("crashes", 3)])
def test_where_no_process_can_be_forked_a_second_python_is_watched(suite, world, target, code):
    words = ["run", suite, "--target", f"targets:{target}", "-o", "out.json"]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    status = json.loads((world / "out.json").read_text(encoding="utf-8"))["run"]["status"]
    assert status == ("complete" if code == 0 else "interrupted")


def test_the_second_python_ends_with_the_first(suite, world):
    words = ["run", suite, "--target", "targets:hangs"]
    with subprocess.Popen([sys.executable, "-c", ELSEWHERE, *words], stderr=subprocess.PIPE) as running:
        child = worker_of(world)
        assert child != running.pid
        running.kill()
    soon(lambda: has_ended(child), "the child goes on")


def test_only_verbs_that_run_users_code_get_a_parent():
    wanted = [
        words
        for words in (["run", "x"], ["s.yaml"], ["rescore"], ["list"], ["run", "--help"], [])
        if supervisor.is_needed(words)
    ]
    assert wanted == [["run", "x"], ["s.yaml"], ["rescore"]]


def test_a_number_that_stands_for_another_file_by_now_is_not_written_to(tmp_path):
    reads, writes = os.pipe()
    line = supervised.SupervisorPipe(writes)
    line.tell("run", "1")
    os.close(line._pipe)
    other = os.open(tmp_path / "other", os.O_CREAT | os.O_WRONLY)
    if other != line._pipe:
        os.dup2(other, line._pipe)
    line.tell("code", "0", last=True)
    assert supervised.parse_messages(os.read(reads, 100)) == [("run", "1")]
    assert (tmp_path / "other").read_bytes() == b""
    for number in {other, line._pipe, reads}:
        os.close(number)


WITHOUT_DETAILS = """
import signal
del signal.sigwaitinfo  # as on a system that does not say where a signal comes from
from evalmark.cli import main
main()
"""


def test_ctrl_c_in_a_terminal_counts_once_where_nobody_says_where_it_comes_from(suite, world):
    rows = [json.dumps({"id": f"{n}", "input": f"x{n}", "expected": f"X{n}"}) for n in range(30)]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")

    def type_ctrl_c(terminal, pid):
        worker_of(world)
        os.write(terminal, b"\x03")

    words = ["run", suite, "--target", "targets:asks", "-j", "1"]
    code, shown = in_a_terminal(words, world, type_ctrl_c, ["-c", WITHOUT_DETAILS])
    assert code == 130, shown
    assert "Finishing the running trials" in shown
    assert "Exited at once" not in shown
