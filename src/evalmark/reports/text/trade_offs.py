"""Text of quality against cost and latency: a row for each target, and what the table rests on."""

from collections.abc import Iterator
from typing import NamedTuple

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.stats.comparison.trade_offs import TradeOff, TradeOffs

from .numbers import GAP, duration, interval_text, number_text, percent, share_interval

HEADS = ("target", "quality", "interval", "cost", "latency", "")
"""Headings of the columns; the cost is of one output, the latency the median time of one."""


class TradeOffRow(NamedTuple):
    """The cells of a row."""

    name: str
    quality: str
    interval: str
    cost: str
    latency: str
    standing: str


def trade_off_title(found: TradeOffs) -> str:
    """Name the table and its measure of quality."""
    return f"quality against cost and latency: {one_line(found.metric, 60) or 'pass rate'}"


def trade_off_rows(found: TradeOffs) -> list[TradeOffRow]:
    """Format each target."""
    return [
        TradeOffRow(
            name=one_line(row.name, 60),
            quality=number_text(row.quality) if found.metric and row.quality is not None else percent(row.quality),
            interval=interval_text(row.interval) if found.metric else share_interval(row.interval),
            cost=GAP if row.cost.cost is None else money(row.cost.cost),
            latency=duration(row.seconds),
            standing=_standing(row),
        )
        for row in found.rows
    ]


def _standing(row: TradeOff) -> str:
    others = ", ".join(one_line(name, 60) for name in row.others)
    words = {"frontier": "on the frontier", "dominated": "dominated by", "not told apart": "not told apart from"}
    return f"{words[row.standing]} {others}".rstrip()


def trade_off_remarks(found: TradeOffs) -> Iterator[str]:
    """Yield what the table means, and what is unknown."""
    pairs = f"{count(found.tests, 'comparison')} of pairs" if found.tests else "comparisons of pairs"
    yield (
        f"Dominated: another one is better at {100 * found.level:g} %, adjusted over {pairs} (Holm), and neither costs more "
        "nor takes longer. Not told apart: another one neither costs more nor takes longer, and is not shown to be worse."
    )
    if found.unknown:
        are = "is" if len(found.unknown) == 1 else "are"
        yield f"{' and '.join(found.unknown).capitalize()} {are} unknown for all, and not compared."
    if "cost" not in found.unknown and (rows := [row for row in found.rows if row.cost.cost is None]):
        names = ", ".join(one_line(row.name, 60) for row in rows)
        yield f"The cost of {names} is unknown: no call of it is recorded with a price. Unknown is never called lower."
    for row in found.rows:
        if row.cost.cost is not None and row.cost.unpriced:
            yield f"{one_line(row.name, 60)}: price unknown for {count(row.cost.unpriced, 'output')}, left out of its cost."
