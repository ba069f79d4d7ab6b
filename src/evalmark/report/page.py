"""A run as one HTML page: no script, nothing remote, everything escaped."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from evalmark import wording
from evalmark.inference import Interval
from evalmark.stats import GateVerdict, Group, MetricSummary, Summary, figures_and_verdict
from evalmark.values import Metric, Result, Run, Score, count, metrics_for
from evalmark.wording import one_line, shown, spent_lines

from .compared_page import comparison_in_html
from .head import page_head
from .html_parts import escaped, said
from .options import PLAIN, Options
from .side_by_side import overview_in_html, overview_of

LONGEST = 64_000
"""Of one text on the page, in characters; longer ones are cut, and the page says so."""
_MARKED = 200
_WORST_ROWS = 5
"""Of each judged metric, of each dataset."""
_CLASSES = {"pass": "pass", "fail": "fail", "cannot tell": "unscored"}


def as_html(run: Run, summary: Summary | None = None, options: Options = PLAIN) -> Iterator[str]:
    """A page that opens from disk: verdict, figures, the worst cases, then every case."""
    summary, verdict = figures_and_verdict(run, summary)
    yield page_head(run.name)
    yield _opening(run, summary, verdict, options)
    if options.comparison is not None:
        yield from comparison_in_html(options.comparison)
    yield from overview_in_html(run, overview_of(run, summary))
    for group in summary.groups:
        yield _group(group, summary)
    lines = [(found.base, said) for found in summary.agreements for said in wording.agreement_lines(found)]
    yield _listed("Judges compared", lines)
    yield _listed("Model calls", spent_lines(run) if options.times else [])
    if summary.worst:
        yield "<h2>Worst cases</h2>\n"
        yield from (_case(result, run, options, unfold=index < 3) for index, result in enumerate(summary.worst))
    yield f"<h2>All {count(summary.trials, 'trial')}</h2>\n"
    yield from (_case(result, run, options) for result in islice(run.results, options.cases))
    if summary.trials > options.cases:
        yield f"<p class=quiet>The first {options.cases:,} are listed here; a .jsonl or .csv report has them all.</p>\n"
    yield "</main>\n</html>\n"


def _opening(run: Run, summary: Summary, verdict: GateVerdict, options: Options) -> str:
    word = wording.outcome(verdict)
    facts = [*wording.facts(run, summary), *wording.origin(run)] if options.times else wording.trials(summary)
    lines = [
        f"<header><h1>{escaped(one_line(run.name))}</h1><strong class={_CLASSES[verdict.outcome]}>{word}</strong></header>"
    ]
    lines += [f"<p>{escaped(reason)}</p>" for reason in verdict.reasons]
    lines.append(f"<p class=quiet>{escaped(' · '.join(map(one_line, facts)))}</p>")
    lines += [f"<p class=quiet>{escaped(note)}</p>" for note in run.notes]
    return "\n".join(lines) + "\n"


def _group(group: Group, summary: Summary) -> str:
    lines = [f"<h2>{escaped(wording.title(group, summary))}</h2>", f"<p>{escaped(wording.endings(group.tally))}</p>"]
    if group.metrics:
        lines.append(
            "<div class=wide><table><thead><tr><th>metric<th>n<th>mean<th>95 % interval<th><th>passed<th>unscored<th>errors<th>spread<tbody>"
        )
        lines += [_metric(metric) for metric in group.metrics]
        lines.append("</table></div>")
    if any(metric.direction == "lower" for metric in group.metrics):
        lines.append("<p class=quiet>↓ lower is better</p>")
    lines.append(_listed("", wording.all_remarks(group)))
    worst = wording.worst_rows(group, _WORST_ROWS)
    rows = [
        f"<tr><th>{escaped(metric)}<td>{escaped(case)}<td>{escaped(said)}<td>{escaped(reason)}"
        for metric, (_, case, said, reason) in zip(wording.once(row[0] for row in worst), worst, strict=True)
    ]
    if rows:
        lines.append(
            f"<details><summary>Worst verdicts</summary>\n<table class=scores>{''.join(rows)}</table></details>"
        )
    return "\n".join(filter(None, lines)) + "\n"


def _listed(heading: str, lines: Sequence[tuple[str, str]]) -> str:
    """Lines under a heading, each behind what it is about; nothing where there are none."""
    names = wording.once(about for about, _ in lines)
    title = f"<h2>{heading}</h2>\n" if heading and lines else ""
    return title + said((name, line) for name, (_, line) in zip(names, lines, strict=True))


def _metric(metric: MetricSummary) -> str:
    rate = metric.pass_rate
    passed = f"{wording.share(rate)}<small>{wording.share_interval(rate.interval)}</small>" if rate.n else wording.GAP
    name = escaped(one_line(metric.name)) + (" <span class=quiet>↓</span>" if metric.direction == "lower" else "")
    cells = [
        f"<tr><th>{name}",
        f"{metric.n:,}",
        f"<b>{escaped(wording.centre(metric))}</b>{_below(metric)}",
        f"{wording.spread(metric)}<small>{escaped(metric.interval.method)}</small>",
        _plot(metric.mean, metric.interval) if metric.scale == "value" else "",
        passed,
        _gap(metric.unscored, "unscored"),
        _gap(metric.missing - metric.unscored, "error"),
        _spread(metric),
    ]
    return "<td>".join(cells)


def _below(metric: MetricSummary) -> str:
    """Below the mean: its unit, the same from 0 to 1, or the mean of raw numbers in a unit without known ends."""
    said = wording.behind(metric)
    if metric.raw_mean is not None and metric.raw_interval is None:
        said = f"{wording.figure(metric.raw_mean, metric.raw_unit)} {one_line(metric.raw_unit, 16)}"
    return f"<small>{escaped(said)}</small>" if said else ""


def _gap(n: int, kind: str) -> str:
    return f"<span class={kind if n else 'quiet'}>{n:,}</span>"


def _plot(mean: float | None, interval: Interval) -> str:
    """The mean on a line from 0 to 1, and its interval as a band."""
    if mean is None:
        return ""
    band = ""
    if interval.low is not None and interval.high is not None:
        width = max(1.0, 120 * (interval.high - interval.low))
        band = f'<rect class=band x="{4 + 120 * interval.low:.1f}" y="4" width="{width:.1f}" height="8" rx="2"/>'
    dot = f'<circle class=dot cx="{4 + 120 * mean:.1f}" cy="8" r="3"/>'
    return f'<svg viewBox="0 0 128 16" width="128" height="16"><path class=axis d="M4 8H124"/>{band}{dot}</svg>'


def _spread(metric: MetricSummary) -> str:
    top = max(metric.bins, default=0)
    bars = [
        f'<rect class=bar x="{9 * index}" y="{18 - height:.1f}" width="8" height="{height:.1f}"/>'
        for index, n in enumerate(metric.bins)
        if (height := max(1.5, 18 * n / top) if n else 0)
    ]
    ends = f"{wording.figure(metric.low, metric.unit)} to {wording.figure(metric.high, metric.unit)}"
    axis = '<path class=axis d="M0 18.5H89"/>'
    return (
        f'<svg viewBox="0 0 90 20" width="90" height="20"><title>{ends}</title>{axis}{"".join(bars)}</svg>'
        if top
        else ""
    )


def _case(result: Result, run: Run, options: Options, *, unfold: bool = False) -> str:
    metrics = metrics_for(run.metrics, result.trial.dataset)
    trial, output, verdict = result.trial, result.output, result.verdict
    deciding = " · ".join(f"{one_line(s.name, 40)} {wording.standing(s, metrics)}" for s in wording.telling(result))
    asked = one_line(wording.bare(trial.case.input), 160)
    unsupported = [sentence for score in result.scores for sentence in wording.unsupported(score)]
    rows = [("asked", _text(wording.bare(trial.case.input))), ("expected", _text(trial.case.expected))]
    rows.append(("answered", _marked(output.value, unsupported)))
    rows.append(("error", _text(output.error)))
    rows += [("context", _text(context)) for context in trial.case.contexts_of(output) or ()]
    if options.times and output.seconds is not None:
        rows.append(("time", wording.duration(output.seconds)))
    shown_rows = "".join(f"<dt>{name}<dd>{text}" for name, text in rows if text)
    return (
        f"<details{' open' if unfold else ''}><summary><i class={verdict}>{verdict}</i> <b>{escaped(wording.name_of(result, run))}</b> "
        f"<span>{escaped(asked)}</span> <small>{escaped(deciding)}</small></summary>\n"
        f"<dl>{shown_rows}</dl>\n{_steps(result, options, unfold)}{_scores(result, metrics)}</details>\n"
    )


def _steps(result: Result, options: Options, unfold: bool) -> str:
    """What an agent said and did on the way to its answer, and what it took."""
    usage = result.output.usage if options.times else None
    steps = wording.steps(result, times=options.times)
    took = "" if usage is None else wording.tokens_used(usage)
    if not steps:
        return f"<p class=steps>{took}</p>\n" if took else ""
    rows = "".join(f"<dt>{escaped(step.who)}<dd class={step.kind}>{_text(step.said)}" for step in steps)
    title = " · ".join(filter(None, (wording.steps_title(result), took)))
    return (
        f"<details class=steps{' open' if unfold else ''}><summary>Transcript <small>{title}</small></summary>\n"
        f"<dl>{rows}</dl></details>\n"
    )


def _scores(result: Result, metrics: Mapping[str, Metric]) -> str:
    rows = [
        f"<tr><th>{escaped(one_line(score.name))}<td class={_kind(score)}>{escaped(wording.standing(score, metrics))}"
        f"<td>{_text(score.reason)}{_closest(score)}"
        for score in result.scores
    ]
    return f"<table class=scores>{''.join(rows)}</table>\n" if rows else ""


def _closest(score: Score) -> str:
    """Each unsupported sentence with the context that comes closest to it."""
    found = [(sentence, closest) for sentence, closest in wording.unsupported(score).items() if closest]
    return "".join(
        f"<br>\u201c{escaped(one_line(sentence, 160))}\u201d {_text(closest)}" for sentence, closest in found[:_MARKED]
    )


def _kind(score: Score) -> str:
    if score.status != "scored":
        return score.status
    return {True: "pass", False: "fail", None: "ungated"}[score.passed]


def _text(value: object) -> str:
    """Any value as escaped text, cut where it is too long for a page."""
    text = value if isinstance(value, str) else shown(value)
    kept = escaped(text[:LONGEST])
    if len(text) > LONGEST:
        kept += f" <em>cut here: {LONGEST:,} of {len(text):,} characters are shown</em>"
    return kept


def _marked(answer: object, sentences: list[str]) -> str:
    """An answer with its unsupported sentences marked; those that do not stand in it follow it."""
    whole = _text(answer)
    missing = []
    wanted = sorted(
        {escaped(sentence) for sentence in sentences[:_MARKED] if len(sentence) < LONGEST}, key=len, reverse=True
    )
    for sentence in wanted:
        if sentence not in whole:
            missing.append(sentence)
    if found := [re.escape(sentence) for sentence in wanted if sentence not in missing]:
        whole = re.sub("|".join(found), lambda match: f"<mark>{match[0]}</mark>", whole)
    note = " <em>marked: no context supports this</em>" if wanted else ""
    return whole + "".join(f"<br><mark>{sentence}</mark>" for sentence in missing) + note
