"""Learns thresholds from labels, with a guarantee on how many bad outputs pass."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval

from .risk_bounds import clean_negatives_needed, failures_allowed, upper_bound
from .roc import Direction, Youden, auc, auc_interval, check_labelled, roc_points, youden

FOLDS = 5
CLOSE = 4e-6
"""Scores closer than this count as equal; a comparison with a threshold tolerates 1e-6."""

Row = tuple[float, bool, Hashable]
"""A score (higher is better), whether the output is good, and its case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """The errors of a threshold."""

    false_pass: int
    """Bad outputs that passed."""
    bad: int
    false_fail: int
    """Good outputs that failed."""
    good: int

    @property
    def index(self) -> float | None:
        """Youden's index; None without good or without bad outputs."""
        return 1 - self.false_pass / self.bad - self.false_fail / self.good if self.good and self.bad else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedThreshold:
    """A threshold, its guarantee, and its errors."""

    threshold: float | None
    """None if nothing can be guaranteed; `reason` then says why."""
    reason: str = ""
    direction: Direction
    max_false_pass: float
    level: float
    bound: float | None
    """The upper bound of the false-pass rate, at confidence `level`."""
    method: str
    """How the bound was computed."""
    good: int
    bad: int
    good_cases: int
    bad_cases: int
    contradicting: int
    """Outputs labelled both good and bad: the same score in the same case. Each label counts."""
    missing: int
    """How many more labelled bad cases, none of them passing, a guarantee needs at least."""
    in_sample: ErrorRates | None
    """The errors on the outputs that the threshold was learned from; None without a threshold."""
    cross_fitted: ErrorRates | None
    """The errors on other outputs; None without a threshold, or with a single case."""
    auc: float | None
    auc_interval: Interval
    best: Youden | None
    """The threshold that separates good and bad best, without a guarantee."""
    best_cross_fitted: ErrorRates | None


@check_arguments
def learn_threshold(
    scores: Sequence[float],
    labels: Sequence[bool],
    max_false_pass: float,
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = LEVEL,
    direction: Direction = "higher",
) -> LearnedThreshold:
    """Return the most lenient threshold that lets at most `max_false_pass` of bad cases pass, at confidence `level`.

    `labels` say whether each output is good; `clusters` names its case if cases have several outputs. Cases have
    to be drawn independently, like future ones. Outputs of one case may depend on each other: a case with bad
    outputs counts once, and it passes if any of them does.

    Thresholds are tested in a fixed order, from the strictest on, each by the exact binomial test, until one
    fails. So the bound holds although the same labels choose the threshold. The share of good outputs that fail
    has no such bound. It is cross-fitted: each of 5 parts of the cases is judged by a threshold of the others
    that lets the same share of bad cases pass.

    Args:
        scores: The score of each output; finite.
        labels: Whether each output is good.
        max_false_pass: The largest share of bad cases that may pass, above 0 and below 1.
        clusters: The case, or cluster, of each output; None if every output is a case of its own.
        level: The confidence level, above 0 and below 1.
        direction: Whether higher or lower scores are better.

    Returns:
        The threshold with its bound and errors; `threshold` is None with a `reason` where labels do not suffice.

    Raises:
        ValueError: a score is not finite, a label no boolean, or a rate not between 0 and 1.

    >>> found = learn_threshold([i / 100 for i in range(100)], [i >= 60 for i in range(100)], 0.05)
    >>> found.threshold, round(found.bound, 4), found.in_sample.false_fail, found.missing
    (0.595, 0.0487, 0, 0)
    """
    check_labelled(scores, labels, clusters)
    sign = -1 if direction == "lower" else 1
    cases = range(len(scores)) if clusters is None else clusters
    rows = [(sign * s, bool(label), case) for s, label, case in zip(scores, labels, cases, strict=True)]
    bad_cases, good_cases = _cases(rows, good=False), _cases(rows, good=True)
    needed = clean_negatives_needed(max_false_pass, level)
    promise = _promised(rows, failures_allowed(bad_cases, max_false_pass, level))
    cut, allowed = promise or (None, 0)
    points = roc_points(scores, labels, direction)
    best = youden(points)
    return LearnedThreshold(
        threshold=None if cut is None else sign * cut + 0.0,  # avoids -0.0
        reason="" if promise else _reason(good_cases, bad_cases, needed),
        direction=direction,
        max_false_pass=max_false_pass,
        level=level,
        bound=upper_bound(allowed, bad_cases, level) if promise else None,
        method="Clopper-Pearson, thresholds tested in a fixed order" if promise else "none",
        good=points[-1].good,
        bad=points[-1].bad,
        good_cases=good_cases,
        bad_cases=bad_cases,
        contradicting=0 if clusters is None else _contradicting(rows),
        missing=max(0, needed - bad_cases),
        in_sample=_errors(rows, cut) if promise else None,
        cross_fitted=_cross_fitted(rows, _as_lenient(allowed, bad_cases)) if promise else None,
        auc=auc(points),
        auc_interval=auc_interval(auc(points), good_cases, bad_cases, level),
        best=best,
        best_cross_fitted=_cross_fitted(rows, _best) if best else None,
    )


def _promised(rows: Sequence[Row], allowed: int | None) -> tuple[float, int] | None:
    """Return the threshold, and the number of bad cases that may pass it; None if no good output would pass."""
    cut = None if allowed is None else _cut(rows, allowed)
    if cut is None or allowed is None or not any(good and score >= cut for score, good, _ in rows):
        return None
    return cut, allowed


def _reason(good_cases: int, bad_cases: int, needed: int) -> str:
    if bad_cases < needed:
        return too_few_bad_message(needed, bad_cases)
    if not good_cases:
        return "nothing is labelled good, so that no threshold is known to let anything pass"
    return "a threshold within this limit would let no output pass that is labelled good"


@check_arguments
def too_few_bad_message(needed: int, bad: int, unit: str = "case") -> str:
    """Return a message that more cases, or clusters of cases, have to be labelled bad.

    Args:
        needed: The number of cases or clusters with a bad label that is needed.
        bad: The number that there is.
        unit: The name of a cluster; `case` if cases are independent.

    >>> too_few_bad_message(59, 20, "document")
    '59 documents with a case labelled bad are needed, none of which passes, and there are 20'
    """
    what = "cases" if unit == "case" else f"{unit}s with a case"
    return f"{needed} {what} labelled bad are needed, none of which passes, and there are {bad}"


def _cases(rows: Sequence[Row], *, good: bool) -> int:
    return len({case for _, label, case in rows if label is good})


def _contradicting(rows: Sequence[Row]) -> int:
    labels = {good: {(case, score) for score, label, case in rows if label is good} for good in (True, False)}
    return len(labels[True] & labels[False])


def _cut(rows: Sequence[Row], allowed: int) -> float | None:
    """Return the lowest threshold that lets at most `allowed` bad cases pass; None if no score is higher.

    It is a short number near the middle between two scores.
    """
    worst: dict[Hashable, float] = {}
    for score, good, case in rows:
        if not good:
            worst[case] = max(score, worst.get(case, score))
    if allowed >= len(worst):
        return None
    below = sorted(worst.values(), reverse=True)[allowed]
    for score in sorted({score for score, _, _ in rows if score > below}):
        if score - below > CLOSE:
            return _between(below, score)
        below = score
    return None


def _between(low: float, high: float) -> float:
    """Return the shortest decimal number in the middle half between two numbers."""
    middle, margin = low + (high - low) / 2, (high - low) / 4
    shorter = (round(middle, digits) for digits in range(17))
    return next((number for number in shorter if low + margin <= number <= high - margin), middle)


def _errors(rows: Sequence[Row], cut: float | None) -> ErrorRates:
    """Return the errors of a threshold; without one nothing passes."""
    passed = [(cut is not None and score >= cut, good) for score, good, _ in rows]
    return ErrorRates(
        false_pass=passed.count((True, False)),
        bad=sum(not good for _, good in passed),
        false_fail=passed.count((False, True)),
        good=sum(good for _, good in passed),
    )


def _as_lenient(allowed: int, bad_cases: int) -> Callable[[Sequence[Row]], float | None]:
    """Return a function that chooses thresholds for the same share of bad cases."""
    return lambda rows: _cut(rows, allowed * _cases(rows, good=False) // bad_cases)


def _best(rows: Sequence[Row]) -> float | None:
    found = youden(roc_points([score for score, _, _ in rows], [good for _, good, _ in rows]))
    return found.threshold if found else None


def _cross_fitted(rows: Sequence[Row], choose: Callable[[Sequence[Row]], float | None]) -> ErrorRates | None:
    """Return the errors on each part of the cases with a threshold from the other parts."""
    # cases with bad outputs are distributed first, so that every part gets some
    order = dict.fromkeys(case for _, _, case in sorted(rows, key=lambda row: row[1]))
    if len(order) < 2:
        return None
    part = {case: place % FOLDS for place, case in enumerate(order)}
    found = []
    for fold in set(part.values()):
        rest = [row for row in rows if part[row[2]] != fold]
        found.append(_errors([row for row in rows if part[row[2]] == fold], choose(rest)))
    return ErrorRates(
        false_pass=sum(e.false_pass for e in found),
        bad=sum(e.bad for e in found),
        false_fail=sum(e.false_fail for e in found),
        good=sum(e.good for e in found),
    )
