"""How single cases changed, as a picture; the table beside it has the same in words."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from evalmark.stats.comparison.change import MetricChange

_WIDTH, _HEIGHT, _MEAN = 288, 72, 24
"""Of the cases, of the whole, and of the mean with its interval on the right."""


def differences_picture(change: MetricChange) -> Markup:
    """Every case as a bar from the worst to the best, down where it became worse, beside the mean with its interval.

    Both are drawn to one scale, whose ends are the largest difference; nothing without a case.
    """
    found = change.difference
    if not change.ordered or found.value is None:
        return Markup()
    low, high = found.interval.low, found.interval.high
    ends = [found.value] + ([low, high] if low is not None and high is not None else [])
    top = max(map(abs, [*change.ordered, *ends])) or 1.0

    def y(number: float) -> str:
        return f"{_HEIGHT / 2 - (_HEIGHT / 2 - 2) * number / top:.1f}"

    step, at = _WIDTH / len(change.ordered), _WIDTH + _MEAN / 2 + 4
    parts = [
        *_bars(change.ordered, step, top),
        f'<path class="axis" d="M0 {_HEIGHT / 2}H{_WIDTH + _MEAN + 4}"/>',
    ]
    if low is not None and high is not None:
        parts.append(f'<path class="reach" d="M{at} {y(low)}V{y(high)}m-4 0h8M{at - 4} {y(low)}h8"/>')
    parts.append(f'<circle class="dot" cx="{at}" cy="{y(found.value)}" r="3"/>')
    return Markup('<svg class="differences" viewBox="0 0 {0} {1}" aria-hidden="true">{2}</svg>').format(
        _WIDTH + _MEAN + 4,
        _HEIGHT,
        Markup("".join(parts)),  # noqa: S704  numbers and words of ours
    )


def _bars(ordered: Sequence[float], step: float, top: float) -> Iterator[str]:
    """Cases of the same difference as one bar; none where nothing changed."""
    place, half = 0, _HEIGHT / 2
    for value, same in groupby(ordered):
        n = len(list(same))
        height = max(1.0, (half - 2) * abs(value) / top) if value else 0.0
        if height:
            kind, y = ("gain", half - height) if value > 0 else ("loss", half)
            gap = 1.0 if step >= 6 else 0.0
            yield (
                f'<rect class="{kind}" x="{place * step:.2f}" y="{y:.1f}" '
                f'width="{max(1.0, n * step - gap):.2f}" height="{height:.1f}"/>'
            )
        place += n
