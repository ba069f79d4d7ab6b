"""Terminal list of runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run, RunTotals
from evalmark.core.values.spending import Spending, known_cost, priced_spending, total_spending
from evalmark.reports.text.numbers import GAP, rate, share_interval
from evalmark.reports.text.titles import planned_of, trials_of
from evalmark.stats.inference.intervals import Interval

from .console import COLORS, DEFAULT, MARKS, TerminalStyle, column_gap, content_width, data_table, render

_WIDTHS = {"interval": 80, "cost": 72, "name": 80, "tags": 100, "commit": 100, "target": 140}
"""The least width of a terminal that shows a column; the other columns are always shown."""
_FLEXIBLE = ("suite", "name", "tags", "target")
"""Columns that may be shortened."""
_SPARE = {"target": 20, "commit": 20, "tags": 20, "name": 20, "cost": 10, "cases": 10}
"""Columns that give way, in this order, before the name of a suite is cut to fewer characters."""
_RIGHT = ("passed", "cost")
_WORDS = {"pass": "passed", "fail": "failed"}
_COMMIT = 7
"""Characters of a commit id."""
_MIN_WIDTH = 6
"""The least width of a shortened column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run in the list."""

    run: Run
    totals: RunTotals
    spending: Sequence[Spending] = ()


def run_list_screen(listed: Iterable[ListedRun], style: TerminalStyle = DEFAULT, *, more: int = 0) -> str:
    """List runs, one per line; narrow terminals show fewer columns. `more` counts the runs that are not listed."""
    runs = list(listed)
    if not runs:
        return render([Text("No runs yet. Store one with: evalmark run")], style)
    rows = [_cells(one) for one in runs]
    empty = {heading for heading in rows[0] if not any(row[heading] for row in rows)}
    shown = [name for name in rows[0] if name not in empty and style.width >= _WIDTHS.get(name, 0)]
    for spare, least in _SPARE.items():
        if spare in shown and _is_short(rows, shown, style, least):
            shown.remove(spare)
    table = data_table(column_gap(style))
    for heading, width in _column_widths(rows, shown, style).items():
        justify: Literal["left", "right"] = "right" if heading in _RIGHT else "left"
        table.add_column(_title(heading), justify=justify, no_wrap=True, overflow="ellipsis", max_width=width)
    for one, row in zip(runs, rows, strict=True):
        color = COLORS.get(_verdict(one), "")
        table.add_row(*(Text(row[name], style=color if name == "verdict" else "") for name in shown))
    unknown = sum(not _verdict(one) for one in runs)
    notes = (
        [f"{count(unknown, 'run')} without a verdict yet; the next list calculates more of them."] if unknown else []
    )
    notes += [f"and {count(more, 'older run')}; list more with -n"] if more > 0 else []
    return render([table, *(Text(note, style="dim") for note in notes)], style)


def _is_short(rows: Sequence[Mapping[str, str]], shown: Sequence[str], style: TerminalStyle, least: int) -> bool:
    """Return whether the name of a suite would be cut to less than a length."""
    longest = max(cell_len(row["suite"]) for row in rows)
    return _column_widths(rows, shown, style)["suite"] < min(longest, least)


def _column_widths(rows: Sequence[Mapping[str, str]], shown: Sequence[str], style: TerminalStyle) -> dict[str, int]:
    """Return the width of each column; flexible columns share the room that the others leave."""
    widths = {name: max(cell_len(text) for text in (_title(name), *(row[name] for row in rows))) for name in shown}
    room = content_width(style) - column_gap(style) * (len(shown) - 1)
    flexible = [name for name in shown if name in _FLEXIBLE]
    while flexible and sum(widths.values()) > room:
        widest = max(flexible, key=lambda name: widths[name])
        if widths[widest] <= _MIN_WIDTH:
            break
        widths[widest] -= 1
    return widths


def _title(heading: str) -> str:
    return "95 % interval" if heading == "interval" else heading


def _verdict(listed: ListedRun) -> str:
    return listed.run.status if listed.run.status != "complete" else listed.totals.verdict or ""


def _cells(listed: ListedRun) -> dict[str, str]:
    run, totals = listed.run, listed.totals
    verdict = _verdict(listed)
    cells = {
        "verdict": f"{MARKS.get(verdict, '·')} {_WORDS.get(verdict, verdict)}" if verdict else GAP,
        "run": run.id,
        "suite": run.name,
        "name": run.given_name,
        "passed": rate(totals.rate, run.gate.min_pass_rate if run.gate else None),
        "interval": _interval(totals),
        "cases": _part(run, totals.trials),
        "cost": _cost(listed.spending),
        "limits": run.change,
        "commit": run.revision.removesuffix("+")[:_COMMIT] + "+" * run.revision.endswith("+"),
        "tags": " ".join(run.tags),
        "target": run.target,
    }
    return {heading: one_line(text) for heading, text in cells.items()}


def _interval(totals: RunTotals) -> str:
    interval = Interval(low=totals.low, high=totals.high, method="")
    return share_interval(interval) if interval.known else ""


def _part(run: Run, trials: int) -> str:
    """Name the part of the cases that ran; empty if all did."""
    if (planned := planned_of(run, trials)) is not None and trials < planned:
        is_case = planned == sum(info.rows or 0 for info in run.datasets)
        return f"{trials:,} of {planned:,}" if is_case else trials_of(trials, planned)
    if run.shard is not None:
        return f"shard {run.shard.number}/{run.shard.of}"
    if run.sample is not None and run.sample.of is not None:
        return f"{run.sample.taken:,} of {run.sample.of:,}"
    return "some" if run.is_part else ""


def _cost(spending: Sequence[Spending]) -> str:
    priced = priced_spending(spending)
    if not priced:
        return ""
    spent = total_spending(priced)
    amount = known_cost(spent)
    if amount is None:
        return "unknown"
    return f"{money(amount)}+" if spent.unknown_cost else money(amount)
