"""Histograms of scores: of all outputs, and of good against bad outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from evalmark.core.text import count, one_line
from evalmark.reports.text.calibration import BIN_WIDTH, bin_counts
from evalmark.reports.text.numbers import DASH, limit_text, percent
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
_ANSWER, _ANSWER_TEXT = 32, 96
"""Distance of the bars of yes and no, and room for the numbers beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitScores:
    """Scores of good and bad outputs, from 0 to 1."""

    good: Sequence[float]
    bad: Sequence[float]
    threshold: float | None
    direction: Direction


BinLink = Callable[[str, float | None, float | None], str]
"""Returns the address that lists the cases of a bin: the metric, and the ends of the bin, None at the ends of the scale."""


def can_list_bins(metric: MetricSummary) -> bool:
    """Return whether a filter on the scores selects exactly those that a bin counts."""
    return metric.scale == "value" and (metric.low, metric.high) == (0.0, 1.0) and metric.n == metric.scored


def draw_histogram(metric: MetricSummary, target: str = "", link: BinLink | None = None) -> Figure | None:
    """Draw a histogram of ten bins with the threshold; None without scores. With `link`, each bar leads to its cases."""
    if not metric.bins:
        return None
    if metric.truths:
        return _draw_answers(metric, target, link)
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
            bar = _bar("bar", (left, right, top, up.at(0)), "" if link else description)
            if link is not None:
                ends = (None if edge in (0, len(rows)) else metric.low + wide * edge for edge in (number, number + 1))
                bar = _linked(bar, (left, right, up.at(0)), link(metric.name, *ends), f"{description}: list the cases")
            parts.append(bar)
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
    title = _title(metric, target)
    left_out = metric.scored - metric.n
    return Figure(
        picture=svg((WIDE, HIGH), title, description, parts, role="group" if link else "img"),
        heads=("score", "outputs"),
        rows=tuple((step, f"{n:,}") for step, n in rows),
        notes=(f"{count(left_out, 'non-numeric score')} not shown.",) if left_out else (),
        about=title,
    )


def _title(metric: MetricSummary, target: str) -> str:
    return f"How the scores of {one_line(metric.name, 80)} spread{f', {target}' if target else ''}"


def _draw_answers(metric: MetricSummary, target: str, link: BinLink | None) -> Figure:
    """Draw the scores of a metric of yes and no as two bars with their numbers."""
    rows = bin_rows(metric)
    total, most = sum(n for _, n in rows), max(n for _, n in rows)
    parts: list[Markup] = []
    for number, (answer, n) in enumerate(rows):
        y, width = 4.0 + _ANSWER * number, max(1.5, (WIDE - LEFT - _ANSWER_TEXT) * n / most)
        words = f"{n:,} ({percent(n / total)})"
        drawn = text_element(LEFT - 8, y + 17, answer, "named", "end")
        drawn += (
            shape("rect", "bar", "" if link else f"{answer}: {n:,}", x=LEFT, y=y, width=width, height=24) if n else ""
        )
        drawn += text_element(LEFT + (width if n else 0) + 7, y + 17, words, "named")
        if link is not None and n:
            ends = (None, 0.5) if answer == "no" else (0.5, None)
            area = shape("rect", "hit", x=0, y=y - 2, width=WIDE, height=28)
            drawn = _link(link(metric.name, *ends), f"{answer}: {n:,}: list the cases", area + drawn)
        parts.append(drawn)
    title = _title(metric, target)
    description = sentences(f"{count(total, 'score')}: {rows[0][1]:,} no, {rows[1][1]:,} yes")
    left_out = metric.scored - metric.n
    return Figure(
        picture=svg((WIDE, 2 * _ANSWER), title, description, parts, role="group" if link else "img"),
        heads=("score", "outputs"),
        rows=tuple((answer, f"{n:,}") for answer, n in rows),
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
    for counts, kind, end in ((good, "good", TOP), (bad, "bad", HIGH - BOTTOM)):
        up = axis(0, max(counts.values(), default=1), (middle, float(end)), unit="count", most=3)
        parts += [path("grid", (LEFT, up.at(tick)), (WIDE - RIGHT, up.at(tick))) for tick in up.ticks[1:]]
        parts += [text_element(LEFT - 5, up.at(tick) + 4, tick_label, anchor="end") for tick, tick_label in _ticked(up)]
        for step, n in sorted(counts.items()):
            left, right = (across.at(edge) for edge in _edges(step, scores))
            y = sorted((up.at(n), middle))
            tooltip = f"{_step(step, scores)}: {n:,} {kind}"
            parts.append(_bar(kind, (left, right, y[0], y[1]), tooltip))
    parts.append(path("axis", (LEFT, middle), (WIDE - RIGHT, middle)))
    parts += x_axis(across, HIGH - BOTTOM, "score")
    parts += _limit(across, scores.threshold, scores.direction, (TOP, HIGH - BOTTOM))
    parts.append(_half_name(good, scores, f"good ({len(scores.good):,})", TOP + 9))
    parts.append(_half_name(bad, scores, f"bad ({len(scores.bad):,})", HIGH - BOTTOM - 5))
    title = f"Scores of {one_line(name, 80)}, good against bad"
    rows = tuple(
        (_step(step, scores), f"{good.get(step, 0):,}", f"{bad.get(step, 0):,}") for step in sorted({*good, *bad})
    )
    return Figure(
        picture=svg((WIDE, HIGH), title, _description(scores), parts),
        heads=("score", "good", "bad"),
        rows=rows,
        about=title,
    )


def draw_split_answers(good: Sequence[float], bad: Sequence[float], name: str, notes: Sequence[str]) -> Figure:
    """Draw the share of yes among good and among bad outputs as two bars with their numbers, for a metric of yes and no."""
    kinds = [
        (kind, sum(value >= 0.5 for value in values), len(values)) for kind, values in (("good", good), ("bad", bad))
    ]
    words = [f"yes {yes:,} of {n:,} ({percent(yes / n)})" if n else "none" for _, yes, n in kinds]
    room = WIDE - LEFT - 14 - max(map(text_width, words))
    parts: list[Markup] = []
    for number, ((kind, yes, n), text) in enumerate(zip(kinds, words, strict=True)):
        y, width = 4.0 + _ANSWER * number, max(1.5, room * yes / n) if yes else 0.0
        parts.append(text_element(LEFT - 8, y + 17, kind, "named", "end"))
        parts += [shape("rect", kind, f"{kind}: {text}", x=LEFT, y=y, width=width, height=24)] if yes else []
        parts.append(text_element(LEFT + width + 7, y + 17, text, "named"))
    title = f"Scores of {one_line(name, 80)}, good against bad"
    description = sentences(*(f"{kind} outputs: {text}" for (kind, _, _), text in zip(kinds, words, strict=True)))
    return Figure(
        picture=svg((WIDE, 2 * _ANSWER), title, description, parts),
        heads=("outputs", "yes", "no"),
        rows=tuple((kind, f"{yes:,}", f"{n - yes:,}") for kind, yes, n in kinds),
        notes=tuple(filter(None, notes)),
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
    passes = "" if scores.threshold is None else f"{limit_text(scores.direction, scores.threshold)} passes"
    return sentences(
        f"scores of {count(len(scores.good), 'output')} that are good above the line, of {len(scores.bad):,} that are "
        "bad below it, each with a scale of its own",
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


def _linked(bar: Markup, sides: tuple[float, float, float], href: str, tooltip: str) -> Markup:
    """Make a bar a link; a low bar can be hit anywhere above it."""
    left, right, bottom = sides
    area = shape("rect", "hit", x=left, y=float(TOP), width=right - left, height=bottom - TOP)
    return _link(href, tooltip, area + bar)


def _link(href: str, tooltip: str, drawn: Markup) -> Markup:
    return Markup('<a href="{}" aria-label="{}"><title>{}</title>{}</a>').format(href, tooltip, tooltip, drawn)


def _limit(across: Axis, limit: float | None, direction: Direction, ends: tuple[float, float]) -> list[Markup]:
    if limit is None or not across.low <= limit <= across.high:
        return []
    x = across.at(limit)
    label = limit_text(direction, limit)
    half = text_width(label) / 2
    at = min(WIDE - half, max(across.start + half, x))  # beside the numbers of the other axis
    line = (x, ends[0]), (x, ends[1])
    return [path("cut-edge", *line), path("cut", *line), text_element(at, ends[0] - 4, label, "named", "middle")]


def _edges(step: int, scores: SplitScores) -> tuple[float, float]:
    start = scores.threshold or 0.0
    low, high = (min(1.0, max(0.0, start + BIN_WIDTH * edge)) for edge in (step, step + 1))
    return low, high


def _step(step: int, scores: SplitScores) -> str:
    low, high = _edges(step, scores)
    return f"{low:z.3g} {DASH} {high:z.3g}"
