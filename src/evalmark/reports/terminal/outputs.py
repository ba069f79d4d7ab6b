"""Terminal table of outputs that no metric has scored: the targets side by side, one row a case."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line, unwrap_single_input
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.reports.text.outputs import CaseOutputs, OutputTable, output_table
from evalmark.reports.text.verdicts import raised_at

from .console import COLORS, FieldList, TerminalStyle, content_width, indented

_MIN_COLUMN = 20
"""Columns of a target below which the outputs of a case stand under each other."""
_GAP = 3
_LINES = 4
"""The most lines of an input or output."""


def output_screen(run: Run, style: TerminalStyle) -> list[RenderableType]:
    """Show the outputs of the first cases, with a column for each target or, on narrow terminals, a line."""
    table = output_table(run)
    if not table.cases or not style.worst:
        return []
    room = content_width(style) - 2
    case_width = min(34, room // 3)
    width = (room - case_width) // len(table.targets) - _GAP
    whole = _side_by_side(table, case_width, width) if width >= _MIN_COLUMN else _stacked(table, room)
    remarks: list[RenderableType] = [indented(Text(remark, style="dim")) for remark in table.remarks]
    return [Text(""), *whole, *([Text(""), *remarks] if remarks else [])]


def _side_by_side(table: OutputTable, case_width: int, width: int) -> list[RenderableType]:
    """Make a table with a column for each target."""
    grid = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("case", width=case_width, overflow="fold")
    for target in table.targets:
        heading = one_line(target, 2 * width) if len(table.targets) > 1 else "output"
        grid.add_column(heading, width=width, overflow="fold")
    for number, case in enumerate(table.cases):
        if number:
            grid.add_row()
        title = Text("\n").join(_heading(case, case_width * _LINES))
        grid.add_row(title, *(_output(case.by_target.get(target), width * _LINES) for target in table.targets))
    return [indented(grid)]


def _stacked(table: OutputTable, room: int) -> list[RenderableType]:
    """Show each case with its input and, below, a line for each target."""
    parts: list[RenderableType] = []
    for number, case in enumerate(table.cases):
        if number:
            parts.append(Text(""))
        parts += [indented(line) for line in _heading(case, room)]
        lines = FieldList(style="")
        for target in table.targets:
            lines.add_row(one_line(target, 200), _output(case.by_target.get(target), 2 * room))
        parts.append(indented(lines, 4))
    return parts


def _heading(case: CaseOutputs, room: int) -> list[Text]:
    """Return the title and the input of a case; a title that is made of the input is left out."""
    title = Text(one_line(case.title, 60), style="bold")
    given = one_line(unwrap_single_input(case.trial.case.input), room)
    if not given:
        return [title]
    return [Text(given, style="bold")] if case.trial.case.has_generated_id else [title, Text(given, style="dim")]


def _output(result: Result | None, room: int) -> Text:
    """Return an output on one line that the table folds, or its error."""
    if result is None:
        return Text("did not run", style="dim")
    if result.output.error is not None:
        return Text(f"error: {one_line(result.output.error, room)}{raised_at(result.output)}", style=COLORS["error"])
    return Text(one_line(result.output.value, room))
