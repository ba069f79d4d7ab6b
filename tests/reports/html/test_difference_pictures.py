"""The picture of a difference with its interval, in the table of a comparison."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.html.sparklines import difference_extent, draw_difference
from evalmark.stats.comparison.change import MetricChange
from evalmark.stats.inference.differences import Difference
from evalmark.stats.inference.intervals import Interval

ENDS = st.floats(-1, 1, allow_nan=False)


def change(value, low=None, high=None, unit=""):
    interval = Interval(low=low, high=high, level=0.95, method="")
    difference = Difference(
        first="b", second="a", n=20, alone=0, up=1, down=1, value=value, interval=interval, p=0.5, margin=0.05
    )
    return MetricChange(name="m", difference=difference, before=0.5, now=0.5, unit=unit)


def places(picture):
    """Where the dot and the band are, in pixels from the middle."""
    dot = float(re.search(r'cx="([\d.]+)"', picture)[1])
    band = re.search(r'class="band" x="([\d.]+)" y="3" width="([\d.]+)"', picture)
    return (dot - 76, *([] if band is None else [float(band[1]) - 76, float(band[1]) + float(band[2]) - 76]))


@given(st.lists(st.lists(ENDS, min_size=3, max_size=3).map(sorted), min_size=1, max_size=4))
def test_a_difference_stays_within_its_interval_and_both_within_the_picture(rows):
    changes = [change(value, low, high) for low, value, high in rows]
    extent = difference_extent(changes)
    for one, (low, value, _) in zip(changes, rows, strict=True):
        if not extent:
            assert draw_difference(one, extent) == ""
            continue
        dot, left, right = places(draw_difference(one, extent))
        assert -72.1 <= left <= dot + 0.1
        assert dot - 1.1 <= right <= 73.1
        for place, number in ((dot, value), (left, low)):
            assert place == pytest.approx(72 * number / extent, abs=0.1)


@pytest.mark.parametrize(
    ("drawn", "extent"),
    [
        pytest.param(change(None), 0, id="without a common case"),
        pytest.param(change(12.5, 3.0, 22.0, unit="edits"), 0, id="in a unit of its own, which has another scale"),
        pytest.param(change(0.0), 0, id="no difference and no interval"),
    ],
)
def test_there_is_no_picture(drawn, extent):
    assert difference_extent([drawn]) == extent
    assert draw_difference(drawn, 0.5 if drawn.unit else extent) == ""


def test_a_difference_without_an_interval_is_a_dot():
    assert places(draw_difference(change(-0.25), 0.5)) == (-36.0,)
