"""Terminal text of judge audits."""

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.audit import audit_lines, audit_title, canary_remarks, canary_rows, confusion_rows
from evalmark.stats.calibration.audit_results import JudgeAudit
from evalmark.stats.calibration.canaries import CanaryReport

from .console import DEFAULT, TerminalStyle, render

_INDENT = (0, 0, 0, 2)


def audit_screen(run: Run, audits: Iterable[JudgeAudit], style: TerminalStyle = DEFAULT) -> str:
    """Show each audited judge of a run: confusion table, agreement, corrected pass rate."""
    parts: list[RenderableType] = [Text(f"{one_line(run.name)} · run {run.id}", style="bold")]
    for found in audits:
        parts += [Text(""), Text(audit_title(found), style="bold")]
        if found.confusion.n:
            parts += [Text(""), Padding(_confusion(found), _INDENT), Text("")]
        parts.append(Padding(_listed(audit_lines(found, run.id)), _INDENT))
    return render(parts, style)


def canary_screen(found: Mapping[str, CanaryReport], style: TerminalStyle = DEFAULT) -> str:
    """Show how many canaries each judge passed, by kind."""
    parts: list[RenderableType] = []
    for name, report in found.items():
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("canaries")
        table.add_column("passed", justify="right")
        table.add_column("share (interval)")
        for kind, n, share in canary_rows(report.passed):
            table.add_row(Text(kind, style="bold" if kind == "all" else ""), Text(n), Text(share))
        parts += [Text(one_line(name, 60), style="bold"), Text(""), Padding(table, _INDENT)]
        parts += [Padding(Text(remark, style="dim"), _INDENT) for remark in canary_remarks(report)]
    return render(parts, style)


def _confusion(found: JudgeAudit) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(one_line(found.source, 40))
    for heading in ("judge: pass", "judge: fail"):
        table.add_column(heading, justify="right")
    for name, passed, failed in confusion_rows(found):
        table.add_row(Text(name), Text(f"{passed:,}"), Text(f"{failed:,}"))
    return table


def _listed(lines: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", max_width=24, overflow="fold")
    table.add_column(overflow="fold")
    for name, said in lines:
        table.add_row(Text(name), Text(said))
    return table
