"""Cases are ranked by the drop of the metric that decided; what is the same within rounding is as before."""

import json
import re

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.files.comparison_json import comparison_as_json
from evalmark.reports.files.comparison_markdown import comparison_in_markdown
from evalmark.reports.files.github import comparison_annotations
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_html import as_html
from evalmark.reports.terminal.comparison import comparison_screen
from evalmark.stats.comparison.baseline_outputs import baseline_outputs
from evalmark.stats.comparison.compare import compare_by_case
from evalmark.stats.comparison.compared_cases import rank_cases
from evalmark.stats.comparison.flip_examples import flip_examples

GOOD = [0.9 + n / 1000 for n in range(20)]
BAD = [GOOD[0] + 0.0001] + [0.9 - n / 25 for n in range(1, 20)]
"""One is as before within rounding; the last fell most."""


def run(name, direction="higher", unit="", **columns):
    """A run whose metrics give these values, one a case; `passes` is one that passes or fails."""
    results = []
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        scores = [
            Score(
                name=metric,
                raw=value,
                value=None if unit else value,
                direction=direction,
                passed=value > 0.5 if metric == "passes" else None,
            )
            for metric, value in zip(columns, row, strict=True)
        ]
        trial = Trial(case=Case(id=f"c{number:02}", input=f"question {number}"), dataset="d", position=number)
        results.append(Result(trial=trial, output=Output(value=f"{name} {number}"), scores=tuple(scores)))
    metrics = tuple(Metric(name=metric, direction=direction, unit=unit) for metric in columns)
    made = {"name": "bot", "created": "2026-11-22T00:00:00Z", "datasets": (DatasetInfo(name="d"),)}
    return Run(id=name, metrics=metrics, results=results, **made)


FELL = [f"c{n:02}" for n in range(19, 0, -1)]


def test_a_worse_run_shows_the_cases_that_the_metric_says_fell():
    now, then = run("now", close=BAD), run("then", close=GOOD)
    found = compare(now, then)
    (target,) = found.targets
    assert (found.outcome, target.deciding.name, target.flips) == ("worse", "close", ())
    assert [flip.case for flip in target.moved] == [flip.case for flip in target.worse] == FELL
    assert (target.deciding.moved, target.deciding.stayed) == ((19, 0), 1)
    pairs = flip_examples(found, now, then, 3)
    assert [(pair.flip.case, pair.before.output.value, pair.now.output.value) for pair in pairs] == [
        (case, f"then {int(case[1:])}", f"now {int(case[1:])}") for case in FELL[:3]
    ]


def test_every_report_shows_them():
    now, then = run("now", close=BAD), run("then", close=GOOD)
    found = compare(now, then)
    texts = flip_examples(found, now, then, 2)
    terminal = comparison_screen(found)
    assert "cases by close   19 regressed, 0 improved, 1 unchanged" in terminal
    assert "c19  fell from 0.919 to 0.140" in terminal
    side_by_side = comparison_screen(found, pairs=texts)
    assert "c18   close fell from 0.918 to 0.180" in side_by_side
    assert "close: 0.140" in side_by_side
    markdown = "".join(comparison_in_markdown(found))
    assert "<summary>Cases by close: 19 regressed, 0 improved, 1 unchanged</summary>" in markdown
    (target,) = json.loads("".join(comparison_as_json(found, texts)))["targets"]
    assert (target["decided_by"], [flip["case"] for flip in target["cases"]]) == ("close", FELL)
    assert [change["cases"] for change in target["changes"]] == [{"worse": 19, "same": 1, "better": 0}]
    page = "".join(as_html(now, options=ReportOptions(comparison=found, baseline=then)))
    assert "Cases by close: 19 regressed, 0 improved, 1 unchanged" in page
    assert re.search(r"regressed</th><td[^>]*>19</td>", page)
    titles = [
        line.partition("::")[0] + line.partition("title=")[2][:20] for line in comparison_annotations(found, texts)
    ]
    assert len(titles) == 3
    assert all("c1" in title and "close" in title for title in titles[1:])


def test_the_metric_that_decided_ranks_the_cases_and_not_whether_all_still_pass():
    now = run("now", passes=[1.0] * 20, close=BAD)
    found, cases = compare_by_case(now, run("then", passes=[1.0] * 20, close=GOOD))
    assert found.targets[0].deciding.name == "close"
    places = rank_cases(cases)
    assert [place.outcome for place in places] == ["worse"] * 19 + ["same"]
    assert [place.cases.pairs[place.case][0][1] for place in places][:19] == FELL
    assert [place.outcome for place in rank_cases(cases, "")] == ["same"] * 20
    earlier = baseline_outputs(found, now.results, run("then", passes=[1.0] * 20, close=GOOD))
    assert [earlier[one.trial.id].outcome(one) for one in now.results].count("worse") == 19


def test_flips_decide_where_the_pass_rate_did():
    fails = [0.1] * 12 + [0.9] * 28
    found = compare(run("now", passes=fails, close=BAD * 2), run("then", passes=[0.9] * 40, close=GOOD * 2))
    target = found.targets[0]
    assert (target.deciding.name, target.moved) == ("", target.flips)
    assert len(target.worse) == 12


def test_the_largest_fall_decides_among_several_metrics():
    small = [value - 0.07 for value in GOOD]
    found = compare(run("now", a=small, b=BAD), run("then", a=GOOD, b=GOOD))
    assert {change.outcome for change in found.targets[0].changes} == {"worse"}
    assert found.targets[0].deciding.name == "b"


@pytest.mark.parametrize("unit", ["", "edits"])
def test_where_lower_is_better_a_rise_is_worse(unit):
    scale = 100 if unit else 1
    now = run("now", "lower", unit, edits=[scale * (1 - value) for value in BAD])
    then = run("then", "lower", unit, edits=[scale * (1 - value) for value in GOOD])
    (target,) = compare(now, then).targets
    assert [flip.case for flip in target.worse] == FELL
    assert "edits rose from" in comparison_screen(compare(now, then))


@pytest.mark.parametrize(
    ("before", "now", "unit", "moved"),
    [
        pytest.param(0.5, 0.5004, "", 0, id="less than rounding"),
        pytest.param(0.5, 0.5006, "", 1, id="more than rounding"),
        pytest.param(0.1 + 0.2, 0.3, "", 0, id="a digit of double precision"),
        pytest.param(1000.0, 1000.4, "ms", 0, id="less than three digits of a unit"),
        pytest.param(1.0, 2.0, "edits", 1, id="an edit"),
    ],
)
def test_as_before_means_unchanged_within_rounding(before, now, unit, moved):
    found, cases = compare_by_case(run("now", unit=unit, m=[now]), run("then", unit=unit, m=[before]))
    (target,) = found.targets
    assert (sum(target.deciding.moved), target.deciding.stayed) == (moved, 1 - moved)
    assert cases[0].outcome(0, 0) == ("better" if moved else "same")


def test_of_repeats_the_one_is_shown_that_shows_it():
    def repeated(name, *values):
        results = [
            Result(
                trial=Trial(case=Case(id="a", input="x"), dataset="d", repeat=n),
                output=Output(value=f"{name} {n}"),
                scores=(Score(name="m", raw=value, value=value),),
            )
            for n, value in enumerate(values)
        ]
        return Run(id=name, name="bot", created="", metrics=(Metric(name="m"),), repeat=len(values), results=results)

    now, then = repeated("now", 0.8, 0.1), repeated("then", 0.7, 0.9)
    (pair,) = flip_examples(compare(now, then), now, then, 5)
    assert (pair.before.output.value, pair.now.output.value) == ("then 1", "now 1")
