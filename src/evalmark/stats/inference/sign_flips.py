"""The paired permutation test, which flips the signs of differences in all possible ways."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.core.lazy import need

from .argument_checks import check_arguments

ALL = 36
"""Up to this many differences, all choices of signs are counted."""
FINEST = 10_000
"""Values on a grid are summed exactly if the sum spreads over at most this many steps."""
SMALLEST = 1e-12
"""Below this, p is bounded instead of computed."""
_ROUNDING = 1e-12
_NOTHING = 1e-15
_CELLS = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipTest:
    """The result of the permutation test."""

    p: float | None
    """Two-sided: the share of all choices of signs whose sum is at least as far from 0 as the observed one. None if
    nothing differs.
    """
    n: int
    """Differences, or clusters of them, that are not 0."""
    method: str


@check_arguments
def sign_flips(differences: Sequence[float], clusters: Sequence[Hashable] | None = None) -> SignFlipTest:
    """Run the two-sided permutation test of paired differences (Fisher 1935): without an effect, each could have either sign.

    `clusters` names the case of each difference if cases were repeated: the differences of one case are flipped
    together. No random numbers are used, so the order of the differences, their unit and the order of the sides
    do not matter. Up to 36 differences are counted exactly. With more, the distribution of the sum comes from its
    characteristic function, a product of cosines (Pagano and Tritchler 1983). It is exact to 1e-12 if all
    differences lie on a grid (integers, fractions down to 1/1024). Otherwise, sums up to 0.002 standard
    deviations nearer than the observed one are counted in part, so p is never too small, and near 0.05 too large
    by about 0.0003. A p below 1e-12 is reported as Hoeffding's bound, or as 1e-12. Differences below 1e-12 of the
    largest one count as rounding errors.

    Args:
        differences: The paired difference of each case; finite.
        clusters: The case, or cluster, of each difference; None if every difference is a case of its own.

    Returns:
        The p-value and how it was computed.

    Raises:
        ValueError: a difference is not finite, or there are not as many clusters.

    >>> maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    >>> sign_flips(maize).p * 2**15
    1726.0
    """
    if not all(map(math.isfinite, differences)):
        raise ValueError("a permutation test needs finite differences")
    if clusters is not None and len(clusters) != len(differences):
        raise ValueError(f"{len(differences)} differences but {len(clusters)} clusters")
    sums, step = _units(differences, clusters)
    if not len(sums):
        return SignFlipTest(p=None, n=0, method="none: nothing differs")
    sizes, far = abs(sums), abs(math.fsum(sums))
    if len(sizes) <= ALL:
        slack = 0.5 if step else _ROUNDING * math.fsum(sizes)
        return SignFlipTest(p=_counted(sizes, far - slack), n=len(sizes), method="sign flips, all counted")
    spread = math.sqrt(math.fsum(sizes * sizes))
    on_grid = step > 0 and spread <= FINEST
    p = _summed(sizes, far, spread, on_grid=on_grid)
    return SignFlipTest(p=p, n=len(sizes), method=f"sign flips, {'summed on a grid' if on_grid else 'summed'}")


def _units(differences: Sequence[float], clusters: Sequence[Hashable] | None) -> tuple[Any, float]:
    """Return the sizes of the units to flip, without zeros, and the step of their grid; 0 without a grid."""
    numpy = need("numpy")
    values = numpy.asarray(differences, dtype=numpy.float64)
    largest = float(abs(values).max(initial=0.0))
    if not largest:
        return values[:0], 0.0
    values = numpy.ldexp(values, -math.frexp(largest)[1])  # scaled below 1 exactly, so that no square overflows
    values[abs(values) < _ROUNDING] = 0.0
    step = _step(numpy.unique(abs(values)))
    if step:
        values = numpy.rint(values / step)
    if clusters is not None:
        groups: dict[Hashable, list[float]] = {}
        for value, cluster in zip(values.tolist(), clusters, strict=True):
            groups.setdefault(cluster, []).append(value)
        values = numpy.asarray([math.fsum(group) for group in groups.values()])
    return values[abs(values) >= (0.5 if step else _ROUNDING)], step


def _step(sizes: Any) -> float:
    """Return the coarsest grid step, from 1 to 1/1024, on which all `sizes` lie; 0 if there is none."""
    numpy = need("numpy")
    parts = numpy.arange(1, 1025)[:, None]

    def fits(parts: Any, some: Any) -> Any:
        return (abs(parts * some - numpy.rint(parts * some)) <= 1e-9).all(axis=1)

    for part in parts[fits(parts, sizes[:: max(1, len(sizes) // 16)])]:
        # values much smaller than a step would become 0
        if sizes[sizes > 0].min() * part >= 0.5 and fits(part[:, None], sizes).all():
            return 1 / float(part[0])
    return 0.0


def _counted(sizes: Any, far: float) -> float:
    """Return the share of all sums that are at least `far` from 0, from the sorted sums of two halves."""
    if far <= 0:
        return 1.0
    numpy = need("numpy")
    middle = len(sizes) // 2
    one, other = (numpy.sort(_all_sums(half)) for half in (sizes[:middle], sizes[middle:]))
    beyond = one.size * other.size - int(numpy.searchsorted(other, far - one).sum())
    return float(2 * beyond / 2 ** len(sizes))


def _all_sums(sizes: Any) -> Any:
    numpy = need("numpy")
    sums = numpy.zeros(1)
    for size in sizes:
        sums = numpy.concatenate([sums + size, sums - size])
    return sums


def _summed(sizes: Any, far: float, spread: float, *, on_grid: bool) -> float:
    """Return the probability that the sum of `sizes` with random signs is at least `far` from 0, by a Fourier series.

    The period of the series leaves 9.5 standard deviations beyond `far`, where Hoeffding's bound is below 1e-19.
    """
    bound = 2 * math.exp(-((far / spread) ** 2) / 2)
    if bound < SMALLEST:
        return bound
    nearer = _nearer_on_grid(sizes, far, spread) if on_grid else _nearer(sizes, far, spread)
    return min(1.0, max(SMALLEST, 1 - nearer))


def _nearer_on_grid(sizes: Any, far: float, spread: float) -> float:
    """Return the probability of a sum nearer to 0 than `far`, for integer sizes; sums are two apart, so half a period is enough."""
    numpy = need("numpy")
    if far == 0:
        return 0.0
    count = int(far + 9.5 * spread) // 2 * 2 + 1  # the number of sums in a period has to be odd
    at = math.pi / count * numpy.arange(1, count // 2 + 1)
    at, product = _product_of_cosines(at, sizes)
    return float((far - 1 + 2 * (product * numpy.sin((far - 1) * at) / numpy.sin(at)).sum()) / count)


def _nearer(sizes: Any, far: float, spread: float) -> float:
    """Return the probability of a sum nearer to 0 than `far`, with the sum blurred by a normal distribution of 1/4000 its size.

    The blur ends the series; subtracting four blurs from `far` makes sure that no sum tied with the observed one
    is missed.
    """
    numpy = need("numpy")
    blur = spread / 4_000
    far -= 4 * blur
    if far <= 0:
        return 0.0
    period = far + 9.5 * spread
    at = 2 * math.pi / period * numpy.arange(1, math.ceil(8.5 * period / (2 * math.pi * blur)))
    at, product = _product_of_cosines(at, sizes)
    waves = product * numpy.exp(-((blur * at) ** 2) / 2) * numpy.sin(far * at) / at
    return float((2 * far + 4 * waves.sum()) / period)


def _product_of_cosines(at: Any, sizes: Any) -> tuple[Any, Any]:
    """Return the characteristic function of the sum and its frequencies, without frequencies where it is negligible."""
    numpy = need("numpy")
    values, times = numpy.unique(sizes, return_counts=True)
    order = numpy.lexsort(
        (-values, -times)
    )  # the most common sizes first, then the largest, because they reduce the product most
    values, times = values[order], times[order]
    product, done = numpy.ones_like(at), 0
    while done < len(values) and at.size:
        some = slice(done, done + max(1, _CELLS // at.size))
        cosines = numpy.cos(values[some, None] * at)
        product = product * (cosines if times[done] == 1 else cosines ** times[some, None]).prod(axis=0)
        left = abs(product) > _NOTHING
        at, product, done = at[left], product[left], some.stop
    return at, product
