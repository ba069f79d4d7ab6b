"""Numbers of reports, computed once more from the rows by their definitions in docs/explanation/statistics.md, with scipy and statsmodels."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.files.writers import WRITERS
from evalmark.stats.comparison.compare import compare_several

Ends = tuple[float, float]
STEPS = np.linspace(-35, 20, 20_001)
METRICS = ("yes", "graded", "lower", "edits")


def a_run(seed: int, cases: int, repeats: int, cluster: str, shift: float = 0.0) -> Run:
    """Return a run with errors, unscored outputs, ties, a metric where lower is better, and one below 0."""
    draw, found = random.Random(seed), []  # noqa: S311  the same every time
    for number, repeat in product(range(cases), range(repeats)):
        case = Case(id=f"c{number}", input=f"q{number}", tags=("a",) * (number % 3), metadata={"document": number // 4})
        trial = Trial(case=case, dataset="d", target="t", position=number, repeat=repeat)
        if draw.random() < 0.05:
            found.append(Result(trial=trial, output=Output(error="ValueError: no answer")))
            continue
        ease = random.Random(number).uniform(-0.2, 0.2)  # noqa: S311
        yes, graded = draw.random() < 0.7 + shift + ease, round(min(1, max(0, draw.gauss(0.7 + shift + ease, 0.15))), 2)
        lower, edits = round(draw.uniform(0, 0.6 - shift), 2), round(draw.gauss(-2 + 5 * shift, 2), 1)
        scores = (
            Score(name="yes", raw=yes, value=float(yes), passed=yes),
            Score(name="graded", raw=graded, value=graded, passed=graded >= 0.6)
            if draw.random() > 0.06
            else Score(name="graded", status="unscored"),
            Score(name="lower", raw=lower, value=lower, direction="lower"),
            Score(name="edits", raw=edits),
        )
        found.append(Result(trial=trial, output=Output(value="x"), scores=scores))
    return Run(
        id=f"r{seed}",
        name="r",
        created="2026-11-23T10:15:00+00:00",
        target="t",
        datasets=(DatasetInfo(name="d", cluster=cluster),),
        metrics=tuple(Metric(name=name) for name in METRICS),
        repeat=repeats,
        results=found,
    )


SHAPES = [
    pytest.param(40, 1, "", id="cases once"),
    pytest.param(30, 3, "", id="repeats"),
    pytest.param(42, 1, "document", id="documents of unequal size"),
    pytest.param(30, 2, "document", id="documents and repeats"),
    pytest.param(3, 1, "", id="three cases"),
    pytest.param(1, 1, "", id="one case"),
    pytest.param(1, 3, "", id="one case with repeats"),
]


def chance_below_zero(weights: np.ndarray, shapes: np.ndarray) -> float:
    """Return the chance that a sum of weighted gamma variables is negative, by Imhof's inversion (1961)."""
    if (weights >= 0).all() or (weights <= 0).all():
        return float((weights <= 0).all())
    at = np.outer(weights / np.abs(weights).max(), np.exp(STEPS))
    angle = (shapes[:, None] * np.arctan(at)).sum(axis=0)
    size = (shapes[:, None] * np.log1p(at * at) / 2).sum(axis=0)
    return 0.5 - float(integrate.simpson(np.sin(angle) * np.exp(-size), x=STEPS)) / np.pi


def weighted_quantile(values: Sequence[float], sizes: Sequence[float], unseen: Mapping[float, float]) -> float:
    """Return the 2.5 % quantile of the mean with random weights; `unseen` are values of size 1 with their shapes."""
    groups = Counter(zip(values, sizes, strict=True))
    numbers = np.array([value for value, _ in groups] + [*unseen])
    scale = np.array([size for _, size in groups] + [1.0] * len(unseen))
    shapes = np.array([*groups.values(), *unseen.values()], dtype=float)
    if numbers.max() <= 0:
        return 0.0
    return optimize.brentq(
        lambda mean: chance_below_zero(scale * (numbers - mean), shapes) - 0.025,
        numbers.min() + 1e-9,
        numbers.max() - 1e-9,
        xtol=1e-9,
    )


def bound(values: Sequence[float], sizes: Sequence[float], low: float, high: float) -> Ends:
    inside = [(value - low) / (high - low) for value in values]
    each = [size / max(sizes) for size in sizes]
    lower, upper = (weighted_quantile(side, each, {0.0: 1.0}) for side in (inside, [1 - value for value in inside]))
    return low + (high - low) * lower, high - (high - low) * upper


def grouped(values: Sequence[float], units: Sequence[Hashable]) -> list[list[float]]:
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, unit in zip(values, units, strict=True):
        groups[unit].append(value)
    return list(groups.values())


def wilson(passed: float, n: float) -> Ends:
    low, high = proportion_confint(passed, n, method="wilson")
    return float(low), float(high)


def share_ends(flags: Sequence[float], units: Sequence[Hashable]) -> Ends:
    whole, groups = wilson(sum(flags), len(flags)), grouped(flags, units)
    if len(groups) == len(flags):
        return whole
    shares, sizes = [sum(group) / len(group) for group in groups], [len(group) for group in groups]
    if set(shares) <= {0, 1}:
        n = sum(sizes) ** 2 / sum(size**2 for size in sizes)
        found = wilson(sum(flags) / len(flags) * n, n)
    else:
        each = [size * sum(sizes) / sum(one**2 for one in sizes) for size in sizes]
        ends = {0.0: 0.5, 1.0: 0.5}
        lower, upper = (weighted_quantile(side, each, ends) for side in (shares, [1 - share for share in shares]))
        found = lower, 1 - upper
    return min(found[0], whole[0]), max(found[1], whole[1])


def student(values: Sequence[float], units: Sequence[Hashable]) -> Ends | None:
    groups, centre = grouped(values, units), sum(values) / len(values)
    if len(groups) < 2:
        return None
    squares = sum(sum(value - centre for value in group) ** 2 for group in groups)
    error = (len(groups) / (len(groups) - 1) * squares) ** 0.5 / len(values)
    half = stats.t.ppf(0.975, len(groups) - 1) * error
    return (centre - half, centre + half) if error else None


def mean_ends(values: Sequence[float], units: Sequence[Hashable], *, bounded: bool) -> Ends | None:
    if not bounded:
        return student(values, units)
    if set(values) <= {0, 1}:
        return share_ends(values, units)
    groups = grouped(values, units)
    return bound([sum(group) / len(group) for group in groups], [len(group) for group in groups], 0, 1)


def unit_of(result: Result, cluster: str) -> Hashable:
    return result.trial.case.metadata["document"] if cluster else result.trial.case.id


def assert_ends(interval: Mapping, expected: Ends | None, what: str) -> None:
    found = (interval["low"], interval["high"])
    assert found == ((None, None) if expected is None else pytest.approx(expected, abs=2e-6)), what


@pytest.mark.parametrize(("cases", "repeats", "cluster"), SHAPES)
def test_figures_of_a_run_follow_from_its_rows(cases, repeats, cluster):
    run = a_run(cases, cases, repeats, cluster)
    (group,) = json.loads("".join(WRITERS[".json"](run)))["summary"]["groups"]
    judged = [r for r in run.results if r.verdict in ("pass", "fail")]
    flags = [float(r.verdict == "pass") for r in judged]
    assert group["tally"]["pass_rate"]["value"] == (pytest.approx(np.mean(flags)) if flags else None)
    expected = share_ends(flags, [unit_of(r, cluster) for r in judged]) if flags else None
    assert_ends(group["tally"]["pass_rate"]["interval"], expected, "pass rate")
    for metric in group["metrics"]:
        scored = [
            (score, unit_of(r, cluster))
            for r in run.results
            for score in r.scores
            if score.name == metric["name"] and score.status == "scored"
        ]
        bounded = metric["name"] != "edits"
        values = [score.value if bounded else score.raw for score, _ in scored]
        assert (metric["n"], metric["mean"]) == (len(values), pytest.approx(np.mean(values)))
        assert_ends(
            metric["interval"], mean_ends(values, [unit for _, unit in scored], bounded=bounded), metric["name"]
        )


def flips(differences: Sequence[float]) -> float:
    """Return the share of all choices of signs whose sum is as far from 0, counted on a grid of 1/1200."""
    steps = [round(1200 * difference) for difference in differences]
    chances = np.ones(1)
    for step in map(abs, filter(None, steps)):
        chances = (np.append(chances, np.zeros(2 * step)) + np.append(np.zeros(2 * step), chances)) / 2
    half = (len(chances) - 1) // 2
    return float(chances[np.abs(np.arange(len(chances)) - half) >= abs(sum(steps))].sum())


def mcnemar(up: int, down: int, n: int) -> float | None:
    changed, fewer = up + down, min(up, down)
    if not changed:
        return None
    tail = 2 * stats.binom.cdf(fewer, changed, 0.5)
    return min(1.0, float(tail if changed > 0.7 * n else tail - stats.binom.pmf(fewer, changed, 0.5)))


def case_means(run: Run, metric: str) -> dict[str, float]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for result in run.results:
        if not metric and result.verdict in ("pass", "fail"):
            values[result.trial.case.id].append(float(result.verdict == "pass"))
        for score in result.scores:
            if score.name == metric and score.status == "scored":
                values[result.trial.case.id].append(score.raw if score.value is None else score.value)
    return {case: sum(numbers) / len(numbers) for case, numbers in values.items()}


def paired(now: Run, before: Run, metric: str, cluster: str) -> tuple[list[float], list[float], list[int]]:
    """Return the means on either side and the number of cases of each independent unit."""
    one, other = case_means(now, metric), case_means(before, metric)
    unit = {result.trial.case.id: unit_of(result, cluster) for result in now.results}
    both = [case for case in one if case in other]
    sides = [grouped([side[case] for case in both], [unit[case] for case in both]) for side in (one, other)]
    return (*([sum(group) / len(group) for group in side] for side in sides), [len(group) for group in sides[0]])


def p_value(now: Run, before: Run, metric: str, cluster: str) -> float | None:
    first, second, sizes = paired(now, before, metric, cluster)
    apart = [a - b for a, b in zip(first, second, strict=True)]
    if metric != "edits" and len({*sizes}) < 2 and {*first, *second} <= {0, 1}:
        return mcnemar(sum(d > 0 for d in apart), sum(d < 0 for d in apart), len(apart))
    return flips([d * size for d, size in zip(apart, sizes, strict=True)]) if any(apart) else None


@pytest.mark.parametrize(("cases", "repeats", "cluster"), SHAPES[:4])
def test_p_of_several_baselines_are_adjusted_as_one_family(cases, repeats, cluster):
    now = a_run(1, cases, repeats, cluster)
    baselines = [a_run(seed, cases, repeats, cluster, shift) for seed, shift in ((2, 0.0), (3, -0.15), (4, -0.35))]
    found = compare_several(now, baselines)
    tests = [
        (before, change) for one, before in zip(found, baselines, strict=True) for change in one.targets[0].changes
    ]
    expected = [p_value(now, before, change.name, cluster) for before, change in tests]
    assert [change.difference.p for _, change in tests] == [
        p if p is None else pytest.approx(p, abs=4e-4) for p in expected
    ]
    adjusted = multipletests([change.difference.p for _, change in tests], method="holm")[1]
    assert [change.difference.adjusted for _, change in tests] == pytest.approx(list(adjusted))
    assert {one.tests for one in found} == {len(tests)}
    for before, change in tests:
        first, second, sizes = paired(now, before, change.name, cluster)
        sign = -1 if change.name == "lower" else 1
        apart = [sign * (a - b) for a, b in zip(first, second, strict=True)]
        assert change.difference.value == pytest.approx(np.average(apart, weights=sizes))
        low, high = change.difference.interval.ends
        if change.difference.interval.method.startswith("Student's t"):
            flat = [(d, unit) for unit, (d, size) in enumerate(zip(apart, sizes, strict=True)) for _ in range(size)]
            ends = student([d for d, _ in flat], [unit for _, unit in flat])
            ends = ends if change.name == "edits" else (max(-1, ends[0]), min(1, ends[1]))
        elif change.difference.interval.method.startswith("Dirichlet"):
            every = [*case_means(now, change.name).values(), *case_means(before, change.name).values()]
            reach = max(every) - min(every) if change.name == "edits" else 1
            ends = bound(apart, sizes, -reach, reach)
        else:
            continue  # Newcombe's interval has published figures of its own in tests/stats
        assert (low, high) == pytest.approx(ends, abs=1e-5), change.name


def test_the_verdict_does_not_depend_on_the_order_of_the_rows():
    now, before = a_run(1, 30, 2, "document"), a_run(3, 30, 2, "document", -0.15)
    turned = replace(now, results=list(now.results)[::-1])
    (one,), (other,) = compare_several(now, [before]), compare_several(turned, [before])
    for mine, theirs in zip(one.targets[0].changes, other.targets[0].changes, strict=True):
        assert (mine.outcome, mine.difference.p) == (theirs.outcome, pytest.approx(theirs.difference.p))
        assert mine.difference.interval.ends == pytest.approx(theirs.difference.interval.ends)
