"""`run --watch`: a run after each change, in a new process, with what changed since the run before."""

import queue
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.cli.terminal.watch import _outcomes, difference
from evalmark.core.case_titles import CaseTitles
from evalmark.store import open_store

BOT = "def answer(text):\n    return text.upper()\n"


@pytest.fixture
def project(world):
    Path("bot.py").write_text("import words\n\n\ndef answer(text):\n    return words.shout(text)\n")
    Path("words.py").write_text("def shout(text):\n    return text.upper()\n")
    Path("data").mkdir()
    Path("data/cases.jsonl").write_text(
        '{"id": "one", "input": "a", "expected": "A"}\n{"id": "two", "input": "b", "expected": "b"}\n'
    )
    Path("suite.yaml").write_text("datasets: data/cases.jsonl\ntarget: bot:answer\nmetrics: [equals]\n")
    return world


class Watch:
    """The command in a process of its own, and the lines that it prints."""

    def __init__(self, started: subprocess.Popen):
        self.process, self.lines, self.threads = started, queue.Queue(), []
        for stream in (started.stdout, started.stderr):
            self.threads.append(threading.Thread(target=self._read, args=(stream,), daemon=True))
            self.threads[-1].start()

    def _read(self, stream):
        with stream:
            for line in stream:
                self.lines.put(line)

    def wait_for(self, words: str, seconds: float = 60.0) -> str:
        """Return the line with these words."""
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                seen.append(self.lines.get(timeout=1))
            except queue.Empty:
                continue
            if words in seen[-1]:
                return seen[-1]
        raise AssertionError("".join(seen))


@pytest.fixture
def watch(project, process):
    started = Watch(process("run", "suite.yaml", "--watch"))
    yield started
    if started.process.poll() is None:
        started.process.kill()
    started.process.wait()
    for thread in started.threads:
        thread.join(10)


@pytest.mark.slow
def test_each_change_starts_one_run_that_sees_it_and_names_what_broke_and_what_is_fixed(watch):
    watch.wait_for("Watching")
    Path("words.py").write_text("def shout(text):\n    return text.lower()\n")
    assert "words.py" in watch.wait_for("Changed:")
    assert "since the run before, 1 case regressed, 1 improved: ▽ one, △ two" in watch.wait_for("suite.yaml: ")
    watch.wait_for("Watching")
    Path("data/cases.jsonl").write_text('{"id": "one", "input": "a", "expected": "a"}\n')
    assert "cases.jsonl" in watch.wait_for("Changed:")
    assert "0 cases regressed, 1 improved: △ one" in watch.wait_for("suite.yaml: ")
    watch.wait_for("Watching")
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(60) == 130


@pytest.mark.slow
def test_a_target_that_cannot_be_imported_is_reported_and_its_repair_starts_a_run(watch):
    watch.wait_for("Watching")
    Path("bot.py").write_text("def answer(text)\n")
    assert "SyntaxError" in watch.wait_for("importing it raised")
    watch.wait_for("Watching")
    Path("bot.py").write_text(BOT)
    watch.wait_for("Gate")


@pytest.mark.slow
def test_a_file_that_was_deleted_starts_a_run_when_it_is_there_again(watch):
    watch.wait_for("Watching")
    Path("words.py").rename("words.txt")
    watch.wait_for("Changed: words.py")
    watch.wait_for("Watching")
    Path("words.txt").rename("words.py")
    watch.wait_for("Changed: words.py")
    watch.wait_for("Gate")


@pytest.mark.slow
def test_a_file_that_each_run_writes_does_not_start_runs_without_end(project, process):
    Path("bot.py").write_text(
        "def answer(text):\n    with open('log.py', 'a') as log:\n        log.write('# called\\n')\n    return text.upper()\n"
    )
    Path("log.py").write_text("")
    started = Watch(process("run", "suite.yaml", "--watch"))
    try:
        assert "log.py" in started.wait_for("No longer watched, since each run changes it")
        started.wait_for("Watching")
        time.sleep(2)
        with open_store(".evalmark/evalmark.db", read_only=True) as store:
            assert len(store.runs()) == 2
        Path("bot.py").write_text(BOT)
        started.wait_for("Changed: bot.py")
    finally:
        started.process.kill()
        started.process.wait()


@pytest.mark.slow
def test_ctrl_c_during_a_run_ends_it_and_the_watch(project, process):
    Path("words.py").write_text(
        "import pathlib, time\n\n\ndef shout(text):\n    pathlib.Path('begun').touch()\n    time.sleep(3)\n    return text\n"
    )
    started = process("run", "suite.yaml", "--watch", "-j", "1")
    end = time.monotonic() + 60
    while not Path("begun").exists() and time.monotonic() < end:
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, (out, err)
    assert "Watching" not in err


@pytest.mark.parametrize("words", [["--resume"], ["--shard", "1/2"]])
def test_flags_of_one_run_are_refused(evalmark, project, words):
    found = evalmark("run", "suite.yaml", "--watch", *words)
    assert found.code == 2
    assert "--watch starts a new run after each change; leave" in found.err


def test_a_judge_that_fails_breaks_no_case(evalmark, project):
    Path("judge.py").write_text("def judge(output):\n    return True\n")
    Path("suite.yaml").write_text("datasets: data/cases.jsonl\ntarget: bot:answer\nmetrics: ['judge:judge']\n")
    assert evalmark("run", "suite.yaml", "-q").code == 0
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        results = list(run.results)
    broken = [replace(one, scores=(replace(one.scores[0], status="error", passed=None),)) for one in results]
    pairs = [_outcomes(replace(run, results=found), CaseTitles()) for found in (results, broken)]
    assert difference(*pairs).endswith("no case regressed or improved; 2 have an error or no score now")


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        pytest.param({"a": True}, {"a": True}, "no case regressed or improved", id="nothing"),
        pytest.param({}, {"a": False}, "no case regressed or improved", id="a new case"),
        pytest.param({"a": False}, {"a": True}, "0 cases regressed, 1 improved: △ a", id="one fixed"),
        pytest.param(
            {"a": True, "b": False, "c": None},
            {"a": None, "b": None, "c": None},
            "no case regressed or improved; 2 have an error or no score now",
            id="no verdict is no failure",
        ),
        pytest.param({"a": None}, {"a": False}, "no case regressed or improved", id="no verdict before"),
        pytest.param(
            dict.fromkeys("abcdefg", True),
            dict.fromkeys("abcdefg", False),
            "7 cases regressed, 0 improved: ▽ a, ▽ b, ▽ c, ▽ d, ▽ e, …",
            id="many",
        ),
    ],
)
def test_the_difference_in_a_line(before, now, text):
    assert difference(before, now) == f"since the run before, {text}"
