"""ROC curves: how well scores separate good from bad outputs, with the chosen threshold."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalmark.core.text import count, one_line
from evalmark.reports.text.numbers import interval_ends, limit_text, percent
from evalmark.stats.agreement.roc import Direction, RocPoint, auc, auc_interval, roc_points
from evalmark.stats.calibration.labelled_scores import MetricSeparation
from evalmark.stats.inference.intervals import Interval

from .histograms import SplitScores, draw_split_answers, draw_split_histogram
from .svg import (
    BOTTOM,
    LEFT,
    TOP,
    WIDE,
    Box,
    Figure,
    PointLabel,
    axis,
    box_around,
    evenly_chosen,
    label_element,
    path,
    place_labels,
    sentences,
    shape,
    svg,
    x_axis,
    y_axis,
)

_SIDE = 210.0
"""Of the square plot area, which is about as high as a histogram."""
_RIGHT, HIGH = LEFT + _SIDE, TOP + _SIDE + BOTTOM
MOST_POINTS = 400
"""Most points of a curve."""
MOST_ROWS = 12
_RING = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """Outputs that pass at the threshold in use, or by the scorer's own decision."""

    good_passed: int
    good: int
    bad_passed: int
    bad: int
    threshold: float | None = None
    """None if the scorer decides without a threshold."""

    @property
    def words(self) -> str:
        """Name on the chart."""
        return "as judged" if self.threshold is None else f"threshold {self.threshold:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RocCurve:
    """A ROC curve with its area and operating point."""

    points: Sequence[RocPoint]
    """From the strictest threshold on, as `roc_points` returns them."""
    direction: Direction
    chosen: OperatingPoint | None = None
    area: float | None = None
    interval: Interval | None = None


def draw_roc(curve: RocCurve, name: str) -> Figure | None:
    """Draw the share of passing bad outputs against that of good ones; a ring marks the threshold.

    None without outputs of both kinds.
    """
    if not curve.points or not curve.points[-1].good or not curve.points[-1].bad:
        return None
    across = axis(0, 1, (LEFT, _RIGHT), unit="share")
    up = axis(0, 1, (HIGH - BOTTOM, TOP), unit="share")
    points = [(across.at(p.bad_passed / p.bad), up.at(p.good_passed / p.good)) for p in _thinned(curve.points)]
    parts = y_axis(up, LEFT, _RIGHT, "good outputs that pass")
    parts += x_axis(across, HIGH - BOTTOM, "bad outputs that pass")
    parts.append(path("chance", (across.start, up.start), (across.end, up.end)))
    parts.append(path("curve", *points))
    chosen = curve.chosen
    if chosen is not None and chosen.good and chosen.bad:
        x, y = across.at(chosen.bad_passed / chosen.bad), up.at(chosen.good_passed / chosen.good)
        parts.append(shape("circle", "ring", _rates(curve), cx=x, cy=y, r=_RING))
        occupied = [box_around(x, y, _RING), *(box for pair in pairwise(points) for box in _along(*pair))]
        # Prefer a place below the curve, which is usually empty.
        names = [PointLabel(x + dx, y + dy, chosen.words) for dx, dy in ((0, 12), (0, 0), (0, -12), (0, 30))]
        boxes = (place_labels([name], occupied, Box(LEFT, TOP, WIDE, HIGH - BOTTOM))[0] for name in names)
        box = next((placed for placed in boxes if placed is not None), None)
        parts += [] if box is None else [label_element(box, chosen.words)]
    title = f"ROC of {one_line(name, 80)}"
    description = sentences(
        "for each threshold the share of bad outputs that pass, to the right, and of good ones, upwards",
        _area(curve),
        _rates(curve),
        "the dashed line is chance",
    )
    return Figure(
        picture=svg((WIDE, HIGH), title, description, parts, "square"),
        heads=("threshold", "good that pass", "bad that pass"),
        rows=_rows(curve),
        notes=tuple(note for note in (_area(curve), _rates(curve)) if note),
        about=title,
    )


def _along(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Box]:
    steps = max(1, round(math.dist(start, end) / 6))
    for k in range(steps + 1):
        part = k / steps
        yield box_around(start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part, 2.0)


def _thinned(points: Sequence[RocPoint], most: int = MOST_POINTS) -> Sequence[RocPoint]:
    step = max(1, -(-(len(points) - 1) // (most - 1))) if len(points) > most else 1
    return points if step == 1 else [*points[:-1:step], points[-1]]


def _area(curve: RocCurve) -> str:
    if curve.area is None:
        return ""
    ends = interval_ends(curve.interval, "z.3f")
    interval = f" (95 % interval {ends})" if ends else ""
    last = curve.points[-1]
    return f"AUC {curve.area:z.3f}{interval}, of {last.good:,} good and {last.bad:,} bad outputs"


def _rates(curve: RocCurve) -> str:
    chosen = curve.chosen
    if chosen is None or not chosen.good or not chosen.bad:
        return ""
    missed = chosen.good - chosen.good_passed
    return (
        f"{chosen.words}: false passes {chosen.bad_passed:,} of {count(chosen.bad, 'bad output')} "
        f"({percent(chosen.bad_passed / chosen.bad)}), false fails {missed:,} of "
        f"{count(chosen.good, 'good output')} ({percent(missed / chosen.good)})"
    )


def _rows(curve: RocCurve) -> tuple[tuple[str, ...], ...]:
    rows = [
        (
            "nothing passes"
            if math.isinf(point.threshold)
            else limit_text(curve.direction, float(f"{point.threshold:z.4g}")),
            _count_of_total(point.good_passed, point.good),
            _count_of_total(point.bad_passed, point.bad),
        )
        for point in curve.points
    ]
    chosen = curve.chosen
    ring = (
        []
        if chosen is None or not chosen.good or not chosen.bad
        else [
            (
                f"\u25cb {chosen.words}",
                _count_of_total(chosen.good_passed, chosen.good),
                _count_of_total(chosen.bad_passed, chosen.bad),
            )
        ]
    )
    return (*ring, *evenly_chosen(rows, MOST_ROWS))


def _count_of_total(passed: int, n: int) -> str:
    return f"{passed:,} of {n:,} ({percent(passed / n)})"


def draw_separation(separation: MetricSeparation, *, is_yes_no: bool = False) -> tuple[Figure | None, Figure | None]:
    """Draw the split histogram and the ROC curve of a metric; of one of yes and no, whose curve is a point, two bars.

    The ring shows the run's verdicts; it may lie off the curve if the metric does more than compare with a threshold.
    """
    name, table = separation.metric.name, separation.compared.confusion
    good, bad = ([value for value in values if 0 <= value <= 1] for values in (separation.good, separation.bad))
    halves = SplitScores(good=good, bad=bad, threshold=_within(separation), direction=separation.direction)
    if not separation.good or not separation.bad:
        return draw_split_histogram(halves, name), None
    points = roc_points(
        [*separation.good, *separation.bad],
        [True] * len(separation.good) + [False] * len(separation.bad),
        separation.direction,
    )
    area = auc(points)
    chosen = OperatingPoint(
        good_passed=table.good_passed,
        good=table.good,
        bad_passed=table.bad_passed,
        bad=table.n - table.good,
        threshold=separation.metric.threshold,
    )
    roc = RocCurve(
        points=points,
        direction=separation.direction,
        chosen=chosen if table.n else None,
        area=area,
        interval=auc_interval(area, separation.good_cases, separation.bad_cases),
    )
    if is_yes_no:
        return draw_split_answers(good, bad, name, (_area(roc), _rates(roc))), None
    return draw_split_histogram(halves, name), draw_roc(roc, name)


def _within(separation: MetricSeparation) -> float | None:
    threshold = separation.metric.threshold
    return threshold if threshold is not None and 0 <= threshold <= 1 else None
