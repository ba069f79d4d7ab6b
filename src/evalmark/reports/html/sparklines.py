"""Small pictures as SVG, made of numbers alone; what they show stands beside them as text."""

from collections.abc import Sequence

from markupsafe import Markup

from evalmark.stats.inference.intervals import Interval
from evalmark.stats.summary.summary import MetricSummary

_WIDTH, _HEIGHT, _EDGE = 144, 16, 4
_LASTING = 96


def interval_picture(value: float | None, interval: Interval, limit: float | None = None) -> Markup:
    """A value on a line from 0 to 1, its interval as a band, and the threshold as a tick; nothing without a value."""
    if value is None or not 0 <= value <= 1:
        return Markup()
    parts = [f'<path class="axis" d="M{_EDGE} 8H{_EDGE + _WIDTH}"/>']
    if interval.low is not None and interval.high is not None:
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        width = max(1.0, _WIDTH * (high - low))
        parts.append(f'<rect class="band" x="{_x(low):.1f}" y="3" width="{width:.1f}" height="10" rx="2"/>')
    if limit is not None and 0 <= limit <= 1:
        parts.append(f'<path class="limit" d="M{_x(limit):.1f} 1V15"/>')
    parts.append(f'<circle class="dot" cx="{_x(value):.1f}" cy="8" r="2.5"/>')
    return _svg(_WIDTH + 2 * _EDGE, _HEIGHT, parts)


def spread_picture(bins: Sequence[int]) -> Markup:
    """How scores spread over ten equal steps, a bar a step; nothing without scores."""
    top = max(bins, default=0)
    if not top:
        return Markup()
    bars = [
        f'<rect class="bar" x="{11 * index}" y="{22 - height:.1f}" width="9" height="{height:.1f}" rx="1"/>'
        for index, n in enumerate(bins)
        if (height := max(1.5, 21 * n / top) if n else 0)
    ]
    return _svg(11 * len(bins), 24, [f'<path class="axis" d="M0 22.5H{11 * len(bins) - 2}"/>', *bars])


def spread_in_words(metric: MetricSummary) -> list[tuple[str, int]]:
    """The table beside the picture: from where to where, and how many scores."""
    steps = len(metric.bins)
    width = (metric.high - metric.low) / steps if steps else 0.0
    edges = [f"{metric.low + width * index:.3g}" for index in range(steps + 1)]
    return [(f"{edges[index]} \u2013 {edges[index + 1]}", n) for index, n in enumerate(metric.bins)]


def lasting_picture(begin: float, end: float) -> Markup:
    """From where to where in a time something went on, both from 0 to 1: a bar on a line."""
    width = max(1.5, _LASTING * (end - begin))
    x = min(_LASTING * begin, _LASTING - width)
    return _svg(
        _LASTING,
        8,
        [
            f'<path class="axis" d="M0 4H{_LASTING}"/>',
            f'<rect class="bar" x="{x:.1f}" y="1" width="{width:.1f}" height="6" rx="1"/>',
        ],
    )


def stacked_picture(parts: Sequence[tuple[str, int]]) -> Markup:
    """How trials ended, as one bar: each part by its kind, in the order given."""
    total = sum(n for _, n in parts)
    if not total:
        return Markup()
    drawn, at = [], 0.0
    for kind, n in parts:
        width = 600 * n / total
        if n and kind in ("pass", "fail", "error", "unscored", "ungated"):
            drawn.append(f'<rect class="part {kind}" x="{at:.2f}" y="0" width="{max(1.5, width - 1):.2f}" height="8"/>')
        at += width
    return Markup(
        '<svg class="stack" viewBox="0 0 600 8" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(
        Markup("".join(drawn))  # noqa: S704  numbers and words of ours
    )


def _x(share: float) -> float:
    return _EDGE + _WIDTH * share


def _svg(width: int, height: int, parts: Sequence[str]) -> Markup:
    return Markup('<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">{2}</svg>').format(
        width,
        height,
        Markup("".join(parts)),  # noqa: S704  numbers and words of ours
    )
