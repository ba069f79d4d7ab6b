"""A run beside an earlier one, for a terminal: what else changed, the verdict, the metrics, and the cases that flipped."""

from collections.abc import Iterable, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.comparison import Comparison, Flip, Pair, TargetChange
from evalmark.wording import bare, clean, compared, cut, name_of, one_line
from evalmark.wording.compared import ChangeRow
from evalmark.wording.word_changes import GONE, NEW, Piece, marked, word_changes

from .cases import fields
from .drawing import COLORS, DEFAULT, MARKS, Look, drawn, inner

_ENDINGS = {"better": "pass", "same": "pass", "worse": "fail", "cannot tell": "cannot tell"}
"""How each outcome is coloured and marked."""
_HEADINGS = ("metric", "n", "before", "now", "difference", "interval", "p", "verdict")
_NAME = 14
"""Columns that longer names of metrics keep, however narrow the terminal."""
_LINES = 10
"""How much of an input stands above its answers, in characters a column."""
_REASON = 4
"""The same of the reason of a score."""


def comparison(found: Comparison, look: Look = DEFAULT, *, limit: int = 10, pairs: Sequence[Pair] = ()) -> str:
    """Two runs for a person at a terminal: what else changed, the verdict and why, figures, flips, and texts side by side.

    Of the cases that came out otherwise `limit` are named, or shown in full where there are `pairs`.
    """
    parts: list[RenderableType] = [_header(found), *_warnings(found), Text(""), *_verdict(found)]
    for target in found.targets:
        parts += _target(found, target, look)
        parts += _flips(found, target, limit, named=not pairs)
        parts += _slices(target)
    parts += _pairs(pairs, look)
    return drawn(parts, look)


def _header(found: Comparison) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    ending = _ENDINGS[found.outcome]
    said = f"{MARKS[ending]} {compared.compared_outcome(found)}"
    line.add_row(Text(compared.compared_title(found), style="bold"), Text(said, style=f"bold {COLORS[ending]}"))
    now, before = compared.compared_origin(found)
    return Group(line, Text(f"run {now}, against {before}", style="dim"))


def _warnings(found: Comparison) -> Iterable[RenderableType]:
    if found.warnings:
        yield Text("")
        yield Text("what else is different", style="bold yellow")
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True, style="yellow")
        table.add_column(overflow="fold")
        for warning in found.warnings:
            table.add_row("!", clean(warning))
        yield Padding(table, (0, 0, 0, 2))


def _verdict(found: Comparison) -> Iterable[Text]:
    word = compared.compared_outcome(found).capitalize()
    line = Text(f"{word}: ", style=f"bold {COLORS[_ENDINGS[found.outcome]]}")
    yield line.append(compared.verdict_sentence(found), style="not bold default")


def _target(found: Comparison, target: TargetChange, look: Look) -> Iterable[RenderableType]:
    yield Text("")
    yield Text(compared.target_title(target, several=len(found.targets) > 1), style="bold")
    yield Text("")
    yield _table(compared.change_rows(target), look)
    yield Text(" ".join(compared.table_remarks(found)), style="dim")
    if remarks := compared.change_remarks(target):
        yield Text("")
        yield Padding(_listed(remarks), (0, 0, 0, 2))


def _table(rows: Sequence[ChangeRow], look: Look) -> Table:
    """One line a metric; the interval stands below the difference where the terminal is too narrow for both."""
    gap = 2 if look.width >= 90 else 1
    cells = [_cells(row, apart=True) for row in rows]
    if _width(cells, gap) > inner(look):
        cells = [_cells(row, apart=False) for row in rows]
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    longest = max((cell_len(row.metric) for row in rows), default=0)
    names = min(_NAME, longest)
    fits = _width(cells, gap) - longest + names <= inner(look)
    for heading in cells[0] if cells else ():
        if heading == "metric":
            table.add_column(heading, overflow="fold", min_width=names)
        elif heading == "verdict":
            table.add_column(heading, no_wrap=fits, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in cells:
        table.add_row(*row.values())
    return table


def _cells(row: ChangeRow, *, apart: bool) -> dict[str, Text]:
    ending = _ENDINGS[row.outcome]
    found = {name: Text(said) for name, said in zip(_HEADINGS, row, strict=False)}
    found["difference"].stylize("bold")
    interval = found.pop("interval")
    if not apart:
        found["difference"].append("\n").append(interval.plain, style="not bold dim")
        return found | {"verdict": Text(row.verdict, style=COLORS[ending])}
    return {
        **{name: found[name] for name in ("metric", "n", "before", "now", "difference")},
        "interval": interval,
        "p": found["p"],
        "verdict": Text(row.verdict, style=COLORS[ending]),
    }


def _width(rows: Sequence[dict[str, Text]], gap: int) -> int:
    if not rows:
        return 0
    widest = (max(cell_len(heading), *(cell_len(row[heading].plain) for row in rows)) for heading in rows[0])
    return sum(widest) + gap * (len(rows[0]) - 1)


def _listed(lines: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", max_width=40)
    table.add_column(overflow="fold")
    for about, said in lines:
        table.add_row(Text(about), Text(said))
    return table


def _flips(found: Comparison, target: TargetChange, limit: int, *, named: bool) -> Iterable[RenderableType]:
    """How many cases came out otherwise, and the first of them, unless their texts follow."""
    if not target.flips:
        return
    yield Text("")
    yield Text.assemble((_flips_heading(found, target), "bold"), f"   {compared.flips_title(target)}")
    shown = min(limit, len(target.flips))
    if named:
        yield Padding(_names(target, limit), (0, 0, 0, 2))
    if more := compared.more_flips(target, shown):
        yield Text(f"  {more}" if named else f"  {shown:,} with their texts below, {more}", style="dim")


def _names(target: TargetChange, limit: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    several = len({flip.dataset for flip in target.flips}) > 1
    for flip in islice(target.flips, limit):
        table.add_row(_mark(flip), *map(Text, compared.flip_line(flip, several=several)))
    return table


def _flips_heading(found: Comparison, target: TargetChange) -> str:
    return f"flips of {one_line(target.target, 60)}" if len(found.targets) > 1 and target.target else "flips"


def _mark(flip: Flip) -> Text:
    word = "fail" if flip.now < flip.before else "pass"
    return Text(MARKS[word], style=COLORS[word])


def _slices(target: TargetChange) -> Iterable[RenderableType]:
    remark = compared.slices_remark(target)
    if not remark:
        return
    yield Text("")
    yield Text.assemble(("slices", "bold"), f"   {remark}")
    if lines := compared.slice_lines(target):
        yield Padding(_listed(lines), (0, 0, 0, 2))


def _pairs(pairs: Sequence[Pair], look: Look) -> Iterable[RenderableType]:
    """The texts of each flip: what was asked, and both answers beside each other."""
    for pair in pairs:
        yield Text("")
        named = Text.assemble(_mark(pair.flip), " ", (name_of(pair.now), "bold"))
        yield named.append(f"   {compared.flip_said(pair.flip)}", style="not bold")
        table = fields()
        case = pair.now.trial.case
        for label, value in (("asked", bare(case.input)), ("expected", case.expected)):
            if value is not None:
                table.add_row(label, Text(one_line(value, look.width * _LINES)))
        yield Padding(table, (0, 0, 0, 2))
        yield Padding(_beside(pair, look), (0, 0, 0, 2))
    if pairs:
        yield Text("")
        yield Text(f"Words of one side alone stand in {' '.join(GONE)} before and in {' '.join(NEW)} now.", style="dim")


def _beside(pair: Pair, look: Look) -> Table:
    before, now = pair.before.output, pair.now.output
    sides = word_changes(before.value, now.value)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", expand=True)
    table.add_column("before", ratio=1, overflow="fold")
    table.add_column("now", ratio=1, overflow="fold")
    answers = _words(sides.before, GONE, "red"), _words(sides.now, NEW, "green")
    errors = (Text(clean(error), style=COLORS["error"]) if error else None for error in (before.error, now.error))
    table.add_row(*(error or answer for error, answer in zip(errors, answers, strict=True)))
    for scores in compared.deciding(pair):
        table.add_row(*(Text(cut(said, look.width * _REASON), style="dim") for said in scores))
    return table


def _words(pieces: Sequence[Piece], marks: tuple[str, str], color: str) -> Text:
    said = Text()
    for piece in pieces:
        said.append(marked([piece], marks), style="" if piece.is_common else color)
    return said if pieces else Text("(no answer)", style="dim")
