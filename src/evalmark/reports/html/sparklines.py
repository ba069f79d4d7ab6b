"""Small inline SVG charts, shown beside the same numbers as text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from evalmark.reports.text.numbers import percent
from evalmark.stats.comparison.change import MetricChange
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.summary.summary import MetricSummary

_WIDTH, _HEIGHT, _EDGE = 144, 16, 4
_LASTING = 96
_SCORE = 64
"""The width of the bar of a score."""
_BINS_WIDTH = 110


def draw_interval(
    value: float | None, interval: Interval, limit: float | None = None, of_cases: float | None = None
) -> Markup:
    """Draw a value from 0 to 1 with its interval; empty without a value.

    `limit` is what the gate requires of the value; `of_cases`, drawn lightly, what is required of each case.
    """
    if value is None or not 0 <= value <= 1:
        return Markup()
    parts = [f'<path class="axis" d="M{_EDGE} 8H{_EDGE + _WIDTH}"/>']
    if interval.low is not None and interval.high is not None:
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        width = max(1.0, _WIDTH * (high - low))
        parts.append(f'<rect class="band" x="{_x(low):.1f}" y="3" width="{width:.1f}" height="10" rx="2"/>')
    if of_cases is not None and 0 <= of_cases <= 1:
        parts.append(f'<path class="limit of-cases" d="M{_x(of_cases):.1f} 3V13"/>')
    if limit is not None and 0 <= limit <= 1:
        parts.append(f'<path class="limit" d="M{_x(limit):.1f} 0V16"/>')
    parts.append(f'<circle class="dot" cx="{_x(value):.1f}" cy="8" r="2.5"/>')
    return _svg(_WIDTH + 2 * _EDGE, _HEIGHT, parts)


def draw_score(value: float | None, limit: float | None) -> Markup:
    """Draw a score from 0 to 1 as a bar with its threshold; empty without a value."""
    if value is None or not 0 <= value <= 1:
        return Markup()
    parts = [
        f'<rect class="track" x="0" y="3" width="{_SCORE}" height="6" rx="2"/>',
        *(
            [f'<rect class="bar" x="0" y="3" width="{max(1.5, _SCORE * value):.1f}" height="6" rx="2"/>']
            if value
            else []
        ),
    ]
    if limit is not None and 0 <= limit <= 1:
        parts.append(f'<path class="limit" d="M{min(_SCORE - 0.75, max(0.75, _SCORE * limit)):.1f} 0V12"/>')
    return _svg(_SCORE, 12, parts)


def draw_bins(metric: MetricSummary) -> Markup:
    """Draw a small histogram, of a metric of yes and no with two bars; empty without scores."""
    bins = [n for _, n in bin_rows(metric)]
    top = max(bins, default=0)
    if not top:
        return Markup()
    step = min(28, _BINS_WIDTH // len(bins))
    bars = [
        f'<rect class="bar" x="{step * index}" y="{22 - height:.1f}" width="{step - 2}" height="{height:.1f}" rx="1"/>'
        for index, n in enumerate(bins)
        if (height := max(1.5, 21 * n / top) if n else 0)
    ]
    return _svg(_BINS_WIDTH, 24, [f'<path class="axis" d="M0 22.5H{step * len(bins) - 2}"/>', *bars])


def bin_rows(metric: MetricSummary) -> list[tuple[str, int]]:
    """Rows of the histogram's table: bin and count, or no and yes."""
    if metric.truths and metric.bins:
        return [("no", metric.bins[0]), ("yes", metric.bins[-1])]
    steps = len(metric.bins)
    width = (metric.high - metric.low) / steps if steps else 0.0
    edges = [f"{metric.low + width * index:.3g}" for index in range(steps + 1)]
    return [(f"{edges[index]} \u2013 {edges[index + 1]}", n) for index, n in enumerate(metric.bins)]


def draw_rates(newest_first: Sequence[Share]) -> Markup:
    """Draw the pass rates of a suite's runs as a small line, the oldest at the left; empty for fewer than two.

    The rates stand between 0 and 1 on the scale. Runs without a rate are left out.
    """
    rates = [share.value for share in reversed(newest_first) if share.value is not None]
    if len(rates) < 2:
        return Markup()
    step = max(6, 24 // (len(rates) - 1))
    points = [(2 + step * number, 14 - 12 * rate) for number, rate in enumerate(rates)]
    line = "L".join(f"{x} {y:.1f}" for x, y in points)
    x, y = points[-1]
    drawn = _svg(
        x + 2,
        16,
        [f'<path class="rates" d="M{line}"/>', f'<circle class="dot" cx="{x}" cy="{y:.1f}" r="2"/>'],
    )
    words = Markup('<span class="visually-hidden"> over {} runs from {}</span>')
    return drawn + words.format(len(rates), percent(rates[0]))


def draw_time_span(begin: float, end: float) -> Markup:
    """Draw a time span within a whole, both ends from 0 to 1."""
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


def draw_stack(parts: Sequence[tuple[str, int]], outcome: str = "", needed: float | None = None) -> Markup:
    """Draw a stacked bar of how trials ended.

    Args:
        parts: how trials ended, and how many.
        outcome: the outcome of the gate, which gives passed trials their colour; empty without a gate.
        needed: the share of judged trials that the gate requires to pass, for a mark; None without one.
    """
    total = sum(n for _, n in parts)
    if not total:
        return Markup()
    bars, at = [], 0.0
    for kind, n in parts:
        width = 600 * n / total
        if n and kind in ("pass", "fail", "error", "unscored", "ungated"):
            bars.append(f'<rect class="part {kind}" x="{at:.2f}" y="0" width="{max(1.5, width - 1):.2f}" height="8"/>')
        at += width
    if needed is not None:
        judged = sum(n for kind, n in parts if kind in ("pass", "fail"))
        bars.append(f'<path class="limit" d="M{600 * needed * judged / total:.2f} -4V12"/>')
    kind = {"": "", "pass": " gate-pass", "fail": " gate-fail"}.get(outcome, " gate-unknown")
    return Markup(
        '<svg class="stack{}" viewBox="0 0 600 8" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(
        kind,
        Markup("".join(bars)),  # noqa: S704  trusted text
    )


def _x(share: float) -> float:
    return _EDGE + _WIDTH * share


def _svg(width: int, height: int, parts: Sequence[str]) -> Markup:
    return Markup('<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">{2}</svg>').format(
        width,
        height,
        Markup("".join(parts)),  # noqa: S704  trusted text
    )


def difference_extent(changes: Iterable[MetricChange]) -> float:
    """Return where the shared scale of the differences of a table ends; 0 if there is nothing to draw."""
    drawn = (change.difference for change in changes if not change.unit and change.difference.value is not None)
    return max(
        (abs(end) for one in drawn for end in (one.value, one.interval.low, one.interval.high) if end), default=0
    )


def draw_difference(change: MetricChange, extent: float) -> Markup:
    """Draw a difference with its interval, better to the right, and its margin as two lines; empty in another unit than 0 to 1.

    Args:
        change: The metric.
        extent: Where the scale ends at both sides, see `difference_extent`.
    """
    difference = change.difference
    if change.unit or difference.value is None or not extent:
        return Markup()

    def x(number: float) -> float:
        return _EDGE + _WIDTH / 2 * (1 + min(max(number / extent, -1), 1))

    parts = [f'<path class="axis" d="M{_EDGE} 8H{_EDGE + _WIDTH}"/>']
    low, high = difference.interval.low, difference.interval.high
    if low is not None and high is not None:
        width = max(1.0, x(high) - x(low))
        parts.append(f'<rect class="band" x="{x(low):.1f}" y="3" width="{width:.1f}" height="10" rx="2"/>')
    parts.append(f'<path class="axis" d="M{x(0):.1f} 1V15"/>')
    if 0 < difference.margin < extent:
        ticks = "".join(f"M{x(end):.1f} 3V13" for end in (-difference.margin, difference.margin))
        parts.append(f'<path class="limit of-cases" d="{ticks}"/>')
    parts.append(f'<circle class="dot" cx="{x(difference.value):.1f}" cy="8" r="2.5"/>')
    return _svg(_WIDTH + 2 * _EDGE, _HEIGHT, parts)


_CASES_WIDTH, _CASES_HEIGHT, _MEAN_WIDTH = 288, 72, 24
"""Width of the cases, height, and width of the mean at the right."""


def draw_differences(change: MetricChange) -> Markup:
    """Draw each case's change as a bar, worst to best, and the mean with its interval.

    Both share a scale that ends at the largest difference; empty without cases.
    """
    difference = change.difference
    if not change.ordered or difference.value is None:
        return Markup()
    low, high = difference.interval.low, difference.interval.high
    ends = [difference.value] + ([low, high] if low is not None and high is not None else [])
    top = max(map(abs, [*change.ordered, *ends])) or 1.0

    def y(number: float) -> str:
        return f"{_CASES_HEIGHT / 2 - (_CASES_HEIGHT / 2 - 2) * number / top:.1f}"

    step, at = _CASES_WIDTH / len(change.ordered), _CASES_WIDTH + _MEAN_WIDTH / 2 + 4
    parts = [
        *_bars(change.ordered, step, top),
        f'<path class="axis" d="M0 {_CASES_HEIGHT / 2}H{_CASES_WIDTH + _MEAN_WIDTH + 4}"/>',
    ]
    if low is not None and high is not None:
        parts.append(f'<path class="reach" d="M{at} {y(low)}V{y(high)}m-4 0h8M{at - 4} {y(low)}h8"/>')
    parts.append(f'<circle class="dot" cx="{at}" cy="{y(difference.value)}" r="3"/>')
    return Markup('<svg class="differences" viewBox="0 0 {0} {1}" aria-hidden="true">{2}</svg>').format(
        _CASES_WIDTH + _MEAN_WIDTH + 4,
        _CASES_HEIGHT,
        Markup("".join(parts)),  # noqa: S704  trusted text
    )


def _bars(ordered: Sequence[float], step: float, top: float) -> Iterator[str]:
    """Draw cases of the same difference as one bar."""
    start, half = 0, _CASES_HEIGHT / 2
    for value, same in groupby(ordered):
        n = len(list(same))
        height = max(1.0, (half - 2) * abs(value) / top) if value else 0.0
        if height:
            kind, y = ("gain", half - height) if value > 0 else ("loss", half)
            gap = 1.0 if step >= 6 else 0.0
            yield (
                f'<rect class="{kind}" x="{start * step:.2f}" y="{y:.1f}" '
                f'width="{max(1.0, n * step - gap):.2f}" height="{height:.1f}"/>'
            )
        start += n
