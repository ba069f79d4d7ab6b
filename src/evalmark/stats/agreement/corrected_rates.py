"""Estimates the true pass rate from a judge's verdicts and a few human labels."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval
from evalmark.stats.inference.means import DIFFERENT, FEW, mean
from evalmark.stats.inference.sequential import BettingSequence

ENOUGH = 100
"""From this many labels on, their mean is approximately normal."""


LUCK = "the judge is no better than luck"
UNSURE = "the labels cannot tell the judge from luck; label more outputs, or take another judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """The estimated mean of human labels over all outputs."""

    value: float | None
    """None if it cannot be estimated; `interval.method` then says why."""
    interval: Interval
    power: float = 0.0
    """The weight of the judge: 0 uses the labels only, 1 trusts the judge like a person."""
    caution: str = ""
    """Why the interval may be too short; otherwise empty."""
    is_luck: bool = False
    """Not estimated, because the judge may be no better than chance."""


@check_arguments
def prediction_powered(
    labels: Sequence[float],
    judged: Sequence[float],
    others: Sequence[float],
    *,
    power: float | None = None,
    level: float = LEVEL,
    bounded: bool = True,
) -> CorrectedRate:
    """Estimate the mean of human labels by prediction-powered inference.

    `labels` are human labels, `judged` the judge's values of the same outputs, and `others` its values of all
    other outputs. The judge's mean over the others is corrected by its difference from the labels, with the
    weight that gives the shortest interval (`power=None`: PPI++), fully (1: PPI) or not at all (0: labels alone).
    Outputs have to be drawn independently, labelled ones like all others; pass one output for each case. Fewer
    than 10 labels are refused, and labels without any spread. `bounded` limits the result to 0 and 1. Normal
    approximation. A. N. Angelopoulos and others, Prediction-powered inference, arXiv 2301.09633, and PPI++, arXiv
    2311.01453.

    Args:
        labels: Human labels, from 0 to 1 with `bounded`.
        judged: The judge's values of the same outputs.
        others: The judge's values of all other outputs.
        power: The weight of the judge from 0 to 1; None: the one with the shortest interval.
        level: The confidence level, above 0 and below 1.
        bounded: Whether the result lies between 0 and 1.

    Returns:
        The estimate with its interval; both None with a reason where labels do not suffice.

    Raises:
        ValueError: a value is not finite or out of range, or lengths differ.

    >>> labels, judged = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1], [1, 0, 1, 1, 1, 1, 0, 1, 0, 1]
    >>> found = prediction_powered(labels, judged, [1] * 22 + [0] * 8)
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.7134, 0.4609, 0.966)
    """
    _check_values(labels, judged, others, bounded=bounded)
    n = len(labels)
    if n < FEW:
        return _refused(f"{n} labels; at least {FEW} are needed, and {ENOUGH} are better", level)
    weight = _power(labels, judged, others) if power is None else power if others else 0.0
    if not 0 <= weight <= 1:
        raise ValueError(f"power must be from 0 to 1, got {weight!r}")
    rest = [y - weight * x for y, x in zip(labels, judged, strict=True)]
    value = math.fsum(rest) / n + weight * (mean(others) or 0.0)
    spread = _variance(rest) / n + (weight * weight * _variance(others) / len(others) if others else 0.0)
    if _variance(rest) == 0:
        return _refused(f"{n} labels without any spread around the judge show too little of how often it errs", level)
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(spread)
    low, high = value - half, value + half
    if bounded:
        value, low, high = (min(1.0, max(0.0, x)) for x in (value, low, high))
    method = "labels alone" if weight == 0 else "PPI++" if power is None else "PPI"
    interval = Interval(low=low, high=high, level=level, method=method)
    return CorrectedRate(value=value, interval=interval, power=weight, caution=_caution(labels, judged))


@check_arguments
def corrected_by_betting(
    labels: Sequence[float], judged: Sequence[float], others: Sequence[float], level: float = LEVEL
) -> CorrectedRate:
    """Estimate the same mean as `prediction_powered` with a power of 1, with an interval that is valid for few labels.

    It bets on the difference of judge and labels, and on the judge's mean over the other outputs, each with half
    of the allowed error; so it is wider. Values must be from 0 to 1. Bets need a random order: the values are
    shuffled with a fixed seed.

    >>> labels, judged = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1], [1, 0, 1, 1, 1, 1, 0, 1, 0, 1]
    >>> found = corrected_by_betting(labels * 6, judged * 6, [1] * 220 + [0] * 80)
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.7333, 0.48, 0.991)
    """
    _check_values(labels, judged, others, bounded=True)
    if not labels:
        return _refused("nothing is labelled", level)
    power = 1.0 if others else 0.0
    rest = [y - power * x for y, x in zip(labels, judged, strict=True)]
    value = math.fsum(rest) / len(rest) + (mean(others) or 0.0)
    each = (1 + level) / 2 if others else level
    apart, far = _bets(rest, each, (-power, 1.0)), _bets(others, each)
    ends = value, apart.low + power * far.low, apart.high + power * far.high
    value, low, high = (min(1.0, max(0.0, x)) for x in ends)
    interval = Interval(low=min(low, value), high=max(high, value), level=level, method="PPI by betting")
    return CorrectedRate(value=value, interval=interval, power=power)


@check_arguments
def rogan_gladen(
    passed: int,
    n: int,
    good: tuple[float, int],
    bad: tuple[float, int],
    level: float = LEVEL,
) -> CorrectedRate:
    """Estimate the true pass rate from the number of passes of a judge and its error rates.

    Of `n` outputs the judge passed `passed`. `good` says how many of the outputs that people call good the judge
    passed, and of how many; `bad` how many of the bad ones it failed, and of how many. Refused are fewer than 10
    labels of either kind, and a judge that may be no better than chance. Outputs have to be drawn independently.
    W. J. Rogan, B. Gladen (1978); interval of C. Lee, T. Zeng, J. Jeong, J. Sohn, K. Lee, arXiv 2511.21140.

    Args:
        passed: How many of `n` outputs the judge passed.
        n: How many outputs the judge has judged.
        good: How many good outputs the judge passed, and of how many.
        bad: How many bad outputs the judge failed, and of how many.
        level: The confidence level, above 0 and below 1.

    Returns:
        The estimate with its interval; both None with a reason where labels do not suffice.

    Raises:
        ValueError: a count is impossible.

    >>> found = rogan_gladen(400, 1000, good=(180, 200), bad=(140, 200))
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.1667, 0.0564, 0.2627)
    """
    for name, (k, of) in {"passed": (passed, n), "good": good, "bad": bad}.items():
        if not 0 <= k <= of:
            raise ValueError(f"{name} must be from 0 to n, got {k!r} of {of!r}")
    if reason := _unusable(n, good, bad):
        return replace(_refused(reason, level), is_luck=reason == LUCK)
    right_on_good, right_on_bad = good[0] / good[1], bad[0] / bad[1]
    z = NormalDist().inv_cdf((1 + level) / 2)
    (p, n2), (q1, m1), (q0, m0) = _shrunk(passed, n, z * z / 2), _shrunk(*good, 1), _shrunk(*bad, 1)
    sure = q0 + q1 - 1
    if sure <= z * math.sqrt(q0 * (1 - q0) / m0 + q1 * (1 - q1) / m1):
        return replace(_refused(UNSURE, level), is_luck=True)
    centre = min(1.0, max(0.0, (p + q0 - 1) / sure))
    on_bad, on_good = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    shift = 2 * z * z * (centre * on_good - (1 - centre) * on_bad)
    error = math.sqrt(p * (1 - p) / n2 + (1 - centre) ** 2 * on_bad + centre**2 * on_good) / sure
    value, low, high = (
        min(1.0, max(0.0, x))
        for x in (
            (passed / n + right_on_bad - 1) / (right_on_good + right_on_bad - 1),
            centre + shift - z * error,
            centre + shift + z * error,
        )
    )
    # the interval has another centre; it is only ever widened
    interval = Interval(low=min(low, value), high=max(high, value), level=level, method="Rogan-Gladen, adjusted")
    return CorrectedRate(value=value, interval=interval, power=1.0)


def _bets(values: Sequence[float], level: float, bounds: tuple[float, float] = (0.0, 1.0)) -> BettingSequence:
    seen = BettingSequence(level, bounds, planned=len(values) or None)
    for value in random.Random(0).sample(values, len(values)):  # noqa: S311  no secret
        seen.add(value)
    return seen


def _unusable(n: int, good: tuple[float, int], bad: tuple[float, int]) -> str:
    if not n:
        return "the judge has judged nothing"
    for name, (_, labels) in {"good": good, "bad": bad}.items():
        if labels < FEW:
            return f"{labels} outputs are labelled {name}; at least {FEW} are needed"
    if good[0] * bad[1] + bad[0] * good[1] <= good[1] * bad[1]:
        return LUCK
    return ""


def _shrunk(k: float, n: int, extra: float) -> tuple[float, float]:
    """Return a share shrunk towards one half, and its effective number."""
    return (k + extra) / (n + 2 * extra), n + 2 * extra


def _power(labels: Sequence[float], judged: Sequence[float], others: Sequence[float]) -> float:
    """Return the weight of the judge that gives the shortest interval."""
    both = [*judged, *others]
    pooled = _variance(both) * len(both) / (len(both) - 1)
    if not others or pooled == 0:
        return 0.0
    (y, x), n = (math.fsum(values) / len(values) for values in (labels, judged)), len(labels)
    together = math.fsum((a - y) * (b - x) for a, b in zip(labels, judged, strict=True)) / n
    return min(1.0, max(0.0, together / ((1 + n / len(others)) * pooled)))


def _variance(values: Sequence[float]) -> float:
    """Return the variance, divided by n as in the papers."""
    if not values or min(values) == max(values):
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.fsum((x - centre) ** 2 for x in values) / len(values)


def _caution(labels: Sequence[float], judged: Sequence[float]) -> str:
    if len(labels) < ENOUGH:
        return f"{len(labels)} independent labels are few: the interval may be too short; {ENOUGH} are better"
    apart = sum(y != x for y, x in zip(labels, judged, strict=True))
    if apart < DIFFERENT:
        return f"judge and labels differ on {apart} outputs only, so that the interval may be too short"
    return ""


def _refused(reason: str, level: float) -> CorrectedRate:
    return CorrectedRate(value=None, interval=no_interval(reason, level))


def _check_values(labels: Sequence[float], judged: Sequence[float], others: Sequence[float], *, bounded: bool) -> None:
    if len(labels) != len(judged):
        raise ValueError(f"{len(labels)} labels but {len(judged)} verdicts on the same outputs")
    values = [*labels, *judged, *others]
    if not all(map(math.isfinite, values)):
        raise ValueError("an interval needs finite values")
    if bounded and not all(0 <= v <= 1 for v in values):
        raise ValueError("values must be from 0 to 1, or not be called bounded")
