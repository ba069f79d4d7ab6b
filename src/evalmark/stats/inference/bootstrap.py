"""The bootstrap interval of a mean, without scipy.stats, whose import takes a second."""

from collections.abc import Sequence
from typing import Any

from evalmark.core.lazy import need

RESAMPLES = 9_999
_BATCH = 500


def bca(values: Sequence[float], level: float, seed: int) -> tuple[float, float]:
    """Return the bias-corrected and accelerated bootstrap interval of the mean of at least two different values.

    Efron, Better Bootstrap Confidence Intervals (1987), with the acceleration from the jackknife. Resamples and
    results equal those of `scipy.stats.bootstrap(..., method="BCa")`; the tests compare both.
    """
    numpy, special = need("numpy"), need("scipy.special")
    sample = numpy.sort(numpy.asarray(values, dtype=numpy.float64))  # so that the order of cases does not matter
    means = _resampled_means(sample, numpy.random.default_rng(seed))
    centre = sample.mean()
    below = (numpy.count_nonzero(means < centre) + numpy.count_nonzero(means <= centre)) / (2 * len(means))
    bias = special.ndtri(below)
    without = (sample.sum() - sample) / (len(sample) - 1)
    pull = without.mean() - without
    acceleration = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    ends = bias + special.ndtri(numpy.asarray([(1 - level) / 2, (1 + level) / 2]))
    low, high = numpy.quantile(means, special.ndtr(bias + ends / (1 - acceleration * ends)))
    return float(low), float(high)


def _resampled_means(sample: Any, random: Any) -> Any:
    numpy = need("numpy")
    sizes = [min(_BATCH, RESAMPLES - done) for done in range(0, RESAMPLES, _BATCH)]
    return numpy.concatenate(
        [sample[random.integers(0, len(sample), (size, len(sample)))].mean(axis=1) for size in sizes]
    )
