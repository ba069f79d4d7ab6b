"""Pictures made of numbers: nothing leaves them, nothing in them acts, and their tables have the same numbers."""

import math
import re
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.agreement_chart import IntervalRow, draw_intervals
from evalmark.reports.html.cost_chart import CostPoint, draw_scatter
from evalmark.reports.html.histograms import (
    SplitScores,
    draw_histogram,
    draw_split_answers,
    draw_split_histogram,
    merge_metrics,
)
from evalmark.reports.html.roc import OperatingPoint, RocCurve, draw_roc
from evalmark.reports.html.sparklines import draw_bins
from evalmark.reports.html.svg import Box, text_width
from evalmark.reports.html.trend_chart import TrendLine, TrendPoint, draw_trend
from evalmark.reports.text.numbers import percent
from evalmark.stats.agreement.roc import auc, auc_interval, roc_points
from evalmark.stats.inference.intervals import Interval, no_interval, wilson
from evalmark.stats.summary.summarise import summarise

SHARE = st.floats(0, 1)
ANY = st.floats(allow_nan=False, allow_infinity=False)
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
EVIL = "</text><script>hit()</script>\"'&\x1b[31m\u202e\ud800"


def interval(low, high):
    return Interval(low=min(low, high), high=max(low, high), method="x")


INTERVAL = st.one_of(st.none(), st.just(no_interval("few")), st.builds(interval, SHARE, SHARE))


def svg(picture):
    """The picture as a browser reads it."""
    return ET.fromstring(str(picture))  # noqa: S314  made here


def within(picture):
    """The picture, which has no coordinate beyond its edges but for half a line or a mark, and no number that is none."""
    root = svg(picture)
    _, _, wide, high = map(float, root.get("viewBox").split())
    for element in root.iter():
        place = {name: element.get(name) for name in ("x", "y", "cx", "cy", "width", "height", "r")}
        found = {name: float(value) for name, value in place.items() if value is not None}
        pairs = [(found.get("x", found.get("cx", 0.0)), found.get("y", found.get("cy", 0.0)))]
        if element.tag == "rect":
            pairs.append((pairs[0][0] + found["width"], pairs[0][1] + found["height"]))
            assert found["width"] > 0
            assert found["height"] > 0
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", element.get("d", ""))]
        pairs += list(zip(numbers[::2], numbers[1::2], strict=True))
        for x, y in pairs:
            assert math.isfinite(x)
            assert math.isfinite(y)
            assert -1 <= x <= wide + 1, (element.tag, element.get("class"))
            assert -1 <= y <= high + 1, (element.tag, element.get("class"))
    assert root.get("role") == "img"
    assert root.find("title").text
    assert root.find("desc").text
    assert not {name for element in root.iter() for name in element.attrib} & {"style", "fill", "stroke", "onclick"}
    return root


def overlaps(root):
    """Pairs of texts that lie on each other, by the room that letters take at most."""
    found = []
    for element in root.iter("text"):
        wide, x, y = text_width(element.text or ""), float(element.get("x")), float(element.get("y"))
        left = x - wide * {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor"), 0.0)
        found.append((element.text, Box(left, y - 8.4, left + wide, y + 2.4)))
    return [(one, other) for (one, a), (other, b) in combinations(found, 2) if a.meets(b)]


def words(root):
    return [element.text for element in root.iter("text")]


def marks(root, kind):
    return [element for element in root.iter() if kind in (element.get("class") or "").split()]


def metric_of(values, raw=False, **fields):
    """The figures of one metric with these scores."""
    scores = [Score(name="m", raw=value, value=None if raw else value) for value in values]
    results = [
        Result(trial=Trial(case=Case(id=str(n)), position=n), output=Output(value="x"), scores=(score,))
        for n, score in enumerate(scores)
    ]
    run = Run(id="1", name="r", created="", metrics=(Metric(name="m", **fields),), results=results)
    return summarise(run).groups[0].metrics[0]


@given(st.lists(SHARE, min_size=1, max_size=60), st.one_of(st.none(), SHARE), st.sampled_from(["higher", "lower"]))
def test_a_spread_stays_within_and_its_table_counts_every_score(values, threshold, direction):
    metric = metric_of(values, threshold=threshold, direction=direction)
    drawn = draw_histogram(metric)
    bars = marks(within(drawn.picture), "bar")
    assert overlaps(svg(drawn.picture)) == []
    assert sum(int(n) for _, n in drawn.rows) == len(values) == metric.n
    assert len(bars) == sum(n > 0 for n in metric.bins)
    assert [int(bar.find("title").text.rpartition(": ")[2]) for bar in bars] == [n for n in metric.bins if n]


@given(st.lists(st.one_of(st.integers(-(10**6), 10**6), ANY), min_size=1, max_size=20))
def test_numbers_of_any_size_stay_within(values):
    assert overlaps(within(draw_histogram(metric_of(values, raw=True, unit="edits")).picture)) == []


def answers_of(answers):
    return replace(metric_of([float(one) for one in answers]), truths=True)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_metric_of_yes_and_no_has_two_bars_with_their_numbers(answers):
    metric, linked = answers_of(answers), set()
    drawn = draw_histogram(metric)
    root = within(drawn.picture)
    counts = {"no": answers.count(False), "yes": answers.count(True)}
    assert drawn.rows == tuple((answer, str(n)) for answer, n in counts.items())
    assert len(marks(root, "bar")) == sum(n > 0 for n in counts.values())
    assert words(root) == [
        text for answer, n in counts.items() for text in (answer, f"{n} ({percent(n / len(answers))})")
    ]
    draw_histogram(metric, link=lambda name, *ends: linked.add(ends) or "/cases")
    assert linked == {ends for ends, n in (((None, 0.5), counts["no"]), ((0.5, None), counts["yes"])) if n}
    assert str(draw_bins(metric)).count('class="bar"') == len(marks(root, "bar"))


def test_without_scores_there_is_no_picture():
    assert draw_histogram(metric_of([None])) is None
    assert draw_split_histogram(SplitScores(good=(), bad=(), threshold=0.5, direction="higher"), "m") is None
    assert draw_roc(RocCurve(points=(), direction="higher"), "m") is None
    assert draw_scatter((), "pass rate") is None
    assert not draw_intervals((), "a", "b")
    assert not draw_trend([TrendLine(name="a", points=())], ["2026-11-21"], "pass rate")


def test_a_spread_says_the_threshold_and_in_words_what_it_shows():
    drawn = draw_histogram(metric_of([0.1, 0.62, 0.65, 0.9], threshold=0.6), "in d on t")
    root = within(drawn.picture)
    assert root.find("title").text == "How the scores of m spread, in d on t"
    told = root.find("desc").text
    assert told.startswith("4 scores from 0 to 1. Most of them, 2, lie in 0.6 \u2013 0.7.")
    assert "the threshold: \u2265 0.6 passes" in told
    assert "\u2265 0.6" in words(root)
    (cut,) = marks(root, "cut")
    assert float(re.match(r"M([\d.]+)", cut.get("d"))[1]) == pytest.approx(44 + 0.6 * (360 - 44 - 22), abs=0.1)


def test_spreads_with_the_same_steps_are_one():
    one, other = metric_of([0.1, 0.2], threshold=0.5), metric_of([0.9, 1.0, 0.95], threshold=0.5)
    whole = merge_metrics([one, other])
    assert (sum(whole.bins), whole.n, whole.threshold) == (5, 5, 0.5)
    assert merge_metrics([one, metric_of([0.1], threshold=0.6)]).threshold is None
    assert merge_metrics([one, metric_of([3, 9], raw=True)]) is None
    assert merge_metrics([]) is None


@given(
    st.lists(SHARE, max_size=30),
    st.lists(SHARE, max_size=30),
    st.one_of(st.none(), SHARE),
    st.sampled_from(["higher", "lower"]),
)
def test_halves_stay_within_and_no_bar_lies_on_both_sides_of_the_threshold(good, bad, threshold, direction):
    drawn = draw_split_histogram(SplitScores(good=good, bad=bad, threshold=threshold, direction=direction), "m")
    if drawn is None:
        assert not good
        assert not bad
        return
    root = within(drawn.picture)
    assert overlaps(root) == []
    assert sum(int(row[1]) for row in drawn.rows) == len(good)
    assert sum(int(row[2]) for row in drawn.rows) == len(bad)
    if threshold is not None:
        (cut,) = marks(root, "cut")
        at = float(re.match(r"M([\d.]+)", cut.get("d"))[1])
        for bar in marks(root, "good") + marks(root, "bad"):
            left, right = float(bar.get("x")), float(bar.get("x")) + float(bar.get("width"))
            assert right <= at + 1.2 or left >= at - 1.2


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.lists(st.booleans(), min_size=1, max_size=60))
def test_scores_of_yes_and_no_are_a_bar_for_good_and_one_for_bad_outputs(good, bad):
    drawn = draw_split_answers(list(map(float, good)), list(map(float, bad)), "m", ["a note", ""])
    assert drawn.rows == tuple(
        (kind, str(sum(found)), str(len(found) - sum(found))) for kind, found in (("good", good), ("bad", bad))
    )
    root = within(drawn.picture)
    bars = {kind: sum(float(bar.get("width")) for bar in marks(root, kind)) for kind in ("good", "bad")}
    shares = {"good": sum(good) / len(good), "bad": sum(bad) / len(bad)}
    if shares["good"] > 0.1:  # the least bar can be seen
        assert bars["bad"] / bars["good"] == pytest.approx(shares["bad"] / shares["good"], abs=0.1)
    assert overlaps(root) == []
    assert drawn.notes == ("a note",)


@given(st.lists(st.tuples(SHARE, st.booleans()), min_size=2, max_size=60), SHARE, st.sampled_from(["higher", "lower"]))
def test_a_curve_stays_within_and_its_rates_are_those_of_the_scores(found, threshold, direction):
    scores, labels = [score for score, _ in found], [label for _, label in found]
    points = roc_points(scores, labels, direction)
    passed = [score <= threshold if direction == "lower" else score >= threshold for score in scores]
    counts = {kind: [p for p, label in zip(passed, labels, strict=True) if label is kind] for kind in (True, False)}
    chosen = OperatingPoint(
        good_passed=sum(counts[True]),
        good=len(counts[True]),
        bad_passed=sum(counts[False]),
        bad=len(counts[False]),
        threshold=threshold,
    )
    drawn = draw_roc(RocCurve(points=points, direction=direction, chosen=chosen), "m")
    if not chosen.good or not chosen.bad:
        assert drawn is None
        return
    (ring,) = marks(within(drawn.picture), "ring")
    assert overlaps(svg(drawn.picture)) == []
    assert float(ring.get("cx")) == pytest.approx(44 + 210 * chosen.bad_passed / chosen.bad, abs=0.1)
    assert float(ring.get("cy")) == pytest.approx(240 - 210 * chosen.good_passed / chosen.good, abs=0.1)
    said = drawn.notes[0]
    assert f"false passes {sum(counts[False])} of" in said
    assert f"false fails {len(counts[True]) - sum(counts[True])} of" in said
    assert drawn.rows[0][1].startswith(f"{chosen.good_passed} of {chosen.good} ")


def test_a_curve_of_many_points_is_thinned_and_ends_where_everything_passes():
    scores = [n / 9_999 for n in range(10_000)]
    labels = [n % 3 > 0 for n in range(10_000)]
    points = roc_points(scores, labels)
    area = auc(points)
    drawn = draw_roc(
        RocCurve(points=points, direction="higher", area=area, interval=auc_interval(area, 6666, 3334)), "m"
    )
    (curve,) = marks(within(drawn.picture), "curve")
    assert curve.get("d").count("L") <= 401
    assert curve.get("d").endswith("254.0 30.0")
    assert 5 <= len(drawn.rows) <= 12
    assert f"AUC {area:.3f}" in drawn.notes[0]


WHISKER = st.builds(
    IntervalRow,
    name=NAME,
    value=st.one_of(st.none(), st.floats(-1, 1)),
    interval=INTERVAL,
    is_second=st.booleans(),
)


@given(st.lists(WHISKER, min_size=1))
def test_whiskers_stay_within_and_each_row_has_a_mark_or_says_why_not(rows):
    root = within(draw_intervals(rows, "Agreement", "What it shows."))
    assert len(marks(root, "dot") + marks(root, "hollow")) == sum(row.value is not None for row in rows)
    assert sum("undefined" in (word or "") for word in words(root)) >= sum(row.value is None for row in rows)


POINT = st.builds(CostPoint, name=NAME, cost=st.floats(0, 100), quality=SHARE, interval=INTERVAL, is_best=st.booleans())


@given(st.lists(POINT, min_size=1, max_size=15), st.booleans())
def test_a_scatter_stays_within_and_draws_every_target(points, lower):
    drawn = draw_scatter(points, "pass rate", unit="share", lower=lower)
    root = within(drawn.picture)
    assert overlaps(root) == []
    assert len(marks(root, "dot")) == sum(point.is_best for point in points)
    assert len(marks(root, "hollow")) == sum(not point.is_best for point in points)
    assert len(drawn.rows) == len(points)


OUTCOME = st.sampled_from(["pass", "fail", "cannot tell", ""])
SIGNS = {"pass": "stop", "fail": "cross", "cannot tell": "asked", "": "open"}


@given(
    st.lists(st.lists(st.tuples(SHARE, INTERVAL, OUTCOME), min_size=1, max_size=20), min_size=1, max_size=6),
    st.lists(st.dates().map(str), min_size=20, max_size=20),
)
def test_a_course_stays_within_and_has_a_mark_for_every_run_by_its_gate(found, days):
    lines = [
        TrendLine(
            name=f"line {k}",
            points=[
                TrendPoint(place=place, value=value, interval=interval, outcome=outcome, tooltip="a run")
                for place, (value, interval, outcome) in enumerate(points)
            ],
        )
        for k, points in enumerate(found)
    ]
    root = within(draw_trend(lines, days, "pass rate", unit="share"))
    assert overlaps(root) == []
    for outcome, kind in SIGNS.items():
        assert len(marks(root, kind)) == sum(o == outcome for points in found for _, _, o in points)


def test_the_days_of_runs_stand_once():
    points = [
        TrendPoint(place=n, value=0.9, interval=wilson(9, 10), outcome="pass", tooltip=f"run {n}: 90 %")
        for n in range(4)
    ]
    root = within(
        draw_trend([TrendLine(name="all", points=points)], ["2026-11-20", "2026-11-20", "2026-11-21", ""], "x")
    )
    assert words(root)[-2:] == ["2026-11-20", "2026-11-21"]
    assert [mark.find("title").text for mark in marks(root, "stop")] == [f"run {n}: 90 %" for n in range(4)]


def test_names_from_elsewhere_are_text_and_nothing_else():
    points = [CostPoint(name=EVIL, cost=1, quality=0.5, interval=None, is_best=True)]
    point = TrendPoint(place=0, value=0.5, interval=None, outcome="fail", tooltip=EVIL)
    pictures = [
        draw_scatter(points, EVIL).picture,
        draw_intervals([IntervalRow(name=EVIL, value=0.1, interval=None)], EVIL, EVIL, axis_title=EVIL),
        draw_trend([TrendLine(name=EVIL, points=[point]), TrendLine(name=EVIL, points=[point])], [EVIL], EVIL),
        draw_histogram(metric_of([0.5], unit=EVIL), EVIL).picture,
        draw_split_histogram(SplitScores(good=[0.5], bad=[0.4], threshold=None, direction="higher"), EVIL).picture,
    ]
    for picture in pictures:
        root = svg(picture)
        assert not list(root.iter("script"))
        assert not re.search("[\x1b\u202e\ud800]", str(picture))
