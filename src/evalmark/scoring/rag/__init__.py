"""The RAG metrics as functions that take texts and return numbers."""

from evalmark.scoring.builtin.grounding import FLAGS

from .metrics import (
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
    evaluate_all,
)

__all__ = [
    "FLAGS",
    "answer_correctness",
    "answer_hallucination",
    "answer_relevance",
    "context_relevance",
    "context_sufficiency",
    "evaluate_all",
]
