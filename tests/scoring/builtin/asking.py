"""What the tests of scorers share: an embedder whose angles can be read, and a way to ask once."""

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evalmark import Case, Output, Score
from evalmark.scoring.binding.bound_scorer import as_scorer


def direction(text: str) -> list[float]:
    """The unit vector at the angle `deg=` of a text (`.` or `_` for the decimal point); [0, 0] without one."""
    found = re.search(r"deg=(-?\d+(?:[._]\d+)?)", text)
    if found is None or "zero" in text:
        return [0.0, 0.0]
    angle = math.radians(float(found.group(1).replace("_", ".")))
    return [math.cos(angle), math.sin(angle)]


def angles(texts: list[str]) -> np.ndarray:
    """The plain callable form, in double precision."""
    return np.array([direction(text) for text in texts])


@dataclass(frozen=True)
class Angles:
    """An embedder that remembers what it was asked."""

    requests: list[list[str]] = field(default_factory=list)
    fingerprint: str = "angles"

    async def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.requests.append(list(texts))
        return angles(list(texts))


def ask(scorer, output=None, *, embedder=None, name=None, threshold=None, **case) -> Score:
    """The one score of a scorer for an answer to a case with these fields."""
    (score,) = ask_all(scorer, output, embedder=embedder, name=name, threshold=threshold, **case)
    return score


def ask_all(scorer, output=None, *, embedder=None, name=None, threshold=None, **case) -> tuple[Score, ...]:
    """All scores of a scorer."""
    bound = as_scorer(scorer, name=name, threshold=threshold, embedder=embedder or Angles())
    answer = output if isinstance(output, Output) else Output(value=output)
    return asyncio.run(bound(Case(**{"id": "1", **case}), answer))
