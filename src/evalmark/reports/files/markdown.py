"""Parts of a Markdown report; foreign text is escaped."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from evalmark.core.text import cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.run import Gate, Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.reports.text import numbers, variance, verdicts
from evalmark.reports.text.gate_marks import needed_mean
from evalmark.reports.text.judges import all_remarks, worst_rows
from evalmark.reports.text.numbers import block_bars, mean_interval, mean_text, share_text
from evalmark.reports.text.outputs import output_table
from evalmark.reports.text.similarity import table_metrics
from evalmark.reports.text.titles import group_title, metric_table_notes, trial_title
from evalmark.reports.text.verdicts import raised_at, score_text, unsupported_claims
from evalmark.stats.summary.summary import Summary, SummaryGroup

LONGEST = 2_000
"""Longest text of a case in characters; a GitHub step summary holds 1 MiB."""
_MOST_SCORES = 30
"""Most scores of one case."""
_WORST_ROWS = 3
"""Worst verdicts of each judged metric and dataset."""
_CELL = 300
"""Longest input or output in a table cell, in characters."""
_SPECIAL = re.compile(r"[\\`*_\[\]|~$]|^[-+#=/]|:(?=//|:)")
_NUMBERED = re.compile(r"^(\d+)([.)])(?= |$)")
_LINKED = re.compile(r"@|[#!](?=\d)|\b(?:GH-|www(?=\.))", re.IGNORECASE)
"""Text that GitHub or GitLab would link: user names, numbers of issues and merge requests, addresses."""
_QUICK_ACTION = re.compile(r"^(\s*)/(?=\w)", re.MULTILINE)
"""Text that GitLab would run as a quick action, such as `/close`."""
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
"""Text that GitHub Actions would run as a workflow command if the page is printed."""
_OLD_COMMAND = "##["


def markdown_text(text: str) -> str:
    """Escape one line of text for Markdown."""
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", html_text(one_line(text))))


def html_text(text: str) -> str:
    """Escape text for an HTML element in Markdown; a comment keeps GitHub from linking."""
    return _LINKED.sub(r"\g<0><!-- -->", escape(text, quote=False)).replace(_OLD_COMMAND, "#&#35;[")


def html_block(value: object) -> str:
    """Format a value as a preformatted block."""
    text = _COMMAND.sub(r"\1&#58;", html_text(cut(display_text(value), LONGEST)))
    text = _QUICK_ACTION.sub(r"\1&#47;", text)
    return f"<pre>{text}</pre>"


def markdown_list(heading: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a list under a heading; nothing without lines."""
    if lines:
        yield f"{heading}\n\n" if heading else ""
        yield from (f"- {markdown_text(topic)}: {markdown_text(sentence)}\n" for topic, sentence in lines)
        yield "\n"


def outputs_markdown(run: Run) -> Iterator[str]:
    """Yield a table of outputs that no metric has scored, with a column for each target."""
    table = output_table(run)
    if not table.cases:
        return
    headings = table.targets if len(table.targets) > 1 else ["output"]
    yield "### Outputs\n\n"
    yield f"| {' | '.join(['case', 'input', *map(markdown_text, headings)])} |\n|{':--|' * (2 + len(headings))}\n"
    for case in table.cases:
        cells = [case.title, one_line(unwrap_single_input(case.trial.case.input), _CELL)]
        cells += [_output_cell(case.by_target.get(target)) for target in table.targets]
        yield f"| {' | '.join(map(markdown_text, cells))} |\n"
    yield "".join(f"\n{markdown_text(remark)}\n" for remark in table.remarks) + "\n"


def _output_cell(result: Result | None) -> str:
    if result is None:
        return "did not run"
    error = result.output.error
    return one_line(result.output.value, _CELL) if error is None else f"error: {one_line(error, _CELL)}"


def group_markdown(group: SummaryGroup, summary: Summary, gate: Gate | None) -> Iterator[str]:
    """Yield a group: how trials ended, a table of metrics, and remarks."""
    yield f"### {markdown_text(group_title(group, summary))}\n\n"
    if endings := verdicts.tally_text(group.tally, gate, has_metrics=bool(group.metrics)):
        yield f"{markdown_text(endings)}\n\n"
    if not group.metrics:
        return
    yield _table(group, gate)
    if notes := metric_table_notes(group.metrics):
        yield f"{markdown_text(notes)}\n\n"
    yield from markdown_list("", all_remarks(group))
    for split in group.variances:
        if not split.reason:
            yield f"<details><summary>Where the variance of {html_text(one_line(split.metric, 60))} comes from</summary>\n\n"
            yield _small_table(variance.SOURCE_HEADS, variance.source_rows(split, group))
            yield _small_table(variance.CHANGE_HEADS, variance.projection_rows(split, group))
            yield "</details>\n\n"
    rows = worst_rows(group, _WORST_ROWS)
    lines = [(metric, f"{case}: {verdict} {cut(reason, LONGEST)}") for metric, case, verdict, reason in rows]
    if lines:
        yield "".join((*markdown_list("<details><summary>Worst verdicts</summary>", lines), "</details>\n\n"))


def metrics_table(group: SummaryGroup, summary: Summary, gate: Gate | None) -> str:
    """Format a group as a short table: a row for each metric with its mean, interval and pass rate."""
    lines = [
        f"| {markdown_text(one_line(group_title(group, summary), 100))} | n | mean | 95 % interval | passed |",
        "|:--|--:|--:|--:|--:|",
    ]
    for metric in table_metrics(group):
        name = markdown_text(one_line(metric.name, 80)) + (" ↓" if metric.direction == "lower" else "")
        needed = needed_mean(metric, gate)
        mean = f"{markdown_text(mean_text(metric, needed))} {markdown_text(numbers.mean_unit(metric, needed))}".strip()
        lines.append(f"| {name} | {metric.n:,} | {mean} | {mean_interval(metric)} | {share_text(metric.pass_rate)} |")
    return "\n".join(lines) + "\n\n" if group.metrics else ""


def _small_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(heads), ":--|--:|:--", *(" | ".join(map(markdown_text, row)) for row in rows)]
    return "".join(f"| {line} |\n" for line in lines) + "\n"


def _table(group: SummaryGroup, gate: Gate | None) -> str:
    lines = [
        "| metric | n | mean | 95 % interval | low to high | passed | unscored | errors |",
        "|:--|--:|--:|--:|:--|--:|--:|--:|",
    ]
    for metric in table_metrics(group):
        needed = needed_mean(metric, gate)
        cells = [
            markdown_text(metric.name) + (" ↓" if metric.direction == "lower" else ""),
            f"{metric.n:,}",
            f"**{markdown_text(mean_text(metric, needed))}** {markdown_text(numbers.mean_unit(metric, needed))}".strip(),
            mean_interval(metric),
            block_bars(metric.bins),
            share_text(metric.pass_rate),
            f"{metric.unscored:,}",
            f"{metric.errors:,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


def case_markdown(result: Result, run: Run, scores: Sequence[Score]) -> str:
    """Format one trial, folded: input, expected value, output and scores."""
    case, output = result.trial.case, result.output
    lines = [f"<details><summary>{html_text(trial_title(result.trial, run))} ({result.verdict})</summary>\n"]
    rows = (
        ("input", unwrap_single_input(case.input)),
        ("expected", case.expected),
        ("output", output.value),
        ("error", None if output.error is None else output.error + raised_at(output)),
    )
    lines += [f"{label}\n{html_block(value)}\n" for label, value in rows if value is not None]
    metrics = metrics_for(run.metrics, result.trial.dataset)
    for score in scores[:_MOST_SCORES]:
        lines += _score_lines(score, metrics)
    if len(scores) > _MOST_SCORES:
        lines.append(f"- and {len(scores) - _MOST_SCORES:,} more scores")
    return "\n".join([*lines, "\n</details>\n\n"])


def _score_lines(score: Score, metrics: dict[str, Metric]) -> Iterator[str]:
    parts = [
        markdown_text(text)
        for text in (score_text(score, metrics), cut(score.reason, LONGEST) + raised_at(score))
        if text
    ]
    yield f"- {markdown_text(score.name)}: {'; '.join(parts)}"
    for sentence, closest in unsupported_claims(score).items():
        behind = f" ({markdown_text(cut(closest, LONGEST))})" if closest else ""
        yield f"  - unsupported: {markdown_text(cut(sentence, LONGEST))}{behind}"
