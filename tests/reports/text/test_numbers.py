"""Numbers as a person reads them."""

import re

import pytest

from evalmark.core.values.plain_data import finite_number
from evalmark.reports.text import numbers
from evalmark.stats.inference.intervals import Interval
from tests.conftest import ROOT


@pytest.mark.parametrize("number", [-0.0, -0.00001, -1e-12, -0.0004])
def test_no_number_is_shown_as_minus_zero(number):
    texts = [
        numbers.number_text(number),
        numbers.number_text(number, "1..5"),
        numbers.percent(number),
        numbers.scale_mean(number, "0..1"),
        numbers.interval_text(Interval(low=number, high=number, method="t"), ""),
        numbers.share_interval(Interval(low=number, high=number, method="t")),
    ]
    assert [text for text in texts if re.search(r"-0(\.0+)?(?![\d.])", text)] == []
    assert str(finite_number(min(number, -0.0) * 0)) == "0.0"


def test_every_number_in_a_text_is_formatted_without_a_negative_zero():
    unguarded = re.compile(r"\{[^{}\"]*:[+]?,?\.(?:\d+|\{\w+\})[fg%]\}")
    places = [
        ROOT / "src" / "evalmark" / room for room in ("wording", "console", "stats", "scorers", "judges", "quality")
    ]
    found = [
        f"{path.name}: {line.strip()}"
        for place in places
        for path in place.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if unguarded.search(line)
    ]
    assert found == []
