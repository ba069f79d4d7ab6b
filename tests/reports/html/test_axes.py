"""Axes with round ticks, and words that do not lie on each other."""

import math
import re
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.html.svg import (
    Axis,
    Box,
    PointLabel,
    axis,
    box_around,
    fitting_labels,
    place_labels,
    space_evenly,
    text_width,
    tick_text,
    ticks,
    y_axis,
)

ANY = st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    ("low", "high", "most", "whole", "expected"),
    [
        pytest.param(0, 1, 6, False, (0, 0.2, 0.4, 0.6, 0.8, 1), id="all shares"),
        pytest.param(0.93, 0.99, 6, False, (0.92, 0.94, 0.96, 0.98, 1.0), id="begins and ends at a tick"),
        pytest.param(0, 7, 6, False, (0, 2, 4, 6, 8), id="steps of two"),
        pytest.param(0, 23, 6, False, (0, 5, 10, 15, 20, 25), id="steps of five"),
        pytest.param(0, 0.0037, 5, False, (0, 0.001, 0.002, 0.003, 0.004), id="small numbers"),
        pytest.param(-3, 12, 6, False, (-5, 0, 5, 10, 15), id="below and above 0"),
        pytest.param(12345, 12345.9, 6, False, (12345, 12345.2, 12345.4, 12345.6, 12345.8, 12346), id="far from 0"),
        pytest.param(0, 3, 6, True, (0, 1, 2, 3), id="whole numbers only"),
        pytest.param(0, 1, 6, True, (0, 1), id="one output"),
        pytest.param(0, 0, 6, True, (0, 1), id="nothing at all"),
        pytest.param(0.4, 0.4, 6, False, (0.4, 0.5, 0.6, 0.7, 0.8), id="one number"),
        pytest.param(-2, -2, 4, False, (-4, -2, 0), id="one number below 0"),
        pytest.param(5, 1, 5, False, (1, 2, 3, 4, 5), id="the wrong way round"),
    ],
)
def test_ticks_are_round(low, high, most, whole, expected):
    assert ticks(low, high, most, whole=whole) == pytest.approx(expected)


@given(ANY, ANY, st.integers(3, 9), st.booleans())
def test_ticks_are_few_and_hold_both_numbers(low, high, most, whole):
    found = ticks(low, high, most, whole=whole)
    assert 2 <= len(found) <= 2 * most + 2
    assert all(math.isfinite(tick) for tick in found)
    assert all(a < b for a, b in pairwise(found))
    if math.isfinite(low) and math.isfinite(high) and max(abs(low), abs(high)) < 1e290:
        slack = 1e-6 * (found[-1] - found[0])
        assert found[0] - slack <= min(low, high)
        assert max(low, high) <= found[-1] + slack


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(-6, 6))
def test_ticks_are_multiples_of_one_two_or_five(low, more, power):
    found = ticks(low * 10.0**power, (low + more) * 10.0**power)
    step = Fraction(str(round(found[1] - found[0], 12)))
    while step < 1:
        step *= 10
    while step >= 10:
        step /= 10
    assert float(step) == pytest.approx(min((1, 2, 5, 10), key=lambda digit: abs(digit - step)), rel=1e-4)


@pytest.mark.parametrize(
    ("value", "step", "unit", "expected"),
    [
        (0.1 + 0.2, 0.1, "", "0.3"),
        (0.0, 0.5, "", "0.0"),
        (-0.0, 1.0, "", "0"),
        (1_000_000.0, 500_000.0, "", "1,000,000"),
        (2e12, 1e12, "", "2e+12"),
        (0.955, 0.005, "share", "95.5 %"),
        (1.0, 0.2, "share", "100 %"),
        (0.0005, 0.0005, "dollars", "$0.0005"),
    ],
)
def test_ticks_are_said_in_as_many_digits_as_they_need(value, step, unit, expected):
    assert tick_text(value, step, unit) == expected


@given(ANY, ANY, ANY)
def test_no_number_stands_beside_its_axis(low, high, value):
    found = axis(low, high, (40.0, 340.0))
    assert 40 <= found.at(value) <= 340
    assert math.isfinite(found.at(value))
    assert len(found.words) == len(found.ticks)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.97, 1.0])
def test_a_share_alone_has_an_axis_of_shares(share):
    found = axis(share, share, (0.0, 100.0), unit="share")
    assert 0 <= found.low < found.high <= 1
    assert found.low <= share <= found.high


def test_an_axis_may_go_upwards():
    up = Axis(low=0, high=10, ticks=(0, 10), start=200, end=20)
    assert [up.at(value) for value in (0, 5, 10, 11, -1)] == [200, 110, 20, 20, 200]


NAMES = st.lists(
    st.builds(PointLabel, st.floats(0, 300), st.floats(0, 200), st.text(st.characters(codec="utf-8"), max_size=20)),
    max_size=12,
)


@given(NAMES)
def test_names_lie_on_no_mark_on_no_other_and_within(names):
    room, marks = Box(0, 0, 300, 200), [box_around(name.x, name.y, 4) for name in names]
    found = [box for box in place_labels(names, marks, room) if box is not None]
    assert all(room.holds(box) for box in found)
    assert not any(box.meets(mark) for box in found for mark in marks)
    assert not any(one.meets(other) for at, one in enumerate(found) for other in found[at + 1 :])
    assert place_labels(names, marks, room) == place_labels(names, marks, room)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([PointLabel(50, 50, "a")], ["right"], id="beside its point"),
        pytest.param([PointLabel(98, 50, "abcdef")], ["left"], id="at the right edge on the left"),
        pytest.param([PointLabel(50, 50, "x" * 10)], ["above"], id="where neither side has room"),
        pytest.param(
            [PointLabel(50, 50, "a"), PointLabel(50, 50, "b")], ["right", "left"], id="the second one elsewhere"
        ),
        pytest.param([PointLabel(50, 50, "x" * 40)], [None], id="nowhere"),
    ],
)
def test_where_a_name_stands(names, expected):
    def side(box, name):
        if box is None:
            return None
        return (
            "right"
            if box.left >= name.x
            else "left"
            if box.right <= name.x
            else "above"
            if box.bottom < name.y
            else "below"
        )

    boxes = place_labels(names, [box_around(name.x, name.y, 4) for name in names], Box(0, 0, 100, 100))
    assert [side(box, name) for box, name in zip(boxes, names, strict=True)] == expected


@given(st.lists(st.tuples(st.floats(0, 700), st.text(max_size=12)), min_size=1, max_size=40))
def test_words_along_a_line_do_not_meet(found):
    places, words = [place for place, _ in found], [word for _, word in found]
    kept = fitting_labels(places, words)
    assert len(words) - 1 in kept
    spans = sorted((places[k] - text_width(words[k]) / 2, places[k] + text_width(words[k]) / 2) for k in kept)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


@given(st.lists(st.floats(0, 260), max_size=6).map(sorted))
def test_names_at_the_right_are_a_line_apart(places):
    found = space_evenly(places, 15, 270)
    assert all(b - a >= 15 - 1e-9 for a, b in pairwise(found))
    assert all(place <= 270 for place in found)


def test_the_title_of_an_upright_axis_stands_clear_of_the_number_below_it():
    found = axis(0, 1, (100.0, 30.0))
    texts = [
        re.search(r'y="([\d.]+)"[^>]*>([^<]*)', part) for part in y_axis(found, 44, 100, "good") if "<text" in part
    ]
    places = {one[2]: float(one[1]) for one in texts}
    assert places[found.words[-1]] - places["good"] >= 20, "a line of 11.5 and half a line between the two"
    assert places["good"] > 11.5
