"""Text of the table of quality against cost and latency, and of the remarks below it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evalmark.core.money import money
from evalmark.core.text import count, distinct_from, one_line
from evalmark.stats.comparison.trade_offs import TradeOff, TradeOffs
from evalmark.stats.inference.differences import Difference

from .comparison import signed_points
from .numbers import GAP, duration, interval_text, mean_number, range_text, rate, share_interval, with_minus

HEADS = ("target", "quality", "interval", "cost", "latency", "standing")
"""Headings of the columns. The cost is the mean of an output, the latency the median time of one."""


class TradeOffRow(NamedTuple):
    """The cells of a row."""

    name: str
    quality: str
    interval: str
    cost: str
    latency: str
    standing: str


def trade_off_title(trade_offs: TradeOffs) -> str:
    """Return the title of the table, which names the measure of quality."""
    return f"quality against cost and latency: {quality_name(trade_offs) or 'pass rate'}"


def quality_name(trade_offs: TradeOffs) -> str:
    """Return the metric that is the quality, with `↓` if lower is better; empty for the pass rate."""
    return one_line(trade_offs.metric, 60) + (" ↓" if trade_offs.direction == "lower" else "")


def trade_off_rows(
    trade_offs: TradeOffs, called: Mapping[str, str] | None = None, most: int | None = None
) -> list[TradeOffRow]:
    """Format a row for each target; `called` are shorter names, and more than `most` other targets are counted."""
    called = called or {}
    return [
        TradeOffRow(
            name=_name(row.name, called),
            quality=mean_number(row.quality) if trade_offs.metric and row.quality is not None else rate(row.quality),
            interval=interval_text(row.interval) if trade_offs.metric else share_interval(row.interval),
            cost=GAP if row.cost.cost is None else money(row.cost.cost),
            latency=duration(row.seconds),
            standing=_standing(row, called, most),
        )
        for row in trade_offs.rows
    ]


def _name(name: str, called: Mapping[str, str]) -> str:
    return one_line(called.get(name, name), 60)


def _standing(row: TradeOff, called: Mapping[str, str], most: int | None) -> str:
    others = ", ".join(_name(name, called) for name in row.others)
    if most is not None and len(row.others) > most:
        others = f"{len(row.others):,} others"
    words = {"frontier": "on the frontier", "dominated": "dominated by", "not told apart": "not told apart from"}
    return f"{words[row.standing]} {others}".rstrip()


def column_difference(difference: Difference, trade_offs: TradeOffs) -> str:
    """Return the difference of the means of a target and another one in points or units, with its interval."""
    if difference.value is None:
        return "no case was scored in both"
    if difference.is_identical:
        return f"all outputs and scores are identical on {count(difference.n, 'case')}"
    value, interval = difference_parts(difference, trade_offs)
    unit = "" if trade_offs.metric else " points"
    return f"{value}{unit}{f' ({interval})' if interval else ''} on {count(difference.n, 'case')}"


def difference_parts(difference: Difference, trade_offs: TradeOffs) -> tuple[str, str]:
    """Return the difference of the means of a target and another one, and its interval, which is empty if unknown.

    Both are in points for the pass rate, otherwise in units of the metric.
    """
    # A difference is positive where the target is better, its means are in their own direction.
    means = difference.swapped if trade_offs.direction == "lower" else difference
    value, limits = means.value or 0.0, (0.0, means.margin, -means.margin)
    if trade_offs.metric:
        ends = [with_minus(distinct_from(end, limits, _signed, 3)) for end in means.interval.ends or ()]
        return with_minus(_signed(value, 3)), range_text(*ends) if ends else ""
    ends = [signed_points(end, limits) for end in means.interval.ends or ()]
    return signed_points(value), range_text(*ends) if ends else ""


def _signed(number: float, digits: int) -> str:
    return f"{number:+z.{digits}g}"


def column_remarks(trade_offs: TradeOffs) -> Iterator[str]:
    """Yield what the verdicts above the columns of a grid mean."""
    if not trade_offs.tests:
        yield "No two columns differ in a case that both have, so there is nothing to test."
        return
    tests = count(trade_offs.tests, "pair")
    of = f"the mean of {quality_name(trade_offs)}" if trade_offs.metric else "the pass rate"
    yield (
        f"Better and worse are of {of}, tested case by case against the first column, with p adjusted over {tests} of "
        f"columns, at the {100 * trade_offs.level:g} % level. Intervals are of each pair alone."
    )
    if trade_offs.unknown:
        are = "is" if len(trade_offs.unknown) == 1 else "are"
        yield f"{' and '.join(trade_offs.unknown).capitalize()} {are} unknown for all columns."


def trade_off_remarks(trade_offs: TradeOffs, called: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield what the standings mean, and which costs and times are unknown; `called` are shorter names."""
    called = called or {}
    pairs = f"{count(trade_offs.tests, 'comparison')} of pairs" if trade_offs.tests else "comparisons of pairs"
    yield (
        f"Dominated: another target is better at the {100 * trade_offs.level:g} % level, adjusted over {pairs}, and neither "
        "costs more nor takes longer. Not told apart: another target neither costs more nor takes longer, and is not shown to "
        "be worse."
    )
    if trade_offs.unknown:
        are = "is" if len(trade_offs.unknown) == 1 else "are"
        yield f"{' and '.join(trade_offs.unknown).capitalize()} {are} unknown for all, and not compared."
    if "cost" not in trade_offs.unknown and (rows := [row for row in trade_offs.rows if row.cost.cost is None]):
        names = ", ".join(_name(row.name, called) for row in rows)
        yield f"No call of {names} has a known price: an unknown cost neither dominates nor is dominated."
    for row in trade_offs.rows:
        if row.cost.cost is not None and row.cost.unpriced:
            yield f"{_name(row.name, called)}: price unknown for {count(row.cost.unpriced, 'output')}, left out of its cost."
