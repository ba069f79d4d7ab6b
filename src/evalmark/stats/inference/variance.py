"""Components of variance: how much of the spread of scores each factor of a design causes."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.lazy import need

from .argument_checks import check_arguments

REST = "rest"
"""What no factor explains."""
_SINGULAR = 1e-9


@check_arguments
def variance_components(values: Sequence[float], factors: Mapping[str, Sequence[int]]) -> Mapping[str, float | None]:
    """Estimate the variance that each factor contributes to a single value, by the method of moments.

    Method I of Henderson (Estimation of variance and covariance components, Biometrics 9, 1953): the sums of squares over the
    levels of each factor are set equal to what they are on average, which is linear in the components. Factors may be nested
    or crossed and unbalanced, and values may be missing; where all is balanced, these are the estimates of the analysis of
    variance (Searle, Casella and McCulloch, Variance components, 1992, chapters 4 and 5). Nothing is assumed about
    distributions. Estimates are unbiased, and so may be below 0.

    Args:
        values: The values, at least two.
        factors: For each factor, the level of each value. The effects of its levels are taken as random draws.

    Returns:
        The component of each factor and of the `rest`, in squared units of the values. None where the design cannot tell:
        a factor has one level only, or each value a level of its own, or the levels of an earlier factor; for all, if some
        combination of factors cannot be told apart.

    Raises:
        ValueError: a factor has not as many levels as there are values, or is called `rest`.

    >>> found = variance_components([0.2, 0.4, 0.9, 0.9, 0.5, 0.7], {"case": [1, 1, 2, 2, 3, 3]})
    >>> {name: round(value, 4) for name, value in found.items()}
    {'case': 0.0833, 'rest': 0.0133}
    """
    if REST in factors or any(len(levels) != len(values) for levels in factors.values()):
        raise ValueError(
            f"each factor needs a level for each of the {len(values)} values, and a name other than {REST!r}"
        )
    found: dict[str, float | None] = dict.fromkeys([*factors, REST])
    if len(values) < 2:
        return found
    numpy = need("numpy")
    y = numpy.asarray(values, dtype=numpy.float64)
    kept = _identifiable(
        {name: numpy.unique(levels, return_inverse=True)[1] for name, levels in factors.items()}, len(y)
    )
    y = y - y.mean()
    sums, coefficients = [], []
    for codes in kept.values():
        counts = numpy.bincount(codes)
        sums.append(float((numpy.bincount(codes, y) ** 2 / counts).sum()))
        coefficients.append([*(_expected(codes, other, counts) for other in kept.values()), float(len(counts))])
    sums.append(float((y * y).sum()))
    coefficients.append([float(len(y))] * (len(kept) + 1))
    # of the mean of all values, which is 0 here, and has this variance
    mean = [*(float((numpy.bincount(codes).astype(float) ** 2).sum()) / len(y) for codes in kept.values()), 1.0]
    matrix = numpy.asarray(coefficients) - numpy.asarray(mean)
    scale = numpy.abs(matrix).max(axis=1, keepdims=True)
    if (scale == 0).any() or 1 / numpy.linalg.cond(matrix / scale) < _SINGULAR:
        return found
    solution = numpy.linalg.solve(matrix, numpy.asarray(sums))
    return found | dict(zip([*kept, REST], map(float, solution), strict=True))


def _identifiable(factors: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Return the factors whose levels differ from those of the others, of the mean and of the rest."""
    kept: dict[str, Any] = {}
    for name, codes in factors.items():
        levels = int(codes.max()) + 1
        if 1 < levels < n and not any(
            _levels(other, codes) == levels == int(other.max()) + 1 for other in kept.values()
        ):
            kept[name] = codes
    return kept


def _levels(first: Any, second: Any) -> int:
    """Return how many combinations of levels of two factors occur."""
    return len(need("numpy").unique(first * (int(second.max()) + 1) + second))


def _expected(codes: Any, other: Any, counts: Any) -> float:
    """Return the coefficient of the component of `other` in the expected sum of squares over the levels of `codes`."""
    numpy = need("numpy")
    levels = int(other.max()) + 1
    pairs, sizes = numpy.unique(codes * levels + other, return_counts=True)
    return float((sizes.astype(float) ** 2 / counts[pairs // levels]).sum())
