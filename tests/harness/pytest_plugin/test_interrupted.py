"""Ctrl-C in the middle: what was found is kept, and the run can be taken up again."""

import signal
import time

import pytest

pytestmark = pytest.mark.slow

SLOW = """
import time
from pathlib import Path

from evalmark import describe_eval

HERE = Path(__file__).parent


def answer(text):
    with open(HERE / "asked.txt", "a") as file:
        file.write(f"{text}\\n")
    while text > "c" and not (HERE / "go on").exists():
        time.sleep(0.02)
    return text


def good(output):
    return len(output) == 1


describe_eval("first", data=["a", "b", "c"], task=answer, scorers=[good])
describe_eval("letters", data=list("abcdefghi"), task=answer, scorers=[good])
describe_eval("never", data=["a"], task=answer, scorers=[good])


def test_plain():
    pass
"""
FIRST = [("first", letter) for letter in "abc"]


def asked(suite):
    path = suite.folder / "asked.txt"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def interrupted(suite, *words, again=False):
    """The suite, after Ctrl-C while three of the later letters were being answered."""
    suite.write("test_slow.py", SLOW)
    process = suite.start("--evalmark", *words, EVALMARK_JOBS="3", PYTHONUNBUFFERED="1")
    deadline = time.monotonic() + 30
    later = {"d"} if words else {"d", "e", "f"}
    while not later <= set(asked(suite)) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # the letters before them come to be reported
    process.send_signal(signal.SIGINT)
    before = "" if words else read_until(process, "press Ctrl-C again")
    if again:
        process.send_signal(signal.SIGINT)
    else:
        (suite.folder / "go on").touch()
    return suite.end(process, before)


def read_until(process, text):
    """What a process prints up to a text."""
    found = ""
    while text not in found:
        line = process.stdout.readline()
        assert line, found
        found += line
    return found


def taken_up(suite, *words):
    """The suite, when it goes on with an interrupted run, and what is asked then."""
    (suite.folder / "go on").touch()
    (suite.folder / "asked.txt").unlink()
    ended = suite.run("--evalmark-resume", *words)
    return ended, "".join(sorted(asked(suite)))


def found(run):
    return [(r.trial.dataset, r.trial.case.input) for r in run.results if r.verdict == "pass"]


@pytest.mark.parametrize(
    ("words", "again", "kept", "rest"),
    [
        pytest.param([], False, "abcdef", "aghi", id="side by side: those under way are finished"),
        pytest.param(
            [], True, "abc", "adefghi", marks=pytest.mark.sweep, id="side by side, Ctrl-C twice: they are left out"
        ),
        pytest.param(["--maxfail=9"], False, "abc", "adefghi", marks=pytest.mark.sweep, id="one at a time"),
    ],
)
def test_what_was_found_is_kept_and_only_the_rest_is_asked_again(suite, words, again, kept, rest):
    ended = interrupted(suite, *words, again=again)
    assert ended.code == 2
    assert "KeyboardInterrupt" in ended.text
    assert ("press Ctrl-C again to leave them out" in ended.text) == (words == [])
    run = ended.run()
    assert run.status == "interrupted"
    assert found(run) == [*FIRST, *(("letters", letter) for letter in kept)]
    assert f"To resume, run the same pytest command with: --evalmark-resume {run.id}" in ended.text
    on, then = taken_up(suite, run.id)
    assert (on.counts, on.code) == ({"passed": 14}, 0)
    assert then == rest
    whole = on.run()
    assert (whole.id, whole.status, len(whole.results)) == (run.id, "complete", 13)
    assert "letters   9 cases" in on.text


@pytest.mark.sweep
def test_results_of_other_scorers_do_not_count(suite):
    run = interrupted(suite).run()
    assert len(run.results) == 9
    other = "threshold=0.5, scorers=[lambda output: 0.75])"
    suite.write(
        "test_slow.py",
        "".join(
            line.replace("scorers=[good])", other) if "letters" in line else line
            for line in SLOW.splitlines(keepends=True)
        ),
    )
    on, then = taken_up(suite)
    assert (on.counts, on.code) == ({"passed": 14}, 0)
    assert then == "aabcdefghi"
    kept = [r for r in on.run().results if r.trial.dataset == "letters"]
    assert on.run().id == run.id
    assert [[score.value for score in r.scores] for r in kept] == [[0.75]] * 9
    assert len(on.run().results) == 13


@pytest.mark.sweep
def test_in_two_workers_what_was_reported_is_kept(suite):
    ended = interrupted(suite, "-n", "2")
    assert ended.code == 2
    run = ended.run()
    assert run.status == "interrupted"
    before = set(found(run))
    assert before >= set(FIRST[:2])
    on, _ = taken_up(suite, "-n", "2")
    assert (on.counts, on.code) == ({"passed": 14}, 0)
    assert (on.run().id, on.run().status, len(on.run().results)) == (run.id, "complete", 13)
    assert before <= set(found(on.run()))


def test_there_has_to_be_a_run_to_go_on_with(suite):
    suite.write("test_slow.py", SLOW)
    ended = suite.run("--evalmark-resume", "nonesuch")
    assert ended.code != 0
    assert "nonesuch" in ended.text or "no store yet" in ended.text
    assert asked(suite) == []
    assert "Traceback" not in ended.text
