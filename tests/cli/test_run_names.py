"""Names and tags of runs, suites as references, and the list of runs."""

import json
from pathlib import Path

import pytest

from evalmark.cli.commands import run_list
from evalmark.core.values.run import Run, RunTotals
from evalmark.core.values.spending import Spending
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.run_list import ListedRun, run_list_screen
from evalmark.storage.queries import run_totals
from evalmark.store import open_store


@pytest.fixture
def suites(evalmark):
    """Two suites, of which each ran twice: three of their four answers are right."""
    Path("cases.csv").write_text("input,expected\n1,1\n2,2\n3,3\n4,x\n")
    Path("app.py").write_text("def answer(question):\n    return question\n")
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(
            f"name: suite {name}\ndatasets: [cases.csv]\ntarget: app:answer\nmetrics: [equals]\n"
        )
    evalmark("run", "a.yaml", "-q", "--name", "nightly", "--tag", "weekly", "--tag", "model=x")
    evalmark("run", "b.yaml", "-q", "--name", "first-b")
    evalmark("run", "a.yaml", "-q", "--name", "nightly")
    evalmark("run", "b.yaml", "-q")
    return [run["id"] for run in json.loads(evalmark("list", "--json").out)][::-1]


def shown(evalmark, reference):
    found = evalmark("show", reference)
    assert found.code == 0, found.err
    return next(line for line in found.out.splitlines() if line.startswith("  run ")).split()[1]


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        pytest.param("last", 3, id="the newest run"),
        pytest.param("last~1", 2, id="the one before it"),
        pytest.param("a.yaml", 2, id="the newest run of a suite"),
        pytest.param("a.yaml~1", 0, id="the one before it of the same suite"),
        pytest.param("./b.yaml", 3, id="the suite by another path"),
        pytest.param("nightly", 2, id="the newest run of a name"),
        pytest.param("nightly~1", 0, id="the one before it of the same name"),
        pytest.param("first-b", 1, id="a name that one run has"),
    ],
)
def test_a_run_is_found(evalmark, suites, reference, number):
    assert shown(evalmark, reference) == suites[number]


def test_a_name_of_several_runs_says_which_one_is_meant(evalmark, suites):
    assert "2 runs have the name 'nightly'; this is the newest." in evalmark("show", "nightly").err
    assert evalmark("show", "first-b").err == ""
    assert evalmark("show", "nightly~1").err == ""


def test_names_and_suites_work_wherever_a_run_does(evalmark, suites):
    assert f"run {suites[2]} of" in evalmark("compare", "a.yaml", "nightly~1").out
    assert suites[0] in evalmark("compare", "a.yaml", "nightly~1").out
    assert evalmark("report", "first-b", "-o", "r.json").code == 0
    assert json.loads(Path("r.json").read_text())["run"]["given_name"] == "first-b"


def test_last_is_the_last_run_of_the_suite_that_is_run(evalmark, suites):
    found = evalmark("run", "a.yaml", "--baseline", "last")
    assert f"against {suites[2]} of" in found.out
    Path("c.yaml").write_text("name: suite c\ndatasets: [cases.csv]\ntarget: app:answer\nmetrics: [equals]\n")
    found = evalmark("run", "c.yaml", "--baseline", "last")
    assert (found.code, "There is no run 'last' of 'suite c' yet" in found.err) == (2, True)
    assert evalmark("run", "c.yaml", "--baseline", "none").code == 1, "run, and the gate fails"


@pytest.mark.parametrize(
    ("which", "numbers"),
    [
        pytest.param([], [3, 2, 1, 0], id="all, the newest first"),
        pytest.param(["-n", "2"], [3, 2], id="a number of them"),
        pytest.param(["a.yaml"], [2, 0], id="of a suite file"),
        pytest.param(["suite b"], [3, 1], id="of a suite by its name"),
        pytest.param(["nightly"], [2, 0], id="of a name"),
        pytest.param(["tag:weekly"], [0], id="with a tag"),
        pytest.param(["tag:model"], [0], id="with a key"),
        pytest.param(["nightly", "tag:model=x"], [0], id="that match both"),
        pytest.param(["--tag", "weekly", "--tag", "model"], [0], id="with two tags as flags"),
    ],
)
def test_a_list_shows_the_runs(evalmark, suites, which, numbers):
    assert [run["id"] for run in json.loads(evalmark("list", *which, "--json").out)] == [suites[n] for n in numbers]


def test_a_list_shows_verdict_and_pass_rate(evalmark, suites, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    lines = evalmark("list").out.splitlines()
    assert lines[1].split()[:5] == ["verdict", "run", "suite", "name", "passed"]
    assert lines[5].split()[:8] == ["✗", "failed", suites[0], "suite", "a", "nightly", "75.0", "%"]
    assert "weekly model=x" in lines[5]
    values = json.loads(evalmark("list", "-n", "1", "--json").out)[0]
    assert {name: values[name] for name in ("verdict", "trials", "passed", "judged", "rate", "cost")} == {
        "verdict": "fail",
        "trials": 4,
        "passed": 3,
        "judged": 4,
        "rate": 0.75,
        "cost": None,
    }


@pytest.mark.parametrize(
    ("spending", "text", "cost", "left_out"),
    [
        pytest.param((), "", None, 0, id="no model was called"),
        pytest.param((Spending(model="a", replayed=40),), "$0", 0.0, 0, id="every reply was cached"),
        pytest.param((Spending(model="a", failed=1),), "unknown", None, 0, id="a failed call may have cost money"),
        pytest.param((Spending(model="a", calls=2, unknown_cost=2),), "unknown", None, 2, id="no price is known"),
        pytest.param(
            (Spending(model="a", calls=1, cost=0.5), Spending(model="b", calls=3, unknown_cost=3)),
            "$0.50+",
            0.5,
            3,
            id="one price is known",
        ),
    ],
)
def test_an_unknown_cost_is_not_0_and_cached_replies_cost_nothing(spending, text, cost, left_out):
    assert run_list._cost(spending) == {"cost": cost, "calls_of_unknown_cost": left_out}
    listed = ListedRun(run=Run(id="1", name="n", created=""), totals=RunTotals(trials=1), spending=spending)
    screen = run_list_screen([listed], TerminalStyle(width=120))
    assert ("cost" in screen, text in screen.split()) == (bool(text), bool(text))


def test_a_list_reads_results_once(evalmark, suites, monkeypatch):
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        assert len(store.totals(store.runs())) == 4
    saved = []
    monkeypatch.setattr(run_totals, "save_totals", lambda db, totals: saved.extend(totals))
    assert "75.0 %" in evalmark("list").out
    assert saved == []


def test_totals_of_a_resumed_run_are_calculated_again(evalmark, suites):
    Path("cases.csv").write_text("input,expected\n1,1\n2,2\n3,3\n")
    evalmark("run", "b.yaml", "-q", "--resume", suites[3])
    assert json.loads(evalmark("list", "b.yaml", "--json").out)[0]["rate"] == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        pytest.param(["run", "a.yaml", "--name", "last"], "another reference", id="a reserved name"),
        pytest.param(["run", "a.yaml", "--name", "20261121-101500"], "another reference", id="a name like an id"),
        pytest.param(["run", "a.yaml", "--name", "LAST"], "another reference", id="a reserved name in capitals"),
        pytest.param(["run", "a.yaml", "--name", "20261121"], "another reference", id="a name like the start of an id"),
        pytest.param(["run", "a.yaml", "--name", "a.yaml"], "another reference", id="a name like a suite"),
        pytest.param(["run", "a.yaml", "--name", "a b"], "at most 80 letters", id="a name with a space"),
        pytest.param(["run", "a.yaml", "--tag", "a,b"], "a word or key=value", id="a tag with a comma"),
        pytest.param(["list", "tag:none"], "no run matches 'tag:none'", id="a tag that no run has"),
        pytest.param(["show", "c.yaml"], "there is no run of c.yaml", id="a suite that never ran"),
        pytest.param(["show", "a.yaml~7"], "there is no run of a.yaml that is 7 before the newest", id="too far back"),
        pytest.param(["list", "sessions", "p", "--json"], "no --json", id="sessions as JSON"),
    ],
)
def test_what_cannot_be_named_is_refused(evalmark, suites, words, why):
    found = evalmark(*words)
    assert (found.code, why in found.err) == (2, True), found.err


@pytest.mark.parametrize("reference", ["ci.db@last", "ci.db"])
def test_the_baseline_of_a_run_may_be_in_another_store(evalmark, suites, reference):
    evalmark("run", "a.yaml", "--store", "ci.db")
    evalmark("run", "b.yaml", "--store", "ci.db")
    (of_suite,) = json.loads(evalmark("list", "a.yaml", "--store", "ci.db", "--json").out)
    found = evalmark("run", "a.yaml", "--store", "pr.db", "--baseline", reference)
    assert of_suite["id"] in found.out, found.text
    green = evalmark("run", "a.yaml", "--store", "pr.db", "--baseline", "ci.db@last-green")
    assert "no earlier complete run of 'suite a' whose gate passed" in green.err
    missing = evalmark("run", "a.yaml", "--store", "pr.db", "--baseline", "gone.db@last")
    assert (missing.code, "this store file does not exist" in missing.err) == (2, True)


def test_the_baseline_of_a_suite_file_is_a_run_of_the_same_store(evalmark, suites):
    evalmark("run", "a.yaml", "--store", "ci.db")
    Path("a.yaml").write_text(Path("a.yaml").read_text() + "baseline: ci.db@last\n")
    assert evalmark("run", "a.yaml", "--store", "pr.db").code == 2


def test_a_run_of_some_cases_is_listed_as_one(evalmark, suites):
    evalmark("run", "a.yaml", "--limit", "1")
    evalmark("run", "a.yaml", "--sample", "1")
    evalmark("run", "a.yaml", "--shard", "1/2")
    listed = evalmark("list", "-n", "4").out.splitlines()
    column = listed[1].index("cases")
    assert [line[column : column + 10].strip() for line in listed[2:6]] == ["shard 1/2", "1 of 4", "some", ""]
    assert [run["is_part"] for run in json.loads(evalmark("list", "-n", "4", "--json").out)] == [
        True,
        True,
        True,
        False,
    ]
