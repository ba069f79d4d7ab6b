"""A run as one comment on a pull request or a merge request."""

from collections.abc import Iterator
from hashlib import sha256

from evalmark.core.money import spent_lines, spent_title
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.change_words import OUTCOME_SIGNS
from evalmark.reports.text.outputs import has_unscored_outputs
from evalmark.reports.text.titles import run_facts, run_origin
from evalmark.reports.text.verdicts import deciding_scores, gate_outcome, tally_text
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.stats.summary.summary import Summary

from .comparison_markdown import comparison_body
from .markdown import case_markdown, html_text, markdown_list, markdown_text, metrics_table, outputs_markdown
from .options import DEFAULT_OPTIONS, ReportOptions
from .run_markdown import SIGNS, verdict_sign

MOST_CHARACTERS = 65_536
"""Longest comment that GitHub takes."""
MOST_CASES = 10
"""Most cases of one comment."""
_MOST_NOTES = 5
_CUT = "> The rest is left out, since a comment holds 65,536 characters; `-o report.html` has everything.\n"
_NOT_PASSED = ("fail", "error", "unscored")


def comment_marker(run: Run) -> str:
    """Return the hidden first line of the comment of a suite, by which it is found again; the same for each of its runs."""
    key = sha256((run.suite or run.name).encode()).hexdigest()[:16]
    return f"<!-- evalmark comment {key} -->"


def run_marker(run: Run) -> str:
    """Return the hidden second line: the start of the run, so that an older run never replaces a newer one."""
    created = "".join(letter for letter in run.created if letter.isalnum() or letter in ":+-.")
    return f"<!-- evalmark run {created} -->"


def as_review_comment(
    run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS, *, link: str = ""
) -> Iterator[str]:
    """Yield a comment of at most 65,536 characters: verdict, a table of metrics, what changed, the worst cases.

    Args:
        run: The run.
        summary: Its summary, if it is already known.
        options: With a `comparison`, the comment begins with its verdict.
        link: The address of the CI job, for the last line.
    """
    head = f"{comment_marker(run)}\n{run_marker(run)}\n"
    tail = _footer(run, link)
    room = MOST_CHARACTERS - len(head) - len(tail) - len(_CUT)
    yield head
    for part in _parts(run, summary, options):
        room -= len(part)
        if room < 0:
            yield _CUT
            break
        yield part
    yield tail


def _parts(run: Run, summary: Summary | None, options: ReportOptions) -> Iterator[str]:
    """Yield the parts of the comment; each is kept or dropped as a whole."""
    summary, verdict = summary_and_verdict(run, summary)
    comparison = options.comparison
    name = markdown_text(one_line(run.name, 200))
    sign, outcome = verdict_sign(verdict), gate_outcome(verdict)
    if comparison is not None:
        outcome = f"{comparison_text.outcome_text(comparison)}; gate {outcome}"
        sign = SIGNS["fail"] if verdict.outcome == "fail" else OUTCOME_SIGNS[comparison.outcome]
    yield f"### {sign} {name}: {outcome}\n\n"
    yield "".join(f"- {markdown_text(reason)}\n" for reason in verdict.reasons) + "\n"
    yield (
        markdown_text(
            " · ".join(
                filter(
                    None,
                    [tally_text(summary.total, run.gate, has_metrics=bool(summary.metrics)), *run_facts(run, summary)],
                )
            )
        )
        + "\n\n"
    )
    yield from (metrics_table(group, summary, run.gate) for group in summary.groups)
    if comparison is not None:
        yield f"#### Against {markdown_text(comparison_text.run_labels(comparison)[1])}\n\n"
        yield from comparison_body(comparison, limit=MOST_CASES)
    yield from outputs_markdown(run) if has_unscored_outputs(summary) else ()
    yield from _worst_cases(run, summary)
    yield "".join(markdown_list(f"#### {spent_title(run)}", spent_lines(run)))
    yield from (f"> {markdown_text(one_line(note, 500))}\n\n" for note in run.notes[:_MOST_NOTES])


def _worst_cases(run: Run, summary: Summary) -> Iterator[str]:
    worst = [result for result in summary.worst if result.verdict in _NOT_PASSED][:MOST_CASES]
    total = summary.total.failed + summary.total.errors + summary.total.unscored
    if worst:
        which = "" if len(worst) == total else f": the worst {len(worst):,} of {total:,}"
        yield f"#### Did not pass{which}\n\n"
    yield from (case_markdown(result, run, deciding_scores(result, summary.missed)) for result in worst)


def _footer(run: Run, link: str) -> str:
    job = f' · <a href="{html_text(link)}">job</a>' if link else ""
    return f"\n<sub>{' · '.join(map(markdown_text, run_origin(run)))}{job}</sub>\n"
