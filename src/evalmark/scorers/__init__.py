"""What judges an output: checks, similarity and RAG metrics, and whatever function a user brings."""

from .bound import OFFERED, BoundScorer, as_scorer
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
    "OFFERED",
    "RAG_METRICS",
    "AnswerCorrectness",
    "AnswerHallucination",
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
