"""Embedders for tests, with predictable vectors; they record all calls."""

import asyncio
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evalmark.core.errors import ModelError

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors

_ANGLE = re.compile(r"deg=(-?\d+(?:[._]\d+)?)")


@dataclass(frozen=True, slots=True)
class AngleEmbedder:
    """Returns the unit vector at the angle `deg=…` in a text, and the zero vector for a text without one.

    An underscore may be used as the decimal point, where a point would end a sentence.

    Example:
        >>> import asyncio
        >>> vectors = asyncio.run(AngleEmbedder()(["right deg=0", "up deg=90", "half deg=22_5", "no angle"]))
        >>> vectors.round(3).tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.9240000247955322, 0.382999986410141], [0.0, 0.0]]
    """

    requests: list[tuple[str, ...]] = field(default_factory=list)
    """The texts of each call, in order."""

    @property
    def fingerprint(self) -> str:
        """Its name; all instances share cached vectors."""
        return "testing:angle"

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text, in order."""
        self.requests.append(tuple(texts))
        angles = [_ANGLE.search(text) for text in texts]
        turns = [math.radians(float(a.group(1).replace("_", "."))) if a else None for a in angles]
        rows = [(math.cos(t), math.sin(t)) if t is not None else (0.0, 0.0) for t in turns]
        return np.array(rows, np.float32).reshape(len(rows), 2)


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Returns a pseudo-random unit vector for each text, nearly orthogonal to those of other texts in many dimensions.

    Args:
        dimensions: The length of the vectors.
        seconds: The duration of each call.
        fails_on: A call with this text raises ModelError; empty: no call fails.

    Example:
        >>> import asyncio
        >>> a, b, c = asyncio.run(HashEmbedder()(["one", "one", "two"]))
        >>> bool((a == b).all()), bool((a == c).all())
        (True, False)
    """

    dimensions: int = 8
    seconds: float = 0.0
    fails_on: str = ""
    requests: list[tuple[str, ...]] = field(default_factory=list)
    """The texts of each call, in order."""

    @property
    def fingerprint(self) -> str:
        """The name and the dimensions; instances with the same dimensions share cached vectors."""
        return f"testing:hash-{self.dimensions}"

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text, in order.

        Raises:
            ModelError: `fails_on` is among the texts.
        """
        self.requests.append(tuple(texts))
        await asyncio.sleep(self.seconds)
        if self.fails_on and self.fails_on in texts:
            raise ModelError(f"the embedder fails on {self.fails_on!r}")
        return np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), self.dimensions)

    def _vector(self, text: str) -> "Vectors":
        seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        vector = np.random.default_rng(list(seed)).standard_normal(self.dimensions)
        return (vector / np.linalg.norm(vector)).astype(np.float32)
