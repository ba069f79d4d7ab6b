"""Terminal text of learned thresholds, with histograms of good and bad outputs."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.reports.text.calibration import (
    bin_counts,
    bin_edge,
    calibration_title,
    guarantee_lines,
    shown_bins,
    threshold_text,
    unused_labels,
)
from evalmark.stats.calibration.threshold_calibration import CalibratedMetric, Calibration

from .console import COLORS, DEFAULT, MARKS, FieldList, TerminalStyle, content_width, indented, render, title_line

GOOD, BAD = "█", "▄"
"""Characters of bars of liked and disliked outputs."""
_MIDDLE = 8
"""Width of the score column between the bars."""


def calibration_screen(calibration: Calibration, style: TerminalStyle = DEFAULT) -> str:
    """Show each metric with its guarantee, numbers and histogram, and the unused labels."""
    parts: list[RenderableType] = [Text(calibration_title(calibration), style="bold")]
    if left := unused_labels(calibration.evidence):
        parts.append(Text(f"also: {', '.join(left)}", style="dim"))
    if len(calibration.metrics) > 1:
        parts.append(
            Text(
                f"{len(calibration.metrics)} metrics share the guarantee, each at level {calibration.level_each:z.4g} "
                f"instead of {calibration.limit.level:g}",
                style="dim",
            )
        )
    for one in calibration.metrics:
        parts += [Text(""), _header(one), Text(""), *_picture(one, style)]
        parts.append(indented(FieldList(guarantee_lines(one, calibration))))
    return render(parts, style)


def _header(one: CalibratedMetric) -> RenderableType:
    verdict = "pass" if one.learned.threshold is not None else "cannot tell"
    judge = f" · judged by {one_line(one.metric.judge, 60)}" if one.metric.judge else ""
    outcome = f"{MARKS[verdict]} {'guaranteed' if verdict == 'pass' else 'not guaranteed'}"
    name = Text.assemble((one_line(one.metric.name, 60), "bold"), f" · {threshold_text(one)}{judge}")
    return title_line(name, Text(outcome, style=f"bold {COLORS[verdict]}"))


def _picture(one: CalibratedMetric, style: TerminalStyle) -> Iterable[RenderableType]:
    """Draw two histograms back to back, disliked at the left, with the threshold between two bins."""
    bounds = one.learned.threshold, one.learned.direction
    liked, disliked = bin_counts(one.liked, *bounds), bin_counts(one.disliked, *bounds)
    steps = shown_bins(one)
    if not steps:
        return
    side = min(30, (content_width(style) - _MIDDLE) // 2 - 8)
    # Each side has its own scale, since one label is often much rarer than the other.
    tops = max(disliked.values(), default=1), max(liked.values(), default=1)
    yield Text(f"{'bad':>{side + 6}}  {'score':^{_MIDDLE - 4}}  good", style="dim")
    last = None
    for step in steps:
        passes = (step < 0) if one.learned.direction == "lower" else (step >= 0)
        if last is True and not passes and one.learned.threshold is not None:
            yield _line(one, side)
        last = passes
        yield _row(bin_edge(step, one), (disliked.get(step, 0), liked.get(step, 0)), tops, side)
    yield Text("")


def _row(edge: str, counts: tuple[int, int], tops: tuple[int, int], side: int) -> Text:
    bad, good = counts
    left, right = BAD * _length(bad, tops[0], side), GOOD * _length(good, tops[1], side)
    left = f"{bad:,} {left}" if bad else ""
    text = Text(f"{left:>{side + 6}}", style=COLORS["fail"])
    text.append(f"  {edge:^{_MIDDLE - 4}}  ", style="default")
    return text.append(f"{right} {good:,}" if good else "", style=COLORS["pass"])


def _line(one: CalibratedMetric, side: int) -> Text:
    label = f" {threshold_text(one)} passes "
    return Text(f"{'-' * (side + 6)}{label}{'-' * max(3, side + 6 + _MIDDLE - len(label))}", style="bold")


def _length(n: int, top: int, side: int) -> int:
    return max(1, round(n * side / top)) if n else 0
