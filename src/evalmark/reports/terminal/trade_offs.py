"""Terminal table of quality against cost and latency."""

from rich.console import RenderableType
from rich.text import Text

from evalmark.core.text import without_shared_words
from evalmark.reports.text.trade_offs import HEADS, trade_off_remarks, trade_off_rows, trade_off_title
from evalmark.stats.comparison.trade_offs import TradeOffs

from .console import DEFAULT, TerminalStyle, column_gap, data_table, render

_STYLES = {"frontier": "green", "dominated": "red", "not told apart": "yellow"}
_NAMED = 2
"""More targets than this are counted where they are better, or not told apart."""
_NARROW = 100
"""Below this width the interval stands under the quality."""
_NARROWER = 80
"""Below this width the standing is printed under the name."""


def trade_offs_screen(trade_offs: TradeOffs, style: TerminalStyle = DEFAULT) -> str:
    """Show a row for each target: quality with its interval, cost of an output, median time, and its standing."""
    parts: list[RenderableType] = [Text(trade_off_title(trade_offs), style="bold"), Text("")]
    has_interval_column, has_standing_column = style.width >= _NARROW, style.width >= _NARROWER
    table = data_table(column_gap(style))
    for head in HEADS:
        if (head == "interval" and not has_interval_column) or (head == "standing" and not has_standing_column):
            continue
        is_text = head in ("target", "standing")
        table.add_column(head, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    called = dict(zip(names := [row.name for row in trade_offs.rows], without_shared_words(names), strict=True))
    for row, cells in zip(trade_offs.rows, trade_off_rows(trade_offs, called, most=_NAMED), strict=True):
        quality = Text(cells.quality, style="bold")
        if not has_interval_column:
            quality.append("\n").append(cells.interval, style="not bold dim")
        standing = Text(cells.standing, style=_STYLES[row.standing])
        table.add_row(
            Text(cells.name) if has_standing_column else Text(f"{cells.name}\n").append_text(standing),
            quality,
            *([Text(cells.interval)] if has_interval_column else []),
            Text(cells.cost),
            Text(cells.latency),
            *([standing] if has_standing_column else []),
        )
    parts += [table, Text("")]
    parts += [Text(remark, style="dim") for remark in trade_off_remarks(trade_offs)]
    return render(parts, style)
