"""Run report as Markdown."""

from collections.abc import Iterator

from evalmark.core.money import spent_lines, spent_title
from evalmark.core.values.run import Run
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text import titles
from evalmark.reports.text.judges import agreement_rows
from evalmark.reports.text.outputs import has_unscored_outputs
from evalmark.reports.text.titles import run_origin, trial_counts
from evalmark.reports.text.verdicts import deciding_scores, gate_outcome
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summary import Summary

from .comparison_markdown import comparison_body
from .markdown import case_markdown, group_markdown, markdown_list, markdown_text, outputs_markdown
from .options import DEFAULT_OPTIONS, ReportOptions
from .target_overview import overview_in_markdown, split_overview

SIGNS = {"pass": "✅", "fail": "❌", "cannot tell": "❔"}
NOT_SCORED_SIGN = "⚪"


def as_markdown(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield a run as Markdown: verdict, a table per dataset, and folded worst cases."""
    summary, verdict = summary_and_verdict(run, summary)
    yield heading(run, verdict)
    yield " ".join(markdown_text(reason) for reason in verdict.reasons) + "\n\n"
    if options.comparison is not None:
        _, before = comparison_text.run_labels(options.comparison)
        yield f"### Against {markdown_text(before)}\n\n"
        yield from comparison_body(options.comparison)
    yield from overview_in_markdown(run, split_overview(run, summary))
    for group in summary.groups:
        yield from group_markdown(group, summary, run.gate)
    yield from markdown_list("### Judges compared", agreement_rows(summary.agreements))
    if has_unscored_outputs(summary):
        yield from outputs_markdown(run)
    elif summary.worst:
        yield "### Worst cases\n\n"
        yield from (case_markdown(result, run, deciding_scores(result, summary.missed)) for result in summary.worst)
    yield from markdown_list(f"### {spent_title(run)}", spent_lines(run) if options.times else [])
    yield from (f"> {markdown_text(note)}\n\n" for note in run.notes)
    facts = trial_counts(summary)
    if options.times:
        facts = [*titles.run_facts(run, summary), *run_origin(run)]
    yield f"<sub>{' · '.join(map(markdown_text, facts))}</sub>\n"


def heading(run: Run, verdict: GateVerdict) -> str:
    """Return the heading of a report: the verdict as a sign and in words."""
    return f"## {verdict_sign(verdict)} {markdown_text(run.name)}: {gate_outcome(verdict)}\n\n"


def verdict_sign(verdict: GateVerdict) -> str:
    """Return the sign of a verdict; outputs that no metric has scored get a neutral one."""
    return SIGNS[verdict.outcome] if verdict.scored else NOT_SCORED_SIGN
