"""Job summaries and annotations for GitHub Actions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalmark.core.money import spent_lines
from evalmark.core.text import clean, cut, one_line
from evalmark.core.values.run import Run, metrics_for
from evalmark.core.values.score import Result
from evalmark.reports.text import comparison, verdicts
from evalmark.reports.text.comparison import SideNames, side_names
from evalmark.reports.text.judges import agreement_lines
from evalmark.reports.text.titles import quoted, run_facts, run_origin, trial_counts, trial_name
from evalmark.reports.text.verdicts import gate_outcome, tally_text, verdict_reasons
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import Summary

from .comparison_markdown import comparison_in_markdown
from .markdown import case_markdown, group_markdown, markdown_list, markdown_text
from .options import DEFAULT_OPTIONS, ReportOptions
from .run_markdown import SIGNS
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
    run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS, *, room: int = LIMIT
) -> Iterator[str]:
    """Yield a job summary of at most `room` bytes: verdict, metrics, spending, failed cases."""
    yield from limit_bytes(room, _parts(run, summary or summarise(run, worst=LISTED), options))


def limit_bytes(room: int, parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts that fit in `room` bytes, then a note if some are left out."""
    left = room - len(_CUT.encode())
    for part in parts:
        left -= len(part.encode(errors="backslashreplace"))
        if left < 0:
            yield from [_CUT] if room >= len(_CUT.encode()) else []
            return
        yield part


def _parts(run: Run, summary: Summary, options: ReportOptions) -> Iterator[str]:
    """Yield the parts of the summary; each is kept or dropped as a whole."""
    summary, verdict = summary_and_verdict(run, summary)
    yield f"## {SIGNS[verdict.outcome]} {markdown_text(run.name)}: {gate_outcome(verdict)}\n\n"
    yield "".join(f"- {markdown_text(reason)}\n" for reason in verdict.reasons) + "\n"
    yield f"{' · '.join(map(markdown_text, _facts(run, summary, options)))}\n\n"
    yield "".join(overview_in_markdown(run, split_overview(run, summary)))
    for group in summary.groups:
        yield "".join(group_markdown(group, summary))
    lines = [(found.base, said) for found in summary.agreements for said in agreement_lines(found)]
    yield "".join(markdown_list("### Judges compared", lines))
    yield "".join(markdown_list("### Model calls", spent_lines(run) if options.times else []))
    yield from (f"> {markdown_text(note)}\n\n" for note in run.notes)
    worst = [result for result in summary.worst if result.verdict in _NOT_PASSED]
    total = summary.total.failed + summary.total.errors + summary.total.unscored
    if worst:
        which = "" if len(worst) == total else f": the worst {len(worst):,} of {total:,}"
        yield f"### Did not pass{which}\n\n"
    for result in worst:
        telling = verdicts.deciding_scores(result)
        others = [score for score in result.scores if not any(score is told for told in telling)]
        yield case_markdown(result, run, [*telling, *others])
    below = [result for result in summary.worst if summary.missed and result.verdict not in _NOT_PASSED]
    if below:
        yield f"### Lowest by {markdown_text(', '.join(summary.missed))}\n\n"
    yield from (case_markdown(result, run, verdicts.deciding_scores(result, summary.missed)) for result in below)


def _facts(run: Run, summary: Summary, options: ReportOptions) -> list[str]:
    known = trial_counts(summary)
    if options.times:
        known = [*run_facts(run, summary), *run_origin(run)]
    return list(filter(None, [tally_text(summary.total), *known]))


def annotations(run: Run, summary: Summary | None = None, *, most: int = ANNOTATIONS) -> list[str]:
    """Return workflow commands: a failed gate, then the worst cases at their file and line.

    Failed cases are errors if the gate fails, else warnings.
    """
    summary, verdict = summary_and_verdict(run, summary)
    found = [] if verdict.outcome == "pass" else [_of_gate(run, verdict)]
    worst = (result for result in summary.worst if result.verdict in _NOT_PASSED)
    found += [_of_case(result, run, verdict) for result in worst]
    return found[:most]


def _of_gate(run: Run, verdict: GateVerdict) -> str:
    title = f"{one_line(run.name, 100)}: {gate_outcome(verdict)}"
    return workflow_command("error", {"title": title}, verdict.reasons)


def _of_case(result: Result, run: Run, verdict: GateVerdict) -> str:
    level = "warning" if verdict.outcome == "pass" or result.verdict == "unscored" else "error"
    said = verdict_reasons(result, metrics_for(run.metrics, result.trial.dataset))
    if result.output.error is None:
        said.append(f"output: {one_line(result.output.value, 300)}")
    case = result.trial.case
    asked = quoted(case.input) if case.has_generated_id else ""
    title = f"{trial_name(result, run)}{asked}: {result.verdict}"
    return workflow_command(level, {**file_and_line(case.place), "title": title}, said)


def file_and_line(place: str) -> dict[str, str]:
    """Split a case's location into file and line; empty if it has none."""
    found = _PLACE.fullmatch(one_line(place))
    return {"file": found[1], "line": found[2]} if found else {}


def workflow_command(name: str, properties: Mapping[str, str], lines: Iterable[str]) -> str:
    """Format a workflow command, escaped."""
    said = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{name} {said}::{_data(cut(clean(chr(10).join(lines)), _LONGEST))}"


def _data(text: str) -> str:
    # `##[` was the mark of commands once, wherever in a line it stood; runners by others may look for it first.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace("##[", "# #[")


def _property(text: str) -> str:
    return _data(one_line(text, 255)).replace(":", "%3A").replace(",", "%2C")


def comparison_for_github(found: Comparison, pairs: Sequence[FlipExample] = (), *, room: int = LIMIT) -> Iterator[str]:
    """A job summary of at most `room` bytes."""
    yield from limit_bytes(room, comparison_in_markdown(found, pairs))


def comparison_annotations(
    found: Comparison, pairs: Sequence[FlipExample] = (), *, most: int = ANNOTATIONS
) -> list[str]:
    """Return workflow commands: a bad verdict, then cases that became worse, at their file and line."""
    said = []
    if found.outcome in ("worse", "cannot tell"):
        level = "error" if found.outcome == "worse" else "warning"
        title = f"{comparison.comparison_title(found)}: {comparison.outcome_text(found)}"
        said.append(workflow_command(level, {"title": title}, [comparison.verdict_sentence(found), *found.warnings]))
    worse = (pair for pair in pairs if pair.flip.is_worse)
    level = "error" if found.outcome == "worse" else "warning"
    said += [_annotation(pair, side_names(found, found.targets[0]), level) for pair in worse]
    return said[:most]


def _annotation(pair: FlipExample, heads: SideNames, level: str) -> str:
    case = pair.now.trial.case
    lines = [
        f"{heads.before}: {one_line(pair.before.output.value, 300)}",
        f"{heads.now}: {one_line(pair.now.output.value, 300)}",
    ]
    lines += [now for _, now in comparison.pair_scores(pair)]
    title = f"{trial_name(pair.now)}: {comparison.flip_text(pair.flip, heads)}"
    return workflow_command(level, {**file_and_line(case.place), "title": title}, lines)
