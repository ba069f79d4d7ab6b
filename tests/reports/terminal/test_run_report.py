"""The terminal: in its width, in its colours or none, and never under foreign control."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from evalmark import Case, Gate, Output, Result, Run, Score, compare, evaluate
from evalmark.core.values.run import DatasetInfo, Metric, RunTotals
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.reports.terminal.cases import case_screen
from evalmark.reports.terminal.comparison import comparison_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.run_list import ListedRun, run_list_screen
from evalmark.reports.terminal.run_report import run_screen, suites_screen
from evalmark.reports.text.numbers import DASH
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.summarise import summarise
from tests.reports.text import judged
from tests.reports.text.example import HOSTILE_TEXT, RESULTS, RUN, everywhere, two_thresholds

EMPTY = Run(id="r", name="n", created="2026-11-21T00:00:00+00:00")


@pytest.mark.parametrize("width", [60, 80, 120, 140])
@pytest.mark.parametrize(
    "run",
    [RUN, EMPTY, everywhere("a long text " * 40), everywhere("x" * 500)],
    ids=["full", "empty", "long texts", "long words"],
)
def test_no_line_is_wider_than_the_terminal(run, width):
    looks = TerminalStyle(width=width, store="s.db"), TerminalStyle(width=width, unicode=False)
    text = "".join(run_screen(run, look) for look in looks) + "".join(
        case_screen(r, TerminalStyle(width=width)) for r in run.results
    )
    lines = [line for line in text.splitlines() if not line.startswith("    evalmark ")]  # a command stays in one piece
    assert max(map(cell_len, lines)) <= width


def test_no_heading_of_a_table_is_cut_on_a_narrow_terminal():
    heads = [line for line in run_screen(RUN, TerminalStyle(width=60)).splitlines() if line.startswith("  metric")]
    assert [head.endswith(" errors") for head in heads] == [True] * len(heads)


MIXED = (
    Metric(name="m", threshold=0.5),
    Metric(name="length", unit="characters"),
    Metric(name="scale", unit="1..5", threshold=0.5),
    Metric(name="b"),
)


def with_metrics(*metrics: Metric) -> Run:
    """Six trials with these metrics, each of which may pass."""
    raws = {"": lambda v: v, "characters": lambda v: 100 * v, "1..5": lambda v: 1 + 4 * v}

    def scores(v: float) -> list[Score]:
        return [
            Score(
                name=metric.name,
                raw=raws[metric.unit](v),
                value=None if metric.unit == "characters" else v,
                passed=v > 0.5,
            )
            for metric in metrics
        ]

    trials = [Trial(case=Case(id=f"c{n}"), dataset="d", position=n) for n in range(6)]
    found = zip(trials, (0.1, 0.2, 0.55, 0.9, 0.95, 1.0), strict=True)
    results = [Result(trial=trial, output=Output(value=""), scores=tuple(scores(v))) for trial, v in found]
    return replace(EMPTY, results=tuple(results), metrics=metrics)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "least"),
    [
        pytest.param(RUN, 83, id="the run of the golden files"),
        pytest.param(judged.RUN, 106, id="the judged run of the golden files"),
        pytest.param(with_metrics(MIXED[0]), 65, id="one metric with a short name, a mean and a threshold"),
        pytest.param(with_metrics(*MIXED), 80, id="metrics in four units"),
    ],
)
def test_the_spread_is_shown_whole_or_not_at_all_in_every_width(run, least):
    shown = set()
    for width in range(60, 161):
        lines = run_screen(run, TerminalStyle(width=width)).splitlines()
        tops = [line for line in lines if line.lstrip().startswith("metric ")]
        for top in tops:
            row = lines[lines.index(top) + 1]
            assert ("low" in top) == ("low   high" in top)
            assert "low" not in top or len(row) == len(top), (width, top, row)
        shown |= {width} if any("low" in top for top in tops) else set()
    assert shown >= set(range(least, 161))


@pytest.mark.parametrize("color", [True, False])
def test_only_our_own_colours_reach_the_terminal(color):
    run = everywhere(HOSTILE_TEXT)
    text = (
        run_screen(run, TerminalStyle(color=color, store=HOSTILE_TEXT))
        + case_screen(run.results[0], TerminalStyle(color=color))
        + run_list_screen([ListedRun(run=run, totals=TOTALS)], TerminalStyle(color=color))
    )
    left = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
    assert not [c for c in left if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    assert (text != left) is color
    assert "[bold red]markup[/] :smile:" in " ".join(left.split())


def test_ascii_is_enough():
    text = run_screen(RUN, TerminalStyle(unicode=False))
    assert text.replace("\ufffd", "").isascii()  # that one is of the texts
    assert "answer_hallucination v" in text


def test_ascii_signs_leave_the_texts_of_cases_unchanged():
    text = run_screen(everywhere("naïve 日本語 Ω"), TerminalStyle(unicode=False))
    assert "naïve 日本語 Ω" in text
    assert "✗" not in text


def test_the_environment_decides_nothing(monkeypatch):
    expected = run_screen(RUN, TerminalStyle(color=True))
    for name, value in {"COLUMNS": "40", "NO_COLOR": "1", "TERM": "dumb", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    assert run_screen(RUN, TerminalStyle(color=True)) == expected


@pytest.mark.parametrize(
    ("run", "line"),
    [
        pytest.param(
            replace(RUN, gate=Gate(min_pass_rate=0.5, max_errors=2, max_unscored=1)),
            "Gate passed: 14 of 18 judged trials passed",
            id="passed",
        ),
        pytest.param(RUN, "Gate failed: 14 of 18 judged trials passed (77.8 %), less than 90 %.", id="failed"),
        pytest.param(EMPTY, "Gate cannot tell: No cases ran.", id="nothing ran"),
    ],
)
def test_the_verdict_is_said_in_words(run, line):
    assert line in run_screen(run)


def test_figures_and_a_verdict_found_before_are_not_found_again():
    verdict = GateVerdict(outcome="pass", reasons=("Because.",))
    text = run_screen(replace(RUN, results=()), summary=summarise(RUN), verdict=verdict)
    assert "Gate passed: Because." in text
    assert "13 of 16 passed" in text


def test_the_reader_learns_where_the_run_is_and_how_to_go_on():
    text = run_screen(replace(RUN, status="interrupted"), TerminalStyle(width=120, store="s.db"))
    assert "Stored in s.db; show it with: evalmark show 20261121-101500-3f9a --failed" in text
    assert "To continue, repeat the command with: --resume 20261121-101500-3f9a" in text
    assert "Stored in" not in run_screen(RUN)


def test_the_command_to_look_again_has_the_flags_it_needs_and_no_advice_that_cannot_be_followed():
    look = TerminalStyle(width=120, store="s b.db", flags=" --store 's b.db'", resumable=False)
    text = run_screen(replace(RUN, status="interrupted"), look)
    assert "evalmark show 20261121-101500-3f9a --failed --store 's b.db'" in text
    assert "To go on" not in text


def test_a_command_that_is_longer_than_a_line_stays_in_one_piece_to_be_copied():
    flags = " --store " + "a-long-path/" * 8 + "s.db"
    text = run_screen(RUN, TerminalStyle(width=60, store="s.db", flags=flags))
    assert f"    evalmark show 20261121-101500-3f9a --failed{flags}\n" in text


def test_a_name_too_long_for_its_column_stands_above_its_text():
    said = "The summit of this mountain is 2,970 metres above the sea"
    wrong = Score(name="correct [openai/gpt-5-mini]", value=0.0, passed=False, reason="It is lower.")
    result = Result(trial=Trial(case=Case(id="q1")), output=Output(value=said), scores=(wrong,))
    run = replace(RUN, metrics=(Metric(name=wrong.name, threshold=0.5),), results=(result,))
    narrow, wide = (run_screen(run, TerminalStyle(width=width)) for width in (60, 120))
    assert "    output  The summit" in narrow
    assert "    correct [openai/gpt-5-mini]\n            0.000 < 0.5  It is lower." in narrow
    assert "    output                       The summit" in wide
    assert "    correct [openai/gpt-5-mini]  0.000 < 0.5  It is lower." in wide


@pytest.mark.parametrize("width", range(60, 75))
def test_an_interval_is_never_broken_over_two_lines(width):
    text = run_screen(RUN, TerminalStyle(width=width))
    assert f"49.9 {DASH} 95.7 %" in text
    assert not re.search(rf"{DASH}\n|\n +({DASH}|%)", text)


def test_worst_cases_come_with_what_is_wrong_and_no_more_than_asked_for():
    text = run_screen(RUN, TerminalStyle(width=120, worst=4))
    assert text.index("! q9") < text.index("✗ q4 (questions)\n") < text.index("✗ q4 (questions, repeat 2)")
    assert "✗ q3" not in text
    assert "not in contexts       “Zermatt lies to the north of it.”" in text
    assert "worst cases" not in run_screen(RUN, TerminalStyle(worst=0))


def test_a_list_without_runs_says_so():
    assert run_list_screen([]).strip() == "No runs yet. Store one with: evalmark run"
    assert "20261121-101500-3f9a" in run_list_screen([ListedRun(run=RUN, totals=TOTALS)])


TOTALS = RunTotals(verdict="fail", trials=21, passed=12, judged=18, rate=12 / 18, low=0.437, high=0.837)


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        pytest.param(60, "verdict run suite passed", id="60 columns show the verdict and the pass rate"),
        pytest.param(80, "verdict run suite passed interval cost", id="80 columns add interval and cost"),
        pytest.param(100, "verdict run suite name passed interval cost", id="100 columns add the name"),
        pytest.param(
            120,
            "verdict run suite name passed interval cost commit tags",
            id="120 columns show commit and tags",
        ),
    ],
)
def test_a_narrow_list_leaves_columns_out_rather_than_cut_figures(width, headings):
    long = replace(
        RUN,
        name="a bot with a long name",
        target="package.of.mine:answer",
        given_name="nightly",
        tags=("model=a",),
        revision="0123456789abcdef",
    )
    one = ListedRun(run=long, totals=TOTALS, spending=(Spending(model="openai/m", calls=3, cost=0.125),))
    lines = run_list_screen([one], TerminalStyle(width=width)).splitlines()
    assert lines[1].replace("95 % interval", "interval").split() == headings.split()
    assert all(len(line) <= width for line in lines)
    assert "66.7 %" in lines[2]
    assert RUN.id in lines[2]
    assert width < 80 or all(text in lines[2] for text in ("83.7 %", "$0.1"))


def test_a_list_tells_unfinished_runs_and_those_that_are_not_summed_up():
    runs = [replace(RUN, status="interrupted"), RUN]
    text = run_list_screen(
        [ListedRun(run=run, totals=totals) for run, totals in zip(runs, (TOTALS, RunTotals(trials=21)), strict=True)]
    )
    assert "interrupted" in text
    assert "1 run without a verdict yet" in text


def test_where_there_are_several_datasets_a_case_names_its_own():
    both = replace(RUN, datasets=(DatasetInfo(name="questions"), DatasetInfo(name="lakes")))
    assert "✗ q4 (questions)\n" in run_screen(both, TerminalStyle(worst=5))
    assert "✗ q4 (questions, repeat 2)\n" in run_screen(both, TerminalStyle(worst=5))
    assert "q1 (questions)" in case_screen(RESULTS[0], run=both)


def test_a_case_in_full_keeps_its_lines():
    result = replace(RESULTS[0], output=replace(RESULTS[0].output, value="one\n  two\nthree"))
    lines = [line.strip() for line in case_screen(result).splitlines()]
    assert "output                one" in lines
    assert {"two", "three"} <= set(lines)


def test_a_dataset_with_a_metric_of_its_own_is_told_by_that_one():
    run = two_thresholds()
    loose, strict = (case_screen(result, run=run) for result in run.results)
    assert "0.500 ≥ 0.25" in loose
    assert "0.500 < 0.75" in strict
    assert "0.500 < 0.75" in run_screen(run)
    assert "0.25" not in run_screen(replace(run, results=run.results[1:]))


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param({"mail": "Where is\nmy parcel?"}, "Where is", id="one text is shown as it is"),
        pytest.param({"mail": "Hi", "plan": "free"}, '{"mail": "Hi", "plan": "free"}', id="several have their names"),
        pytest.param({"count": 3}, '{"count": 3}', id="a number has its name"),
        pytest.param({"mail": " "}, '{"mail": " "}', id="nothing to read has its name"),
    ],
)
def test_the_input_of_a_prompt_with_one_variable_is_what_it_says(asked, shown):
    trial = Trial(case=Case(id="1", input=asked))
    result = Result(trial=trial, output=Output(value="x"), scores=(Score(name="s", value=0.0, passed=False),))
    run = replace(EMPTY, results=(result,))
    for text in (case_screen(result), run_screen(run)):
        (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith("input")]
        assert line.removeprefix("input").strip().startswith(shown)


def test_a_verdict_on_two_runs_is_whole_on_a_narrow_terminal():
    def run(name: str, bad: int) -> Run:
        results = [
            Result(
                trial=Trial(case=Case(id=f"{number}", input=f"say {number}"), dataset="d", position=number),
                output=Output(value=f"{number}" if number >= bad else "no"),
                scores=(Score(name="equals", raw=number >= bad, value=float(number >= bad), passed=number >= bad),),
            )
            for number in range(200)
        ]
        return replace(EMPTY, id=name, metrics=(Metric(name="equals"),), results=results)

    found = compare(run("now", 1), run("then", 0))
    (row,) = [
        line
        for line in comparison_screen(found, TerminalStyle(width=80)).splitlines()
        if line.startswith("  pass rate ")
    ]
    assert row.endswith("the same ±5 points")
    for width in (60, 80):
        text = comparison_screen(found, TerminalStyle(width=width))
        assert text.split().count("points") == 1, f"the verdict is cut off at {width} columns"
        assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.parametrize(
    ("status", "expected", "code", "word"),
    [
        pytest.param("complete", "A", 0, "✓ passed", id="passed"),
        pytest.param("complete", "A", 1, "▼ worse", id="worse than its baseline"),
        pytest.param("complete", "A", 3, "? cannot tell", id="its comparison cannot tell"),
        pytest.param("complete", "B", 1, "✗ failed", id="failed"),
        pytest.param("interrupted", "A", 130, "? interrupted", id="interrupted"),
    ],
)
def test_the_list_of_suites_shows_how_each_ended(status, expected, code, word):
    run = evaluate([{"input": "a", "expected": expected}], str.upper, ["equals"], store=None)
    run = replace(run, status=status)
    assert word in suites_screen([(run, summarise(run), code)], TerminalStyle(width=100)).splitlines()[-1]


def test_columns_that_would_say_nothing_are_left_out():
    yes_or_no = Metric(name="polite")
    trial = Trial(case=Case(id="a"), dataset="d")
    score = Score(name="polite", status="scored", raw=True, value=1.0, passed=True)
    run = replace(EMPTY, results=(Result(trial=trial, output=Output(value=""), scores=(score,)),), metrics=(yes_or_no,))
    text = run_screen(run, TerminalStyle(width=120))
    assert not [word for word in ("unscored", "errors", "low") if word in text]
    lost = replace(run, results=(*run.results, Result(trial=replace(trial, position=1), output=Output(error="no"))))
    assert "errors" in run_screen(lost, TerminalStyle(width=120))
