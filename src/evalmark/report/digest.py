"""A run as Markdown, for a pull request comment or a CI step summary."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from evalmark import wording
from evalmark.stats import Group, Summary, figures_and_verdict
from evalmark.values import Result, Run, count, metrics_for
from evalmark.wording import cut, one_line, shown, spent_lines

from .options import PLAIN, Options

_SPECIAL = re.compile(r"[\\`*_\[\]|~$]|^[-+#=]|:(?=//)")
_NUMBERED = re.compile(r"^(\d+)([.)])(?= |$)")
_LONGEST = 2_000
"""Of a text inside a failing case, in characters: a GitHub step summary holds 1 MB in all."""
_WORST_ROWS = 3
"""Of each judged metric, of each dataset."""
_SIGNS = {"pass": "✅", "fail": "❌", "cannot tell": "❔"}


def as_markdown(run: Run, summary: Summary | None = None, options: Options = PLAIN) -> Iterator[str]:
    """Verdict, a table a dataset, and the worst cases folded away."""
    summary, verdict = figures_and_verdict(run, summary)
    yield f"## {_SIGNS[verdict.outcome]} {_safe(run.name)}: {wording.outcome(verdict)}\n\n"
    yield " ".join(_safe(reason) for reason in verdict.reasons) + "\n\n"
    for group in summary.groups:
        yield from _group(group, summary)
    lines = [(found.base, said) for found in summary.agreements for said in wording.agreement_lines(found)]
    yield from _listed("### Judges compared", lines)
    if summary.worst:
        yield "### Worst cases\n\n"
    for result in summary.worst:
        yield from _case(result, run)
    yield from _listed("### Model calls", spent_lines(run) if options.times else [])
    yield from (f"> {_safe(note)}\n\n" for note in run.notes)
    yield f"<sub>{' · '.join(_facts(run, summary, options))}</sub>\n"


def _facts(run: Run, summary: Summary, options: Options) -> Iterator[str]:
    if options.times:
        yield from map(_safe, (*wording.facts(run, summary), *wording.origin(run)))
    else:
        yield _safe(count(summary.total.trials, "trial"))


def _group(group: Group, summary: Summary) -> Iterator[str]:
    yield f"### {_safe(wording.title(group, summary))}\n\n"
    if endings := wording.endings(group):
        yield f"{_safe(endings)}\n\n"
    if not group.metrics:
        return
    yield "| metric | n | mean | 95 % interval | method | passed | unscored | errors |\n"
    yield "|:--|--:|--:|--:|:--|--:|--:|--:|\n"
    for metric in group.metrics:
        name = _safe(metric.name) + (" ↓" if metric.direction == "lower" else "")
        cells = [
            name,
            f"{metric.n:,}",
            f"**{_safe(wording.centre(metric))}** {_safe(wording.behind(metric))}".strip(),
            wording.spread(metric),
            metric.interval.method,
            wording.share(metric.pass_rate),
            f"{metric.unscored:,}",
            f"{metric.missing - metric.unscored:,}",
        ]
        yield f"| {' | '.join(cells)} |\n"
    yield "\n"
    if any(metric.direction == "lower" for metric in group.metrics):
        yield "↓ lower is better\n\n"
    yield from _listed("", wording.all_remarks(group))
    rows = wording.worst_rows(group, _WORST_ROWS)
    told = [(metric, f"{case}: {said} {cut(reason, _LONGEST)}") for metric, case, said, reason in rows]
    if told:
        yield from _listed("<details><summary>Worst verdicts</summary>", told)
        yield "</details>\n\n"


def _listed(heading: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines under a heading, each behind what it is about; nothing where there are none."""
    if lines:
        yield f"{heading}\n\n" if heading else ""
        yield from (f"- {_safe(about)}: {_safe(said)}\n" for about, said in lines)
        yield "\n"


def _case(result: Result, run: Run) -> Iterator[str]:
    case, output = result.trial.case, result.output
    asked = wording.quoted(case.input) if case.has_made_id else ""
    yield f"<details><summary>{_html(wording.name_of(result, run) + asked)} ({result.verdict})</summary>\n\n"
    rows = (("asked", case.input), ("expected", case.expected), ("answered", output.value), ("error", output.error))
    for label, value in rows:
        if value is not None:
            yield f"{label}\n<pre>{_html(cut(shown(value), _LONGEST))}</pre>\n\n"
    metrics = metrics_for(run.metrics, result.trial.dataset)
    for score in wording.telling(result):
        said = [_safe(text) for text in (wording.standing(score, metrics), cut(score.reason, _LONGEST)) if text]
        yield f"- {_safe(score.name)}: {'; '.join(said)}\n"
        for sentence, closest in wording.unsupported(score).items():
            yield f"  - unsupported: {_safe(cut(sentence, _LONGEST))}{f' ({_safe(cut(closest, _LONGEST))})' if closest else ''}\n"
    yield "\n</details>\n\n"


def _safe(text: str) -> str:
    """One line of text without any meaning to Markdown."""
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", _html(one_line(text))))


def _html(text: str) -> str:
    """Text inside an HTML element of a Markdown page; the comment keeps GitHub from telling anybody named in it."""
    return escape(text, quote=False).replace("@", "@<!-- -->")
