"""Terminal text of recorded calls: totals by model and tool, or a list."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.reports.text.numbers import DASH
from evalmark.storage.call_log.recordings import ModelCallSummary, Recording
from evalmark.storage.call_log.tool_recordings import ToolCallSummary

from .console import DEFAULT, TerminalStyle, column_gap, content_width, data_table, render

_KEY = 12
"""Characters of a call's key in a list."""
_WIDE_TERMINAL = 80
"""Least width of a terminal that shows dates, and how many calls are replayable."""
_WIDEST = 30
"""Greatest width of the other columns."""
_NARROWEST = 8
_NUMBERS = frozenset({"calls", "replayable", "tokens in", "tokens out", "price"})
_NONE = Text("No calls are recorded.")


def recorded_models_screen(
    models: Iterable[ModelCallSummary], style: TerminalStyle = DEFAULT, tools: Iterable[ToolCallSummary] = ()
) -> str:
    """Show totals by model and tool: calls, replayable calls, tokens, price and date."""
    tables = {"model": [_of_model(model, style) for model in models], "tool": [_of_tool(tool, style) for tool in tools]}
    parts = [_table(rows, flexible, style) for flexible, rows in tables.items() if rows]
    return "".join(render([part], style) for part in parts) or render([_NONE], style)


def _of_tool(tool: ToolCallSummary, style: TerminalStyle) -> dict[str, str]:
    cells = {"tool": tool.tool, "version": tool.version or DASH, "calls": f"{tool.calls:,}"}
    return cells | ({"newest": _when(tool.newest)} if style.width >= _WIDE_TERMINAL else {})


def _of_model(model: ModelCallSummary, style: TerminalStyle) -> dict[str, str]:
    price = [] if model.cost is None else [money(model.cost)]
    price += [f"{model.unknown_cost:,} unknown"] if model.unknown_cost else []
    has_tokens = not model.unknown_usage or bool(model.input_tokens + model.output_tokens)
    more = "+" if model.unknown_usage else ""
    cells = {
        "model": model.model,
        "calls": f"{model.calls:,}",
        **({"replayable": f"{model.replayable:,}"} if style.width >= _WIDE_TERMINAL else {}),
        "tokens in": f"{model.input_tokens:,}{more}" if has_tokens else "unknown",
        "tokens out": f"{model.output_tokens:,}{more}" if has_tokens else "unknown",
        "price": ", ".join(price) or DASH,
    }
    return cells | ({"newest": _when(model.newest)} if style.width >= _WIDE_TERMINAL else {})


def recorded_calls_screen(calls: Sequence[Recording], style: TerminalStyle = DEFAULT, *, total: int = 0) -> str:
    """List recorded calls, one per line; narrow terminals show fewer columns.

    If none matches, `total` is the number of recorded calls.
    """
    rows = [_of_call(call, style) for call in calls]
    none = Text(f"None of {count(total, 'recorded call')} matches.") if total else _NONE
    return render([_table(rows, "request", style) if rows else none], style)


def _of_call(call: Recording, style: TerminalStyle) -> dict[str, str]:
    cells = {"key": call.key[:_KEY], "model": call.model}
    if style.width >= _WIDE_TERMINAL:
        cells["created"] = _when(call.created)
    if style.width >= 100:
        cells["tokens in"] = DASH if call.input_tokens is None else f"{call.input_tokens:,}"
        cells["tokens out"] = DASH if call.output_tokens is None else f"{call.output_tokens:,}"
    cells["price"] = DASH if call.cost is None else money(call.cost)
    cells["replay"] = "yes" if call.replayable else "no"
    return cells | {"request": call.words if call.error is None else f"{call.words} ({call.error})"}


def _table(rows: Sequence[Mapping[str, str]], flexible: str, style: TerminalStyle) -> Table:
    """Make a table; the flexible column takes the remaining width."""
    clean = [
        {heading: one_line(text, None if heading == flexible else _WIDEST) for heading, text in row.items()}
        for row in rows
    ]
    widths = {
        heading: max(cell_len(text) for text in (heading, *(row[heading] for row in clean))) for heading in clean[0]
    }
    gap = column_gap(style)
    room = (
        content_width(style)
        - gap * len(widths)
        - sum(width for heading, width in widths.items() if heading != flexible)
    )
    table = data_table(gap)
    for heading, width in widths.items():
        justify: Literal["left", "right"] = "right" if heading in _NUMBERS else "left"
        most = max(_NARROWEST, room) if heading == flexible else width
        least = width if heading in _NUMBERS else None  # figures are never cut
        table.add_column(heading, justify=justify, no_wrap=True, overflow="ellipsis", min_width=least, max_width=most)
    for row in clean:
        table.add_row(*map(Text, row.values()))
    return table


def _when(created: str) -> str:
    return created[:19].replace("T", " ") or DASH
