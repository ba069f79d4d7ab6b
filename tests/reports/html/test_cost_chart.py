"""Cost against quality: only what is known is drawn, and the rest is said."""

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.cost_chart import are_comparable, cost_table, draw_costs, qualities
from evalmark.reports.text.numbers import DASH
from evalmark.stats.inference.intervals import wilson
from evalmark.stats.summary.pareto import TargetCost
from evalmark.stats.summary.summarise import summarise


def a_run(passes, datasets=("d",), only=()):
    """Targets that passed so many of ten cases of each dataset."""
    results = []
    for target, passed in passes.items():
        for dataset in datasets:
            if (target, dataset) in only or not only:
                for n in range(10):
                    scores = (
                        Score(name="m", value=n / 10, passed=n < passed),
                        Score(name="errors", value=0.1 * passed, direction="lower"),
                        Score(name="edits", raw=n * 100),
                    )
                    trial = Trial(case=Case(id=str(n)), dataset=dataset, target=target, position=n)
                    results.append(Result(trial=trial, output=Output(value="x"), scores=scores))
    metrics = (Metric(name="m"), Metric(name="errors", direction="lower"), Metric(name="edits", unit="edits"))
    return summarise(Run(id="1", name="r", created="", target=", ".join(passes), metrics=metrics, results=results))


def worth(target, cost, **fields):
    known = {"trials": 10, "priced": 10, "uncalled": 0, "models": (target,)}
    return TargetCost(target=target, total=None if cost is None else 10 * cost, **{**known, **fields})


def test_targets_are_compared_by_pass_rate_and_by_every_mean_from_0_to_1():
    ways = qualities(a_run({"a": 9, "b": 5}))
    assert list(ways) == ["pass rate", "m", "errors"]
    assert ways["pass rate"].figures["a"] == (0.9, wilson(9, 10))
    assert (ways["errors"].lower, ways["m"].lower) == (True, False)
    several = qualities(a_run({"a": 9, "b": 5}, datasets=("d", "e")))
    assert list(several)[:3] == ["pass rate", "m in d", "errors in d"]
    assert several["pass rate"].figures["a"][0] == 0.9


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        pytest.param("pass rate", {"a": True, "b": True, "c": False}, id="the dear good one and the cheap one"),
        pytest.param("errors", {"a": False, "b": True, "c": False}, id="where less is better the cheap one beats all"),
    ],
)
def test_who_is_not_beaten_is_filled_and_joined(way, expected):
    summary = a_run({"a": 9, "b": 5, "c": 7})
    worths = [worth("a", 0.02), worth("b", 0.001), worth("c", 0.03)]
    drawn = draw_costs(summary, worths, way, qualities(summary)[way])
    assert {row[0][2:]: row[0][0] == "●" for row in drawn.rows} == expected
    assert ('class="front"' in str(drawn.picture)) is (sum(expected.values()) > 1)
    assert drawn.rows[0][1] == "$0.02"


def test_what_is_not_known_is_said_and_not_drawn():
    summary = a_run({"a": 9, "b": 5, "c": 7})
    worths = [
        worth("a", 0.02, priced=8, uncalled=0),
        worth("b", None, priced=0, uncalled=0),
        worth("c", None, priced=0, uncalled=10, models=()),
    ]
    drawn = draw_costs(summary, worths, "pass rate", qualities(summary)["pass rate"])
    assert [row[0] for row in drawn.rows] == ["● a"]
    table = cost_table(worths)
    assert [row[4] for row in table.rows] == ["$0.025", DASH, DASH]
    assert table.notes == (
        "a: price unknown for 2 outputs, left out of the mean.",
        "b: price unknown for 10 outputs, left out of the mean.",
        "c: cost unknown: no model call is recorded for its outputs.",
    )
    assert draw_costs(summary, worths[1:], "pass rate", qualities(summary)["pass rate"]) is None


def test_targets_that_were_asked_other_cases_are_not_drawn_beside_each_other():
    summary = a_run({"a": 9, "b": 5}, datasets=("d", "e"), only=(("a", "d"), ("b", "e")))
    assert not are_comparable(summary)
    assert draw_costs(summary, [worth("a", 1), worth("b", 2)], "pass rate", qualities(summary)["pass rate"]) is None
    assert are_comparable(a_run({"a": 9, "b": 5}))
