"""Rows of the HTML report: cells of a trial, and its expandable texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from evalmark.core.case_titles import CaseTitles, input_title
from evalmark.core.text import cut_at_word, one_line, unwrap_single_input
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score, Verdict
from evalmark.reports.html.escaping import PageText, page_text
from evalmark.reports.html.markdown import plain_beginning
from evalmark.reports.html.rich_text import may_be_drawn
from evalmark.reports.html.timeline import TimelineStep, result_timeline
from evalmark.reports.text import transcripts, verdicts
from evalmark.reports.text.numbers import GAP
from evalmark.reports.text.titles import trial_title
from evalmark.reports.text.transcripts import steps_title, tokens_used
from evalmark.reports.text.verdicts import raised_at, score_kind, score_text, short_score, traceback_of
from evalmark.stats.comparison.baseline_outputs import BaselineOutput

ASKED = 300
"""Characters of an input in a row."""
ANSWER = 140
"""Characters of an output in its cell, if all of it is below."""
WHOLE = 500
"""Characters of a plain line that is shown in its cell alone, and not again below."""
_MOST_STEPS = 500
_MOST_TURNS = 200
_ROW_TAGS = 6
"""Tags that stand under the name of a case."""
_MOST_TAGS = 50
_MOST_SENTENCES = 50


class MetricCell(NamedTuple):
    """The cell of one metric."""

    kind: str
    text: str
    sorts: str
    """Number to sort and filter by, if the text is not that number."""


class TextPart(NamedTuple):
    """An expandable text of a row."""

    label: str
    text: PageText
    kind: str = ""
    head: str = ""
    """Text before it: a score with its threshold."""
    unsupported: Sequence[str] = ()
    """Sentences to mark."""
    before: PageText | None = None
    """Text of the baseline, if the part shows changes."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A trial."""

    id: str
    name: str
    verdict: Verdict
    is_named: bool
    """Whether the name is the case's own id, not the beginning of its input."""
    asked: str
    answer: str
    expected: str
    cells: tuple[MetricCell, ...]
    seconds: float | None
    waited: float | None
    tags: tuple[str, ...]
    was: BaselineOutput | None
    """None without a baseline or if it lacks the trial."""
    outcome: str
    """`worse`, `better`, `other`, `same`, `new`; empty without a baseline."""
    parts: tuple[TextPart, ...]
    steps: tuple[TimelineStep, ...]
    """What an agent did, which the parts have as text too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """Data shared by all rows."""

    run: Run
    columns: Mapping[str, str | None]
    """Metrics with a column, and its subheading; None if datasets have different thresholds."""
    times: bool
    has_expected: bool
    """Whether the expected output has a column."""
    earlier: Mapping[str, BaselineOutput] | None
    """Outputs of the baseline by trial id; None without one."""
    titles: CaseTitles = field(default_factory=CaseTitles)


def report_rows(results: Iterable[Result], about: RowContext) -> Iterator[ReportRow]:
    """Yield the rows of trials."""
    for result in results:
        yield _report_row(result, about)


def _report_row(result: Result, about: RowContext) -> ReportRow:
    trial, metrics = result.trial, metrics_for(about.run.metrics, result.trial.dataset)
    was = None if about.earlier is None else about.earlier.get(trial.id)
    text = result.output.value if result.output.error is None else result.output.error
    return ReportRow(
        id=trial.id,
        name=trial_title(trial, about.run, about.titles),
        verdict=result.verdict,
        is_named=not trial.case.has_generated_id,
        asked=input_title(trial.case.input, trial.case.id, trial.position, ASKED),
        answer=one_line(text, ANSWER) if result.output.error is not None else _cell_text(text),
        expected="" if trial.case.expected is None else _cell_text(trial.case.expected),
        cells=_cells(result, metrics, about.columns),
        seconds=result.output.seconds if about.times else None,
        waited=result.output.waited if about.times else None,
        tags=tuple(one_line(tag, 100) for tag in trial.case.tags[:_MOST_TAGS]),
        was=was,
        outcome="" if about.earlier is None else "new" if was is None else was.outcome(result),
        parts=tuple(_parts(result, metrics, was, about)),
        steps=tuple(_steps(result, times=about.times)),
    )


def _is_whole(value: Any) -> bool:
    """Return whether a cell shows all of a text, so that it need not be repeated below; short ones are repeated."""
    return isinstance(value, str) and ANSWER < len(value) <= WHOLE and not may_be_drawn(value)


def _cell_text(value: Any) -> str:
    if _is_whole(value):
        return str(value)
    return cut_at_word(_plain(value) if isinstance(value, str) else value, ANSWER)


def _plain(text: str) -> str:
    """Leave out the Markdown of the beginning, which is all that a cell shows; JSON and short lines such as "- 1" stay."""
    if text.lstrip().startswith(("{", "[")) or (len(text) <= ANSWER and "\n" not in text):
        return text
    return str(plain_beginning(text, ANSWER))


def _cells(result: Result, metrics: Mapping[str, Metric], columns: Iterable[str]) -> tuple[MetricCell, ...]:
    scores = {score.name: score for score in verdicts.shown_scores(result)}
    cells = tuple(_cell(scores.get(name), metrics.get(name)) for name in columns)
    if result.output.error is None or any(cell.kind for cell in cells):
        return cells
    # The first cell stands for all of them, and covers their columns.
    return tuple(MetricCell("none", "" if at else "not scored", "") for at in range(len(cells)))


def _cell(score: Score | None, metric: Metric | None) -> MetricCell:
    if score is None:
        return MetricCell("", GAP, "")
    text = short_score(score, metric)
    number = score.raw if score.value is None and isinstance(score.raw, int | float) else score.value
    sorts = "" if number is None or score.status != "scored" else f"{number:z.4g}"
    return MetricCell(score_kind(score), text, "" if _is_number(text, sorts) else sorts)


def _is_number(text: str, number: str) -> bool:
    """Return whether a text shows this number."""
    try:
        return abs(float(text) - float(number)) < 0.001
    except ValueError:
        return False


def _parts(
    result: Result, metrics: Mapping[str, Metric], was: BaselineOutput | None, about: RowContext
) -> Iterator[TextPart]:
    case, output = result.trial.case, result.output
    yield from _input_parts(case, has_expected=about.has_expected)
    yield from _output_parts(result, was)
    for number, context in enumerate(islice(case.contexts_of(output) or (), _MOST_TURNS), start=1):
        yield TextPart(f"Context {number}", page_text(context))
    yield from _transcript_parts(output, case.input, times=about.times)
    for score in result.scores:
        part = _score_part(score, metrics)
        # Other scores show no more than their column.
        if part.text.length or part.notes or about.columns.get(score.name) is None:
            yield part
        if traceback := traceback_of(score):
            yield TextPart(f"Traceback of {one_line(score.name, 60)}", page_text(traceback), "error")
    if len(case.tags) > _ROW_TAGS:
        yield TextPart("Tags", page_text(", ".join(case.tags[:_MOST_TAGS])))


def _input_parts(case: Case, *, has_expected: bool) -> Iterator[TextPart]:
    asked = page_text(unwrap_single_input(case.input))
    if input_title(case.input, longest=ASKED) != asked.shown:
        yield TextPart("Input", asked)
    for turn in islice(case.history, _MOST_TURNS):
        yield TextPart(f"Before, {one_line(turn.role, 20)}", page_text(turn.content))
    if case.expected is not None and not (has_expected and _is_whole(case.expected)):
        yield TextPart("Expected", page_text(case.expected))
    for example in islice(case.examples, _MOST_TURNS):
        yield TextPart("Liked" if example.liked else "Disliked", page_text(example.value))


def _output_parts(result: Result, was: BaselineOutput | None) -> Iterator[TextPart]:
    output = result.output
    unsupported = [sentence for score in result.scores for sentence in verdicts.unsupported_claims(score)]
    if output.error is not None:
        yield TextPart("Error", page_text(output.error + raised_at(output)), "error")
        if traceback := traceback_of(output):
            yield TextPart("Traceback", page_text(traceback), "error")
    is_in_cell = output.error is None and _is_whole(output.value) and not unsupported
    if (output.value is not None or output.error is None) and not is_in_cell:
        notes = ["Marked: not supported by any context."] if unsupported else []
        yield TextPart(
            "Output", page_text(_empty_if_none(output.value)), "answered", unsupported=unsupported, notes=notes
        )
    if was is None or (was.value, was.error) == (output.value, output.error):
        return
    if was.error is None and output.error is None:
        yield TextPart("Changed", page_text(_empty_if_none(output.value)), before=page_text(_empty_if_none(was.value)))
    else:
        yield TextPart("Before", page_text(_empty_if_none(was.value) if was.error is None else was.error))


def _empty_if_none(value: Any) -> Any:
    return "" if value is None else value


def _transcript_parts(output: Output, asked: Any, *, times: bool) -> Iterator[TextPart]:
    """Add the transcript of an agent and its tokens."""
    usage = output.usage if times else None
    took = "" if usage is None else tokens_used(usage)
    steps = transcripts.steps(output, asked, times=times)
    if not steps:
        if took:
            yield TextPart("Took", page_text(took))
        return
    notes = [f"The first {_MOST_STEPS} of {len(steps):,} steps."] if len(steps) > _MOST_STEPS else []
    yield TextPart("Transcript", page_text(" · ".join(filter(None, (steps_title(output), took)))), notes=notes)
    for step in steps[:_MOST_STEPS]:
        yield TextPart(step.speaker, page_text(step.text), f"step {step.kind}")


def _steps(result: Result, *, times: bool) -> Iterator[TimelineStep]:
    """Yield the steps of a result, with ids of the page of all results; none if the parts do not have them all."""
    steps, total = result_timeline(result.output, result.trial.case.input, most=_MOST_STEPS)
    for number, step in enumerate(steps if total <= _MOST_STEPS else (), start=1):
        yield replace(step, id=f"s{result.trial.id}-{number}", seconds=step.seconds if times else None)


def _score_part(score: Score, metrics: Mapping[str, Metric]) -> TextPart:
    found = islice(verdicts.unsupported_claims(score).items(), _MOST_SENTENCES)
    notes = [f"\u201c{one_line(sentence, 160)}\u201d {closest}" for sentence, closest in found if closest]
    text = score_text(score, metrics)
    reason = score.reason + raised_at(score)
    return TextPart(one_line(score.name, 60), page_text(reason), score_kind(score), text, notes=notes)
