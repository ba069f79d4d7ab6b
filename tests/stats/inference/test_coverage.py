"""How often the intervals hold the true mean, by seeded simulation: the table of docs/statistics.md."""

# ruff: noqa: S311  seeded draws, not secrets

import random

import pytest

from evalmark.stats.inference.means import mean_interval, share_interval

SHAPES = {
    "uniform": (lambda r: r.random(), 0.5),
    "mostly high": (lambda r: r.betavariate(5, 2), 5 / 7),
    "near the top": (lambda r: r.betavariate(8, 0.5), 8 / 8.5),
    "nine in ten perfect": (lambda r: 1.0 if r.random() < 0.9 else r.random(), 0.95),
    "in thirds": (lambda r: r.randrange(4) / 3, 0.5),
}


def graded_coverage(shape: str, n: int, rounds: int) -> float:
    """The share of rounds whose interval holds the true mean of `n` graded scores."""
    draw, true = SHAPES[shape]
    source = random.Random(f"{shape} {n}")
    found = (mean_interval([draw(source) for _ in range(n)], bounded=True) for _ in range(rounds))
    return sum(i.low <= true <= i.high for i in found) / rounds


def repeated_coverage(cases: int, repeats: int, rounds: int) -> float:
    """The same for a pass rate, where each case has a rate of its own, 0.8 on average."""
    source = random.Random(f"{cases} {repeats}")
    held = 0
    for _ in range(rounds):
        rates = [source.betavariate(0.8, 0.2) for _ in range(cases)]
        passed = [float(source.random() < rate) for rate in rates for _ in range(repeats)]
        found = share_interval(passed, [case for case in range(cases) for _ in range(repeats)])
        held += found.low <= 0.8 <= found.high
    return held / rounds


@pytest.mark.parametrize(
    ("shape", "n"), [("mostly high", 5), ("mostly high", 20), ("in thirds", 20), ("nine in ten perfect", 8)]
)
def test_graded_intervals_hold_the_mean(shape, n):
    assert graded_coverage(shape, n, 150) > 0.87


@pytest.mark.parametrize(("cases", "repeats"), [(5, 5), (10, 5), (40, 3)])
def test_pass_rates_of_repeated_cases_hold_the_rate(cases, repeats):
    assert repeated_coverage(cases, repeats, 400) > 0.92


@pytest.mark.sweep
@pytest.mark.parametrize("n", [3, 5, 10, 20, 50, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_of_coverage(shape, n, capsys):
    found = graded_coverage(shape, n, 1_000)
    with capsys.disabled():
        print(f"\ncoverage  {shape:20} n={n:<4} {found:.3f}")  # noqa: T201  the table of docs/statistics.md
    assert found > 0.80
