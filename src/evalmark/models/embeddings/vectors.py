"""Validation of the texts given to an embedder, and of the vectors it returns."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ModelError
from evalmark.core.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np

    from evalmark.core.protocols import Vectors
else:
    np = LazyModule("numpy")


_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_texts(texts: Sequence[str]) -> list[str]:
    """Return texts that can be encoded as UTF-8: lone surrogates become U+FFFD.

    Raises:
        ModelError: One of them is not a text.
    """
    if isinstance(texts, str):
        raise ModelError("The embedder takes a list of texts; found one text.")
    odd = next((text for text in texts if not isinstance(text, str)), None)
    if odd is not None or None in texts:
        raise ModelError(f"The embedder takes texts; found a {type(odd).__name__}: {odd!r:.100}.")
    return [text if text.isascii() else _clean(text) for text in texts]


def _clean(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def validate_vectors(given: Any, count: int, name: str) -> "Vectors":
    """Return the result of an embedder as `count` finite rows of 32-bit floats.

    Raises:
        ModelError: The result is something else; the message describes it.
    """
    expected = f"{count} vector{'s' * (count != 1)} of equal length"
    try:
        vectors = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"The embedder {name} did not return {expected}: {error}.") from error
    if vectors.dtype.kind not in "fiu" or vectors.ndim != 2:
        found = f"an array of shape {vectors.shape} and type {vectors.dtype}"
        raise ModelError(f"The embedder {name} returned {found}; expected {expected}.")
    if len(vectors) != count or (count and not vectors.shape[1]):
        raise ModelError(f"The embedder {name} returned an array of shape {vectors.shape}; expected {expected}.")
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ModelError(
            f"The embedder {name} returned numbers that are not finite in {len(bad)} of {count} vectors, "
            f"the first at index {bad[0]}."
        )
    return vectors
