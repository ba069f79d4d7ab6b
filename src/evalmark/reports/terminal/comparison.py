"""Terminal text of a comparison: warnings, verdict, metrics and changed cases."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import clean, cut, one_line, unwrap_single_input
from evalmark.reports.text import change_words, changed_cases
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.comparison import ChangeRow, SideNames, side_names
from evalmark.reports.text.titles import trial_title, without_repeats
from evalmark.reports.text.word_changes import GONE, NEW, TextPiece, mark_changes, word_changes
from evalmark.stats.comparison.change import Comparison, Flip, Outcome, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample

from .console import (
    COLORS,
    DEFAULT,
    FieldList,
    TerminalStyle,
    column_gap,
    content_width,
    data_table,
    indented,
    render,
    title_line,
)

_NAME = 14
"""Least width of metric names."""
_LINES = 10
"""Longest input above its outputs, in characters per column."""
_FEW = 2
"""Fewer metrics than this are not hidden: a line that counts them would be no shorter."""
_REASON = 4
"""The same for the reason of a score."""


def comparison_screen(
    comparison: Comparison,
    style: TerminalStyle = DEFAULT,
    *,
    limit: int = 10,
    pairs: Sequence[FlipExample] = (),
    all_metrics: bool = True,
) -> str:
    """Show a comparison: other differences, verdict, metrics, changed cases, and texts side by side.

    At most `limit` changed cases are listed; those in `pairs` are shown in full. Without `all_metrics`, metrics that decide
    nothing are counted.
    """
    parts: list[RenderableType] = [_header(comparison), *_warnings(comparison), Text(""), *_verdict(comparison)]
    for target in comparison.targets:
        shown, rest = (target, "") if all_metrics else _deciding(target)
        parts += _target(comparison, shown, style, rest)
        parts += _flips(comparison, target, limit, named=not pairs)
        parts += _slices(target)
    if pairs:
        parts += _pairs(pairs, side_names(comparison, comparison.targets[0]), style)
    elif all_metrics and any(target.flips or target.moved for target in comparison.targets):
        parts += [Text(""), Text("Show the outputs of changed cases side by side with --pairs.", style="dim")]
    return render(parts, style)


def _header(comparison: Comparison) -> RenderableType:
    outcome = change_words.outcome_mark(comparison.outcome)
    title = Text(comparison_text.comparison_title(comparison), style="bold")
    return Group(
        title_line(title, Text(outcome, style=f"bold {_color(comparison.outcome)}")),
        Text(comparison_text.runs_line(comparison), style="dim"),
    )


def _warnings(comparison: Comparison) -> Iterable[RenderableType]:
    if comparison.warnings:
        yield Text("")
        yield Text("other differences", style="bold yellow")
        warnings = [("!", clean(warning)) for warning in comparison.warnings]
        yield indented(FieldList(warnings, gap=1, style="yellow"))
    hint, command = comparison_text.rescore_hint(comparison)
    if hint:
        yield indented(Text(hint))
    if command:
        yield indented(Text(clean(command)), 4)


def _verdict(comparison: Comparison) -> Iterable[Text]:
    outcome = comparison_text.outcome_text(comparison).capitalize()
    line = Text(f"{outcome}: ", style=f"bold {_color(comparison.outcome)}")
    yield line.append(comparison_text.verdict_sentence(comparison), style="not bold default")


def _target(comparison: Comparison, target: TargetChange, style: TerminalStyle, rest: str) -> Iterable[RenderableType]:
    heads, several = side_names(comparison, target), len(comparison.targets) > 1
    yield Text("")
    yield Text(comparison_text.target_title(target, several=several, of_one_run=heads.of_one_run), style="bold")
    yield Text("")
    yield _table(comparison_text.change_rows(target, comparison.gate), heads, style)
    if rest:
        yield Text(rest)
    yield Text(" ".join(comparison_text.table_remarks(comparison)), style="dim")
    if remarks := comparison_text.change_remarks(target, heads.where):
        yield Text("")
        topics = without_repeats(topic for topic, _ in remarks)
        lines = ((topic, remark) for topic, (_, remark) in zip(topics, remarks, strict=True))
        yield indented(FieldList(lines, style=""))


def _deciding(target: TargetChange) -> tuple[TargetChange, str]:
    """Return the target with its pass rate and the metrics that decide, worse ones first, and the count of the others."""
    named = [change for change in target.changes if change.name]
    verdict = {change.name: target.outcome_of(change) for change in named}
    shown = [change for word in ("worse", "better") for change in named if verdict[change.name] == word]
    decides = [change for change in named if change.is_lost or change.may_be_worse or change is target.deciding]
    shown += [change for change in decides if change not in shown]
    others = Counter(verdict[change.name] for change in named if change not in shown)
    if others.total() < _FEW:
        return replace(target, metrics=(*shown, *(change for change in named if change not in shown))), ""
    counts = ", ".join(f"{n:,} {change_words.OUTCOME_WORDS[word]}" for word, n in others.items())
    return replace(
        target, metrics=tuple(shown)
    ), f"and {others.total():,} more metrics: {counts}; show them with --all-metrics"


def _table(rows: Sequence[ChangeRow], heads: SideNames, style: TerminalStyle) -> Table:
    """Make the table of metrics; on a narrow terminal the interval is below the difference, then the verdict below the metric."""
    gap = column_gap(style)
    side_heads = {"before": heads.before, "now": heads.now}
    cells = [_cells(row, apart=True) for row in rows]
    if _width(cells, side_heads, gap) > content_width(style):
        cells = [_cells(row, apart=False) for row in rows]
    if _width(cells, side_heads, gap) > content_width(style):
        cells = [_with_verdict_below(row) for row in cells]
    table = data_table(gap)
    longest = max((cell_len(row.metric) for row in rows), default=0)
    names = min(_NAME, longest)
    fits = _width(cells, side_heads, gap) - longest + names <= content_width(style)
    for heading in cells[0] if cells else ():
        if heading == "metric":
            table.add_column(heading, overflow="fold", min_width=names)
        elif heading == "verdict":
            table.add_column(heading, no_wrap=fits, overflow="fold")
        else:
            table.add_column(Text(side_heads.get(heading, heading)), justify="right", no_wrap=True)
    for row in cells:
        table.add_row(*row.values())
    return table


def _cells(row: ChangeRow, *, apart: bool) -> dict[str, Text]:
    """Cells by heading; the interval is below the difference unless `apart`."""
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
        "verdict": Text(f"{change_words.OUTCOME_SIGNS[row.outcome]} {row.verdict}", style=_color(row.outcome)),
    }


def _with_verdict_below(cells: Mapping[str, Text]) -> dict[str, Text]:
    metric = cells["metric"].copy().append("\n").append_text(cells["verdict"])
    return {"metric": metric} | {
        heading: text for heading, text in cells.items() if heading not in ("metric", "verdict")
    }


def _width(rows: Sequence[Mapping[str, Text]], side_heads: Mapping[str, str], gap: int) -> int:
    if not rows:
        return 0
    heads = {key: cell_len(side_heads.get(key, key)) for key in rows[0]}
    widest = (max(head, *(_cell_width(row[key]) for row in rows)) for key, head in heads.items())
    return sum(widest) + gap * (len(rows[0]) - 1)


def _cell_width(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _flips(comparison: Comparison, target: TargetChange, limit: int, *, named: bool) -> Iterable[RenderableType]:
    """Show the number of changed cases, and their names unless their texts follow."""
    heads = side_names(comparison, target)
    for number, changed in enumerate(changed_cases.changed_cases(target)):
        named_here = named or number > 0  # the texts of the deciding cases follow
        yield Text("")
        of = f" of {one_line(target.target, 60)}" if len(comparison.targets) > 1 and target.target else ""
        yield Text.assemble(
            (f"{changed.heading}{of}", "bold"), f"   {changed_cases.changed_cases_title(changed, heads)}"
        )
        shown = min(limit, len(changed.flips))
        if named_here:
            yield indented(_names(changed.flips, heads, limit))
        if more := changed_cases.more_flips(changed, shown):
            yield Text(f"  {more}" if named_here else f"  {shown:,} with their texts below, {more}", style="dim")


def _names(flips: Sequence[Flip], heads: SideNames, limit: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    several = len({flip.dataset for flip in flips}) > 1
    for flip in islice(flips, limit):
        name, change = changed_cases.flip_line(flip, heads, several=several)
        table.add_row(_mark(flip), Text(name), Text(change.removeprefix(f"{one_line(flip.metric)} ")))
    return table


def _mark(flip: Flip) -> Text:
    return Text(change_words.CASE_SIGNS["worse" if flip.is_worse else "better"])


def _color(outcome: Outcome) -> str:
    return COLORS[change_words.OUTCOME_KINDS[outcome]]


def _slices(target: TargetChange) -> Iterable[RenderableType]:
    remark = comparison_text.slices_remark(target)
    if not remark:
        return
    yield Text("")
    yield Text.assemble(("tags", "bold"), f"   {remark}")
    if lines := comparison_text.slice_lines(target):
        yield indented(FieldList(lines, style=""))


def _pairs(pairs: Sequence[FlipExample], heads: SideNames, style: TerminalStyle) -> Iterable[RenderableType]:
    for pair in pairs:
        yield Text("")
        title = Text.assemble(_mark(pair.flip), " ", (trial_title(pair.now.trial), "bold"))
        yield title.append(f"   {changed_cases.flip_text(pair.flip, heads)}", style="not bold")
        table = FieldList()
        case = pair.now.trial.case
        for label, value in (("input", unwrap_single_input(case.input)), ("expected", case.expected)):
            if value is not None and one_line(value) != trial_title(pair.now.trial):
                table.add_row(label, Text(one_line(value, style.width * _LINES)))
        yield indented(table)
        yield indented(_side_by_side(pair, heads, style))
    yield Text("")
    marks = (" ".join(GONE), " ".join(NEW))
    sides = zip(marks, heads.where if heads.of_one_run else heads[:2], strict=True)
    yield Text(f"Words on one side only are marked {' and '.join(map(' '.join, sides))}.", style="dim")


def _side_by_side(pair: FlipExample, heads: SideNames, style: TerminalStyle) -> Table:
    before, now = pair.before.output, pair.now.output
    sides = word_changes(before.value, now.value)
    table = data_table(expand=True)
    for head in (heads.before, heads.now):
        table.add_column(Text(head), ratio=1, overflow="fold")
    answers = _words(sides.before, GONE, "red"), _words(sides.now, NEW, "green")
    errors = (Text(clean(error), style=COLORS["error"]) if error else None for error in (before.error, now.error))
    table.add_row(*(error or answer for error, answer in zip(errors, answers, strict=True)))
    for scores in changed_cases.pair_scores(pair):
        table.add_row(*(Text(cut(text, style.width * _REASON), style="dim") for text in scores))
    return table


def _words(pieces: Sequence[TextPiece], marks: tuple[str, str], color: str) -> Text:
    text = Text()
    for piece in pieces:
        text.append(mark_changes([piece], marks), style="" if piece.is_common else color)
    return text if pieces else Text("(no answer)", style="dim")
