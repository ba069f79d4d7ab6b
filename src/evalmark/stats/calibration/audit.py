"""Compares a judge with human labels, or with a machine check, on the same outputs."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score, Trial
from evalmark.scoring.binding.scores import meets_threshold
from evalmark.scoring.binding.text import text_of
from evalmark.stats.agreement.bias import length_slope, position_share
from evalmark.stats.agreement.kappa_alpha import alpha_with_interval, kappa_with_interval
from evalmark.stats.agreement.raters import ac1_with_interval
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Share, no_interval
from evalmark.stats.inference.means import mean_interval, share
from evalmark.stats.summary.clusters import case_name

from .audit_results import Confusion, GroundTruth, HumanAgreement, JudgeAudit, JudgeBiases, VerdictAgreement
from .judge_rates import JudgeVerdict, pass_rates, weighted_agreement
from .label_choice import drawn_truths

COMMON = 0.8
"""If one verdict has this share, kappa is low even if both sides often agree."""
PLACES = ("first", "second")
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedOutput:
    """One output with the judge's result."""

    key: str
    case: str
    target: str
    passed: bool | None
    value: float | None
    length: int
    detail: Mapping[str, Any]


@check_arguments
def audit_judge(
    results: Iterable[Result],
    metric: Metric,
    truths: GroundTruth,
    *,
    threshold: float | None = None,
    level: float = LEVEL,
    cluster_of: Callable[[Trial], str] = case_name,
) -> JudgeAudit:
    """Measure how far the verdicts of a metric agree with the ground truth.

    `threshold` replaces the metric's own threshold, for example if the metric has none. `cluster_of` names what
    outputs depend on each other by; each case is independent by default.
    """
    rows = [row for result in results if (row := _row(result, metric, threshold, cluster_of(result.trial))) is not None]
    truths, drawn = drawn_truths(truths, metric.name, _judged(rows))
    known = [row for row in rows if row.key in truths.verdicts]
    both = [row for row in known if row.passed is not None]
    judged, truth = [bool(row.passed) for row in both], [truths.verdicts[row.key] for row in both]
    found = compare_verdicts(truth, judged, [row.case for row in both], level)
    rates = tuple(pass_rates(_judged(rows), truths, level, by_verdict=drawn is not None and drawn.by_verdict))
    chosen = any(rate.choice is not None and not rate.choice.is_random for rate in rates)
    return JudgeAudit(
        metric=metric,
        source=truths.source,
        about=truths.about,
        confusion=found.confusion,
        agreement=found.agreement,
        kappa=found.kappa,
        kappa_interval=found.kappa_interval,
        alpha=found.alpha,
        alpha_interval=found.alpha_interval,
        ac1=found.ac1,
        ac1_interval=found.ac1_interval,
        prevalence=sum(truth) / len(truth) if truth else None,
        rates=rates,
        biases=_biases(rows, level),
        evidence=truths.evidence,
        ceiling=_ceiling(rows, truths, level),
        unjudged=len(known) - len(both),
        unknown=sum(row.passed is not None for row in rows) - len(both),
        drawn=drawn,
        weighted=weighted_agreement(_judged(rows), truths, level) if chosen else None,
    )


@check_arguments
def compare_verdicts(
    truth: Sequence[bool], judged: Sequence[bool], cases: Sequence[Hashable], level: float = LEVEL
) -> VerdictAgreement:
    """Measure how far verdicts agree with the truth; `cases` names the case of each output."""
    clusters = _clusters(cases)
    kappa, kappa_interval = kappa_with_interval(truth, judged, clusters=clusters, level=level)
    told = [(float(t), float(j)) for t, j in zip(truth, judged, strict=True)]
    alpha, alpha_interval = alpha_with_interval(told, clusters=clusters, confidence=level)
    ac1, ac1_interval = (
        ac1_with_interval(told, 2, clusters=clusters, level=level)
        if _is_lopsided(truth) or _is_lopsided(judged)
        else (None, no_interval("not needed", level))
    )
    return VerdictAgreement(
        confusion=_confusion(truth, judged),
        agreement=share([int(t == j) for t, j in zip(truth, judged, strict=True)], clusters, level),
        kappa=kappa,
        kappa_interval=kappa_interval,
        alpha=alpha,
        alpha_interval=alpha_interval,
        ac1=ac1,
        ac1_interval=ac1_interval,
    )


def _confusion(truth: Sequence[bool], judged: Sequence[bool]) -> Confusion:
    pairs = Counter(zip(truth, judged, strict=True))
    return Confusion(
        good_passed=pairs[True, True],
        good_failed=pairs[True, False],
        bad_passed=pairs[False, True],
        bad_failed=pairs[False, False],
    )


def _is_lopsided(words: Sequence[bool]) -> bool:
    """Return whether one verdict is so common that kappa would mislead."""
    return bool(words) and max(words.count(True), words.count(False)) >= COMMON * len(words)


@check_arguments
def has_verdicts(results: Iterable[Result], metric: str) -> bool:
    """Return whether any score of a metric passes or fails."""
    return any(score.name == metric and score.passed is not None for r in results for score in r.scores)


def _row(result: Result, metric: Metric, threshold: float | None, cluster: str) -> _JudgedOutput | None:
    score = next((score for score in result.scores if score.name == metric.name), None)
    if score is None or score.status == "skipped" or result.output.error is not None:
        return None
    trial = result.trial
    return _JudgedOutput(
        key=trial.id,
        case=cluster,
        target=trial.target,
        passed=verdict_of(score, threshold),
        value=number_of(score),
        length=len(text_of(result.output.value)),
        detail=score.detail,
    )


@check_arguments
def verdict_of(score: Score, threshold: float | None) -> bool | None:
    """Return whether a score passes, by `threshold` if it is given; None if unknown."""
    if score.status != "scored":
        return None
    if threshold is None:
        return score.passed
    value = number_of(score)
    return None if value is None else meets_threshold(value, threshold, score.direction)


def number_of(score: Score) -> float | None:
    """Return the value of a score; None if it has none."""
    value = score.value
    return value if score.status == "scored" and value is not None and math.isfinite(value) else None


def _judged(rows: Iterable[_JudgedOutput]) -> list[JudgeVerdict]:
    return [
        JudgeVerdict(key=row.key, case=row.case, target=row.target, passed=row.passed)
        for row in rows
        if row.passed is not None
    ]


def _biases(rows: Sequence[_JudgedOutput], level: float) -> JudgeBiases:
    scored = [(row.value, row.length, row.case) for row in rows if row.value is not None]
    slope, interval = length_slope(
        [value for value, _, _ in scored],
        [length for _, length, _ in scored],
        clusters=_clusters([case for _, _, case in scored]),
        level=level,
    )
    first = Counter(place for row in rows if (place := _place(row.detail)) is not None)
    asked_twice = any("order_consistent" in row.detail for row in rows)
    return JudgeBiases(
        length=slope,
        length_interval=interval,
        first=position_share(first["first"], first["second"], level) if asked_twice else None,
        order_decided=_flags(rows, "order_consistent", level, turned=True),
        flipped=_flags(rows, "flipped", level),
    )


def _place(detail: Mapping[str, Any]) -> str | None:
    """Return the position that won in both orders; None if the output decided, or nothing was compared."""
    said = detail.get("verdict")
    if "order_consistent" not in detail or not isinstance(said, (list, tuple)) or len(said) < 2:
        return None
    return said[0] if said[0] == said[1] and said[0] in PLACES else None


def _flags(rows: Sequence[_JudgedOutput], name: str, level: float, *, turned: bool = False) -> Share | None:
    """Return the share of details with a true flag of this name; None if none has the flag."""
    found = [(row.detail[name] is not turned, row.case) for row in rows if isinstance(row.detail.get(name), bool)]
    return share([int(flag) for flag, _ in found], _clusters([case for _, case in found]), level) if found else None


def _ceiling(rows: Sequence[_JudgedOutput], truths: GroundTruth, level: float) -> HumanAgreement | None:
    several = [(row.case, said) for row in rows if len(said := truths.votes.get(row.key, ())) > 1]
    return human_agreement(several, level) if several else None


@check_arguments
def human_agreement(several: Sequence[tuple[str, Sequence[bool]]], level: float = LEVEL) -> HumanAgreement:
    """Measure how far people agree with each other; each entry has a case and the votes of at least two people."""
    same = [sum(a is b for a, b in combinations(said, 2)) / math.comb(len(said), 2) for _, said in several]
    clusters = _clusters([case for case, _ in several])
    alpha, interval = alpha_with_interval(
        [tuple(map(float, said)) for _, said in several], clusters=clusters, confidence=level
    )
    return HumanAgreement(
        outputs=len(several),
        same=math.fsum(same) / len(same),
        interval=mean_interval(same, level, clusters=clusters, bounded=True),
        alpha=alpha,
        alpha_interval=interval,
    )


def _clusters(cases: Sequence[T]) -> Sequence[T] | None:
    """Return the case of each output; None if no case occurs twice."""
    return None if len(set(cases)) == len(cases) else cases
