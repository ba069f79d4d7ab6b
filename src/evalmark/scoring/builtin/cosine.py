"""Cosine similarity in double precision, whatever precision the embedding model uses."""

from typing import TYPE_CHECKING, Any, TypeAlias

from evalmark.core.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = LazyModule("numpy")


Matrix: TypeAlias = "npt.NDArray[np.float64]"


def rows(vectors: Any) -> Matrix:
    """Return vectors as a matrix of doubles, one row per text."""
    return np.asarray(vectors, dtype=np.float64)


def cosines(these: Matrix, those: Matrix, epsilon: float = 0.0) -> Matrix:
    """Return the cosine of each row of `these` to each row of `those`; 0 if either is a zero vector.

    `epsilon` is added to the product of the lengths.

    >>> cosines(rows([[1, 0]]), rows([[0, 1], [2, 0], [0, 0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not (len(these) and len(those)):
        return np.zeros((len(these), len(those)))
    lengths = _lengths(these)[:, None] * _lengths(those) + epsilon
    # Not `@`: it may give equal pairs slightly different values at different positions, which would break ties.
    products = np.einsum("ik,jk->ij", these, those)
    found: Matrix = np.divide(products, lengths, out=np.zeros(lengths.shape), where=lengths > 0)
    return found


def _lengths(vectors: Matrix) -> Matrix:
    """Return the length of each row, as `numpy.linalg.norm` does, which takes several times as long for a few rows."""
    found: Matrix = np.sqrt(np.add.reduce(vectors * vectors, axis=1))
    return found
