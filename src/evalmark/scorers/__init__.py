"""What judges an output: checks, similarity and RAG metrics, and whatever function a user brings."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .answer_quality import AnswerQuality
    from .bound import OFFERS, BoundScorer, as_scorer
    from .checks import Contains, Equals, Length, Regex, Time
    from .closeness import Chrf, EditSimilarity
    from .grounding import FLAGS, RAG_METRICS, Flag, flag_thresholds
    from .named import resolve, scorer_names
    from .negation import Not
    from .numbers import Numeric
    from .rag import (
        AnswerCorrectness,
        AnswerHallucination,
        AnswerQuestionRelevance,
        AnswerRelevance,
        ContextRelevance,
        ContextSufficiency,
    )
    from .retrieval import ContextPrecisionAtK, ContextRecallAtK
    from .similarity import Closest, Compared, CosineRule, Similarity, closest_example, comparable, compared_text
    from .structure import IsJson, JsonSchema

__all__ = [
    "FLAGS",
    "OFFERS",
    "RAG_METRICS",
    "AnswerCorrectness",
    "AnswerHallucination",
    "AnswerQuality",
    "AnswerQuestionRelevance",
    "AnswerRelevance",
    "BoundScorer",
    "Chrf",
    "Closest",
    "Compared",
    "Contains",
    "ContextPrecisionAtK",
    "ContextRecallAtK",
    "ContextRelevance",
    "ContextSufficiency",
    "CosineRule",
    "EditSimilarity",
    "Equals",
    "Flag",
    "IsJson",
    "JsonSchema",
    "Length",
    "Not",
    "Numeric",
    "Regex",
    "Similarity",
    "Time",
    "as_scorer",
    "closest_example",
    "comparable",
    "compared_text",
    "flag_thresholds",
    "resolve",
    "scorer_names",
]

__getattr__ = deferred(
    __name__,
    {
        "AnswerCorrectness": "rag",
        "AnswerHallucination": "rag",
        "AnswerQuality": "answer_quality",
        "AnswerQuestionRelevance": "rag",
        "AnswerRelevance": "rag",
        "BoundScorer": "bound",
        "Chrf": "closeness",
        "Closest": "similarity",
        "Compared": "similarity",
        "Contains": "checks",
        "ContextPrecisionAtK": "retrieval",
        "ContextRecallAtK": "retrieval",
        "ContextRelevance": "rag",
        "ContextSufficiency": "rag",
        "CosineRule": "similarity",
        "EditSimilarity": "closeness",
        "Equals": "checks",
        "FLAGS": "grounding",
        "Flag": "grounding",
        "IsJson": "structure",
        "JsonSchema": "structure",
        "Length": "checks",
        "Not": "negation",
        "Numeric": "numbers",
        "OFFERS": "bound",
        "RAG_METRICS": "grounding",
        "Regex": "checks",
        "Similarity": "similarity",
        "Time": "checks",
        "as_scorer": "bound",
        "closest_example": "similarity",
        "comparable": "similarity",
        "compared_text": "similarity",
        "flag_thresholds": "grounding",
        "resolve": "named",
        "scorer_names": "named",
    },
)
