"""The parts of a page in Markdown, made so that no text from a model, a file or a name can act in it."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from evalmark.core.text import cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.reports.text import numbers, verdicts
from evalmark.reports.text.judges import all_remarks, worst_rows
from evalmark.reports.text.numbers import bars, centre, share, spread
from evalmark.reports.text.raised import raised_at
from evalmark.reports.text.similarity import shown_metrics
from evalmark.reports.text.titles import name_of, quoted, title
from evalmark.reports.text.verdicts import standing, unsupported
from evalmark.stats.summary.summary import Summary, SummaryGroup

LONGEST = 2_000
"""Of a text inside a case, in characters: a GitHub step summary holds 1 MiB in all."""
_MOST_SCORES = 30
"""Of one case."""
_WORST_ROWS = 3
"""Of each judged metric, of each dataset."""
_SPECIAL = re.compile(r"[\\`*_\[\]|~$]|^[-+#=]|:(?=//|:)")
_NUMBERED = re.compile(r"^(\d+)([.)])(?= |$)")
_LINKED = re.compile(r"@|#(?=\d)|\b(?:GH-|www(?=\.))", re.IGNORECASE)
"""What GitHub makes a link of, and tells people of: names, numbers of issues, addresses."""
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
"""What the runner of GitHub Actions takes for a command, in a page that is printed instead of kept."""
_OLD_COMMAND = "##["


def safe(text: str) -> str:
    """One line of text without any meaning to Markdown."""
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", in_html(one_line(text))))


def in_html(text: str) -> str:
    """Clean text inside an HTML element of a Markdown page; the comment keeps GitHub from linking what it stands in."""
    return _LINKED.sub(r"\g<0><!-- -->", escape(text, quote=False)).replace(_OLD_COMMAND, "#&#35;[")


def block(value: object) -> str:
    """A value with its line ends, in a block of its own."""
    text = _COMMAND.sub(r"\1&#58;", in_html(cut(display_text(value), LONGEST)))
    return f"<pre>{text}</pre>"


def listed(heading: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines under a heading, each behind what it is about; nothing where there are none."""
    if lines:
        yield f"{heading}\n\n" if heading else ""
        yield from (f"- {safe(about)}: {safe(said)}\n" for about, said in lines)
        yield "\n"


def group_part(group: SummaryGroup, summary: Summary) -> Iterator[str]:
    """One dataset on one target: how its trials ended, a table of its metrics, and what there is to say of them."""
    yield f"### {safe(title(group, summary))}\n\n"
    if endings := verdicts.endings(group.tally):
        yield f"{safe(endings)}\n\n"
    if not group.metrics:
        return
    yield _table(group)
    if any(metric.direction == "lower" for metric in group.metrics):
        yield "↓ lower is better\n\n"
    yield from listed("", all_remarks(group))
    rows = worst_rows(group, _WORST_ROWS)
    told = [(metric, f"{case}: {said} {cut(reason, LONGEST)}") for metric, case, said, reason in rows]
    if told:
        yield "".join((*listed("<details><summary>Worst verdicts</summary>", told), "</details>\n\n"))


def _table(group: SummaryGroup) -> str:
    lines = [
        "| metric | n | mean | 95 % interval | method | low to high | passed | unscored | errors |",
        "|:--|--:|--:|--:|:--|:--|--:|--:|--:|",
    ]
    for metric in shown_metrics(group):
        cells = [
            safe(metric.name) + (" ↓" if metric.direction == "lower" else ""),
            f"{metric.n:,}",
            f"**{safe(centre(metric))}** {safe(numbers.behind(metric))}".strip(),
            spread(metric),
            metric.interval.method,
            bars(metric.bins),
            share(metric.pass_rate),
            f"{metric.unscored:,}",
            f"{metric.missing - metric.unscored:,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


def case_part(result: Result, run: Run, scores: Sequence[Score]) -> str:
    """One trial folded away: what was asked, expected and answered, and what these scores say."""
    case, output = result.trial.case, result.output
    asked = quoted(case.input) if case.has_generated_id else ""
    lines = [f"<details><summary>{in_html(name_of(result, run) + asked)} ({result.verdict})</summary>\n"]
    rows = (
        ("asked", unwrap_single_input(case.input)),
        ("expected", case.expected),
        ("answered", output.value),
        ("error", None if output.error is None else output.error + raised_at(output)),
    )
    lines += [f"{label}\n{block(value)}\n" for label, value in rows if value is not None]
    metrics = metrics_for(run.metrics, result.trial.dataset)
    for score in scores[:_MOST_SCORES]:
        lines += _score_lines(score, metrics)
    if len(scores) > _MOST_SCORES:
        lines.append(f"- and {len(scores) - _MOST_SCORES:,} more scores")
    return "\n".join([*lines, "\n</details>\n\n"])


def _score_lines(score: Score, metrics: dict[str, Metric]) -> Iterator[str]:
    said = [safe(text) for text in (standing(score, metrics), cut(score.reason, LONGEST) + raised_at(score)) if text]
    yield f"- {safe(score.name)}: {'; '.join(said)}"
    for sentence, closest in unsupported(score).items():
        behind = f" ({safe(cut(closest, LONGEST))})" if closest else ""
        yield f"  - unsupported: {safe(cut(sentence, LONGEST))}{behind}"
