"""Numbers as a person reads them."""

import re

import pytest

from evalmark.core.text import distinct_from, percent, percent_distinct_from, percent_limit
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score
from evalmark.reports.text import numbers
from evalmark.reports.text.comparison import p_value_text, signed_points
from evalmark.reports.text.verdicts import score_text, short_score
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


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        pytest.param(0.99981, 1.0, "99.9 to 100.0 %", id="all of 20,000 pass: the low end is not 100 %"),
        pytest.param(0.99943, 0.999991, "99.9 to 99.9 %", id="one of 100,000 failed: no end is 100 %"),
        pytest.param(0.0, 0.00019, "0.0 to 0.1 %", id="none of 20,000 passes: the high end is not 0 %"),
        pytest.param(1e-17, 1 - 1e-16, "0.0 to 100.0 %", id="rounding errors of the computation are exact ends"),
    ],
)
def test_only_an_exact_end_of_an_interval_is_shown_as_0_or_100_percent(low, high, text):
    assert numbers.share_interval(Interval(low=low, high=high, method="t")).replace(numbers.DASH, "to") == text


@pytest.mark.parametrize(
    ("mean", "text"), [(0.9997, "0.999"), (0.0002, "0.001"), (1.0, "1.000"), (0.0, "0.000"), (1 - 1e-12, "1.000")]
)
def test_only_a_perfect_mean_is_shown_as_1(mean, text):
    assert numbers.mean_number(mean) == text


@pytest.mark.parametrize(
    ("score", "threshold", "text"),
    [
        pytest.param(Score(name="m", raw=0.69996, value=0.69996, passed=False), 0.7, "0.69996 < 0.7", id="just missed"),
        pytest.param(Score(name="m", raw=0.70004, value=0.70004, passed=True), 0.7, "0.70004 ≥ 0.7", id="just reached"),
        pytest.param(Score(name="m", raw=0.1 + 0.6, value=0.1 + 0.6, passed=True), 0.7, "0.700 ≥ 0.7", id="exactly reached"),
        pytest.param(Score(name="m", raw=0.6999999, value=0.6999999, passed=True), 0.7, "0.700 ≥ 0.7", id="within the tolerance"),
        pytest.param(Score(name="m", raw=0.62743, value=0.62743, passed=True), 0.62743, "0.62743 ≥ 0.62743", id="a learned threshold, exactly reached"),
        pytest.param(Score(name="m", raw=0.3002, value=0.3002, passed=False, direction="lower"), 0.3, "0.3002 > 0.3", id="lower is better, just missed"),
        pytest.param(Score(name="m", raw=3.7984, value=0.6996, passed=False), 0.7, "3.80 of 1..5 (0.6996) < 0.7", id="on a scale, just missed"),
        pytest.param(Score(name="m", raw=0.613, value=0.613, passed=False), 0.7, "0.613 < 0.7", id="not near"),
    ],
)  # fmt: skip
def test_a_score_is_shown_on_the_side_of_its_threshold_on_which_it_is(score, threshold, text):
    metric = Metric(name="m", threshold=threshold, unit="1..5" if score.raw and score.raw > 1 else "")
    assert score_text(score, {"m": metric}) == text
    assert short_score(score, metric) == text.rpartition(" ")[0].rpartition(" ")[0]


@pytest.mark.parametrize(
    ("p", "level", "text"),
    [(0.0496, 0.95, "0.0496"), (0.0504, 0.95, "0.0504"), (0.0999, 0.9, "0.0999"), (0.1001, 0.9, "0.1001"), (0.041, 0.95, "0.041")],
)  # fmt: skip
def test_a_p_value_is_shown_on_the_side_of_the_level_on_which_it_is(p, level, text):
    assert p_value_text(p, level) == text


def test_an_end_of_an_interval_is_shown_on_the_side_of_zero_and_of_the_margin_on_which_it_is():
    ends = [0.0003, -0.0003, 0.0, 0.04998, 0.0502, 0.123]
    assert [signed_points(end, [0, 0.05, -0.05]) for end in ends] == [
        "+0.03",
        f"{numbers.MINUS}0.03",
        "+0.0",
        "+4.998",
        "+5.02",
        "+12.3",
    ]


@pytest.mark.parametrize(
    ("rate", "needed", "text"),
    [
        (0.9993, 0.9995, "99.9 %, of 99.95 %"),
        (0.89948, 0.8995, "89.9 %, of 89.95 %"),
        (20 / 30, 0.6667, "66.667 %, of 66.67 %"),
        (20 / 30, 20 / 30, "66.6667 %, of 66.6667 %"),
        (0.72, 0.9, "72 %, of 90 %"),
    ],
)
def test_a_rate_is_shown_on_the_side_of_the_required_rate_on_which_it_is(rate, needed, text):
    assert f"{percent_distinct_from(rate, needed)}, of {percent_limit(needed)}" == text


def test_more_digits_are_shown_only_where_a_limit_is_near():
    assert distinct_from(0.5, [0.7], percent, 3) == "50 %"
