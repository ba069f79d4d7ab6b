"""Computes the pass rate by a judge, and corrected by human labels."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evalmark.core.text import count
from evalmark.stats.agreement.corrected_rates import (
    CorrectedRate,
    corrected_by_betting,
    prediction_powered,
    rogan_gladen,
)
from evalmark.stats.agreement.stratified_rates import labelled_at_random, stratified_rate
from evalmark.stats.inference.intervals import no_interval
from evalmark.stats.inference.means import share

from .audit_results import CorrectedPassRate, GroundTruth, LabelChoice

CHOSEN = "labels were not drawn at random among all outputs"
"""Why an estimate is refused that needs such labels."""
NEEDED = 10
"""The number of labelled cases, and of each label, that a correction needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """A verdict of the judge."""

    key: str
    case: str
    target: str
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedCase:
    """One case: the judge's verdicts on its labelled outputs with their labels, or on all outputs if none is labelled."""

    judged: tuple[bool, ...]
    known: tuple[bool, ...] = ()


def pass_rates(
    judged: Iterable[JudgeVerdict], truths: GroundTruth, level: float, *, by_verdict: bool = False
) -> Iterator[CorrectedPassRate]:
    """Yield the rates of each target separately, since a judge's errors may depend on the target.

    `by_verdict` says that outputs to label were drawn by verdict.
    """
    by_target: defaultdict[str, list[JudgeVerdict]] = defaultdict(list)
    for one in judged:
        by_target[one.target].append(one)
    for target, rows in by_target.items():
        found = _rate(target, rows, truths, level)
        yield found if truths.is_whole else _checked(found, rows, truths, level, by_verdict=by_verdict)


def weighted_agreement(judged: Sequence[JudgeVerdict], truths: GroundTruth, level: float) -> CorrectedRate:
    """Estimate on how many of all outputs judge and labels agree, stratified by target and verdict."""
    known = [truths.verdicts.get(row.key) for row in judged]
    same = [None if label is None else float(label is row.passed) for label, row in zip(known, judged, strict=True)]
    return stratified_rate([(row.target, row.passed) for row in judged], same, [row.case for row in judged], level)


def _checked(
    found: CorrectedPassRate, rows: Sequence[JudgeVerdict], truths: GroundTruth, level: float, *, by_verdict: bool
) -> CorrectedPassRate:
    """Add the stratified rate, and refuse the others if labels were not drawn at random among all outputs."""
    verdicts, cases = [row.passed for row in rows], [row.case for row in rows]
    labels = [truths.verdicts.get(row.key) for row in rows]
    labelled = [label is not None for label in labels]
    passed = [known for known, verdict in zip(labelled, verdicts, strict=True) if verdict]
    choice = LabelChoice(
        passed=len(passed),
        failed=len(rows) - len(passed),
        labelled_passed=sum(passed),
        labelled_failed=sum(labelled) - sum(passed),
        chance=labelled_at_random(verdicts, labelled, cases),
        by_verdict=by_verdict,
    )
    values = [None if label is None else float(label) for label in labels]
    found = replace(found, choice=choice, stratified=stratified_rate(verdicts, values, cases, level))
    reason = choice.gap if choice.is_random else CHOSEN
    if not reason or found.stratified is None or not found.stratified.interval.known:
        return found
    refused = CorrectedRate(value=None, interval=no_interval(reason, level))
    return replace(found, powered=refused, adjusted=refused, sure=None)


def _rate(target: str, rows: Sequence[JudgeVerdict], truths: GroundTruth, level: float) -> CorrectedPassRate:
    names = [row.case for row in rows]
    raw = share([int(row.passed) for row in rows], names if len(set(names)) < len(names) else None, level)
    cases = _cases(rows, truths)
    labelled, others = [case for case in cases if case.known], [case for case in cases if not case.known]
    if truths.is_whole:
        flags = [int(known) for case in labelled for known in case.known]
        places = [place for place, case in enumerate(labelled) for _ in case.known]
        known = share(flags, places if len(set(places)) < len(places) else None, level)
        exact = CorrectedRate(value=known.value, interval=known.interval)
        return CorrectedPassRate(target=target, raw=raw, powered=exact, adjusted=exact)
    powered = _powered(labelled, others, level)
    good, bad = ([case for case in labelled if case.known[0] is kind] for kind in (True, False))
    adjusted = rogan_gladen(
        sum(case.judged[0] for case in cases),
        len(cases),
        (sum(case.judged[0] for case in good), len(good)),
        (sum(not case.judged[0] for case in bad), len(bad)),
        level,
    )
    missing = max(0, NEEDED - len(labelled), 2 * NEEDED - min(NEEDED, len(good)) - min(NEEDED, len(bad)))
    if adjusted.is_luck and powered.value is not None:
        # for a judge no better than chance, the labels alone are as good
        powered = _powered(labelled, (), level)
    sure = corrected_by_betting(*_means(labelled, others), level=level) if powered.caution else None
    return CorrectedPassRate(target=target, raw=raw, powered=powered, adjusted=adjusted, sure=sure, missing=missing)


def _powered(labelled: Sequence[_JudgedCase], others: Sequence[_JudgedCase], level: float) -> CorrectedRate:
    """Estimate the mean label with the help of the judge, with one value for each case, because cases are sampled."""
    if len(labelled) < NEEDED:
        reason = f"{count(len(labelled), 'labelled case')}; at least {NEEDED} are needed"
        return CorrectedRate(value=None, interval=no_interval(reason, level))
    return prediction_powered(*_means(labelled, others), level=level)


def _means(
    labelled: Sequence[_JudgedCase], others: Sequence[_JudgedCase]
) -> tuple[list[float], list[float], list[float]]:
    """Return the mean labels and verdicts of labelled cases, and the mean verdicts of the others."""
    return (
        [_mean(case.known) for case in labelled],
        [_mean(case.judged) for case in labelled],
        [_mean(case.judged) for case in others],
    )


def _cases(rows: Sequence[JudgeVerdict], truths: GroundTruth) -> list[_JudgedCase]:
    """Group the verdicts by case; of a case with labels, only those on its labelled outputs."""
    by_case: defaultdict[str, list[JudgeVerdict]] = defaultdict(list)
    for row in rows:
        by_case[row.case].append(row)
    found = []
    for group in by_case.values():
        labelled = [row for row in group if row.key in truths.verdicts]
        found.append(
            _JudgedCase(
                judged=tuple(row.passed for row in labelled or group),
                known=tuple(truths.verdicts[row.key] for row in labelled),
            )
        )
    return found


def _mean(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)
