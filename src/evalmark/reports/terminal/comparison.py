"""Terminal text of a comparison: warnings, verdict, metrics and changed cases."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.text import clean, cut, one_line, unwrap_single_input
from evalmark.reports.text import comparison
from evalmark.reports.text.comparison import ChangeRow, SideNames, side_names
from evalmark.reports.text.titles import trial_name
from evalmark.reports.text.word_changes import GONE, NEW, TextPiece, mark_changes, word_changes
from evalmark.stats.comparison.change import Comparison, Flip, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample

from .cases import field_table
from .console import COLORS, DEFAULT, MARKS, TerminalStyle, content_width, render

_ENDINGS = {"better": "pass", "same": "pass", "worse": "fail", "cannot tell": "cannot tell"}
"""Colour and mark of each outcome."""
_NAME = 14
"""Least width of metric names."""
_LINES = 10
"""Longest input above its outputs, in characters per column."""
_REASON = 4
"""The same for the reason of a score."""


def comparison_screen(
    found: Comparison, style: TerminalStyle = DEFAULT, *, limit: int = 10, pairs: Sequence[FlipExample] = ()
) -> str:
    """Show a comparison: other differences, verdict, metrics, changed cases, and texts side by side.

    At most `limit` changed cases are listed; those in `pairs` are shown in full.
    """
    parts: list[RenderableType] = [_header(found), *_warnings(found), Text(""), *_verdict(found)]
    for target in found.targets:
        parts += _target(found, target, style)
        parts += _flips(found, target, limit, named=not pairs)
        parts += _slices(target)
    if pairs:
        parts += _pairs(pairs, side_names(found, found.targets[0]), style)
    return render(parts, style)


def _header(found: Comparison) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    ending = _ENDINGS[found.outcome]
    said = f"{MARKS[ending]} {comparison.outcome_text(found)}"
    line.add_row(Text(comparison.comparison_title(found), style="bold"), Text(said, style=f"bold {COLORS[ending]}"))
    return Group(line, Text(comparison.runs_line(found), style="dim"))


def _warnings(found: Comparison) -> Iterable[RenderableType]:
    if found.warnings:
        yield Text("")
        yield Text("other differences", style="bold yellow")
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True, style="yellow")
        table.add_column(overflow="fold")
        for warning in found.warnings:
            table.add_row("!", clean(warning))
        yield Padding(table, (0, 0, 0, 2))
    said, command = comparison.rescore_hint(found)
    if said:
        yield Padding(Text(said), (0, 0, 0, 2))
    if command:
        yield Padding(Text(clean(command)), (0, 0, 0, 4))


def _verdict(found: Comparison) -> Iterable[Text]:
    word = comparison.outcome_text(found).capitalize()
    line = Text(f"{word}: ", style=f"bold {COLORS[_ENDINGS[found.outcome]]}")
    yield line.append(comparison.verdict_sentence(found), style="not bold default")


def _target(found: Comparison, target: TargetChange, style: TerminalStyle) -> Iterable[RenderableType]:
    heads, several = side_names(found, target), len(found.targets) > 1
    yield Text("")
    yield Text(comparison.target_title(target, several=several, of_one_run=heads.of_one_run), style="bold")
    yield Text("")
    yield _table(comparison.change_rows(target), heads, style)
    yield Text(" ".join(comparison.table_remarks(found)), style="dim")
    if remarks := comparison.change_remarks(target, heads.where):
        yield Text("")
        yield Padding(_listed(remarks), (0, 0, 0, 2))


def _table(rows: Sequence[ChangeRow], heads: SideNames, style: TerminalStyle) -> Table:
    """Make the table of metrics; on a narrow terminal the interval stands below the difference."""
    gap = 2 if style.width >= 90 else 1
    named = {"before": heads.before, "now": heads.now}
    cells = [_cells(row, apart=True) for row in rows]
    if _width(cells, named, gap) > content_width(style):
        cells = [_cells(row, apart=False) for row in rows]
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    longest = max((cell_len(row.metric) for row in rows), default=0)
    names = min(_NAME, longest)
    fits = _width(cells, named, gap) - longest + names <= content_width(style)
    for heading in cells[0] if cells else ():
        if heading == "metric":
            table.add_column(heading, overflow="fold", min_width=names)
        elif heading == "verdict":
            table.add_column(heading, no_wrap=fits, overflow="fold")
        else:
            table.add_column(Text(named.get(heading, heading)), justify="right", no_wrap=True)
    for row in cells:
        table.add_row(*row.values())
    return table


def _cells(row: ChangeRow, *, apart: bool) -> dict[str, Text]:
    """Cells by heading; the interval is below the difference unless it stands apart."""
    difference = Text(row.difference, style="bold")
    if not apart:
        difference.append("\n").append(row.interval, style="not bold dim")
    return {
        "metric": Text(row.metric),
        "n": Text(row.n),
        "before": Text(row.before),
        "now": Text(row.now),
        "difference": difference,
        **({"interval": Text(row.interval)} if apart else {}),
        "p": Text(row.p),
        "verdict": Text(row.verdict, style=COLORS[_ENDINGS[row.outcome]]),
    }


def _width(rows: Sequence[Mapping[str, Text]], named: Mapping[str, str], gap: int) -> int:
    if not rows:
        return 0
    heads = {key: cell_len(named.get(key, key)) for key in rows[0]}
    widest = (max(head, *(cell_len(row[key].plain) for row in rows)) for key, head in heads.items())
    return sum(widest) + gap * (len(rows[0]) - 1)


def _listed(lines: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", max_width=40)
    table.add_column(overflow="fold")
    for about, said in lines:
        table.add_row(Text(about), Text(said))
    return table


def _flips(found: Comparison, target: TargetChange, limit: int, *, named: bool) -> Iterable[RenderableType]:
    """Show the number of changed cases, and their names unless their texts follow."""
    heads = side_names(found, target)
    for number, moved in enumerate(comparison.changed_cases(target)):
        named_here = named or number > 0  # only what decided has its texts below
        yield Text("")
        of = f" of {one_line(target.target, 60)}" if len(found.targets) > 1 and target.target else ""
        yield Text.assemble((f"{moved.heading}{of}", "bold"), f"   {comparison.changed_cases_title(moved, heads)}")
        shown = min(limit, len(moved.flips))
        if named_here:
            yield Padding(_names(moved.flips, heads, limit), (0, 0, 0, 2))
        if more := comparison.more_flips(moved, shown):
            yield Text(f"  {more}" if named_here else f"  {shown:,} with their texts below, {more}", style="dim")


def _names(flips: Sequence[Flip], heads: SideNames, limit: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    several = len({flip.dataset for flip in flips}) > 1
    for flip in islice(flips, limit):
        table.add_row(_mark(flip), *map(Text, comparison.flip_line(flip, heads, several=several)))
    return table


def _mark(flip: Flip) -> Text:
    word = "fail" if flip.is_worse else "pass"
    return Text(MARKS[word], style=COLORS[word])


def _slices(target: TargetChange) -> Iterable[RenderableType]:
    remark = comparison.slices_remark(target)
    if not remark:
        return
    yield Text("")
    yield Text.assemble(("slices", "bold"), f"   {remark}")
    if lines := comparison.slice_lines(target):
        yield Padding(_listed(lines), (0, 0, 0, 2))


def _pairs(pairs: Sequence[FlipExample], heads: SideNames, style: TerminalStyle) -> Iterable[RenderableType]:
    """Show the texts of each changed case: input, and both outputs side by side."""
    for pair in pairs:
        yield Text("")
        named = Text.assemble(_mark(pair.flip), " ", (trial_name(pair.now), "bold"))
        yield named.append(f"   {comparison.flip_text(pair.flip, heads)}", style="not bold")
        table = field_table()
        case = pair.now.trial.case
        for label, value in (("input", unwrap_single_input(case.input)), ("expected", case.expected)):
            if value is not None:
                table.add_row(label, Text(one_line(value, style.width * _LINES)))
        yield Padding(table, (0, 0, 0, 2))
        yield Padding(_beside(pair, heads, style), (0, 0, 0, 2))
    yield Text("")
    marks = (" ".join(GONE), " ".join(NEW))
    sides = zip(marks, heads.where if heads.of_one_run else heads[:2], strict=True)
    yield Text(f"Words on one side only stand in {' and in '.join(map(' '.join, sides))}.", style="dim")


def _beside(pair: FlipExample, heads: SideNames, style: TerminalStyle) -> Table:
    before, now = pair.before.output, pair.now.output
    sides = word_changes(before.value, now.value)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", expand=True)
    for head in (heads.before, heads.now):
        table.add_column(Text(head), ratio=1, overflow="fold")
    answers = _words(sides.before, GONE, "red"), _words(sides.now, NEW, "green")
    errors = (Text(clean(error), style=COLORS["error"]) if error else None for error in (before.error, now.error))
    table.add_row(*(error or answer for error, answer in zip(errors, answers, strict=True)))
    for scores in comparison.pair_scores(pair):
        table.add_row(*(Text(cut(said, style.width * _REASON), style="dim") for said in scores))
    return table


def _words(pieces: Sequence[TextPiece], marks: tuple[str, str], color: str) -> Text:
    said = Text()
    for piece in pieces:
        said.append(mark_changes([piece], marks), style="" if piece.is_common else color)
    return said if pieces else Text("(no answer)", style="dim")
