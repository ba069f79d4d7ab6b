"""The five RAG metrics as functions that take texts and return numbers, and the limits of their flags."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.scoring.builtin.grounding import FLAGS
    from evalmark.scoring.rag.metrics import (
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

__getattr__ = lazy_getattr(
    __name__,
    {
        "FLAGS": "evalmark.scoring.builtin.grounding",
        "answer_correctness": "evalmark.scoring.rag.metrics",
        "answer_hallucination": "evalmark.scoring.rag.metrics",
        "answer_relevance": "evalmark.scoring.rag.metrics",
        "context_relevance": "evalmark.scoring.rag.metrics",
        "context_sufficiency": "evalmark.scoring.rag.metrics",
        "evaluate_all": "evalmark.scoring.rag.metrics",
    },
)
