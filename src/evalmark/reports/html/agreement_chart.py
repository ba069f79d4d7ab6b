"""Charts of judges: agreement with people and with each other, and verdicts that change on repetition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from markupsafe import Markup

from evalmark.core.text import one_line
from evalmark.reports.text import titles
from evalmark.reports.text.numbers import (
    GAP,
    interval_ends,
    interval_in_brackets,
    missing_interval_reason,
    rate,
    share_interval,
    with_minus,
)
from evalmark.stats.calibration.labelled_scores import MetricSeparation
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.summary.summary import JudgeAgreement, Summary, SummaryGroup

from .svg import RIGHT, WIDE, Figure, Unit, axis, extent, path, sentences, shape, svg, text_element, x_axis

_ROW, _TOP, _SIDE = 34, 8, 14
_LONGEST = 50
"""Longest name of a row in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """A value with its interval, one row of the chart."""

    name: str
    value: float | None
    """None if undefined."""
    interval: Interval | None
    is_second: bool = False
    """Whether it is drawn as a hollow square instead of a dot."""


def draw_intervals(
    rows: Sequence[IntervalRow], title: str, description: str, *, unit: Unit = "", axis_title: str = ""
) -> Markup:
    """Draw a row for each value with its interval; empty without rows.

    `axis_title` is the axis title. The axis ends at 1, and starts below 0 only if a value does.
    """
    if not rows:
        return Markup()
    numbers = [n for row in rows for n in _numbers(row)]
    across = axis(min(0.0, *numbers, 0.0), max(1.0, *numbers, 1.0), (_SIDE, WIDE - RIGHT), unit=unit)
    bottom = _TOP + _ROW * len(rows) + 6
    parts = [path("grid", (across.at(tick), _TOP), (across.at(tick), bottom)) for tick in across.ticks]
    if across.low < 0:
        parts.append(path("chance", (across.at(0), _TOP), (across.at(0), bottom)))
    for number, row in enumerate(rows):
        y = float(_TOP + _ROW * number)
        parts.append(text_element(_SIDE, y + 10, one_line(row.name, _LONGEST), "named"))
        parts += _row_marks(row, [across.at(n) for n in _numbers(row)], y + 23)
    parts += x_axis(across, bottom, axis_title)
    return svg((WIDE, bottom + (40 if axis_title else 24)), title, description, parts)


def _numbers(row: IntervalRow) -> tuple[float, ...]:
    return () if row.value is None else extent(row.value, row.interval)


def _row_marks(row: IntervalRow, places: Sequence[float], y: float) -> list[Markup]:
    if not places:
        return [text_element(_SIDE, y + 4, "undefined: all verdicts are the same", "word")]
    parts = []
    if len(places) == 3:
        _, low, high = places
        parts.append(path("whisker", (low, y), (high, y)))
        parts += [path("whisker", (end, y - 4), (end, y + 4)) for end in (low, high)]
    x = places[0]
    if row.is_second:
        parts.append(shape("rect", "hollow", x=x - 4, y=y - 4, width=8.0, height=8.0))
    else:
        parts.append(shape("circle", "dot", cx=x, cy=y, r=4.0))
    return parts


PEOPLE = "people"
"""The source of labels, as a part of sentences."""
_HEADS = ("", "agree", "kappa", "95 % interval of kappa", "alpha", "95 % interval of alpha", "outputs")
_CONFUSION = ("good, passed", "good, failed", "bad, passed", "bad, failed")
_GAPS = (GAP,) * len(_CONFUSION)


def draw_agreement(
    separated: Sequence[MetricSeparation], agreements: Sequence[JudgeAgreement], source: str
) -> Figure | None:
    """Draw Cohen's kappa of each metric with `source` (dots) and of pairs of judges (squares); None without any."""
    compared = [*(_of_source(one, source) for one in separated if one.compared.confusion.n), *_of_judges(agreements)]
    if not compared:
        return None
    title = (
        f"Chance-corrected agreement with {source}"
        if any(not w.is_second for w, _ in compared)
        else "Agreement of judges"
    )
    description = sentences(
        *(f"{w.name}: kappa {_number(w.value)}{interval_in_brackets(w.interval)}" for w, _ in compared),
        "1 is perfect agreement, 0 is chance agreement",
    )
    drawn = [whisker for whisker, _ in compared if not whisker.name.startswith("all ")]
    return Figure(
        picture=draw_intervals(drawn, title, description, axis_title="Cohen's kappa"),
        heads=(*_HEADS, *_CONFUSION) if separated else _HEADS,
        rows=tuple(row if separated else row[: len(_HEADS)] for _, row in compared),
        notes=(*_label_note(drawn, source), *_notes(drawn, agreements)),
        about=title,
    )


def _label_note(drawn: Sequence[IntervalRow], source: str) -> tuple[str, ...]:
    """Say that agreement with people is that on labelled outputs."""
    if source != PEOPLE or all(one.is_second for one in drawn):
        return ()
    return ("This is the agreement on labelled outputs; evalmark audit tests whether they represent all outputs.",)


def _notes(drawn: Sequence[IntervalRow], agreements: Sequence[JudgeAgreement]) -> Iterator[str]:
    if any(
        pair.kappa is not None for agreement in agreements if agreement.level != "nominal" for pair in agreement.pairs
    ):
        yield "For judges that give numbers, kappa weights a disagreement by its squared distance; `agree` counts identical numbers."
    for one in drawn:
        if one.value is not None and one.interval is not None and not one.interval.known:
            yield f"{one.name}: no interval, {missing_interval_reason(one.interval)}."


def _of_source(one: MetricSeparation, source: str) -> tuple[IntervalRow, tuple[str, ...]]:
    agreement = one.compared
    table = agreement.confusion
    name = f"{one_line(one.metric.name, 40)} and {source}"
    counts = (table.good_passed, table.good_failed, table.bad_passed, table.bad_failed)
    row = (
        name,
        rate(agreement.agreement.value),
        _number(agreement.kappa),
        _ends(agreement.kappa_interval),
        _number(agreement.alpha),
        _ends(agreement.alpha_interval),
        f"{table.n:,}",
        *(f"{n:,}" for n in counts),
    )
    return IntervalRow(name=name, value=agreement.kappa, interval=agreement.kappa_interval), row


def _of_judges(agreements: Sequence[JudgeAgreement]) -> Iterator[tuple[IntervalRow, tuple[str, ...]]]:
    for agreement in agreements:
        base = one_line(agreement.base, 30)
        for pair in agreement.pairs:
            first, second = (one_line(judge, 30) for judge in pair.judges)
            name = f"{base}: {first} and {second}"
            agree, n = rate(pair.same.value), f"{pair.same.n:,}"
            row = (name, agree, _number(pair.kappa), _ends(pair.interval), GAP, GAP, n, *_GAPS)
            yield IntervalRow(name=name, value=pair.kappa, interval=pair.interval, is_second=True), row
        if len(agreement.judges) > 2:
            name = f"all {len(agreement.judges)} judges of {base}"
            alpha = (_number(agreement.alpha), _ends(agreement.interval))
            row = (name, GAP, GAP, GAP, *alpha, f"{agreement.n:,}", *_GAPS)
            yield IntervalRow(name=name, value=None, interval=None, is_second=True), row


def draw_flips(summary: Summary) -> Figure | None:
    """Draw how often repeated verdicts changed; None without repeats."""
    flips = list(_flips(summary))
    if not flips:
        return None
    title = "Verdicts that changed on repetition"
    rows = tuple(
        (name, f"{one.passed:,} of {one.n:,}", rate(one.value), share_interval(one.interval)) for name, one in flips
    )
    whiskers = [IntervalRow(name=name, value=one.value, interval=one.interval) for name, one in flips]
    description = sentences(*(f"{name}: {counts}, {share} ({interval})" for name, counts, share, interval in rows))
    return Figure(
        picture=draw_intervals(whiskers, title, description, unit="share", axis_title="changed"),
        heads=("", "changed", "share", "95 % interval"),
        rows=rows,
        about=title,
    )


def _flips(summary: Summary) -> Iterator[tuple[str, Share]]:
    names = ["", *summary.metric_names]
    for name, group in product(names, summary.groups):
        if not name:
            if group.flipped is not None:
                yield f"outputs{_target_phrase(group, summary, 'of')}", group.flipped
            continue
        steady = next((metric.steadiness for metric in group.metrics if metric.name == name), None)
        label = one_line(name, 30) + _target_phrase(group, summary, "on")
        if steady is not None and steady.flipped is not None:
            yield label, steady.flipped
        if steady is not None and steady.order_decided is not None:
            yield f"order of the pair, {label}", steady.order_decided


def _target_phrase(group: SummaryGroup, summary: Summary, preposition: str) -> str:
    """Name the target or group if there are several."""
    if len(summary.groups) < 2:
        return ""
    one = len({(other.dataset, other.mode, other.left_out) for other in summary.groups}) == 1
    return f" {preposition} {one_line(group.target, 60) if one else titles.group_title(group, summary)}"


def _number(value: float | None) -> str:
    return GAP if value is None else with_minus(f"{value:z.2f}")


def _ends(interval: Interval | None) -> str:
    return interval_ends(interval) or GAP
