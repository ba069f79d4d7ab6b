"""Text of a judge audit: agreement, corrected pass rates, biases and canaries."""

from collections.abc import Iterator, Sequence

from evalmark.core.text import count, one_line
from evalmark.stats.agreement.corrected_rates import CorrectedRate
from evalmark.stats.calibration.audit_results import CorrectedPassRate, JudgeAudit, LabelChoice
from evalmark.stats.calibration.canaries import CanaryReport, CanaryScores, PaddingEffect, PassedCanaries
from evalmark.stats.inference.intervals import Interval

from .calibration import label_command, unused_labels
from .numbers import (
    DASH,
    interval_in_brackets,
    missing_interval_reason,
    percent,
    share_interval,
    share_with_interval,
    with_minus,
)

UNUSED = 0.2
"""A part of the scale of at least this size that a judge never uses is named."""
_SHOWN = 5
"""How many canaries are listed by text."""


def audit_title(audit: JudgeAudit) -> str:
    """Name the judge and the reference it is compared with."""
    judge = f", judged by {one_line(audit.metric.judge, 60)}," if audit.metric.judge else ""
    return f"{one_line(audit.metric.name, 60)}{judge} against {one_line(audit.source, 60)}"


def confusion_rows(audit: JudgeAudit) -> tuple[tuple[str, int, int], ...]:
    """Good and bad outputs, and how many of each the judge passed and failed."""
    table = audit.confusion
    return ("good", table.good_passed, table.good_failed), ("bad", table.bad_passed, table.bad_failed)


def audit_lines(audit: JudgeAudit, run: str) -> Iterator[tuple[str, str]]:
    """Yield `(topic, text)` for every line of an audit of the run with this id."""
    if audit.about:
        yield "checked", one_line(audit.about, 400)
    yield from _agreement(audit)
    for rate in audit.rates:
        yield from _rate(rate, audit)
    if any(rate.choice is not None for rate in audit.rates):
        yield from _assumption(audit)
        if not (audit.is_told and audit.is_random):
            yield "next", f"{label_command(run, audit.metric.name)} draws outputs to label, and records them"
    yield from _biases(audit)
    if audit.unit != "case":
        unit = one_line(audit.unit, 40)
        yield (
            "clustered",
            f"by {unit}: intervals and numbers of labelled cases count the outputs of one {unit} as one case",
        )
    if left_out := _unused_outputs(audit):
        yield "left out", left_out


def _assumption(audit: JudgeAudit) -> Iterator[tuple[str, str]]:
    """Say how the labelled outputs were chosen, as far as it is known."""
    drawn = audit.drawn
    if drawn is None:
        yield "assumes", f"labels were chosen at random within each verdict{_more_random(audit)}"
        return
    how = "by verdict" if drawn.by_verdict else "among all outputs"
    yield "drawn", f"{count(drawn.used, 'label')} on outputs that evalmark drew at random {how}"
    if drawn.skipped:
        yield (
            "assumes",
            f"labels were chosen at random within each verdict: {drawn.skipped:,} of the drawn outputs have none",
        )


def _more_random(audit: JudgeAudit) -> str:
    if not any(rate.powered.value is not None for rate in audit.rates):
        return ""
    return "; the other methods assume it among all outputs"


def _agreement(audit: JudgeAudit) -> Iterator[tuple[str, str]]:
    if not audit.confusion.n:
        yield "agreement", "no output has both a verdict and a reference label"
        return
    labelled = "" if audit.weighted is None else "; of the labelled outputs only"
    if audit.weighted is None:
        yield "agreement", share_with_interval(audit.agreement, "output")
    else:
        table = audit.confusion
        yield "agreement", f"{_estimate(audit.weighted)} of all outputs; {table.agreed:,} of {table.n:,} labelled ones"
    measures = [("kappa", audit.kappa, audit.kappa_interval), ("alpha", audit.alpha, audit.alpha_interval)]
    measures += [] if audit.ac1 is None else [("AC1", audit.ac1, audit.ac1_interval)]
    yield (
        "beyond chance",
        " · ".join(f"{name} {agreement_text(value, interval)}" for name, value, interval in measures) + labelled,
    )
    common = (
        "" if audit.ac1 is None else "; one label or verdict is so common that kappa may be low despite high agreement"
    )
    yield (
        "prevalence",
        f"{percent(audit.prevalence)} of the {'labelled ' if audit.evidence is not None else ''}outputs are good{common}",
    )
    ceiling = audit.ceiling
    if ceiling is not None:
        same = f"{percent(ceiling.same)} ({share_interval(ceiling.interval)})"
        alpha = f"alpha {agreement_text(ceiling.alpha, ceiling.alpha_interval)}"
        yield "ceiling", f"people agree with each other on {same} of {count(ceiling.outputs, 'output')}; {alpha}"


def agreement_text(
    value: float | None, interval: Interval, nothing: str = "undefined: all verdicts are the same"
) -> str:
    """Format a chance-corrected agreement with its interval; `nothing` if it is undefined."""
    if value is None:
        return nothing
    no_interval = f" (no interval: {missing_interval_reason(interval)})"
    return f"{with_minus(f'{value:z.2f}')}{interval_in_brackets(interval) or no_interval}"


def _rate(rate: CorrectedPassRate, audit: JudgeAudit) -> Iterator[tuple[str, str]]:
    prefix = f"{one_line(rate.target, 40)}: " if rate.target and len(audit.rates) > 1 else ""
    yield "pass rate", f"{prefix}by the judge {share_with_interval(rate.raw, 'output')}"
    if rate.stratified is None:
        yield "", f"by {one_line(audit.source, 60)} {_share(rate.powered)}"
        return
    if rate.choice is not None:
        yield "", _labelled(rate.choice)
    if audit.confusion.n:
        gap = rate.choice.gap if rate.choice is not None and rate.stratified.value is None else ""
        yield "corrected", _estimate(rate.stratified) + (f", no estimate: {gap}" if gap else "")
        yield "other methods", f"PPI++: {_corrected(rate.powered)}"
        yield "", f"Rogan and Gladen: {_corrected(rate.adjusted)}"
    if rate.sure is not None:
        yield "", f"betting: {_share(rate.sure)}, which holds however few the labels are"
    if rate.missing:
        further = count(rate.missing, "further case")
        yield "missing", f"labels on at least {further}, so that 10 good and 10 bad ones are known"


def _labelled(choice: LabelChoice) -> str:
    """Count the labelled outputs of each verdict; say if such a choice cannot be random among all outputs."""
    parts = [
        f"{known:,} of {of:,} that the judge {word}"
        for word, known, of in (
            ("passed", choice.labelled_passed, choice.passed),
            ("failed", choice.labelled_failed, choice.failed),
        )
        if of
    ]
    text = f"labelled: {' and '.join(parts)}"
    if choice.is_random or choice.chance is None:
        return text
    luck = "less than 0.1 %" if choice.chance < 0.001 else percent(choice.chance)
    return f"{text}; a random choice among all outputs is so uneven with a probability of {luck}"


def _estimate(rate: CorrectedRate) -> str:
    """Format an estimate, or the bound if there are outputs of which nothing is known."""
    if rate.value is not None:
        return _share(rate)
    if rate.interval.known:
        return f"from {share_interval(rate.interval).replace(f' {DASH} ', ' to ')}"
    return f"refused, {missing_interval_reason(rate.interval)}"


def _corrected(rate: CorrectedRate) -> str:
    if rate.value is None:
        return f"refused, {missing_interval_reason(rate.interval)}"
    alone = ", labels alone" if rate.interval.method == "labels alone" else ""
    return _share(rate) + alone + (f"; {rate.caution}" if rate.caution else "")


def _share(rate: CorrectedRate) -> str:
    return f"{percent(rate.value)} ({share_interval(rate.interval)})"


def _biases(audit: JudgeAudit) -> Iterator[tuple[str, str]]:
    biases = audit.biases
    if audit.relatives:
        models = ", ".join(one_line(name, 60) for name in audit.relatives)
        yield (
            "family",
            f"the judge and {models} under test are of one model family: judges may prefer answers of their own family",
        )
    if biases.length is not None:
        interval = biases.length_interval
        effect = f"the score moves by {with_minus(f'{biases.length:+z.3f}')} when an output is twice as long"
        if interval.ends is None:
            yield "length", f"{effect} (no interval: {missing_interval_reason(interval)})"
        else:
            low, high = interval.ends
            proof = "; longer outputs may be better ones, so this proves no bias"
            yield (
                "length",
                f"{effect}{interval_in_brackets(interval, '+z.3f')}{', which may be chance' if low <= 0 <= high else proof}",
            )
    if biases.order_decided is not None:
        yield "order", f"the order of the answers decided {share_with_interval(biases.order_decided, 'comparison')}"
    if biases.first is not None and biases.first.n:
        yield "", f"the first position won {share_with_interval(biases.first, 'such comparison')}"
    if biases.flipped is not None:
        yield "flips", f"judged again, the verdict changed on {share_with_interval(biases.flipped, 'output')}"


def _unused_outputs(audit: JudgeAudit) -> str:
    parts = [] if audit.evidence is None else unused_labels(audit.evidence)
    if audit.unjudged:
        parts.append(f"{audit.unjudged:,} without a verdict of the judge")
    if audit.drawn is not None and audit.drawn.set_aside:
        parts.append(f"{audit.drawn.set_aside:,} labelled but not drawn by evalmark (--all-labels uses them)")
    if audit.unknown and audit.evidence is None:
        parts.append(f"{audit.unknown:,} without a reference verdict from {one_line(audit.source, 60)}")
    return ", ".join(parts)


def canary_rows(canaries: Sequence[PassedCanaries]) -> list[tuple[str, str, str]]:
    """Rows of canaries a judge passed: kind, count of total, share with interval."""
    return [
        (
            one.kind or "all",
            f"{one.share.passed:,} of {one.share.n:,}",
            f"{percent(one.share.value)} ({share_interval(one.share.interval)})" if one.share.n else "not judged",
        )
        for one in canaries
    ]


def canary_remarks(report: CanaryReport) -> Iterator[str]:
    """Yield further findings of canaries: texts that passed, the effect of padding, scores that are never given."""
    if not report.passed:
        return
    total = report.passed[0]
    texts = list(dict.fromkeys(map(_seen, total.texts)))
    for text in texts[:_SHOWN]:
        yield f"passed: {text}"
    if len(texts) > _SHOWN:
        yield f"… and {len(texts) - _SHOWN:,} more"
    if total.unjudged:
        yield f"{count(total.unjudged, 'further output')} without a usable verdict, counted as not passed"
    if report.padding is not None:
        yield _padding(report.padding)
    if report.scores is not None:
        yield _unused_range(report.scores)


def _padding(padding: PaddingEffect) -> str:
    text = (
        f"padding: of {count(padding.outputs, 'output')} with nothing but more words, {padding.better:,} scored better than "
        f"before and {padding.worse:,} worse"
    )
    return f"{text}; this judge rewards length" if padding.better > padding.worse and padding.p < 0.05 else text


def _unused_range(scores: CanaryScores) -> str:
    text = f"range: worthless texts score {scores.mean:z.2f} on average, on a scale from 0 to 1"
    unused = [f"below {scores.low:z.2f}"] if scores.low >= UNUSED else []
    unused += [f"above {scores.high:z.2f}"] if scores.high <= 1 - UNUSED else []
    return f"{text}; no output and no canary scores {' or '.join(unused)}" if unused else text


def _seen(text: str) -> str:
    """Shorten a canary to one line; call it empty if it has no visible character."""
    return one_line(text, 100) if any(c.isprintable() and not c.isspace() for c in text) else "an empty answer"
