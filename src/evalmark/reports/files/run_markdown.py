"""A run as Markdown, for a pull request comment or a page of notes."""

from collections.abc import Iterator

from evalmark.core.money import spent_lines
from evalmark.core.values.run import Run
from evalmark.reports.text import comparison, titles
from evalmark.reports.text.judges import agreement_lines
from evalmark.reports.text.titles import origin, trials
from evalmark.reports.text.verdicts import outcome, telling
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.stats.summary.summary import Summary

from .comparison_markdown import comparison_part
from .markdown import case_part, group_part, listed, safe
from .options import PLAIN, Options
from .target_overview import overview_in_markdown, overview_of

SIGNS = {"pass": "✅", "fail": "❌", "cannot tell": "❔"}


def as_markdown(run: Run, summary: Summary | None = None, options: Options = PLAIN) -> Iterator[str]:
    """Verdict, a table a dataset, and the worst cases folded away."""
    summary, verdict = summary_and_verdict(run, summary)
    yield f"## {SIGNS[verdict.outcome]} {safe(run.name)}: {outcome(verdict)}\n\n"
    yield " ".join(safe(reason) for reason in verdict.reasons) + "\n\n"
    if options.comparison is not None:
        _, before = comparison.compared_origin(options.comparison)
        yield f"### Against {safe(before)}\n\n"
        yield from comparison_part(options.comparison)
    yield from overview_in_markdown(run, overview_of(run, summary))
    for group in summary.groups:
        yield from group_part(group, summary)
    lines = [(found.base, said) for found in summary.agreements for said in agreement_lines(found)]
    yield from listed("### Judges compared", lines)
    if summary.worst:
        yield "### Worst cases\n\n"
    yield from (case_part(result, run, telling(result, summary.missed)) for result in summary.worst)
    yield from closing(run, summary, options)


def closing(run: Run, summary: Summary, options: Options) -> Iterator[str]:
    """What calls came to, what a reader should know, and which run it is."""
    yield from listed("### Model calls", spent_lines(run) if options.times else [])
    yield from (f"> {safe(note)}\n\n" for note in run.notes)
    facts = trials(summary)
    if options.times:
        facts = [*titles.facts(run, summary), *origin(run)]
    yield f"<sub>{' · '.join(map(safe, facts))}</sub>\n"
