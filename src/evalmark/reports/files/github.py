"""Job summaries and annotations for GitHub Actions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalmark.core.money import spent_lines, spent_title
from evalmark.core.text import clean, cut, one_line
from evalmark.core.values.run import Run, metrics_for
from evalmark.core.values.score import Result
from evalmark.reports.text import changed_cases, verdicts
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.comparison import SideNames, side_names
from evalmark.reports.text.judges import agreement_rows
from evalmark.reports.text.outputs import has_unscored_outputs
from evalmark.reports.text.titles import run_facts, run_origin, trial_counts, trial_title
from evalmark.reports.text.verdicts import gate_outcome, tally_text, verdict_reasons
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import Summary

from .comparison_markdown import comparison_in_markdown
from .markdown import case_markdown, group_markdown, markdown_list, markdown_text, outputs_markdown
from .options import DEFAULT_OPTIONS, ReportOptions
from .run_markdown import heading
from .target_overview import overview_in_markdown, split_overview

LIMIT = 1024 * 1024
"""Largest summary of a step in bytes; GitHub drops larger ones."""
LISTED = 50
"""Most cases in a job summary."""
ANNOTATIONS = 10
"""Most annotations of one kind per step that GitHub shows."""
_LONGEST = 1_000
"""Longest annotation in characters."""
_NOT_PASSED = ("fail", "error", "unscored")
_CUT = "> The rest is left out, as the summary of a step holds 1 MiB. A file has it all: `-o report.html`.\n"
_PLACE = re.compile(r"(.+):(\d+)")


def as_github(
    run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS, *, budget: int = LIMIT
) -> Iterator[str]:
    """Yield a job summary of at most `budget` bytes: verdict, metrics, spending, failed cases."""
    yield from limit_bytes(budget, _parts(run, summary or summarise(run, worst=LISTED), options))


def limit_bytes(budget: int, parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts that fit in `budget` bytes, then a note if some are left out."""
    left = budget - len(_CUT.encode())
    for part in parts:
        left -= len(part.encode(errors="backslashreplace"))
        if left < 0:
            yield from [_CUT] if budget >= len(_CUT.encode()) else []
            return
        yield part


def _parts(run: Run, summary: Summary, options: ReportOptions) -> Iterator[str]:
    """Yield the parts of the summary; each is kept or dropped as a whole."""
    summary, verdict = summary_and_verdict(run, summary)
    yield heading(run, verdict)
    yield "".join(f"- {markdown_text(reason)}\n" for reason in verdict.reasons) + "\n"
    yield f"{' · '.join(map(markdown_text, _facts(run, summary, options)))}\n\n"
    yield "".join(overview_in_markdown(run, split_overview(run, summary)))
    for group in summary.groups:
        yield "".join(group_markdown(group, summary, run.gate))
    yield from outputs_markdown(run) if has_unscored_outputs(summary) else ()
    yield "".join(markdown_list("### Judges compared", agreement_rows(summary.agreements)))
    yield "".join(markdown_list(f"### {spent_title(run)}", spent_lines(run) if options.times else []))
    yield from (f"> {markdown_text(note)}\n\n" for note in run.notes)
    worst = [result for result in summary.worst if result.verdict in _NOT_PASSED]
    total = summary.total.failed + summary.total.errors + summary.total.unscored
    if worst:
        which = "" if len(worst) == total else f": the worst {len(worst):,} of {total:,}"
        yield f"### Did not pass{which}\n\n"
    for result in worst:
        deciding = verdicts.deciding_scores(result)
        others = [score for score in result.scores if not any(score is other for other in deciding)]
        yield case_markdown(result, run, [*deciding, *others])
    below = [result for result in summary.worst if summary.missed and result.verdict not in _NOT_PASSED]
    if below:
        yield f"### Lowest by {markdown_text(', '.join(summary.missed))}\n\n"
    yield from (case_markdown(result, run, verdicts.deciding_scores(result, summary.missed)) for result in below)


def _facts(run: Run, summary: Summary, options: ReportOptions) -> list[str]:
    facts = trial_counts(summary)
    if options.times:
        facts = [*run_facts(run, summary), *run_origin(run)]
    return list(filter(None, [tally_text(summary.total, run.gate, has_metrics=bool(summary.metrics)), *facts]))


def annotations(run: Run, summary: Summary | None = None, *, most: int = ANNOTATIONS) -> list[str]:
    """Return workflow commands: a failed gate, then the worst cases at their file and line.

    Failed cases are errors if the gate fails, else warnings.
    """
    summary, verdict = summary_and_verdict(run, summary)
    commands = [] if verdict.outcome == "pass" else [_of_gate(run, verdict)]
    worst = (result for result in summary.worst if result.verdict in _NOT_PASSED)
    commands += [_of_case(result, run, verdict) for result in worst]
    return commands[:most]


def _of_gate(run: Run, verdict: GateVerdict) -> str:
    title = f"{one_line(run.name, 100)}: {gate_outcome(verdict)}"
    return workflow_command("error", {"title": title}, verdict.reasons)


def _of_case(result: Result, run: Run, verdict: GateVerdict) -> str:
    level = "warning" if verdict.outcome == "pass" or result.verdict == "unscored" else "error"
    reasons = verdict_reasons(result, metrics_for(run.metrics, result.trial.dataset))
    if result.output.error is None:
        reasons.append(f"output: {one_line(result.output.value, 300)}")
    case = result.trial.case
    title = f"{trial_title(result.trial, run)}: {result.verdict}"
    return workflow_command(level, {**file_and_line(case.place), "title": title}, reasons)


def file_and_line(location: str) -> dict[str, str]:
    """Split a case's location into file and line; empty if it has none."""
    match = _PLACE.fullmatch(one_line(location))
    return {"file": match[1], "line": match[2]} if match else {}


def workflow_command(name: str, properties: Mapping[str, str], lines: Iterable[str]) -> str:
    """Format a workflow command, escaped."""
    parameters = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{name} {parameters}::{_data(cut(clean(chr(10).join(lines)), _LONGEST))}"


def _data(text: str) -> str:
    # `##[` once started a command anywhere in a line; other runners may still accept it.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace("##[", "# #[")


def _property(text: str) -> str:
    return _data(one_line(text, 255)).replace(":", "%3A").replace(",", "%2C")


def comparison_for_github(
    comparison: Comparison, pairs: Sequence[FlipExample] = (), *, budget: int = LIMIT
) -> Iterator[str]:
    """A job summary of at most `budget` bytes."""
    yield from limit_bytes(budget, comparison_in_markdown(comparison, pairs))


def comparison_annotations(
    comparison: Comparison, pairs: Sequence[FlipExample] = (), *, most: int = ANNOTATIONS
) -> list[str]:
    """Return workflow commands: a bad verdict, then cases that became worse, at their file and line."""
    commands = []
    if comparison.outcome in ("worse", "cannot tell"):
        level = "error" if comparison.outcome == "worse" else "warning"
        title = f"{comparison_text.comparison_title(comparison)}: {comparison_text.outcome_text(comparison)}"
        commands.append(
            workflow_command(
                level, {"title": title}, [comparison_text.verdict_sentence(comparison), *comparison.warnings]
            )
        )
    worse = (pair for pair in pairs if pair.flip.is_worse)
    level = "error" if comparison.outcome == "worse" else "warning"
    commands += [_annotation(pair, side_names(comparison, comparison.targets[0]), level) for pair in worse]
    return commands[:most]


def _annotation(pair: FlipExample, heads: SideNames, level: str) -> str:
    case = pair.now.trial.case
    lines = [
        f"{heads.before}: {one_line(pair.before.output.value, 300)}",
        f"{heads.now}: {one_line(pair.now.output.value, 300)}",
    ]
    lines += [now for _, now in changed_cases.pair_scores(pair)]
    title = f"{trial_title(pair.now.trial)}: {changed_cases.flip_text(pair.flip, heads)}"
    return workflow_command(level, {**file_and_line(case.place), "title": title}, lines)
