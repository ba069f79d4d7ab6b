"""`evalmark trend`: a metric over runs with control limits, and the mark of a run outside of them in other reports."""

import json
from itertools import product
from pathlib import Path

import pytest

from evalmark.cli.commands import trend as command
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.runs.execution import execute
from evalmark.store import open_store

STORE = ".evalmark/evalmark.db"
ROWS = 24


@pytest.fixture
def suite(evalmark, world, monkeypatch):
    """A suite with a target that fails as many cases as its variable says."""
    rows = [{"id": f"q{n:02}", "input": f"question {n}", "expected": "yes"} for n in range(ROWS)]
    (world / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (world / "app.py").write_text(
        "import os\n\n\ndef answer(text):\n"
        "    return 'no' if int(text.split()[1]) < int(os.environ['FAILING']) else 'yes'\n"
    )
    (world / "support.yaml").write_text(
        "name: support bot\ndatasets: rows.jsonl\ntarget: app:answer\nmetrics: [equals]\ngate: {min_pass_rate: 0.5}\n"
    )

    def run(*failing: int) -> list[int]:
        codes = []
        for number in failing:
            monkeypatch.setenv("FAILING", str(number))
            codes.append(evalmark("run", "support.yaml", "-q").code)
        return codes

    return run


def test_a_fall_is_marked_in_every_report_and_changes_no_exit_code(evalmark, suite, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert suite(*[2] * 12, 9) == [0] * 13
    with open_store(STORE, read_only=True) as store:
        last, before = store.runs(2)
    assert (last.change, before.change) == ("worse", "")
    listed = evalmark("list").out.splitlines()
    assert listed[1].split()[-1] == "limits"
    assert [line.split()[-1] for line in listed[2:5]] == ["worse", "%", "%"]
    assert "outside of its control limits, for the worse" in " ".join(evalmark("show", "last").out.split())
    assert evalmark("report", "last", "--to", "github").code in (0, 1)
    assert "outside of its control limits, for the worse" in Path("summary.md").read_text()
    screen = evalmark("trend").out
    assert "▼ worse: " + last.id in screen
    assert "pass rate · app:answer · 13 runs" in screen


@pytest.mark.parametrize(
    ("most", "is_checked"),
    [pytest.param(2 * ROWS, True, id="two runs"), pytest.param(2 * ROWS - 1, False, id="one result more")],
)
def test_limits_are_checked_if_not_too_many_results_have_to_be_read(evalmark, suite, monkeypatch, most, is_checked):
    monkeypatch.setattr(execute, "MOST_READ", most)
    suite(2, 2)
    shown = " ".join(evalmark("show", "last").out.split())
    assert (f"Control limits were not checked: {2 * ROWS} results would be read" not in shown) is is_checked


def test_documents_have_the_limits_of_each_run(evalmark, suite):
    suite(*[2] * 11, 9)
    found = json.loads(evalmark("trend", "support.yaml", "--to", "json").out)
    assert (found["format"], found["version"], [one["metric"] for one in found["series"]]) == (
        "evalmark-trend",
        1,
        [None],
    )
    runs = found["series"][0]["runs"]
    assert [run["outside"] for run in runs] == [None] * 11 + ["below"]
    assert runs[0]["low"] is None
    assert runs[-1]["value"] < runs[-1]["low"] < runs[0]["value"]
    text = evalmark("trend", "support bot", "--to", "md", "-n", "3").out
    assert text.count("\n| 2") == 3
    assert "▼ worse" in text
    assert evalmark("trend", "-o", "trend.md", "-o", "trend.json").out == ""
    assert json.loads(Path("trend.json").read_text()) == found
    assert Path("trend.md").read_text().startswith("## pass rate of app:answer")


def test_the_chart_fits_the_terminal(evalmark, suite, monkeypatch):
    suite(*[2, 3] * 5, 12, 12)
    for columns, encoding in product([60, 80, 120], ["utf-8", "ascii"]):
        style = TerminalStyle(width=columns, unicode=encoding == "utf-8")
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(command, "terminal_style", lambda style=style: style)
        screen = evalmark("trend").out
        assert max(map(len, screen.splitlines())) <= columns
        assert screen.endswith("\n")
        screen.encode(encoding)
        assert ("●" if encoding == "utf-8" else "o") in screen


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing.yaml",), "No run has this name or suite file either"),
        (
            ("--metric", "style"),
            "no run has the metric 'style', or its verdicts are those of the pass rate in every run, which stands for it; there are 'pass rate'.",
        ),
        (("--target", "other"), "no run has the target 'other'; there are 'app:answer'."),
        (("--to", "html"), "--to takes json or md, not 'html'."),
        (("-o", "trend.csv"), "a trend is written as .json or .md"),
    ],
)
def test_a_wrong_call_is_one_sentence(evalmark, suite, words, sentence):
    suite(2)
    found = evalmark("trend", *words)
    assert found.code == 2
    assert sentence in " ".join(found.err.split())


def test_a_suite_with_no_complete_run_says_so(evalmark, suite, monkeypatch):
    monkeypatch.setenv("FAILING", "2")
    evalmark("run", "support.yaml", "-q", "-n", "3")
    found = evalmark("trend")
    assert (found.code, "so there is no trend to show" in found.err) == (2, True)


def test_another_threshold_starts_a_new_series_and_is_named(evalmark, suite, world):
    suite(2, 2)
    text = (world / "support.yaml").read_text()
    (world / "support.yaml").write_text(text.replace("[equals]", "[equals, {contains: {threshold: 1.0}}]"))
    suite(9)
    screen = " ".join(evalmark("trend").out.split())
    assert "a new series starts: the metric contains is new" in screen
    assert "worse" not in screen
