"""Precision and recall of the first k contexts.

Both follow the definitions that Ragas documents for its metrics of the same names, with the cosine of embeddings in
place of a model's judgement: https://docs.ragas.io, "Context Precision" and "Context Recall".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import Embedder
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import missing_reference, unscored
from evalmark.scoring.binding.text import preview

from .cosine import rows
from .grounding import cosine_table
from .rag import NO_CONTEXTS, RagTexts, check_cosine, metric_score
from .sentences import Splitter, check_splitter, split_sentences


def precision_at_k(relevant: Sequence[bool]) -> float:
    """Return the mean of the precision at each rank with a relevant context; 0 if none is relevant.

    >>> precision_at_k([True, False, True]), precision_at_k([False, False, True])
    (0.8333333333333333, 0.3333333333333333)
    """
    hits = [rank for rank, found in enumerate(relevant, start=1) if found]
    return sum(number / rank for number, rank in enumerate(hits, start=1)) / len(hits) if hits else 0.0


class _ReferenceCosines(NamedTuple):
    """The sentences of the reference, each with its cosine to every context."""

    sentences: tuple[str, ...]
    cosines: list[list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReferenceMetric:
    """The base of both metrics."""

    name: ClassVar[str]
    needs_contexts: ClassVar[bool] = True

    k: int | None = None
    similar: float = 0.5
    splitter: Splitter = "sentencex"
    embedder: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise ConfigError(f"{self.name}: `k` is {self.k!r}; it has to be a whole number of at least 1.")
        check_cosine(self.name, "similar", self.similar)
        check_splitter(self.splitter)

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    async def _reference_cosines(self, case: Case, output: Output, embedder: Embedder) -> _ReferenceCosines | Score:
        texts = RagTexts.of(case, output)
        if why := texts.lacks(answer=False, reference=True):
            return unscored(self.name, why)
        contexts = texts.contexts[: self.k]
        if all(map(is_blank, contexts)):
            return unscored(self.name, NO_CONTEXTS)
        sentences = split_sentences(texts.reference, self.splitter) or (texts.reference,)
        vectors = rows(await embedder([*sentences, *contexts]))
        sentence_vectors, context_vectors = vectors[: len(sentences)], vectors[len(sentences) :]
        return _ReferenceCosines(sentences, cosine_table(sentence_vectors, context_vectors))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPrecisionAtK(_ReferenceMetric):
    """Measure whether relevant contexts rank before irrelevant ones.

    A context is relevant if it is similar to a sentence of the reference.

    Args:
        k: How many contexts count, from the first; at least 1. None counts all.
        similar: The smallest cosine of a context and a sentence that counts as similar, from -1 to 1.
        splitter: How to split the reference into sentences: `sentencex`, `sentencex:LANGUAGE`, `simple` or a function.
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score from 0 to 1; `unscored` without a reference or contexts.

    Raises:
        ConfigError: `k` is below 1, `similar` is not a number from -1 to 1, or the splitter is unknown.

    >>> ContextPrecisionAtK(k=3).name
    'context_precision_at_k'
    """

    name: ClassVar[str] = "context_precision_at_k"

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        found = await self._reference_cosines(case, output, embedder)
        if isinstance(found, Score):
            return found
        best = [max(column) for column in zip(*found.cosines, strict=True)]
        relevant = [value >= self.similar for value in best]
        fact = f"{sum(relevant)} of the first {count(len(relevant), 'context')} are relevant to the reference"
        return metric_score(self.name, precision_at_k(relevant), fact, {"similarities": best, "relevant": relevant})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecallAtK(_ReferenceMetric):
    """Measure the share of the reference's sentences that one of the first k contexts covers.

    Args:
        k: How many contexts count, from the first; at least 1. None counts all.
        similar: The smallest cosine at which a context covers a sentence, from -1 to 1.
        splitter: How to split the reference into sentences: `sentencex`, `sentencex:LANGUAGE`, `simple` or a function.
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score from 0 to 1; `unscored` without a reference or contexts.

    Raises:
        ConfigError: `k` is below 1, `similar` is not a number from -1 to 1, or the splitter is unknown.

    >>> ContextRecallAtK(k=3).name
    'context_recall_at_k'
    """

    name: ClassVar[str] = "context_recall_at_k"

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        found = await self._reference_cosines(case, output, embedder)
        if isinstance(found, Score):
            return found
        covered = [
            {
                "sentence": sentence,
                "covered": max(row) >= self.similar,
                "similarity": max(row),
                "context": row.index(max(row)),
            }
            for sentence, row in zip(found.sentences, found.cosines, strict=True)
        ]
        bare = [str(item["sentence"]) for item in covered if not item["covered"]]
        hits = len(covered) - len(bare)
        missing = f", not {preview(bare[0])}" if bare else ""
        fact = f"the contexts cover {hits} of {count(len(covered), 'sentence')} of the reference{missing}"
        return metric_score(self.name, hits / len(covered), fact, {"sentences": covered})
