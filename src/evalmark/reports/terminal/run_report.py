"""Terminal report of a run."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.money import spent_lines
from evalmark.core.text import clean, one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.judges import agreement_lines, all_remarks, worst_rows
from evalmark.reports.text.titles import group_place, group_title, run_facts, run_origin, without_repeats
from evalmark.reports.text.verdicts import gate_outcome, tally_text
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summary import REASONS, Summary
from evalmark.stats.summary.summary import SummaryGroup as Part

from .cases import worst_cases
from .console import COLORS, DEFAULT, MARKS, TerminalStyle, gate_table, render
from .metric_table import TableLayout, fitting_layout, metric_table

_WORST_ROWS = 2
"""Worst verdicts shown for each judged metric and dataset."""


def run_screen(
    run: Run, style: TerminalStyle = DEFAULT, *, summary: Summary | None = None, verdict: GateVerdict | None = None
) -> str:
    """Show a run: metrics, worst cases, spending, verdict, and the command to show it again."""
    summary, found = summary_and_verdict(run, summary)
    verdict = verdict or found
    parts: list[RenderableType] = [_header(run, summary, verdict)]
    layout = fitting_layout(summary.counted, style)
    for part in summary.counted:
        parts += [Text(""), *_part(part, summary, layout, style)]
    parts += _left_out(summary, style)
    parts += _agreements(summary, style)
    parts += worst_cases(run, summary, style)
    parts += _listed("model calls", spent_lines(run), style)
    parts += [Text(""), *(Text(clean(remark)) for remark in style.remarks)]
    parts += [*_verdict(verdict), *(Text(f"note: {clean(note)}", style="dim") for note in run.notes)]
    parts += _where(run, summary, style)
    return render(parts, style)


def _header(run: Run, summary: Summary, verdict: GateVerdict) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    ended = f"{MARKS[verdict.outcome if verdict.gated else 'ungated']} {gate_outcome(verdict)}"
    line.add_row(Text(one_line(run.name), style="bold"), Text(ended, style=f"bold {_color(verdict)}"))
    return Group(
        line,
        Text(" · ".join(run_facts(run, summary)), style="dim"),
        Text(" · ".join(run_origin(run)), style="dim"),
    )


def _part(part: Part, summary: Summary, layout: TableLayout, style: TerminalStyle) -> Iterable[RenderableType]:
    heading = Text(group_title(part, summary), style="bold")
    heading.append(f"   {tally_text(part.tally)}", style="not bold")
    yield heading
    if not part.metrics:
        return
    yield Text("")
    yield from metric_table(part, layout, style)
    yield from _listed("", all_remarks(part), style)
    rows = worst_rows(part, min(style.worst, _WORST_ROWS))
    told = [(metric, f"{case}: {said}  {one_line(reason, 2 * style.width)}") for metric, case, said, reason in rows]
    yield from _listed("worst verdicts", told, style)


def _left_out(summary: Summary, style: TerminalStyle) -> list[RenderableType]:
    """Show a line for each group left out of the headline."""
    beside = [(group, group.left_out) for group in summary.groups if group.left_out]
    lines = [
        (group_place(group, summary), f"{group.tally.trials:,} {REASONS[why]}: {tally_text(group.tally)}")
        for group, why in beside
    ]
    return _listed("left out of the headline", lines, style)


def _agreements(summary: Summary, style: TerminalStyle) -> list[RenderableType]:
    lines = [(one_line(found.base, 60), said) for found in summary.agreements for said in agreement_lines(found)]
    return _listed("judges compared", lines, style)


def _listed(heading: str, lines: Sequence[tuple[str, str]], style: TerminalStyle) -> list[RenderableType]:
    """Show lines under a heading; repeated topics are shown once."""
    if not lines:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=max(30, style.width // 3), overflow="fold")
    table.add_column(overflow="fold")
    for name, (_, said) in zip(without_repeats(about for about, _ in lines), lines, strict=True):
        table.add_row(Text(name), Text(said.rstrip()))
    indent = 2 if heading else 0
    return [Text(""), *([Text(heading, style="bold")] if heading else []), Padding(table, (0, 0, 0, indent))]


def _verdict(verdict: GateVerdict) -> Iterable[RenderableType]:
    if not verdict.gated:
        yield from (Text(clean(reason)) for reason in verdict.reasons)
        return
    yield gate_table(verdict)


def _color(verdict: GateVerdict) -> str:
    return COLORS[verdict.outcome] if verdict.gated else "default"


def _where(run: Run, summary: Summary, style: TerminalStyle) -> Iterable[Text]:
    more = " --failed" if summary.total.passed < summary.total.trials - summary.total.ungated else ""
    if style.store:
        yield Text(
            f"Kept in {one_line(style.store)}; show it with: evalmark show {one_line(run.id)}{more}{style.flags}"
        )
        if run.status != "complete" and run.suite and style.resumable:
            yield Text(f"To continue, repeat the command with: --resume {one_line(run.id)}")
