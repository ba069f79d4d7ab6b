"""Where the variance of a metric comes from: what each design tells, why others do not, and what is advised."""

# ruff: noqa: S311  seeded draws, not secrets

import random
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.variance import projection_rows, source_rows, variance_lines
from evalmark.stats.summary.summarise import summarise


def run(cases=24, repeats=1, judges=1, verdicts=1, cluster="", repeat_noise=0.1, judge_noise=0.1, unit="1..5"):
    """A run whose cases, repeats and judges differ; each document has three cases."""
    draw, results = random.Random(7), []
    several = judges > 1
    metrics = tuple(
        Metric(name=f"good [{j}]" if several else "good", judge=f"model {j}", base="good" if several else "", unit=unit)
        for j in range(judges)
    )
    for n in range(cases):
        level = draw.uniform(0.3, 0.7)
        for repeat in range(repeats):
            output = level + draw.uniform(-repeat_noise, repeat_noise)
            scores = []
            for metric in metrics:
                raws = [1 + 4 * (output + draw.uniform(-judge_noise, judge_noise)) for _ in range(verdicts)]
                raw = sum(raws) / len(raws)
                detail = {"verdicts": raws, "flipped": True} if verdicts > 1 else {}
                scores.append(Score(name=metric.name, raw=raw, value=(raw - 1) / 4, detail=detail))
            case = Case(id=str(n), input=f"q{n}", metadata={"document": n // 3})
            trial = Trial(case=case, dataset="d", position=n, repeat=repeat)
            results.append(Result(trial=trial, output=Output(value=""), scores=tuple(scores)))
    info = DatasetInfo(name="d", cluster=cluster)
    return Run(id="", name="", created="", datasets=(info,), metrics=metrics, repeat=repeats, results=results)


def group(one):
    (found,) = summarise(one).groups
    return found


def split(**design):
    (found,) = group(run(**design)).variances
    return found


@pytest.mark.parametrize(
    ("design", "known", "changes"),
    [
        pytest.param({"repeats": 3}, "case repeat", "cases repeats", id="repeats"),
        pytest.param({"judges": 2}, "case judge judge_by_case", "better_judge cases judges", id="two judges"),
        pytest.param(
            {"judges": 3, "repeats": 2},
            "case judge judge_by_case repeat verdict",
            "better_judge cases judges repeats",
            id="judges and repeats",
        ),
        pytest.param({"verdicts": 3}, "case verdict", "better_judge cases verdicts", id="a judge asked three times"),
        pytest.param(
            {"verdicts": 2, "repeats": 2},
            "case repeat verdict",
            "better_judge cases repeats verdicts",
            id="a judge asked twice, and repeats",
        ),
        pytest.param(
            {"repeats": 2, "cluster": "document", "cases": 36},
            "case cluster repeat",
            "cases clusters repeats",
            id="documents and repeats",
        ),
    ],
)
def test_each_design_tells_some_sources_and_their_changes(design, known, changes):
    found = split(**design)
    assert found.reason == ""
    assert sorted(name for name, value in found.components.items() if value is not None) == known.split()
    assert sorted(one.change for one in found.projections) == changes.split()
    assert sum(found.shares.values()) == pytest.approx(1)
    widths = [one.half_width for one in found.projections]
    low, high = found.interval.ends
    assert widths == sorted(widths)
    assert widths[-1] <= (high - low) / 2 + 1e-9


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        pytest.param(
            {"repeats": 2, "cases": 6}, "at least 10 cases with scores are needed, and there are 6", id="few cases"
        ),
        pytest.param(
            {"repeats": 2, "cluster": "document"},
            "at least 10 documents with scores are needed, and there are 8",
            id="few documents",
        ),
        pytest.param(
            {"repeats": 2, "repeat_noise": 0, "judge_noise": 0, "cases": 1}, "all scores are equal", id="equal scores"
        ),
    ],
)
def test_repeats_that_do_not_tell_have_a_reason(design, reason):
    assert split(**design).reason == reason


def test_one_repeat_of_few_cases_is_not_enough():
    whole = run(repeats=2)
    kept = [one for one in whole.results if one.trial.repeat == 0 or one.trial.position < 4]
    reduced = Run(id="", name="", created="", datasets=whole.datasets, metrics=whole.metrics, repeat=2, results=kept)
    (found,) = group(reduced).variances
    assert found.reason == "at least 10 cases that are scored twice are needed, and there are 4"


@pytest.mark.parametrize("design", [{}, {"judges": 2, "cases": 6}, {"verdicts": 2, "cases": 6}])
def test_what_was_not_repeated_needs_no_reason(design):
    assert group(run(**design)).variances == ()


def test_a_judge_with_constant_scores_is_a_reason_not_to_split():
    one = run(cases=40, repeats=2, judges=2)
    same = [
        replace(result, scores=(result.scores[0], replace(result.scores[1], raw=5.0, value=1.0)))
        for result in one.results
    ]
    part = group(replace(one, results=same))
    (found,) = part.variances
    assert found.reason == "one judge gave every output the same score"
    assert (found.components, found.advice) == ({}, None)
    (line,) = variance_lines(part)
    assert "one judge gave every output the same score" in " ".join(line)


def test_a_target_that_always_says_the_same_has_no_variance_between_repeats():
    found = split(repeats=3, repeat_noise=0, judge_noise=0)
    assert (found.shares["case"], found.shares["repeat"]) == (pytest.approx(1), pytest.approx(0))
    now, later = found.interval.ends, {one.change: one for one in found.projections}
    assert later["repeats"].half_width == pytest.approx((now[1] - now[0]) / 2)
    assert found.advice == later["cases"]


def test_the_variance_of_verdicts_is_that_of_the_judge_on_the_scale_of_values():
    found = split(verdicts=4, cases=200, judge_noise=0.2)
    assert found.components["verdict"] == pytest.approx(0.2**2 / 3 / 4, rel=0.1)  # a fourth of a uniform variance
    # without its scale the mean of the verdicts is not the value, and nothing is known
    assert group(run(verdicts=4, cases=200, judge_noise=0.2, unit="")).variances == ()


def test_a_judge_whose_noise_is_most_of_the_variance_should_be_a_better_one():
    found = split(verdicts=2, cases=250, judge_noise=0.3, repeat_noise=0)
    assert found.advice.change == "better_judge"
    assert (found.advice.outputs, found.advice.verdicts) == (0, 0)


def test_a_change_of_the_same_effect_that_costs_less_is_advised():
    results = []
    draw = random.Random(3)
    for n in range(200):
        for repeat in range(4):
            trial = Trial(case=Case(id=str(n), input=f"q{n}"), dataset="d", position=n, repeat=repeat)
            passed = draw.random() < 0.6
            score = Score(name="right", raw=passed, value=float(passed))
            results.append(Result(trial=trial, output=Output(value=""), scores=(score,)))
    one = Run(id="", name="", created="", metrics=(Metric(name="right"),), repeat=4, results=results)
    (found,) = group(one).variances
    assert (found.projections[0].change, found.advice.change) == ("cases", "repeats")
    ((_, line),) = variance_lines(group(one))
    assert "twice the repeats would narrow the interval nearly as much as twice the cases: ±" in line
    assert "with 800 more outputs" in line


def test_a_component_below_zero_is_given_as_zero_and_named():
    results = [
        Result(
            trial=Trial(case=Case(id=str(n), input=f"q{n}"), dataset="d", position=n, repeat=repeat),
            output=Output(value=""),
            # every case has the same mean
            scores=(Score(name="m", raw=value, value=value),),
        )
        for n in range(12)
        for repeat, value in enumerate((0.2, 0.8) if n % 2 else (0.3, 0.7))
    ]
    found = group(Run(id="", name="", created="", repeat=2, results=results))
    (one,) = found.variances
    assert (one.components["case"], one.below_zero) == (0.0, ("case",))
    assert "case 0 % (estimated below 0), repeat 100 %" in variance_lines(found)[0][1]
    assert source_rows(one, found)[0] == ("case", "0 % (estimated below 0)", "0.000")


def test_widths_are_in_the_unit_of_the_mean():
    found = group(run(repeats=2))
    (one,) = found.variances
    low, high = found.metrics[0].raw_interval.ends
    assert projection_rows(one, found)[0] == ("no change", f"±{(high - low) / 2:.2f}", "")
