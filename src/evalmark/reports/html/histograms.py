"""Histograms of scores: of all outputs, and of good against bad outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from evalmark.core.text import count, one_line
from evalmark.reports.text.calibration import BIN_WIDTH, bin_counts
from evalmark.reports.text.numbers import DASH, limit_text
from evalmark.stats.agreement.roc import Direction
from evalmark.stats.summary.summary import MetricSummary

from .sparklines import bin_rows
from .svg import (
    BOTTOM,
    HIGH,
    LEFT,
    RIGHT,
    TOP,
    WIDE,
    Axis,
    Figure,
    axis,
    path,
    sentences,
    shape,
    svg,
    text_element,
    text_width,
    x_axis,
    y_axis,
)

_END = 0.4
"""Part of the axis that a half's name may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitScores:
    """Scores of good and bad outputs, from 0 to 1."""

    good: Sequence[float]
    bad: Sequence[float]
    threshold: float | None
    direction: Direction
    kind_names: tuple[str, str] = ("liked", "disliked")
    """Names of the two kinds."""


def draw_histogram(metric: MetricSummary, target: str = "") -> Figure | None:
    """Draw a histogram of ten bins with the threshold; None without scores."""
    if not metric.bins:
        return None
    across = _scores(metric.low, metric.high)
    up = axis(0, max(metric.bins), (HIGH - BOTTOM, TOP), unit="count", most=5)
    rows = bin_rows(metric)
    wide = metric.high / len(metric.bins) - metric.low / len(metric.bins)
    parts = y_axis(up, LEFT, WIDE - RIGHT, "outputs")
    for number, (step, n) in enumerate(rows):
        left, right = (across.at(metric.low + wide * edge) for edge in (number, number + 1))
        if n:
            top = min(up.at(n), up.at(0) - 1.5)
            description = f"{step}: {n:,}"
            parts.append(_bar("bar", (left, right, top, up.at(0)), description))
    parts += x_axis(across, HIGH - BOTTOM, (metric.unit if metric.scale == "raw" else "") or "score")
    limit = metric.threshold if metric.scale == "value" else None
    parts += _limit(across, limit, metric.direction, (TOP, HIGH - BOTTOM))
    most = max(rows, key=lambda row: row[1])
    description = sentences(
        f"{count(sum(metric.bins), 'score')} from {rows[0][0].split(' ')[0]} to {rows[-1][0].split(' ')[-1]}",
        f"most of them, {most[1]:,}, lie in {most[0]}",
        "" if limit is None else f"the dashed line is the threshold: {limit_text(metric.direction, limit)} passes",
        "lower is better" if metric.direction == "lower" else "",
    )
    title = f"How the scores of {one_line(metric.name, 80)} spread{f', {target}' if target else ''}"
    left_out = metric.scored - metric.n
    return Figure(
        picture=svg((WIDE, HIGH), title, description, parts),
        heads=("score", "outputs"),
        rows=tuple((step, f"{n:,}") for step, n in rows),
        notes=(f"{count(left_out, 'non-numeric score')} not shown.",) if left_out else (),
        about=title,
    )


def merge_metrics(several: Sequence[MetricSummary]) -> MetricSummary | None:
    """Merge the histograms of one metric; None if their bins differ."""
    binned = [metric for metric in several if metric.bins]
    ranges = {(metric.scale, metric.low, metric.high, len(metric.bins)) for metric in binned}
    if len(ranges) != 1:
        return None
    thresholds = {metric.threshold for metric in several}
    return replace(
        binned[0],
        bins=tuple(map(sum, zip(*(metric.bins for metric in binned), strict=True))),
        n=sum(metric.n for metric in binned),
        scored=sum(metric.scored for metric in binned),
        threshold=thresholds.pop() if len(thresholds) == 1 else None,
    )


def draw_split_histogram(scores: SplitScores, name: str) -> Figure | None:
    """Draw good outputs upwards and bad ones downwards; None without any.

    Each half has its own scale, since one kind is often much rarer. No bar
    crosses the threshold.
    """
    good, bad = (_bars(values, scores) for values in (scores.good, scores.bad))
    if not good and not bad:
        return None
    middle = (TOP + HIGH - BOTTOM) / 2
    across = axis(0, 1, (LEFT, WIDE - RIGHT))
    parts: list[Markup] = []
    for counts, kind, kind_name, end in (
        (good, "good", scores.kind_names[0], TOP),
        (bad, "bad", scores.kind_names[1], HIGH - BOTTOM),
    ):
        up = axis(0, max(counts.values(), default=1), (middle, float(end)), unit="count", most=3)
        parts += [path("grid", (LEFT, up.at(tick)), (WIDE - RIGHT, up.at(tick))) for tick in up.ticks[1:]]
        parts += [text_element(LEFT - 5, up.at(tick) + 4, tick_label, anchor="end") for tick, tick_label in _ticked(up)]
        for step, n in sorted(counts.items()):
            left, right = (across.at(edge) for edge in _edges(step, scores))
            y = sorted((up.at(n), middle))
            tooltip = f"{_step(step, scores)}: {n:,} {kind_name}"
            parts.append(_bar(kind, (left, right, y[0], y[1]), tooltip))
    parts.append(path("axis", (LEFT, middle), (WIDE - RIGHT, middle)))
    parts += x_axis(across, HIGH - BOTTOM, "score")
    parts += _limit(across, scores.threshold, scores.direction, (TOP, HIGH - BOTTOM))
    parts.append(_half_name(good, scores, f"{scores.kind_names[0]} ({len(scores.good):,})", TOP + 9))
    parts.append(_half_name(bad, scores, f"{scores.kind_names[1]} ({len(scores.bad):,})", HIGH - BOTTOM - 5))
    title = f"Scores of {one_line(name, 80)}, {scores.kind_names[0]} against {scores.kind_names[1]}"
    rows = tuple(
        (_step(step, scores), f"{good.get(step, 0):,}", f"{bad.get(step, 0):,}") for step in sorted({*good, *bad})
    )
    return Figure(
        picture=svg((WIDE, HIGH), title, _description(scores), parts),
        heads=("score", *scores.kind_names),
        rows=rows,
        about=title,
    )


def _half_name(counts: Mapping[int, int], scores: SplitScores, label: str, y: float) -> Markup:
    """Draw the name of a half, at the end where its bars are lower."""
    middles = {step: sum(_edges(step, scores)) / 2 for step in counts}
    left = max((n for step, n in counts.items() if middles[step] < _END), default=0)
    right = max((n for step, n in counts.items() if middles[step] > 1 - _END), default=0)
    if left <= right:
        return text_element(LEFT + 4, y, label, "named")
    return text_element(WIDE - RIGHT - 4, y, label, "named", "end")


def _bars(values: Sequence[float], scores: SplitScores) -> Mapping[int, int]:
    """Count values by bin; values at the end of the scale belong to the last bin."""
    counts = dict(bin_counts(values, scores.threshold, scores.direction))
    for step in sorted(counts):
        low, high = _edges(step, scores)
        inner = step + 1 if scores.direction == "lower" else step - 1
        if low == high and (scores.threshold is None or (step < 0) == (inner < 0)):
            counts[inner] = counts.get(inner, 0) + counts.pop(step)
    return counts


def _description(scores: SplitScores) -> str:
    good, bad = scores.kind_names
    passes = "" if scores.threshold is None else f"{limit_text(scores.direction, scores.threshold)} passes"
    return sentences(
        f"scores of {count(len(scores.good), 'output')} that are {good} above the line, of {len(scores.bad):,} that are "
        f"{bad} below it, each with a scale of its own",
        f"the dashed line is the threshold: {passes}" if passes else "there is no threshold",
    )


def _ticked(up: Axis) -> list[tuple[float, str]]:
    return list(zip(up.ticks, up.words, strict=True))[1:]


def _scores(low: float, high: float) -> Axis:
    return axis(low, high, (float(LEFT), float(WIDE - RIGHT)))


def _bar(kind: str, sides: tuple[float, float, float, float], tooltip: str) -> Markup:
    left, right, top, bottom = sides
    wide = max(1.0, right - left - 1.5)
    return shape(
        "rect", kind, tooltip, x=left + 0.75, y=top, width=min(wide, WIDE - left - 0.75), height=max(1.5, bottom - top)
    )


def _limit(across: Axis, limit: float | None, direction: Direction, ends: tuple[float, float]) -> list[Markup]:
    if limit is None or not across.low <= limit <= across.high:
        return []
    x = across.at(limit)
    label = limit_text(direction, limit)
    half = text_width(label) / 2
    at = min(WIDE - half, max(across.start + half, x))  # beside the numbers of the other axis
    return [path("cut", (x, ends[0]), (x, ends[1])), text_element(at, ends[0] - 4, label, "named", "middle")]


def _edges(step: int, scores: SplitScores) -> tuple[float, float]:
    start = scores.threshold or 0.0
    low, high = (min(1.0, max(0.0, start + BIN_WIDTH * edge)) for edge in (step, step + 1))
    return low, high


def _step(step: int, scores: SplitScores) -> str:
    low, high = _edges(step, scores)
    return f"{low:z.3g} {DASH} {high:z.3g}"
