"""How often the intervals hold the true mean, by seeded simulation: short forms of `benchmarks/intervals.py` and `clusters.py`.

And of `benchmarks/variance.py`: what is estimated of known sources of variance, and what is advised.
"""

# ruff: noqa: S311  seeded draws, not secrets

import random
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from evalmark.stats.inference.means import share_interval


def benchmark(name):
    """A script of `benchmarks`, as a module."""
    spec = spec_from_file_location(name, Path(__file__).parents[3] / "benchmarks" / f"{name}.py")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


intervals, clusters, variance = benchmark("intervals"), benchmark("clusters"), benchmark("variance")


@pytest.mark.parametrize(
    ("name", "n"),
    [
        pytest.param("uniform from 0 to 1", 50, marks=pytest.mark.slow),
        ("1 to 5, mostly 4 and 5", 10),
        ("near the bottom, Beta(0.1, 2)", 20),
        pytest.param("0 or 1, one of ten between", 10, marks=pytest.mark.slow),
        ("95 % near 1, 5 % low", 10),
        pytest.param("95 % near 1, 5 % low", 50, marks=pytest.mark.slow),
    ],
)
def test_graded_intervals_hold_the_mean(name, n):
    methods = {name: intervals.METHODS[name] for name in ("t", "evalmark")}
    assert intervals.graded_misses(name, n, intervals.graded(name, n, 150, methods)) == []


@pytest.mark.parametrize(("steps", "n", "parts"), [(2, 10, 100), (3, 8, 20), (4, 5, 10)])
def test_on_few_steps_the_bound_holds_under_every_distribution(steps, n, parts):
    least, _ = intervals.least_coverage(steps, n, parts)
    assert least >= 0.95


@pytest.mark.parametrize("rate", [0.5, 0.95])
def test_pass_rates_by_document_hold_the_rate(rate):
    held = [held for held, _ in clusters.coverage(clusters.Documents(20, 10, rate, 0.3), 80)]
    assert not clusters.misses_coverage(held[-1], 80)
    assert clusters.misses_coverage(held[0], 80)  # Wilson's interval over cases


def test_documents_that_change_while_the_mean_does_not_are_no_change():
    by_document, by_case = clusters.false_calls(clusters.Documents(20, 5, 0.7, 0.4), 1.0, 40)
    assert not clusters.misses_calls(by_document, 40)
    assert by_case > by_document


def test_of_zeros_and_ones_the_exact_coverages_are_those_of_the_literature():
    assert {method: round(held, 4) for method, (held, _) in intervals.shares(20, 0.95).items()} == {
        "Wilson": 0.9245,
        "Clopper-Pearson": 0.9841,
        "Jeffreys": 0.9841,
        "t": 0.6412,
        "1.96 SE": 0.6389,
    }


def repeated_coverage(cases: int, repeats: int, rounds: int) -> float:
    """The share of rounds whose interval holds a pass rate, where each case has a rate of its own, 0.8 on average."""
    source = random.Random(f"{cases} {repeats}")
    held = 0
    for _ in range(rounds):
        rates = [source.betavariate(0.8, 0.2) for _ in range(cases)]
        passed = [float(source.random() < rate) for rate in rates for _ in range(repeats)]
        found = share_interval(passed, [case for case in range(cases) for _ in range(repeats)])
        held += found.low <= 0.8 <= found.high
    return held / rounds


@pytest.mark.parametrize(
    ("cases", "repeats"),
    [pytest.param(5, 5, marks=pytest.mark.slow), pytest.param(10, 5, marks=pytest.mark.slow), (40, 3)],
)
def test_pass_rates_of_repeated_cases_hold_the_rate(cases, repeats):
    assert repeated_coverage(cases, repeats, 400) > 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["cases differ", "pass rate, repeats differ", "noisy judge asked twice", "documents differ"]
)
def test_sources_of_variance_and_projected_intervals_are_the_true_ones(name):
    (of,) = (one for one in variance.EVALUATIONS if one.name == name)
    found = variance.measure(of, 16, 6)
    assert list(variance.misses(of, found)) == []
