"""A store that cannot be used: one clear line, and the tests still report."""

import sqlite3
import time
from pathlib import Path

import pytest

from .conftest import lines

EVALS = """
from evalmark import describe_eval


def answer(text):
    open("asked.txt", "w")
    return text * {size}


describe_eval("evals", data=list("abc"), task=answer, scorers=[lambda output: True])


def test_plain():
    pass
"""


def broken(suite, *words, **env):
    """A run that cannot keep its results: no traceback of ours, and the test that is no eval passes."""
    ended = suite.run(*words, **env)
    assert ended.code == 1
    assert ended.words["test_evals.py::test_plain"] == "passed"
    assert ended.counts == {"passed": 1, "failed": 3}
    assert "INTERNALERROR" not in ended.text
    assert "Traceback" not in ended.text
    return ended


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="side by side"),
        pytest.param(("--maxfail=9",), marks=pytest.mark.sweep, id="one at a time"),
    ],
)
def test_a_file_that_is_no_store_is_left_as_it_is(suite, words):
    suite.write("test_evals.py", EVALS.format(size=1))
    note = suite.write("notes.db", "my notes, which are no database")
    before = note.read_bytes()
    ended = broken(suite, "--evalmark-store", "notes.db", *words)
    for letter in "abc":
        assert ended.why[f"evals[{letter}]"].startswith(f"{note}: ")
    assert note.read_bytes() == before
    assert not (suite.folder / "asked.txt").exists()


@pytest.mark.sweep
def test_in_two_workers_the_run_fails_and_says_why_once(suite):
    suite.write("test_evals.py", EVALS.format(size=1))
    note = suite.write("notes.db", "my notes, which are no database")
    ended = suite.run("--evalmark-store", "notes.db", "-n", "2")
    assert (ended.counts, ended.code) == ({"passed": 4}, 1)
    assert len(lines(ended, f"{note}: ")) == 1
    assert "INTERNALERROR" not in ended.text


@pytest.mark.sweep
def test_a_place_that_cannot_be_written(suite):
    if not Path("/proc/self").exists():
        pytest.skip("/proc is a place where nobody can write")
    suite.write("test_evals.py", EVALS.format(size=1))
    ended = broken(suite, "--evalmark-store", "/proc/evalmark.db")
    assert "/proc/evalmark.db" in ended.why["evals[a]"].splitlines()[0]


@pytest.mark.sweep
def test_a_disk_that_is_full_ends_in_one_line_and_what_was_kept_stays(suite):
    suite.write(
        "conftest.py",
        """
        import resource

        def pytest_collection_finish(session):
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        """,
    )
    suite.write("test_evals.py", EVALS.format(size=500_000))
    ended = suite.run("-p", "no:cacheprovider")
    assert ended.code == 1
    assert ended.words["test_evals.py::test_plain"] == "passed"
    assert "evals[a]" in ended.text
    assert "INTERNALERROR" not in ended.text
    assert ended.run().status == "interrupted"


@pytest.mark.sweep
def test_a_store_that_another_process_writes_is_waited_for_and_that_is_said(suite):
    suite.write("test_evals.py", EVALS.format(size=1))
    assert suite.run().code == 0
    holder = sqlite3.connect(suite.folder / ".evalmark" / "evalmark.db", isolation_level=None)
    try:
        holder.execute("begin immediate")
        process = suite.start("--evalmark")
        time.sleep(6)
    finally:
        holder.close()
    ended = suite.end(process)
    assert (ended.counts, ended.code) == ({"passed": 4}, 0)
    assert "Waiting for another process that is writing" in ended.text
