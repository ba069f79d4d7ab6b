"""Terminal text of judge audits."""

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.audit import audit_lines, audit_title, canary_remarks, canary_rows, confusion_rows
from evalmark.reports.text.graded_audit import graded_lines, graded_title
from evalmark.stats.calibration.audit_results import JudgeAudit
from evalmark.stats.calibration.canaries import CanaryReport
from evalmark.stats.calibration.graded_audit import GradedAudit

from .console import DEFAULT, FieldList, TerminalStyle, data_table, indented, render


def audit_screen(
    run: Run, audits: Iterable[JudgeAudit], style: TerminalStyle = DEFAULT, graded: Iterable[GradedAudit] = ()
) -> str:
    """Show each audited judge of a run: confusion table, agreement, corrected pass rate; and the scores of graded ones."""
    parts: list[RenderableType] = [Text(f"{one_line(run.name)} · run {run.id}", style="bold")]
    for audit in audits:
        parts += [Text(""), Text(audit_title(audit), style="bold")]
        if audit.confusion.n:
            parts += [Text(""), indented(_confusion(audit)), Text("")]
        parts.append(indented(FieldList(audit_lines(audit, run.id))))
    for scores in graded:
        parts += [Text(""), Text(graded_title(scores), style="bold")]
        parts.append(indented(FieldList(graded_lines(scores, run.id))))
    return render(parts, style)


def canary_screen(canaries: Mapping[str, CanaryReport], style: TerminalStyle = DEFAULT) -> str:
    """Show how many canaries each judge passed, by kind."""
    parts: list[RenderableType] = []
    for name, report in canaries.items():
        table = data_table()
        table.add_column("canaries")
        table.add_column("passed", justify="right")
        table.add_column("share (interval)")
        for kind, n, share in canary_rows(report.passed):
            table.add_row(Text(kind, style="bold" if kind == "all" else ""), Text(n), Text(share))
        parts += [Text(one_line(name, 60), style="bold"), Text(""), indented(table)]
        parts += [indented(Text(remark, style="dim")) for remark in canary_remarks(report)]
    return render(parts, style)


def _confusion(audit: JudgeAudit) -> Table:
    table = data_table()
    table.add_column(one_line(audit.source, 40))
    for heading in ("judge: pass", "judge: fail"):
        table.add_column(heading, justify="right")
    for name, passed, failed in confusion_rows(audit):
        table.add_row(Text(name), Text(f"{passed:,}"), Text(f"{failed:,}"))
    return table
