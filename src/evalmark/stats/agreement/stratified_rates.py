"""Estimates the mean label of all outputs from labels whose number differs from stratum to stratum."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from evalmark.core.lazy import need
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval
from evalmark.stats.inference.means import FEW, clustered_error, mean_interval

from .corrected_rates import CorrectedRate

METHOD = "stratified, Clopper-Pearson"


@dataclass(frozen=True, slots=True)
class _Stratum:
    share: float
    """Its share of all outputs."""
    labelled: int
    mean: float
    """The mean label; 0 without labels."""
    ends: tuple[float, float] | None
    """The interval of the mean of labels that are not all 0 or 1."""


@check_arguments
def stratified_rate(
    strata: Sequence[Hashable],
    labels: Sequence[float | None],
    clusters: Sequence[Hashable] | None = None,
    level: float = LEVEL,
) -> CorrectedRate:
    """Estimate the mean label of all outputs from labels that were chosen at random within each stratum.

    `strata` has the stratum of each output, for example the judge's verdict, `labels` its label from 0 to 1, or None,
    and `clusters` its case if cases have several outputs. The mean label of each stratum counts by the stratum's share of
    all outputs, however many of its outputs are labelled. A stratum without any label may have any mean from 0 to 1: then
    there is no estimate, and the interval is a bound. The interval puts those of the strata together as R. G. Newcombe
    (1998) does for a difference. Fewer than 10 labelled cases are refused.

    Args:
        strata: The stratum of each output, such as the judge's verdict.
        labels: The label of each output from 0 to 1, or None.
        clusters: The case, or cluster, of each output; None if every output is a case of its own.
        level: The confidence level, above 0 and below 1.

    Returns:
        The estimate with its interval; a bound without a value where a stratum has no label.

    Raises:
        ValueError: a label is out of range, or lengths differ.

    >>> found = stratified_rate(["pass"] * 60 + ["fail"] * 40, [1] * 18 + [0] * 2 + [None] * 40 + [0] * 20 + [None] * 20)
    >>> round(found.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.54, 0.383, 0.662)
    >>> found = stratified_rate(["pass"] * 60 + ["fail"] * 40, [None] * 60 + [0] * 40)
    >>> found.value, round(found.interval.low, 3), round(found.interval.high, 3)
    (None, 0.0, 0.703)
    """
    known = [place for place, label in enumerate(labels) if label is not None]
    _check(strata, labels, clusters)
    cases: Sequence[Hashable] = range(len(strata)) if clusters is None else clusters
    labelled_cases = len({cases[place] for place in known})
    if labelled_cases < FEW:
        return CorrectedRate(
            value=None, interval=no_interval(f"{labelled_cases} labelled cases; at least {FEW} are needed", level)
        )
    found = _strata(strata, labels, level)
    effect = _design_effect(found, strata, labels, cases, level)
    ends = [_end(found, strata, cases, effect, missing, level) for missing in (0.0, 1.0)]
    is_whole = all(one.labelled for one in found.values())
    value = math.fsum(one.share * one.mean for one in found.values())
    interval = Interval(low=min(1.0, max(0.0, ends[0])), high=min(1.0, max(0.0, ends[1])), level=level, method=METHOD)
    return CorrectedRate(value=min(1.0, value) if is_whole else None, interval=interval, power=1.0)


def _check(strata: Sequence[Hashable], labels: Sequence[float | None], clusters: Sequence[Hashable] | None) -> None:
    if len(strata) != len(labels) or (clusters is not None and len(clusters) != len(labels)):
        raise ValueError(f"{len(strata)} outputs but {len(labels)} labels, or another number of cases")
    if not all(label is None or 0 <= label <= 1 for label in labels):
        raise ValueError("labels must be from 0 to 1")


def _strata(strata: Sequence[Hashable], labels: Sequence[float | None], level: float) -> dict[Hashable, _Stratum]:
    sizes = Counter(strata)
    by_stratum: defaultdict[Hashable, list[float]] = defaultdict(list)
    for stratum, label in zip(strata, labels, strict=True):
        if label is not None:
            by_stratum[stratum].append(label)
    is_graded = any(not {*values} <= {0.0, 1.0} for values in by_stratum.values())
    return {
        stratum: _Stratum(
            share=size / len(strata),
            labelled=len(by_stratum[stratum]),
            mean=math.fsum(by_stratum[stratum]) / max(1, len(by_stratum[stratum])),
            ends=mean_interval(by_stratum[stratum], level, bounded=True).ends if is_graded else None,
        )
        for stratum, size in sizes.items()
    }


def _design_effect(
    found: dict[Hashable, _Stratum],
    strata: Sequence[Hashable],
    labels: Sequence[float | None],
    cases: Sequence[Hashable],
    level: float,
) -> float:
    """Return by how much labels of one case, which resemble each other, raise the variance; 1 if each case has one label."""
    sums: defaultdict[Hashable, float] = defaultdict(float)
    sizes: Counter[Hashable] = Counter()
    alone = 0.0
    for stratum, label, case in zip(strata, labels, cases, strict=True):
        if label is not None:
            one = found[stratum]
            residual = one.share / one.labelled * (label - one.mean)
            sums[case] += residual
            sizes[case] += 1
            alone += residual * residual
    groups, n = len(sizes), sizes.total()
    most = sum(size * size for size in sizes.values()) / n
    if groups == n or groups < 2 or alone == 0:
        return most  # 1 if each case has one label
    special, tail = need("scipy.special"), (1 + level) / 2
    # the spread between cases is an estimate, so t replaces z
    wider = float(special.stdtrit(groups - 1, tail) / special.ndtri(tail)) ** 2
    together = groups / (groups - 1) * math.fsum(s * s for s in sums.values())
    return min(most, max(1.0, together / alone * wider))


def _end(
    found: dict[Hashable, _Stratum],
    strata: Sequence[Hashable],
    cases: Sequence[Hashable],
    effect: float,
    missing: float,
    level: float,
) -> float:
    """Return one end of the interval, with a mean of `missing`, 0 or 1, in strata without labels."""
    is_high = missing == 1
    means = {stratum: one.mean if one.labelled else missing for stratum, one in found.items()}
    value = math.fsum(one.share * means[stratum] for stratum, one in found.items())
    squares = [
        (one.share * (_limit(one, effect, level, is_high=is_high) - one.mean)) ** 2
        for one in found.values()
        if one.labelled
    ]
    z = NormalDist().inv_cdf((1 + level) / 2)
    # the shares of the strata are those of a sample of outputs, too
    error = clustered_error([means[stratum] for stratum in strata], cases) or 0.0
    half = math.sqrt(math.fsum(squares) + (z * error) ** 2)
    return value + half if is_high else value - half


def _limit(one: _Stratum, effect: float, level: float, *, is_high: bool) -> float:
    """Return an end of the interval of the mean label of a stratum: of Clopper and Pearson for zeros and ones."""
    if one.ends is not None:
        wider = one.mean + math.sqrt(effect) * (one.ends[is_high] - one.mean)
        return min(1.0, max(0.0, wider))
    tail, quantile = (1 - level) / 2, need("scipy.special").betaincinv
    n = one.labelled / effect
    k = one.mean * n
    if is_high:
        return 1.0 if one.mean == 1 else float(quantile(k + 1, n - k, 1 - tail))
    return 0.0 if one.mean == 0 else float(quantile(k, n - k + 1, tail))


@check_arguments
def labelled_at_random(
    judged: Sequence[bool], labelled: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> float | None:
    """Return how probable it is that labels drawn at random among all outputs leave verdicts as uneven as these.

    `judged` has the verdict on each output, `labelled` whether the output has a label. With one output for each case it
    is the p-value of Fisher's exact test, otherwise that of a score test with clustered error. None if nothing can be
    compared: all outputs are labelled or none is, or all verdicts are the same.

    >>> round(labelled_at_random([True] * 10 + [False] * 10, [True] * 2 + [False] * 10 + [True] * 8), 4)
    0.023
    """
    n, chosen, passed = len(judged), sum(labelled), sum(judged)
    if not 0 < chosen < n or not 0 < passed < n:
        return None
    if clusters is None or len(set(clusters)) == n:
        both = sum(verdict and known for verdict, known in zip(judged, labelled, strict=True))
        return _fisher(both, chosen, passed, n)
    mean = passed / n
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for verdict, known, case in zip(judged, labelled, clusters, strict=True):
        sums[case] += (1 / chosen if known else -1 / (n - chosen)) * (verdict - mean)
    groups = len(sums)
    error = math.sqrt(groups / (groups - 1) * math.fsum(s * s for s in sums.values())) if groups > 1 else 0.0
    if error == 0:
        return None
    apart = abs(math.fsum(sums.values())) / error
    return 2 * float(need("scipy.special").stdtr(groups - 1, -apart))


def _fisher(both: int, chosen: int, passed: int, n: int) -> float:
    def chance(k: int) -> float:
        return math.exp(_choices(passed, k) + _choices(n - passed, chosen - k) - _choices(n, chosen))

    observed = chance(both) * (1 + 1e-7)
    every = map(chance, range(max(0, chosen + passed - n), min(chosen, passed) + 1))
    return min(1.0, math.fsum(one for one in every if one <= observed))


def _choices(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
