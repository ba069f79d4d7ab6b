"""The built-in scorers: checks, similarity and RAG metrics."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from evalmark.matching import ABSENT, Fuzzy

    from .answer_quality import AnswerQuality
    from .checks import Contains, Equals, Length, Regex, Time
    from .closeness import Chrf, EditSimilarity
    from .grounding import FLAGS, RAG_METRICS, Flag, flag_thresholds
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
    from .structured_output import StructuredOutput
    from .tool_calls import ToolCalls

__all__ = [
    "ABSENT",
    "FLAGS",
    "RAG_METRICS",
    "AnswerCorrectness",
    "AnswerHallucination",
    "AnswerQuality",
    "AnswerQuestionRelevance",
    "AnswerRelevance",
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
    "Fuzzy",
    "IsJson",
    "JsonSchema",
    "Length",
    "Numeric",
    "Regex",
    "Similarity",
    "StructuredOutput",
    "Time",
    "ToolCalls",
    "closest_example",
    "comparable",
    "compared_text",
    "flag_thresholds",
]

__getattr__ = deferred(
    __name__,
    {
        "ABSENT": "structured_output",
        "AnswerCorrectness": "rag",
        "AnswerHallucination": "rag",
        "AnswerQuality": "answer_quality",
        "AnswerQuestionRelevance": "rag",
        "AnswerRelevance": "rag",
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
        "Fuzzy": "structured_output",
        "IsJson": "structure",
        "JsonSchema": "structure",
        "Length": "checks",
        "Numeric": "numbers",
        "RAG_METRICS": "grounding",
        "Regex": "checks",
        "Similarity": "similarity",
        "StructuredOutput": "structured_output",
        "Time": "checks",
        "ToolCalls": "tool_calls",
        "closest_example": "similarity",
        "comparable": "similarity",
        "compared_text": "similarity",
        "flag_thresholds": "grounding",
    },
)
