"""What is said of two targets."""

from types import SimpleNamespace

import pytest

from evalmark.reports.text.target_overview import difference_lines
from evalmark.stats.inference.differences import difference


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        pytest.param([1] * 6 + [0] * 6, [0] * 12, "better", id="the test agrees with the interval"),
        pytest.param(
            [1] * 18 + [0] * 14, [0] * 18 + [1] * 8 + [0] * 6, "which may be chance (p = 0.0", id="it does not"
        ),
        pytest.param([1, 0, 1, 0], [0, 1, 1, 0], "cannot tell, +0.0", id="the interval holds 0"),
    ],
)
def test_a_difference_that_may_be_luck_is_not_left_unexplained(first, second, wanted):
    values = [{str(n): float(value) for n, value in enumerate(row)} for row in (first, second)]
    found = difference(("a", "b"), *values)
    ((about, said),) = difference_lines(SimpleNamespace(differences=(found,)))
    assert about == "a against b"
    assert wanted in said
    assert ("luck" in said) == ("luck" in wanted)


def test_of_many_differences_only_the_decided_ones_are_listed():
    passes, fails = ({str(n): float(value) for n in range(40)} for value in (1, 0))
    undecided = [difference((f"m{n}", "b"), {"1": 1.0}, {"1": 0.0}) for n in range(31)]
    lines = difference_lines(SimpleNamespace(differences=(*undecided, difference(("a", "b"), passes, fails))))
    assert [topic for topic, _ in lines] == ["a against b", "31 other differences"]
    assert lines[1][1] == "cannot tell"


def test_of_too_many_decided_differences_the_rest_is_counted():
    passes, fails = ({str(n): float(value) for n in range(40)} for value in (1, 0))
    lines = difference_lines(
        SimpleNamespace(differences=[difference((f"m{n}", "b"), passes, fails) for n in range(33)])
    )
    assert len(lines) == 31
    assert lines[-1] == ("3 other differences", "better or worse")
