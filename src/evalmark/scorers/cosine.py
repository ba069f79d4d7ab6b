"""Cosines, in double precision whatever the model computes in."""

from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def rows(vectors: Any) -> Matrix:
    """Vectors of any kind of number as doubles, one row a text."""
    return np.asarray(vectors, dtype=np.float64)


def cosines(one: Matrix, many: Matrix, epsilon: float = 0.0) -> Matrix:
    """The cosine of one vector to each row; 0 where either has no length.

    `epsilon` is added to the product of the lengths.

    >>> cosines(rows([1, 0]), rows([[0, 1], [2, 0], [0, 0]])).tolist()
    [0.0, 1.0, 0.0]
    """
    if not len(many):
        return np.zeros(0)
    lengths = np.linalg.norm(one) * np.linalg.norm(many, axis=1) + epsilon
    found: Matrix = np.divide(many @ one, lengths, out=np.zeros(len(many)), where=lengths > 0)
    return found
