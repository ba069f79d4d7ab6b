"""Two targets compared case by case: the interval of the difference, and what it allows to say."""

# ruff: noqa: S311  seeded draws, not secrets

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.inference import difference, paired_interval

SHARES = st.floats(0, 1).map(lambda x: round(x, 3))
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=40)


def table(both: int, first: int, second: int, neither: int) -> tuple[list[float], list[float]]:
    """Pairs of passed and failed, from how many there are of each kind."""
    return (
        [1.0] * both + [1.0] * first + [0.0] * second + [0.0] * neither,
        [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither,
    )


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        pytest.param((36, 12, 2, 0), 0.0569, 0.3404, id="the first is ahead"),
        pytest.param((36, 2, 12, 0), -0.3404, -0.0569, id="the other way round"),
    ],
)
def test_the_interval_of_paired_shares_is_the_published_one(counts, low, high):
    """Newcombe 1998, Improved confidence intervals for the difference between binomial proportions, method 10."""
    found = paired_interval(*table(*counts))
    assert (round(found.low, 4), round(found.high, 4), found.method) == (low, high, "paired score")


@pytest.mark.parametrize(
    ("pairs", "method"),
    [
        pytest.param([(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 30, "paired score", id="passed or not"),
        pytest.param([(0.5, 0.0)] * 9, "paired score bound", id="few cases with repeats"),
        pytest.param([(0.5, 0.5)] * 40, "paired score bound", id="repeats, and no case differs"),
        pytest.param([(n / 10, 0.5) for n in range(11)], "Student's t of differences", id="repeats that differ"),
        pytest.param([], "none: no case was judged on both", id="no pairs"),
    ],
)
def test_the_method_is_chosen_by_the_values(pairs, method):
    assert paired_interval([a for a, _ in pairs], [b for _, b in pairs]).method == method


def test_without_any_case_that_differs_the_interval_still_has_a_width():
    found = paired_interval(*table(27, 0, 0, 0))
    assert found.low == -found.high
    assert found.high > 0.05


@given(pairs=PAIRS)
def test_an_interval_holds_the_difference_and_turns_with_its_sign(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found, turned = paired_interval(first, second), paired_interval(second, first)
    value = difference(("a", "b"), dict(enumerate(first)), dict(enumerate(second))).value
    if found.low is not None:
        assert -1 <= found.low <= value + 1e-9
        assert value - 1e-9 <= found.high <= 1
        assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize(
    ("p", "q", "together"), [(0.9, 0.8, 0.6), (0.95, 0.95, 0.8), (0.5, 0.3, 0.2), (0.99, 0.9, 0.0)]
)
@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_interval_holds_the_true_difference_as_often_as_it_says(p, q, together, n):
    source, rounds, held = random.Random(f"{p} {q} {n}"), 400, 0
    for _ in range(rounds):
        pairs = []
        for _ in range(n):
            shared = source.random()
            pairs.append(
                tuple(float((shared if source.random() < together else source.random()) < rate) for rate in (p, q))
            )
        found = paired_interval([a for a, _ in pairs], [b for _, b in pairs])
        held += found.low <= p - q <= found.high
    assert held / rounds >= 0.92


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        pytest.param("+" * 30, "-" * 20 + "+" * 10, "better", id="clearly ahead"),
        pytest.param("-" * 20 + "+" * 10, "+" * 30, "worse", id="clearly behind"),
        pytest.param("+" * 30, "+" * 30, "cannot tell", id="equal on few cases"),
        pytest.param("+" * 400, "+" * 400, "same", id="equal on many"),
        pytest.param("+" * 399 + "-", "+" * 398 + "-+", "same", id="nearly equal on many"),
        pytest.param("", "+", "cannot tell", id="nothing in common"),
    ],
)
def test_a_verdict_is_what_the_interval_allows_to_say(first, second, outcome):
    one, other = ({("d", str(n)): float(c == "+") for n, c in enumerate(text)} for text in (first, second))
    assert difference(("a", "b"), one, other).outcome == outcome


def test_a_difference_counts_what_it_rests_on():
    first = {("d", "1"): 1.0, ("d", "2"): 0.5, ("d", "3"): 0.0, ("d", "4"): 1.0}
    second = {("d", "1"): 0.0, ("d", "2"): 0.5, ("d", "3"): 0.5, ("d", "5"): 1.0}
    found = difference(("a", "b"), first, second)
    assert (found.n, found.alone, found.up, found.down, found.p) == (3, 2, 1, 1, 1.0)
    assert found.value == pytest.approx(1 / 6)


def test_a_margin_decides_what_counts_as_the_same():
    one = {("d", str(n)): float(n % 10 > 0) for n in range(200)}
    other = {("d", str(n)): float(n % 9 > 0) for n in range(200)}
    assert difference(("a", "b"), one, other, margin=0.01).outcome == "cannot tell"
    assert difference(("a", "b"), one, other, margin=0.2).outcome == "same"


def test_two_of_two_cases_may_be_luck():
    found = difference(("a", "b"), {("d", str(n)): 1.0 for n in range(2)}, {("d", str(n)): 0.0 for n in range(2)})
    assert found.interval.low > 0
    assert (found.p, found.outcome) == (0.5, "cannot tell")
