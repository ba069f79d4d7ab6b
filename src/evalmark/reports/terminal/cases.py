"""Terminal text of trials: one in full, or the worst of a run."""

from collections.abc import Callable, Mapping

from rich.console import RenderableType
from rich.text import Text

from evalmark.core.case_titles import CaseTitles, case_title
from evalmark.core.text import clean, cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.case import Output
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.reports.text import transcripts
from evalmark.reports.text.titles import trial_title
from evalmark.reports.text.transcripts import steps_title, tokens_used
from evalmark.reports.text.verdicts import deciding_scores, raised_at, score_text, traceback_of, unsupported_claims
from evalmark.stats.summary.summary import Summary

from .console import COLORS, DEFAULT, MARKS, FieldList, TerminalStyle, indented, render

_LINES = 400
"""Longest field of a case shown in full, in characters per column."""
_STEP_LINES = 40
"""The same for a step of a transcript."""
_BRIEF, BRIEF_REASON = 160, 240
"""Longest texts and reasons in a list of cases, in characters; wide terminals show two lines."""


def case_screen(result: Result, style: TerminalStyle = DEFAULT, *, run: Run | None = None) -> str:
    """Show one trial in full: input, output and every score."""
    case, output = result.trial.case, result.output
    rows = [
        ("id", case.id if case.has_generated_id else None),
        ("input", unwrap_single_input(case.input)),
        ("expected", case.expected),
        ("output", output.value),
        ("error", output.error),
    ]
    rows += [("context", context) for context in case.contexts_of(output) or ()]
    table = FieldList()
    for label, value in rows:
        if value is not None:
            table.add_row(label, Text(cut(display_text(value), style.width * _LINES)))
        if label == "error" and value is not None:
            _add_traceback(table, output, style)
    _add_steps(table, result, style)
    metrics = metrics_for(run.metrics if run else (), result.trial.dataset)
    for score in result.scores:
        _add_score(table, score, metrics, None)
        _add_traceback(table, score, style)
    return render([_case_heading(result, run), indented(table)], style)


def worst_cases(run: Run, summary: Summary, style: TerminalStyle) -> list[RenderableType]:
    """Show the worst trials, each in a few lines."""
    is_judged = any(
        metric.judge for metric in run.metrics
    )  # scores that cannot fail are listed under the worst verdicts
    worst = [r for r in summary.worst if summary.missed or not (is_judged and r.verdict == "ungated")]
    shown_results = worst[: style.worst]
    if not shown_results:
        return []
    table, titles = FieldList(), CaseTitles()
    most, most_reason = max(_BRIEF, 2 * style.width), max(BRIEF_REASON, 3 * style.width)
    for result in shown_results:
        heading = _case_heading(result, run, titles)
        table.add_heading(heading)
        given = one_line(unwrap_single_input(result.trial.case.input), most)
        if f"{MARKS[result.verdict]} {given}" != heading.plain:  # else the name of the case is its input
            table.add_row("input", given)
        if result.output.error is None:
            table.add_row("output", one_line(result.output.value, most))
        else:
            error = Text(one_line(result.output.error, most), style=COLORS["error"])
            table.add_row("error", error.append(raised_at(result.output), style="not bold dim"))
        metrics = metrics_for(run.metrics, result.trial.dataset)
        for score in deciding_scores(result, summary.missed):
            _add_score(table, score, metrics, most_reason)
    return [Text(""), Text("worst cases", style="bold"), table]


def _case_heading(result: Result, run: Run | None, title_of: Callable[[str, object, int], str] = case_title) -> Text:
    verdict = result.verdict
    return Text.assemble(
        (f"{MARKS[verdict]} ", COLORS.get(verdict, "dim")),
        (trial_title(result.trial, run, title_of), "bold"),
    )


def _add_steps(table: FieldList, result: Result, style: TerminalStyle) -> None:
    steps = transcripts.steps(result.output, result.trial.case.input)
    if steps:
        table.add_row("transcript", Text(steps_title(result.output), style="dim"))
    for step in steps:
        text = cut(step.text, style.width * _STEP_LINES)
        table.add_row(f"  {step.speaker}", Text(text, style=COLORS["fail"] if step.kind == "error" else ""))
    if result.output.usage is not None:
        table.add_row("tokens", Text(tokens_used(result.output.usage)))


def _add_traceback(table: FieldList, item: Output | Score, style: TerminalStyle) -> None:
    if traceback := traceback_of(item):
        table.add_row("traceback", Text(cut(traceback, style.width * _LINES)))


def _add_score(table: FieldList, score: Score, metrics: Mapping[str, Metric], most: int | None) -> None:
    line = Text(score_text(score, metrics), style=COLORS.get("fail" if score.passed is False else score.status, ""))
    reason = clean(score.reason) if most is None else one_line(score.reason, most)
    if reason:
        line.append(f"  {reason}{raised_at(score)}", style="not bold default")
    table.add_row(one_line(score.name, 60), line)
    for sentence, closest in unsupported_claims(score).items():
        text = clean(sentence) if most is None else one_line(sentence, most)
        quoted = Text(f"\u201c{text}\u201d", style="italic")
        why = closest if most is None else one_line(closest, most)
        table.add_row(
            "unsupported" if "claims" in score.detail else "not in contexts",
            quoted.append(f"  {why}" if why else "", style="not italic dim"),
        )
