"""A page on learned thresholds: how far the scores of good and bad outputs lie apart, drawn as SVG."""

from collections.abc import Iterator, Sequence

from evalmark import wording
from evalmark.calibration import Calibrated, Calibration
from evalmark.reliability import RocPoint, roc_points
from evalmark.wording import one_line

from .head import page_head
from .html_parts import escaped, said

WIDE, HIGH = 480, 120
"""Of the histogram, in pixels; each of its halves is half as high."""
SQUARE = 200
"""Of the ROC curve."""


def separation_page(found: Calibration) -> Iterator[str]:
    """A page that opens from disk, with no script and nothing remote: a picture and the figures of every metric."""
    yield page_head(f"thresholds from {found.kind} {found.name}", "separation.css")
    word = "promised" if found.is_kept else "not promised"
    kind = "pass" if found.is_kept else "unscored"
    yield f"<header><h1>Learned thresholds</h1><strong class={kind}>{word}</strong></header>\n"
    yield f"<p>{escaped(wording.calibration_title(found))}</p>\n"
    if left := wording.labels_beside(found.evidence):
        yield f"<p class=quiet>also: {escaped(', '.join(left))}</p>\n"
    for one in found.metrics:
        yield f"<h2>{escaped(one_line(one.metric.name, 60))}: {escaped(wording.threshold_of(one))}</h2>\n"
        yield f"<div class=wide>{_histogram(one)} {_curve(one)}</div>\n"
        yield said(wording.promise_lines(one))
    yield "</main>\n</html>\n"


def _histogram(one: Calibrated) -> str:
    """Liked outputs upwards, disliked ones downwards, from 0 at the left to 1 at the right; a line at the threshold.

    Each half has a scale of its own: what counts is where they lie, and one label is often much rarer than the other.
    """
    liked, disliked = wording.bars_around(one.liked, one), wording.bars_around(one.disliked, one)
    if not liked and not disliked:
        return ""
    start, middle = one.learned.threshold or 0.0, HIGH / 2
    parts = []
    for counts, is_liked in ((liked, True), (disliked, False)):
        for step, n in sorted(counts.items()):
            left, right = (min(1.0, max(0.0, start + wording.STEP * place)) for place in (step, step + 1))
            height = max(1.5, (middle - 14) * n / max(counts.values()))
            y = middle - height if is_liked else middle
            kind = "good" if is_liked else "bad"
            parts.append(
                f'<rect class={kind} x="{_x(left):.1f}" y="{y:.1f}" width="{max(1.0, _x(right) - _x(left) - 1):.1f}" '
                f'height="{height:.1f}"><title>{n:,} {"liked" if is_liked else "disliked"}</title></rect>'
            )
    parts.append(f'<path class=axis d="M{_x(0):.1f} {middle}H{_x(1):.1f}"/>')
    parts += [
        f'<text x="{_x(0):.0f}" y="11">liked ({len(one.liked):,})</text>',
        f'<text x="{_x(0):.0f}" y="{HIGH - 3}">disliked ({len(one.disliked):,})</text>',
    ]
    if one.learned.threshold is not None:
        at = _x(one.learned.threshold)
        parts.append(f'<path class=cut d="M{at:.1f} 14V{HIGH - 14}"/>')
        parts.append(f'<text x="{at:.1f}" y="11" text-anchor="middle">{escaped(wording.threshold_of(one))}</text>')
    alt = f"Scores of liked outputs above the line, of disliked ones below it; {wording.threshold_of(one)} passes"
    return _svg(WIDE + 20, HIGH, alt, parts)


def _curve(one: Calibrated) -> str:
    """The ROC curve: the share of bad outputs that pass to the right, of good ones upwards; a ring at the threshold."""
    if not one.liked or not one.disliked:
        return ""
    sign = -1 if one.learned.direction == "lower" else 1
    scores, labels = [*one.liked, *one.disliked], [True] * len(one.liked) + [False] * len(one.disliked)
    points = roc_points(scores, labels, one.learned.direction)
    path = "L".join(_at(point) for point in _thinned(points))
    parts = [
        f'<path class=axis d="M10 10V{SQUARE - 10}H{SQUARE - 10}M10 {SQUARE - 10}L{SQUARE - 10} 10"/>',
        f'<path class=line d="M{path}"/>',
        f'<text x="{SQUARE // 2}" y="{SQUARE - 1}" text-anchor="middle">bad that pass</text>',
        '<text x="14" y="9">good that pass</text>',
    ]
    if (cut := one.learned.threshold) is not None:
        last = [point for point in points if sign * point.threshold >= sign * cut][-1:]
        parts += [f'<circle class=ring cx="{x}" cy="{y}" r="5"/>' for x, y in (_at(point).split() for point in last)]
    return _svg(SQUARE, SQUARE, "ROC curve; the ring is the threshold", parts)


def _thinned(points: Sequence[RocPoint]) -> Sequence[RocPoint]:
    """As many points as can be seen."""
    every = max(1, len(points) // 500)
    return [*points[::every], points[-1]]


def _at(point: RocPoint) -> str:
    room = SQUARE - 20
    x, y = point.bad_passed / point.bad, point.good_passed / point.good
    return f"{10 + room * x:.1f} {SQUARE - 10 - room * y:.1f}"


def _x(value: float) -> float:
    return 10 + WIDE * value


def _svg(width: int, height: int, alt: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg class=picture {size} role="img"><title>{escaped(alt)}</title>{"".join(parts)}</svg>'
