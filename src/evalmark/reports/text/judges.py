"""Text about judges: choices, consistency, agreement and worst verdicts."""

from collections.abc import Iterable, Iterator

from evalmark.core.case_titles import LONGEST_TITLE, case_title
from evalmark.core.text import clean, count, one_line
from evalmark.stats.inference.repeats import PassAtK
from evalmark.stats.summary.summary import JudgeAgreement, JudgePair, MetricSummary, SummaryGroup, WorstScore

from .numbers import GAP, interval_in_brackets, percent, share_interval, share_with_interval, with_minus
from .variance import variance_lines
from .verdicts import value_text

UNSCORED = {
    "judge_parse": "not readable",
    "judge_range": "out of range",
    "judge_refused": "refused",
    "judge_inconsistent": "contradicting itself",
    "judge_truncated": "cut short",
    "judge_abstained": "could not tell",
}
"""Words for judge replies that gave no score."""
_HIGH_AGREEMENT, _LOW_KAPPA = 0.8, 0.4
"""Judges with at least this agreement and less than this kappa nearly always give one verdict."""


def metric_remarks(metric: MetricSummary) -> Iterator[str]:
    """Yield remarks on a metric beside its numbers, one sentence each."""
    steady = metric.steadiness
    if metric.caution:
        yield metric.caution
    for reason, n in metric.skip_reasons.items():
        yield f"skipped in {count(n, 'trial')}" + (f": {one_line(reason, 200)}" if reason else "")
    if metric.choices:
        yield " · ".join(f"{one_line(name, 40)} {n:,}" for name, n in metric.choices.items())
    if steady.flipped is not None:
        yield f"judged again, the verdict changed on {share_with_interval(steady.flipped, 'output')}"
    if steady.order_decided is not None:
        yield f"the order of the answers decided {share_with_interval(steady.order_decided, 'comparison')}"
    if steady.unscored:
        kinds = (f"{n:,} {UNSCORED.get(kind, clean(kind))}" for kind, n in steady.unscored.items())
        yield f"unscored verdicts: {one_line(', '.join(kinds))}"
    plain = {why: n for why, n in steady.weighting.items() if why != "logprobs"}
    if plain:
        total = sum(steady.weighting.values())
        yield (
            f"{total - sum(plain.values()):,} of {count(total, 'score')} weighted by token probabilities; "
            + one_line(", ".join(f"{n:,} {why}" for why, n in plain.items()))
        )


def all_remarks(part: SummaryGroup) -> list[tuple[str, str]]:
    """List `(topic, remark)`: pass@k of a group, then the notes on its metrics."""
    return repeat_lines(part) + metric_notes(part)


def metric_notes(part: SummaryGroup) -> list[tuple[str, str]]:
    """List `(topic, remark)`: the remarks on the metrics of a group, and where their variance comes from."""
    remarks = [(one_line(metric.name, 60), remark) for metric in part.metrics for remark in metric_remarks(metric)]
    return remarks + variance_lines(part)


def repeat_lines(part: SummaryGroup) -> list[tuple[str, str]]:
    """List pass@1, pass@k and pass^k with intervals."""
    if (repeats := part.repeats) is None:
        return []
    names = ("pass@1", f"pass@{repeats.any_of.k}", f"pass^{repeats.all_of.k}")
    return [
        (name, _of_tries(rate))
        for name, rate in zip(names, (repeats.once, repeats.any_of, repeats.all_of), strict=True)
    ]


def _of_tries(rate: PassAtK) -> str:
    if rate.value is None:
        return f"{GAP} (no case has {rate.k:,} judged trials)"
    fewer = "without a judged trial" if rate.k == 1 else f"with fewer than {rate.k:,} judged trials"
    left = f", {rate.left_out:,} {fewer} left out" if rate.left_out else ""
    return f"{percent(rate.value)} ({share_interval(rate.interval)}) over {count(rate.n, 'case')}{left}"


def worst_rows(part: SummaryGroup, most: int) -> list[tuple[str, str, str, str]]:
    """List the worst verdicts of each judged metric: metric, case, verdict, reason."""
    return [
        (one_line(metric.name, 60), row_name(row, part), _verdict(row, metric), row.reason)
        for metric in part.metrics
        if metric.judge
        for row in metric.worst[:most]
    ]


def _verdict(row: WorstScore, metric: MetricSummary) -> str:
    return value_text(row.raw, row.value, metric.raw_unit or metric.unit)


def row_name(row: WorstScore, part: SummaryGroup) -> str:
    """Name a trial by case, turn and repeat."""
    more = [
        f"turn {row.position + 1}" if part.mode == "conversation" else "",
        f"repeat {row.repeat + 1}" if row.repeat else "",
    ]
    details = ", ".join(filter(None, more))
    name = case_title(row.case, row.asked, row.position)
    return one_line(name, LONGEST_TITLE) + (f" ({details})" if details else "")


def agreement_lines(agreement: JudgeAgreement) -> Iterator[str]:
    """Yield sentences on how far the judges of one metric agree."""
    if not agreement.n:
        yield f"{' and '.join(map(one_line, agreement.judges))} scored no output in common"
        return
    if agreement.mean is not None:
        yield f"mean of {len(agreement.judges)} judges over {count(agreement.n, 'output')}: {agreement.mean:z.2f}{interval_in_brackets(agreement.mean_interval)}"
    if agreement.alpha is not None or len(agreement.judges) > 2:
        yield f"{len(agreement.judges)} judges on {count(agreement.n, 'output')}: {_alpha(agreement)}"
    for pair in agreement.pairs:
        yield _pair(pair, agreement)
    if agreement.prevalence is not None and any(map(_says_little, agreement.pairs)):
        yield (
            f"{percent(agreement.prevalence)} of all verdicts are {one_line(agreement.most_common, 40)}: "
            "with one verdict this common, kappa is low even when judges agree often"
        )


def agreement_rows(agreements: Iterable[JudgeAgreement]) -> list[tuple[str, str]]:
    """List `(metric, sentence)` of all agreements."""
    return [(one_line(found.base, 60), line) for found in agreements for line in agreement_lines(found)]


def _alpha(agreement: JudgeAgreement) -> str:
    if agreement.alpha is None:
        return "alpha is undefined: all verdicts are the same"
    return f"alpha {with_minus(f'{agreement.alpha:z.2f}')}{interval_in_brackets(agreement.interval)}"


def _pair(pair: JudgePair, agreement: JudgeAgreement) -> str:
    first, second = map(one_line, pair.judges)
    parts = [f"{first} and {second}: the same on {share_with_interval(pair.same, 'output')}"]
    if pair.kappa is None:
        parts.append("kappa is undefined: all verdicts are the same")
    else:
        weighted = "" if agreement.level == "nominal" else "weighted "
        parts.append(f"{weighted}kappa {with_minus(f'{pair.kappa:z.2f}')}{interval_in_brackets(pair.interval)}")
    if pair.difference is not None:
        parts.append(
            f"{second} minus {first} on average {with_minus(f'{pair.difference:+z.2f}')}{interval_in_brackets(pair.difference_interval)}"
        )
    return " · ".join(parts)


def _says_little(pair: JudgePair) -> bool:
    """Return whether kappa is low although the judges nearly always agree."""
    often = pair.same.value is not None and pair.same.value >= _HIGH_AGREEMENT
    return often and pair.kappa is not None and pair.kappa < _LOW_KAPPA
