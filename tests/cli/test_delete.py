"""`evalmark delete` and `evalmark prune`."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.store import open_store

STORE = Path(".evalmark/evalmark.db")


@pytest.fixture
def ids(evalmark):
    """The ids of four runs, the oldest first: the first one passes, the others fail, and the last one is of another suite."""
    Path("cases.csv").write_text("input,expected\n1,1\n2,ZEBRA\n")
    Path("app.py").write_text("def answer(question):\n    return question\n")
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(
            f"name: suite {name}\ndatasets: [cases.csv]\ntarget: app:answer\nmetrics: [equals]\n"
        )
    Path("cases.csv").write_text("input,expected\n1,1\n2,2\n")
    evalmark("run", "a.yaml", "-q")
    Path("cases.csv").write_text("input,expected\n1,1\n2,ZEBRA\n")
    for suite in ("a", "a", "b"):
        evalmark("run", f"{suite}.yaml", "-q")
    return stored(evalmark)


def stored(evalmark):
    return [run["id"] for run in json.loads(evalmark("list", "--json").out)][::-1]


def age(run_id, created):
    """Let a stored run be older than it is."""
    with open_store(STORE) as store:
        run = store.run(run_id)
        results = list(run.results)
        store.resume(run_id)
        assert all(map(store.recorded(run_id), [result.trial for result in results]))
        store.finish(replace(run, created=created))


def test_a_deletion_is_shown_first_and_done_with_yes(evalmark, ids):
    shown = evalmark("delete", ids[1], ids[3])
    assert (shown.code, stored(evalmark)) == (0, ids)
    assert "Would delete 2 runs with 4 results:" in shown.out
    assert f"  {ids[1]}  suite a, 2 results" in shown.out
    assert "Nothing was deleted yet. Add --yes to delete." in shown.out
    done = evalmark("delete", ids[1], ids[3], "--yes")
    assert (done.code, stored(evalmark)) == (0, [ids[0], ids[2]])
    assert "Deleting 2 runs with 4 results:" in done.out
    assert ids[1].encode() not in STORE.read_bytes()


def test_the_last_run_that_passed_is_named_and_stays(evalmark, ids):
    found = evalmark("delete", ids[0], ids[1], "--yes")
    assert (found.code, stored(evalmark)) == (1, [ids[0], ids[2], ids[3]])
    assert f"{ids[0]} is kept: it is the last run of 'suite a' that passed (`last-green`)." in found.out
    found = evalmark("delete", ids[0], "--yes", "--baselines")
    assert (found.code, stored(evalmark)) == (0, [ids[2], ids[3]])


def test_the_last_run_that_passed_before_this_commit_stays_beside_one_of_another_branch(evalmark, world):
    def git(*words):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], check=True)  # noqa: S607

    Path("cases.csv").write_text("input,expected\n1,1\n")
    Path("app.py").write_text("def answer(question):\n    return question\n")
    Path("a.yaml").write_text("name: suite a\ndatasets: [cases.csv]\ntarget: app:answer\nmetrics: [equals]\n")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    evalmark("run", "a.yaml", "-q")
    git("checkout", "-q", "-b", "other")
    git("commit", "-q", "--allow-empty", "-m", "two")
    evalmark("run", "a.yaml", "-q")
    git("checkout", "-q", "main")
    ids = stored(evalmark)
    found = evalmark("delete", *ids)
    assert found.code == 1
    assert all(f"{name} is kept: it is the last run of 'suite a' that passed" in found.out for name in ids), found.text


def test_the_last_run_of_a_suite_stays_if_its_suite_compares_with_it(evalmark, world):
    Path("cases.csv").write_text("input,expected\n1,2\n")
    Path("app.py").write_text("def answer(question):\n    return question\n")
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(
            f"name: suite {name}\ndatasets: [cases.csv]\ntarget: app:answer\nmetrics: [equals]\n"
        )
        evalmark("run", f"{name}.yaml", "-q")
    Path("a.yaml").write_text(Path("a.yaml").read_text() + "baseline: last\n")
    old = json.loads(evalmark("list", "--json").out)[1]["id"]
    found = evalmark("delete", old, "--yes")
    assert (found.code, "a.yaml names it as its baseline" in found.out) == (1, True), found.text


def test_the_baseline_of_a_suite_file_stays(evalmark, ids):
    Path("b.yaml").write_text(f"{Path('b.yaml').read_text()}baseline: {ids[2]}\n")
    found = evalmark("delete", ids[2], "--yes")
    assert (found.code, "b.yaml names it as its baseline" in found.out) == (1, True)
    assert stored(evalmark) == ids


def test_a_suite_that_cannot_be_read_here_is_named(evalmark, ids, monkeypatch):
    Path("b.yaml").write_text(f"{Path('b.yaml').read_text()}baseline: {ids[2]}\n")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    shown = evalmark("delete", ids[2], "--store", "../.evalmark/evalmark.db")
    sentence = (
        "and 1 more suite cannot be read from this folder; runs that are named there as `baseline` are not protected."
    )
    assert (shown.code, sentence in shown.out) == (0, True), shown.text
    assert "not protected" not in evalmark("delete", ids[2], "--baselines", "--store", "../.evalmark/evalmark.db").out


def test_a_labelled_run_is_named_and_stays(evalmark, ids):
    evalmark("note", ids[1], "--case", "1", "--label", "up", "--by", "ann")
    found = evalmark("delete", ids[1], "--yes")
    assert (found.code, f"{ids[1]} is kept: it has 1 label. --labelled deletes it too." in found.out) == (1, True)
    found = evalmark("delete", ids[1], "--yes", "--labelled")
    assert (found.code, "with 2 results, 1 label:" in found.out) == (0, True)


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        pytest.param(["--keep", "90d"], [0, 2, 3], id="the young ones, and the last that passed"),
        pytest.param(["--keep-last", "1"], [0, 2, 3], id="the newest of each suite, and the last that passed"),
        pytest.param(["--keep-last", "1", "--baselines"], [2, 3], id="the newest of each suite alone"),
        pytest.param(["--keep", "90d", "--keep-last", "3"], [0, 1, 2, 3], id="what either limit keeps"),
    ],
)
def test_old_runs_are_pruned(evalmark, ids, limits, left):
    for number in (0, 1):
        age(ids[number], "2020-01-01T00:00:00Z")
    shown = evalmark("prune", *limits)
    assert (shown.code, stored(evalmark)) == (0, ids)
    done = evalmark("prune", *limits, "--yes")
    assert (done.code, stored(evalmark)) == (0, [ids[number] for number in left])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        pytest.param(["delete"], "RUN", id="nothing named"),
        pytest.param(["delete", "20991231", "--yes"], "there is no run '20991231'", id="a run that is not there"),
        pytest.param(
            ["delete", "last", "sessions:shop", "--yes"], "nothing is recorded", id="a project without sessions"
        ),
        pytest.param(["prune", "--yes"], "Say what to keep", id="no limit"),
        pytest.param(["prune", "--keep", "soon"], "--keep: 'soon' is not an age", id="no age"),
        pytest.param(["delete", "last", "--store", "no.db", "--yes"], "there is no store yet", id="no store"),
    ],
)
def test_a_mistake_deletes_nothing(evalmark, ids, words, why):
    found = evalmark(*words)
    assert (found.code, why in found.text) == (2, True), found.text
    assert stored(evalmark) == ids
    assert not Path("no.db").exists()


def test_a_forgotten_variable_deletes_nothing(evalmark, ids, monkeypatch):
    monkeypatch.setenv("EVALMARK_YES", "1")
    assert "Nothing was deleted yet" in evalmark("delete", ids[1]).out
    assert stored(evalmark) == ids
