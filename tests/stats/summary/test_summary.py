"""The figures of a run: what is counted, what a mean is of, and which trials come first."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.verdicts import tally_text
from evalmark.stats.inference.intervals import wilson
from evalmark.stats.summary.summarise import summarise


def result(position=0, *scores, error=None, **fields):
    repeat, dataset, target = fields.get("repeat", 0), fields.get("dataset", "d"), fields.get("target", "t")
    trial = Trial(case=Case(id=f"c{position}"), dataset=dataset, target=target, position=position, repeat=repeat)
    return Result(trial=trial, output=Output(error=error, seconds=fields.get("seconds")), scores=scores)


def scored(value, passed=None, name="m", direction="higher"):
    return Score(name=name, raw=value, value=value, passed=passed, direction=direction)


def run(*results, **fields):
    return Run(id="r", name="n", created="2026-11-21T00:00:00+00:00", results=results, **fields)


def metric(*results, **fields):
    (found,) = summarise(run(*results, **fields)).metrics
    return found


def test_nothing_is_none_and_never_zero():
    found = summarise(run())
    assert (found.total.trials, found.groups, found.worst) == (0, (), ())
    assert (found.total.pass_rate.value, found.total.seconds_median, found.total.flips) == (None, None, None)
    assert found.total.pass_rate.interval.low is None


def test_every_ending_is_counted_once():
    results = [
        result(0, scored(1, True)),
        result(1, scored(1, True)),
        result(2, scored(0, False)),
        result(3, Score(name="m", status="unscored")),
        result(4, Score(name="m", status="error")),
        result(5, error="TimeoutError: 30 s"),
        result(6, scored(0.5)),
    ]
    found = summarise(run(*results))
    total = found.total
    assert (total.trials, total.cases) == (7, 7)
    assert (total.passed, total.failed, total.errors, total.unscored, total.ungated) == (2, 1, 2, 1, 1)
    assert (total.pass_rate.passed, total.pass_rate.n, total.pass_rate.value) == (2, 3, 2 / 3)
    assert total.pass_rate.interval == wilson(2, 3)
    (m,) = found.metrics
    assert (m.scored, m.unscored, m.errors, m.skipped, m.missing, m.n) == (4, 1, 2, 0, 3, 4)
    assert m.mean == 0.625


@pytest.mark.parametrize(
    ("scores", "scale", "unit", "n", "mean", "raw_mean"),
    [
        pytest.param([(0.5, 0.5), (1.0, 1.0)], "value", "", 2, 0.75, None, id="raw and value the same"),
        pytest.param([(0.0, 0.5), (1.0, 1.0)], "value", "", 2, 0.75, 0.5, id="both, in two units"),
        pytest.param([(7, None), (0, 0.0), (1, 1.0)], "raw", "edits", 3, 8 / 3, None, id="some numbers beyond 0 to 1"),
        pytest.param([(None, 0.25), (None, 0.75)], "value", "", 2, 0.5, None, id="no raw"),
        pytest.param([("good", 1.0), ("bad", 0.0)], "value", "", 2, 0.5, None, id="labels with a value"),
        pytest.param([("good", None), ("bad", None)], None, "", 0, None, None, id="labels alone"),
        pytest.param([(True, None), (False, None)], "raw", "edits", 2, 0.5, None, id="truth values alone"),
        pytest.param([(math.nan, None), (3, None), (10**400, None)], "raw", "edits", 1, 3, None, id="no finite number"),
    ],
)
def test_what_a_mean_is_of(scores, scale, unit, n, mean, raw_mean):
    results = [result(i, Score(name="m", raw=raw, value=value)) for i, (raw, value) in enumerate(scores)]
    found = metric(*results, metrics=(Metric(name="m", unit="edits"),))
    assert (found.scale, found.unit, found.n, found.mean, found.raw_mean) == (scale, unit, n, mean, raw_mean)
    assert found.scored == len(scores)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        pytest.param([0.0, 0.05, 0.1, 0.55, 0.95, 1.0], (2, 1, 0, 0, 0, 1, 0, 0, 0, 2), id="from 0 to 1"),
        pytest.param(
            [0.3, 0.6, 0.7, 0.1 + 0.2],
            (0, 0, 0, 2, 0, 0, 1, 1, 0, 0),
            id="a value at an edge belongs to the step that begins there",
        ),
        pytest.param([], (), id="none"),
    ],
)
def test_how_values_spread(values, bins):
    results = [result(i, scored(value)) for i, value in enumerate(values)] or [
        result(0, Score(name="m", status="skipped"))
    ]
    assert metric(*results).bins == bins


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@example(raws=[1.7976931348623157e308] * 3)
def test_raw_numbers_of_any_size_spread_over_their_own_range(raws):
    found = metric(*(result(i, Score(name="m", raw=raw)) for i, raw in enumerate(raws)))
    assert sum(found.bins) == len(raws)
    assert (found.low, found.high) == (min(raws), max(raws)) or found.scale == "value"
    assert found.mean is not None
    assert math.isfinite(found.mean)


def test_a_case_flips_when_a_repeat_ends_otherwise():
    rows = [(0, [True, True]), (1, [True, False]), (2, [False, False]), (3, [False, True])]
    results = [result(c, scored(float(ok), ok), repeat=r) for c, oks in rows for r, ok in enumerate(oks)]
    random.Random(1).shuffle(results)
    total = summarise(run(*results, repeat=2)).total
    assert (total.trials, total.cases, total.flips) == (8, 4, 2)
    assert total.pass_rate.interval.method == "Jeffreys, clustered by case"
    assert summarise(run(*(r for r in results if not r.trial.repeat))).total.flips is None


def test_a_repeat_that_broke_is_no_flip():
    passed, broke = result(0, scored(1.0, True)), result(0, Score(name="m", status="error"), repeat=1)
    assert summarise(run(passed, broke, repeat=2)).total.flips == 0


def test_a_tally_counts_flips_among_the_cases_that_were_judged_twice_and_each_case_once_for_all_targets():
    answers = {"a": ["pf", "pe", "pp", "ee"], "b": ["fp", "ff", "pf", "fe"]}
    trials = [
        (t, c, r, kind) for t, rows in answers.items() for c, row in enumerate(rows) for r, kind in enumerate(row)
    ]
    results = [
        result(
            c,
            Score(name="m", status="error") if kind == "e" else scored(float(kind == "p"), kind == "p"),
            repeat=r,
            target=t,
        )
        for t, c, r, kind in trials
    ]
    found = summarise(run(*results, repeat=2))
    assert [(one.tally.flips, one.tally.judged_twice, one.flipped.n) for one in found.groups] == [(1, 2, 2), (2, 3, 3)]
    assert (found.total.flips, found.total.judged_twice, found.total.cases) == (2, 3, 4)
    assert tally_text(found.groups[0].tally).endswith("1 of 2 cases flipped between repeats")
    assert tally_text(found.total).endswith("2 of 3 cases flipped between repeats")


def test_datasets_and_targets_are_apart_and_a_case_met_by_two_targets_is_one_case():
    results = [result(c, scored(1, True), dataset=d, target=t) for d in "ab" for c in range(3) for t in "xy"]
    found = summarise(run(*results))
    assert [(g.dataset, g.target, g.tally.trials) for g in found.groups] == [
        ("a", "x", 3),
        ("a", "y", 3),
        ("b", "x", 3),
        ("b", "y", 3),
    ]
    assert (found.total.trials, found.total.cases, found.total.flips) == (12, 6, None)


def test_metrics_come_in_the_order_of_the_run_and_unknown_ones_after():
    names = ["new", "b", "a"]
    found = summarise(run(result(0, *(scored(1, name=n) for n in names)), metrics=(Metric(name="a"), Metric(name="b"))))
    assert list(found.metric_names) == ["a", "b", "new"]


@pytest.mark.parametrize("n", [1, 2, 3, 20, 101])
def test_seconds_are_the_quantiles_of_numpy(n):
    seconds = [random.Random(n).random() for _ in range(n)]
    total = summarise(run(*(result(i, seconds=s) for i, s in enumerate(seconds)))).total
    assert total.seconds_median == pytest.approx(np.median(seconds))
    assert total.seconds_p95 == pytest.approx(np.percentile(seconds, 95))


def test_errors_come_first_then_what_failed_the_worst_first():
    results = [
        result(0, scored(1, True)),
        result(1, scored(0.4)),
        result(2, Score(name="m", status="unscored")),
        result(3, error="boom"),
        result(4, scored(0.3, False)),
        result(5, scored(0.9, False, direction="lower")),
        result(6, scored(0.2, False), scored(0.0, True, name="fine")),
        result(7, scored(0.2)),
        result(8, scored(1.0)),
        result(9, scored(0.0, direction="lower")),
    ]
    found = summarise(run(*results)).worst
    assert [r.trial.case.id for r in found] == ["c3", "c5", "c6", "c4", "c2", "c7", "c1"]
    assert [r.trial.case.id for r in summarise(run(*results), worst=2).worst] == ["c3", "c5"]
    assert summarise(run(*results), worst=0).worst == ()


@pytest.mark.parametrize(
    ("status", "rows", "missing"),
    [
        pytest.param("complete", 9, 0, id="complete runs miss nothing"),
        pytest.param("interrupted", 9, 16, id="nine cases twice, two done"),
        pytest.param("stopped", None, None, id="nobody knows how many rows there are"),
    ],
)
def test_trials_that_never_ran(status, rows, missing):
    results = (result(0, scored(1, True)), result(0, scored(1, True), repeat=1))
    found = summarise(run(*results, status=status, repeat=2, datasets=(DatasetInfo(name="d", rows=rows),)))
    assert found.missing == missing


@given(st.permutations(range(12)))
def test_the_order_of_results_changes_no_figure(order):
    results = [result(c, scored((c * 7 % 12) / 11, c % 3 > 0), repeat=r) for c in range(6) for r in range(2)]
    one, other = summarise(run(*results)), summarise(run(*(results[i] for i in order)))
    assert (one.total, one.metrics[0].mean, one.metrics[0].bins) == (
        other.total,
        other.metrics[0].mean,
        other.metrics[0].bins,
    )


def test_a_dataset_is_held_to_its_own_metric_where_two_have_the_same_name():
    score = Score(name="m", raw=0.5, value=0.5, passed=False)
    results = [result(0, score, dataset=dataset) for dataset in ("strict", "loose", "third")]
    metrics = (
        Metric(name="m", threshold=0.1),
        Metric(name="m", threshold=0.9, dataset="strict"),
        Metric(name="m", threshold=0.4, dataset="loose"),
    )
    summary = summarise(run(*results, metrics=metrics))
    assert {group.dataset: group.metrics[0].threshold for group in summary.groups} == {
        "strict": 0.9,
        "loose": 0.4,
        "third": 0.1,
    }


def test_judges_of_one_metric_are_compared_once_however_many_datasets_have_it():
    metrics = [Metric(name=f"m [{j}]", judge=j, base="m", dataset=d) for d in "ab" for j in ("x", "y")]
    scores = [Score(name=f"m [{j}]", raw=1, value=1.0) for j in ("x", "y")]
    summary = summarise(run(*(result(0, *scores, dataset=dataset) for dataset in "ab"), metrics=tuple(metrics)))
    assert [(found.judges, found.n) for found in summary.agreements] == [(("x", "y"), 2)]


def test_of_several_targets_each_has_a_headline_of_its_own():
    def one(target, dataset, case, passed):
        trial = Trial(case=Case(id=str(case)), dataset=dataset, target=target, position=case)
        return Result(trial=trial, output=Output(value="x"), scores=(Score(name="m", value=1.0, passed=passed),))

    results = [one(target, dataset, n, target == "a" or n > 1) for target in "ba" for dataset in "xy" for n in range(4)]
    found = summarise(Run(id="1", name="r", created="", target="b, a", results=results))
    assert [(target, tally.passed, tally.trials) for target, tally in found.by_target.items()] == [
        ("b", 4, 8),
        ("a", 8, 8),
    ]
    assert found.by_target["a"].pass_rate.interval == wilson(8, 8)
    alone = summarise(Run(id="1", name="r", created="", results=results[:8]))
    assert alone.by_target == {}
