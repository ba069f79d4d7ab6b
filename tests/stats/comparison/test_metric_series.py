"""A metric over the runs of a suite: where a series starts anew, and which runs are outside of their limits."""

import random
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.stats.comparison.baseline_choice import runs_of_series
from evalmark.stats.comparison.metric_series import (
    FIRST,
    MetricSeries,
    metric_series,
    newest_runs,
    outside_notes,
    outside_text,
    run_values,
)
from evalmark.stats.inference.control_chart import ChartPoint


def from_log(run, reply, replayed):
    """The run with an output of a model for each case; `reply` names the recorded calls."""
    results = tuple(
        replace(one, output=replace(one.output, metadata={"calls": [f"{reply} {one.trial.position}"]}))
        for one in run.results
    )
    spent = Spending(model="m", calls=0 if replayed else len(results), replayed=len(results) if replayed else 0)
    return replace(run, results=results, spending=(spent,))


def scored(position, values, target, repeat=0):
    scores = tuple(
        Score(name=name, raw=value, value=value, passed=value >= 0.5, direction=direction)
        for name, (value, direction) in values.items()
    )
    case = Case(id=f"q{position}", input=f"question {position}", expected="yes")
    trial = Trial(case=case, dataset="rows", position=position, target=target, repeat=repeat)
    return Result(trial=trial, output=Output(value="…"), scores=scores)


def run_of(day, values, *, target="app", **header):
    """A run with the values of `correct` for each case, or with a mapping of metrics."""
    metrics = [one if isinstance(one, dict) else {"correct": (float(one), "higher")} for one in values]
    fields = {
        "metrics": tuple(Metric(name=name, threshold=0.5, direction=one[1]) for name, one in metrics[0].items()),
        "datasets": (DatasetInfo(name="rows", rows=len(metrics)),),
        "suite": "evals/support.yaml",
        "name": "support",
    }
    results = tuple(scored(position, one, target) for position, one in enumerate(metrics))
    return Run(id=f"run-{day:02}", created=f"2026-11-{day:02}T08:00:00Z", results=results, **(fields | header))


def series_of(runs, metric=""):
    return next(one for one in metric_series([run_values(run) for run in runs]) if one.metric == metric)


LUCKY, UNLUCKY = [1] * 17 + [0] * 3, [1] * 3 + [0] * 6 + [1] * 11


def test_replies_of_the_call_log_are_one_draw_however_many_runs_replay_them():
    """Without a change, one draw of the answers had 3 failures and another one, after a harmless edit, had 6."""
    replays = [from_log(run_of(day, LUCKY), "first", replayed=day > 1) for day in range(1, 11)]
    replays += [from_log(run_of(day, UNLUCKY), "second", replayed=day > 11) for day in range(11, 26)]
    found = series_of(replays)
    assert [one.point.outside for one in found.runs] == [None] * 25
    assert [one.point.value for one in found.runs] == [0.85] * 10 + [0.7] * 15
    assert [one.start_reason for one in found.runs] == [FIRST] + [""] * 24
    assert [number for number, one in enumerate(found.runs) if one.point.compared] == [10]
    asked = [replace(one, spending=(Spending(model="m", calls=20),)) for one in replays]
    assert any(one.point.outside == "below" for one in series_of(asked).runs)


def test_of_a_run_that_is_replayed_in_part_only_the_new_replies_are_compared():
    runs = [from_log(run_of(day, STEADY), f"draw {day}", replayed=False) for day in range(1, 11)]
    last = from_log(run_of(11, FALLEN), "draw 11", replayed=True)
    same = from_log(run_of(11, STEADY), "draw 10", replayed=True)
    mixed = replace(last, results=last.results[:9] + same.results[9:])
    found = series_of([*runs, mixed])
    assert (found.runs[-1].point.outside, found.runs[-1].point.compared) == ("below", 9)


STEADY = [1] * 18 + [0] * 2
FALLEN = [0] * 9 + [1] * 9 + [0] * 2


def test_a_fall_is_outside_and_the_next_run_starts_a_new_series():
    runs = [run_of(day, STEADY) for day in range(1, 11)] + [run_of(11, FALLEN), run_of(12, FALLEN)]
    found = series_of(runs)
    assert [one.point.outside for one in found.runs] == [None] * 10 + ["below", None]
    assert next(one.start_reason for one in found.runs) == FIRST
    assert found.runs[-1].start_reason == "the run before is outside of its control limits"
    assert (found.runs[10].earlier, found.runs[10].since, found.runs[11].earlier) == (10, runs[0].created, 0)
    assert found.change(found.runs[10].point) == "worse"


def test_the_note_of_a_run_says_what_changed_and_by_how_much():
    runs = [run_of(day, STEADY) for day in range(1, 11)] + [run_of(11, FALLEN)]
    series = metric_series([run_values(run) for run in runs])
    limit = f"{100 * series[0].runs[-1].point.low:.3g}"
    assert list(outside_notes(runs[-1], series)) == [
        (
            "Warning: pass rate is outside of its control limits, for the worse: "
            f"45 %, below the limit of {limit} % from 10 runs since 2026-11-01; evalmark trend run-11 shows them."
        )
    ]
    assert list(outside_notes(runs[3], series)) == []
    assert replace(runs[-1], notes=tuple(outside_notes(runs[-1], series))).change == "worse"


@pytest.mark.parametrize(("direction", "word"), [("higher", "worse"), ("lower", "better")])
def test_whether_a_fall_is_worse_depends_on_the_direction_of_the_metric(direction, word):
    source = random.Random(4)  # noqa: S311  no secret
    both = [
        [{"correct": (1.0, "higher"), "edits": (source.uniform(0.6, 0.9) - fall, direction)} for _ in range(30)]
        for fall in [0.0] * 12 + [0.5]
    ]
    found = series_of([run_of(day, values) for day, values in enumerate(both, 1)], "edits")
    assert found.change(found.runs[-1].point) == word


JUDGED = Metric(name="correct", threshold=0.5, judge="openai/a", version="1")
CHANGES = {
    "another judge": (
        {"metrics": (replace(JUDGED, judge="openai/b"),)},
        "correct: the judge was openai/a and is now openai/b",
    ),
    "another prompt of the judge": (
        {"metrics": (replace(JUDGED, version="2"),)},
        "correct: the judge's prompt or settings have changed",
    ),
    "another threshold": (
        {"metrics": (replace(JUDGED, threshold=0.7),)},
        "correct: the threshold was 0.5 and is now 0.7",
    ),
    "another embedding model": (
        {"metrics": (replace(JUDGED, embeds=True),), "embedder": "model-b/exact"},
        "correct: the embedding model has changed",
    ),
    "another metric beside it": ({"metrics": (JUDGED, Metric(name="polite"))}, "the metric polite is new"),
    "more repeats": ({"repeat": 3, "metrics": (JUDGED,)}, "each case ran 1 time and now runs 3 times"),
}


@pytest.mark.parametrize(("header", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_series_starts_anew_where_compare_would_not_compare(header, reason):
    before = [run_of(day, STEADY, metrics=(JUDGED,), embedder="model-a/exact") for day in (1, 2)]
    after = run_of(3, FALLEN, **({"embedder": "model-a/exact"} | header))
    assert [one.start_reason for one in series_of([*before, after]).runs] == [FIRST, "", reason]


def test_a_threshold_does_not_change_the_values_of_its_own_metric():
    values = [{"correct": (0.6, "higher"), "other": (1.0, "higher")}] * 5
    metrics = (Metric(name="correct", threshold=0.5), Metric(name="other", threshold=0.5))
    stricter = (replace(metrics[0], threshold=0.55), metrics[1])
    runs = [run_of(1, values, metrics=metrics), run_of(2, values, metrics=stricter)]
    assert [one.start_reason for one in series_of(runs, "correct").runs] == [FIRST, ""]
    assert [one.start_reason for one in series_of(runs).runs] == [
        FIRST,
        "correct: the threshold was 0.5 and is now 0.55",
    ]


def test_edited_cases_are_new_ones():
    other = run_of(2, STEADY)
    edited = tuple(
        replace(one, trial=replace(one.trial, case=replace(one.trial.case, input="another question"), position=n))
        for n, one in enumerate(other.results)
    )
    found = series_of([run_of(1, STEADY), replace(other, results=edited)])
    assert found.runs[1].start_reason == "it has no case in common with earlier runs"


def test_a_metric_that_equals_the_pass_rate_is_left_out_and_others_share_the_false_alarms():
    one = metric_series([run_values(run_of(day, STEADY)) for day in range(1, 9)])
    several = [{"correct": (float(value), "higher"), "style": (0.9, "higher")} for value in STEADY]
    both = metric_series([run_values(run_of(day, several)) for day in range(1, 9)])
    assert [series.metric for series in one] == [""]
    assert [series.metric for series in both] == ["", "style"]
    assert both[0].runs[-1].point.low <= one[0].runs[-1].point.low


def test_targets_have_series_of_their_own():
    first, second = run_of(1, STEADY, target="a"), run_of(1, FALLEN, target="b")
    both = replace(first, results=(*first.results, *second.results))
    assert [(one.target, one.runs[0].point.value) for one in metric_series([run_values(both)])] == [
        ("a", 0.9),
        ("b", 0.45),
    ]


def test_a_case_that_was_judged_less_often_is_no_draw_of_the_same():
    twice = run_of(1, [1] * 6, repeat=2)
    results = [*twice.results, *(replace(one, trial=replace(one.trial, repeat=1)) for one in twice.results)]
    runs = [replace(run_of(day, [1] * 6, repeat=2), results=tuple(results[: 12 - (day == 3)])) for day in (1, 2, 3)]
    assert [one.point.compared for one in series_of(runs).runs] == [0, 6, 5]


def test_runs_of_other_suites_and_of_some_cases_are_left_out():
    kept = [run_of(day, STEADY) for day in (3, 2, 1)]
    others = [
        run_of(4, STEADY, name="other"),
        run_of(5, STEADY, is_part=True),
        run_of(6, STEADY, status="interrupted"),
    ]
    assert [run.id for run in runs_of_series(kept[0], [*others, *kept])] == ["run-01", "run-02", "run-03"]
    assert runs_of_series(run_of(1, STEADY, name="", suite=""), kept) == []


def test_the_newest_runs_keep_the_limits_of_the_whole_series():
    found = series_of([run_of(day, STEADY) for day in range(1, 11)])
    assert newest_runs(found, 3).runs == found.runs[-3:]


@pytest.mark.parametrize(
    ("value", "low", "fields", "said"),
    [
        pytest.param(0.79641, 0.79649, {}, "0.796, below the limit of 0.7965", id="both rounded to 0.796"),
        pytest.param(0.7, 0.797, {}, "0.700, below the limit of 0.797", id="apart"),
        pytest.param(0.74963, 0.74968, {"is_share": True}, "74.96 %, below the limit of 75 %", id="shares"),
        pytest.param(1234.51, 1234.52, {"unit": "words"}, "1234.5, below the limit of 1235", id="in a unit"),
    ],
)
def test_a_run_outside_is_shown_on_its_side_of_the_limit(value, low, fields, said):
    series = MetricSeries(
        **{"target": "t", "metric": "m", "direction": "higher", "unit": "", "is_share": False, "runs": ()} | fields
    )
    assert outside_text(series, ChartPoint(value=value, low=low, high=None, outside="below", compared=9)) == said
