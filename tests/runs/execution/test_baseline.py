"""Which run a baseline names, and which commit a run was made from."""

import asyncio
import subprocess
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score, evaluate
from evalmark.core.values.run import UntilDecided
from evalmark.core.values.score import Trial
from evalmark.errors import StoreError
from evalmark.runs.execution.baseline import LAST_GREEN, NO_BASELINE, baseline_of
from evalmark.runs.execution.revision import is_ancestor, revision
from evalmark.runs.execution.run_writer import start_run
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.store import open_store

ASKING = Run(id="", name="bot", created="", suite="suites/bot.yaml")


def keep(store, number, passed, **fields):
    """A run of one case; what is said of it wins over what a complete run of the suite is."""
    known = {"name": "bot", "suite": "bot.yaml", "status": "complete"} | fields
    run = Run(id=f"20261121-00000{number}-aaaa", created=f"2026-11-21T00:00:0{number}Z", **known)
    score = Score(name="m", value=float(passed), raw=passed, passed=passed)
    result = Result(trial=Trial(case=Case(id="a"), dataset="d"), output=Output(value="x"), scores=(score,))
    store.start(replace(run, status="running"))
    asyncio.run(store.sink(run.id).write([result]))
    store.finish(run)
    return run.id


EARLY = UntilDecided(seed=1, level=0.95, cases=2, after=1, outcome="pass", reason="…")


@pytest.fixture
def store(world):
    with open_store("runs.db") as opened:
        yield opened


def test_a_reference_is_a_run_or_none(store):
    one, other = keep(store, 1, True), keep(store, 2, True)
    assert baseline_of(store, "last", ASKING).run.id == other
    assert baseline_of(store, one, ASKING).run.id == one
    assert baseline_of(store, None, ASKING) == baseline_of(store, NO_BASELINE, ASKING)
    assert baseline_of(store, None, ASKING).run is None
    with pytest.raises(StoreError, match="there is no run 'nope'"):
        baseline_of(store, "nope", ASKING)


@pytest.mark.parametrize(
    ("newer", "is_green"),
    [
        pytest.param({"passed": True}, True, id="a complete run whose gate passed"),
        pytest.param({"passed": False}, False, id="a gate that failed"),
        pytest.param({"passed": True, "status": "interrupted"}, False, id="a run that did not finish"),
        pytest.param({"passed": True, "is_part": True}, False, id="a run of some of the cases"),
        pytest.param({"passed": True, "until_decided": EARLY}, False, id="a run that stopped early"),
        pytest.param({"passed": True, "name": "other"}, False, id="another suite"),
        pytest.param({"passed": True, "suite": "other.yaml"}, False, id="another file"),
        pytest.param({"passed": True, "suite": "/elsewhere/bot.yaml"}, True, id="the same file in another folder"),
    ],
)
def test_the_last_green_run_is_a_complete_one_of_the_same_suite(store, newer, is_green):
    old = keep(store, 1, True)
    new = keep(store, 2, **newer)
    assert baseline_of(store, LAST_GREEN, ASKING).run.id == (new if is_green else old)


def test_the_last_green_run_of_a_kept_run_is_older(store):
    old, _ = keep(store, 1, True), keep(store, 2, True)
    assert baseline_of(store, LAST_GREEN, store.run("last")).run.id == old


def test_a_missing_green_run_is_one_sentence(store):
    found = baseline_of(store, LAST_GREEN, ASKING)
    assert found.run is None
    assert (
        found.reason
        == "There is no earlier complete run of 'bot' whose gate passed, so there is nothing to compare with."
    )


def git(*words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_run_knows_its_commit(world):
    assert revision() == ""
    assert evaluate(["a"], lambda text: text, [lambda output: True], store=None).revision == ""
    git("init", "-q")
    (world / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (world / "untracked").write_text("two")
    assert evaluate(["a"], lambda text: text, [lambda output: True], store=None).revision == commit
    (world / "file").write_text("two")
    assert start_run(MemoryRunStore(), "pytest").finish("complete").revision == f"{commit}+"
    assert (is_ancestor(commit), is_ancestor(f"{commit}+"), is_ancestor("f" * 40), is_ancestor("--all")) == (
        True,
        True,
        None,
        None,
    )


def test_a_repository_without_a_commit_and_a_missing_git_are_no_fault(world, monkeypatch):
    git("init", "-q")
    assert revision() == ""
    monkeypatch.setenv("PATH", str(world))
    assert (revision(), is_ancestor("f" * 40)) == ("", None)
