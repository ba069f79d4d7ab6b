"""Every kind of picture once, compared with files that a reviewer can open in a browser or read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/reports/html/test_golden_pictures.py`.
"""

import os
from pathlib import Path

import pytest

from evalmark.reports.html.agreement_chart import IntervalRow, draw_intervals
from evalmark.reports.html.cost_chart import CostPoint, draw_scatter
from evalmark.reports.html.histograms import SplitScores, draw_histogram, draw_split_histogram
from evalmark.reports.html.roc import OperatingPoint, RocCurve, draw_roc
from evalmark.reports.html.trend_chart import TrendLine, TrendPoint, draw_trend
from evalmark.stats.agreement.roc import auc, auc_interval, roc_points
from evalmark.stats.inference.intervals import Interval, wilson

from .test_drawn import metric_of

GOLDEN = Path(__file__).parent / "golden"
GOOD, BAD = (0.95, 0.9, 0.82, 0.82, 0.71, 0.55), (0.2, 0.35, 0.58, 0.64)


def roc():
    points = roc_points([*GOOD, *BAD], [True] * len(GOOD) + [False] * len(BAD))
    area = auc(points)
    chosen = OperatingPoint(good_passed=5, good=6, bad_passed=1, bad=4, threshold=0.6)
    return draw_roc(
        RocCurve(points=points, direction="higher", chosen=chosen, area=area, interval=auc_interval(area, 6, 4)),
        "similarity",
    ).picture


def targets():
    found = (("large", 0.012, 0.9, True), ("small", 0.001, 0.7, True), ("old <b>", 0.015, 0.8, False))
    return [
        CostPoint(name=name, cost=cost, quality=rate, interval=wilson(round(rate * 100), 100), is_best=best)
        for name, cost, rate, best in found
    ]


def lines():
    gates = ("pass", "fail", "cannot tell", "")
    return [
        TrendLine(
            name=name,
            points=[
                TrendPoint(
                    place=place,
                    value=rate + place / 50,
                    interval=wilson(round(100 * rate) + 2 * place, 100),
                    outcome=gate,
                    tooltip=f"run {place}",
                )
                for place, gate in enumerate(gates)
            ],
        )
        for name, rate in (("all", 0.8), ("angry users", 0.7))
    ]


PICTURES = {
    "spread": lambda: draw_histogram(metric_of([*GOOD, *BAD], threshold=0.6)).picture,
    "halves": lambda: (
        draw_split_histogram(SplitScores(good=GOOD, bad=BAD, threshold=0.6, direction="higher"), "similarity").picture
    ),
    "roc": roc,
    "whiskers": lambda: draw_intervals(
        [
            IntervalRow(name="correct and people", value=0.62, interval=Interval(low=0.41, high=0.8, method="t")),
            IntervalRow(name="polite and people", value=None, interval=None),
            IntervalRow(
                name="two judges", value=-0.1, interval=Interval(low=-0.3, high=0.1, method="t"), is_second=True
            ),
        ],
        "Agreement",
        "Correct: 0.62.",
        axis_title="Cohen's kappa",
    ),
    "scatter": lambda: draw_scatter(targets(), "pass rate", unit="share").picture,
    "trend": lambda: draw_trend(
        lines(), ["2026-11-20", "2026-11-20", "2026-11-21", "2026-11-22"], "pass rate", unit="share"
    ),
    "long-trend": lambda: draw_trend(lines(), [f"2026-11-{day}" for day in range(20, 26)], "pass rate", unit="share"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_looked_at(name):
    # One element a line, so that a change is seen where it is.
    text = str(PICTURES[name]()).replace("><", ">\n<") + "\n"
    file = GOLDEN / f"{name}.svg"
    if os.environ.get("EVALMARK_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
