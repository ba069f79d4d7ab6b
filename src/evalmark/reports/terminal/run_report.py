"""Terminal report of a run."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from evalmark.core.money import spent_lines, spent_title
from evalmark.core.text import clean, count, one_line
from evalmark.core.values.run import Gate, Run
from evalmark.reports.text.change_words import OUTCOME_KINDS, OUTCOME_SIGNS, OUTCOME_WORDS
from evalmark.reports.text.judges import agreement_rows, all_remarks, worst_rows
from evalmark.reports.text.numbers import rate, share_interval, share_text
from evalmark.reports.text.outputs import has_unscored_outputs
from evalmark.reports.text.titles import group_place, group_title, run_facts, run_origin, without_repeats
from evalmark.reports.text.verdicts import gate_outcome, tally_text
from evalmark.stats.summary.gate import GateVerdict, apply_gate, summary_and_verdict
from evalmark.stats.summary.summary import REASONS, Summary
from evalmark.stats.summary.summary import SummaryGroup as Part

from .cases import BRIEF_REASON, worst_cases
from .console import (
    COLORS,
    DEFAULT,
    MARKS,
    FieldList,
    TerminalStyle,
    column_gap,
    content_width,
    data_table,
    gate_lines,
    indented,
    render,
    title_line,
)
from .metric_table import TableLayout, fitting_layout, metric_table
from .outputs import output_screen

if TYPE_CHECKING:
    from evalmark.stats.comparison.change import Outcome

_DATASET, _TARGET = attrgetter("dataset"), attrgetter("target")
_WORST_ROWS = 2
"""Worst verdicts shown for each judged metric and dataset."""


def run_screen(
    run: Run, style: TerminalStyle = DEFAULT, *, summary: Summary | None = None, verdict: GateVerdict | None = None
) -> str:
    """Show a run: metrics, worst cases, spending, verdict, and the command to show it again.

    Args:
        run: The run.
        style: Width, colours and what to show.
        summary: The summary of the run, if it is there already.
        verdict: The verdict of its gate, if it is there already.

    Returns:
        The report as text, with terminal colours if the style has them.

    >>> from evalmark import evaluate
    >>> run = evaluate(["a"], str.upper, [lambda output: output == "A"], store=None)
    >>> "Gate passed" in run_screen(run)
    True
    """
    summary, run_verdict = summary_and_verdict(run, summary)
    verdict = verdict or run_verdict
    parts: list[RenderableType] = [_header(run, summary, verdict)]
    layout = fitting_layout(summary.counted, run.gate, style)
    if len(summary.counted) > 1 and summary.total.pass_rate.n:
        parts += [Text(""), _rates(summary, run.gate, style)]
    for part in summary.counted:
        if part.metrics or part.tally.errors or not has_unscored_outputs(summary):  # else the outputs below say it
            parts += [Text(""), *_part(part, summary, run.gate, layout, style)]
    parts += _left_out(summary, style)
    parts += _listed("judges compared", agreement_rows(summary.agreements))
    parts += output_screen(run, style) if has_unscored_outputs(summary) else worst_cases(run, summary, style)
    parts += _listed(spent_title(run).lower(), spent_lines(run))
    parts += [Text(""), *(Text(clean(remark)) for remark in style.remarks)]
    parts += [
        *_verdict(verdict),
        *_how_to_score(run, summary, style),
        *(Text(f"note: {clean(note)}", style="dim") for note in run.notes),
    ]
    parts += _where(run, summary, style)
    return render(parts, style)


def suites_screen(suites: Sequence[tuple[Run, Summary, int]], style: TerminalStyle) -> str:
    """List the runs of several suites with their verdicts.

    The number is the exit code of the run: of a complete run, one other than the gate's is that of its comparison.
    """
    table = data_table(column_gap(style))
    headings = ("suite", "verdict", "passed", "run")[: 4 if style.width >= 80 else 3]
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in ("verdict", "run"))
    for run, summary, code in suites:
        verdict = apply_gate(summary, run.gate)
        kind: str = verdict.outcome if verdict.gated else "ungated"
        mark, word = MARKS[kind], gate_outcome(verdict)
        if run.status != "complete":
            kind, word = verdict.outcome, word if verdict.outcome == "fail" else run.status
            mark = MARKS[kind]
        elif code != verdict.exit_code:
            outcome: Outcome = "worse" if code == 1 else "cannot tell"
            kind, mark, word = OUTCOME_KINDS[outcome], OUTCOME_SIGNS[outcome], OUTCOME_WORDS[outcome]
        cells = (
            Text(one_line(run.suite or run.name)),
            Text(f"{mark} {word}", style=COLORS.get(kind, "")),
            Text(_short_tally(summary)),
            Text(run.id),
        )
        table.add_row(*cells[: len(headings)])
    return render([Text(f"{len(suites)} suites", style="bold"), indented(table)], style)


def _short_tally(summary: Summary) -> str:
    """Count the trials that passed, and those with errors or without a verdict."""
    total = summary.total
    parts = [f"{total.pass_rate.passed:,} of {total.pass_rate.n:,}"] if total.pass_rate.n else []
    parts += [count(total.errors, "error")] if total.errors else []
    parts += [f"{total.unscored:,} unscored"] if total.unscored else []
    return ", ".join(parts)


def _header(run: Run, summary: Summary, verdict: GateVerdict) -> RenderableType:
    ended = f"{MARKS[verdict.outcome if verdict.gated else 'ungated']} {gate_outcome(verdict)}"
    return Group(
        title_line(Text(one_line(run.name), style="bold"), Text(ended, style=f"bold {_color(verdict)}")),
        Text(" · ".join(run_facts(run, summary)), style="dim"),
        Text(" · ".join(run_origin(run)), style="dim"),
    )


def _rates(summary: Summary, gate: Gate | None, style: TerminalStyle) -> RenderableType:
    """Make a table with the pass rate of each group."""
    shown = summary.counted
    has_datasets, has_targets = (len({name(one) for one in shown}) > 1 for name in (_DATASET, _TARGET))
    table = data_table(column_gap(style))
    table.add_column(" and ".join(["dataset"] * has_datasets + ["target"] * has_targets), overflow="fold")
    for heading in ("passed", "", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    needed = gate.min_pass_rate if gate else None
    for one in shown:
        place = group_place(one, summary)
        passed = one.tally.pass_rate
        table.add_row(
            Text(place if has_datasets else place.removeprefix(f"{one_line(one.dataset or 'cases')} on ")),
            Text(share_text(passed)),
            Text(rate(passed.value, needed), style="bold"),
            Text(share_interval(passed.interval)),
        )
    return table


def _part(
    part: Part, summary: Summary, gate: Gate | None, layout: TableLayout, style: TerminalStyle
) -> Iterable[RenderableType]:
    heading = Text(group_title(part, summary), style="bold")
    heading.append(f"   {tally_text(part.tally, gate, has_metrics=bool(part.metrics))}", style="not bold")
    yield heading
    if not part.metrics:
        return
    yield Text("")
    yield from metric_table(part, gate, layout, style)
    yield from _listed("", all_remarks(part))
    if len(summary.by_target) > 1 and any(result.verdict != "ungated" for result in summary.worst):
        return  # the worst cases below are of all targets
    rows = worst_rows(part, min(style.worst, _WORST_ROWS))
    lines = [
        (metric, f"{case}: {verdict}  {one_line(reason, max(BRIEF_REASON, 3 * style.width))}")
        for metric, case, verdict, reason in rows
    ]
    yield from _listed("worst verdicts", lines)


def _left_out(summary: Summary, style: TerminalStyle) -> list[RenderableType]:
    """Show a line for each group left out of the headline."""
    left_out = [(group, group.left_out) for group in summary.groups if group.left_out]
    lines = [
        (group_place(group, summary), f"{group.tally.trials:,} {REASONS[why]}: {tally_text(group.tally)}")
        for group, why in left_out
    ]
    return _listed("left out of the headline", lines)


def _listed(heading: str, lines: Sequence[tuple[str, str]]) -> list[RenderableType]:
    """Show lines under a heading; repeated topics are shown once."""
    if not lines:
        return []
    topics = without_repeats(topic for topic, _ in lines)
    rows = [(topic, sentence.rstrip()) for topic, (_, sentence) in zip(topics, lines, strict=True)]
    table = FieldList(rows, style="")
    return [Text(""), *([Text(heading, style="bold"), indented(table)] if heading else [table])]


def _verdict(verdict: GateVerdict) -> list[RenderableType]:
    return [gate_lines(verdict)] if verdict.gated else [Text(clean(reason)) for reason in verdict.reasons]


def _how_to_score(run: Run, summary: Summary, style: TerminalStyle) -> list[RenderableType]:
    """Return the command that scores the outputs of a run without metrics."""
    if not has_unscored_outputs(summary) or not style.store:
        return []
    return _with_command(
        "Score the outputs with:", f"evalmark rescore {one_line(run.id)} --metric NAME{style.flags}", style
    )


def _with_command(sentence: str, command: str, style: TerminalStyle) -> list[RenderableType]:
    """Return a sentence and its command, which gets a line of its own where both do not fit into one."""
    line = f"{sentence} {command}"
    if cell_len(line) <= content_width(style):
        return [Text(line)]
    return [Text(sentence), Text(f"  {command}", no_wrap=True, overflow="ignore")]  # in one piece, to be copied


def _color(verdict: GateVerdict) -> str:
    return COLORS[verdict.outcome] if verdict.gated else "default"


def _where(run: Run, summary: Summary, style: TerminalStyle) -> Iterable[RenderableType]:
    more = " --failed" if summary.total.passed < summary.total.trials - summary.total.ungated else ""
    if style.store:
        where = f"Stored in {one_line(style.store)}; show it with:"
        yield from _with_command(where, f"evalmark show {one_line(run.id)}{more}{style.flags}", style)
        if len(summary.by_target) > 1:
            command = f"evalmark show {one_line(run.id)} --overview{style.flags}"
            yield from _with_command("Compare the targets with:", command, style)
        if run.status != "complete" and run.suite and style.resumable:
            yield from _with_command("To continue, repeat the command with:", f"--resume {one_line(run.id)}", style)
