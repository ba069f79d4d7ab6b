"""The formulas of the RAG metrics on embedding vectors, and the limits of their flags."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalmark.core.values.score import Direction

from .cosine import Matrix, cosines

EPSILON = 1e-10
"""Added to the product of the lengths, so that the cosine with a zero vector is 0.

It also makes a cosine of exactly 0.5 come out slightly below 0.5.
"""


class Flag(NamedTuple):
    """A limit beyond which a report flags a metric, and the line that it prints."""

    limit: float
    line: str
    direction: Direction = "higher"

    def is_beyond(self, value: float | None) -> bool:
        """Return whether a value is on the wrong side of the limit; False for None."""
        if value is None:
            return False
        return value < self.limit if self.direction == "higher" else value > self.limit


FLAGS: Mapping[str, Flag] = {
    "context_relevance": Flag(0.5, "low similarity of question and contexts"),
    "context_sufficiency": Flag(0.5, "few contexts are similar to the question"),
    "answer_relevance": Flag(0.6, "low overlap with the reference"),
    "answer_correctness": Flag(0.6, "low overlap with the reference"),
    "answer_hallucination": Flag(0.3, "sentences without a similar context", "lower"),
}
"""The flag of each metric: it applies below the limit, for hallucination above it."""
RAG_METRICS = tuple(FLAGS)
"""The names of the five metrics, in report order."""


def flag_thresholds(names: Iterable[str]) -> dict[str, float]:
    """Return the limits of those metrics that have a flag, as thresholds for a gate.

    >>> flag_thresholds(["equals", "answer_hallucination"])
    {'answer_hallucination': 0.3}
    """
    return {name: FLAGS[name].limit for name in names if name in FLAGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How well the contexts support one sentence."""

    sentence: str
    similarity: float | None
    """The cosine to the closest context; None without contexts."""
    context: int | None
    """The index of that context, from 0."""
    supported: bool

    @property
    def detail(self) -> dict[str, Any]:
        """The support as data of a score."""
        return {
            "sentence": self.sentence,
            "similarity": self.similarity,
            "context": self.context,
            "supported": self.supported,
        }


def similarities(one: Matrix, many: Matrix) -> list[float]:
    """Return the cosine of one text to each of many."""
    return cosine_table(one[None, :], many)[0]


def similarity(one: Matrix, other: Matrix) -> float:
    return similarities(one, other[None, :])[0]


def cosine_table(these: Matrix, those: Matrix) -> list[list[float]]:
    """Return the cosines of each text to each of the others, one row per text."""
    found: list[list[float]] = cosines(these, those, EPSILON).tolist()
    return found


def relevance(found: Sequence[float]) -> float:
    """Return the mean similarity of question and contexts."""
    return math.fsum(found) / len(found)


def sufficiency(found: Sequence[float], limit: float) -> float:
    """Return the share of contexts whose similarity to the question is at least `limit`."""
    return sum(value >= limit for value in found) / len(found)


def supports(sentences: Sequence[str], vectors: Matrix, contexts: Matrix, limit: float) -> tuple[Support, ...]:
    """Return for each sentence its closest context and whether the similarity reaches `limit`."""
    return tuple(
        _sentence_support(s, found, limit) for s, found in zip(sentences, cosine_table(vectors, contexts), strict=True)
    )


def _sentence_support(sentence: str, found: Sequence[float], limit: float) -> Support:
    if not found:
        return Support(sentence=sentence, similarity=None, context=None, supported=False)
    best = max(range(len(found)), key=found.__getitem__)
    return Support(sentence=sentence, similarity=found[best], context=best, supported=found[best] >= limit)


def unsupported(found: Sequence[Support]) -> float:
    """Return the share of sentences that no context supports; lower is better."""
    return sum(not support.supported for support in found) / len(found)
