"""The built-in scorers: text checks, JSON checks, tool calls, text similarity and RAG metrics."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.interop.openai_evals.graders import OpenAIGrader, OpenAIModelGrader
    from evalmark.interop.openai_evals.registry_scorers import RegistryClassify, RegistryMatch
    from evalmark.interop.promptfoo.scorers import NodeAssertion, PromptfooAssertion, PythonAssertion
    from evalmark.interop.shared.assertions import Assertions, JudgedAssertions, SimilarAssertions
    from evalmark.scoring.builtin.answer_quality import AnswerQuality
    from evalmark.scoring.builtin.checks import Contains, Equals, Length, Regex, Time
    from evalmark.scoring.builtin.json_checks import IsJson, JsonSchema
    from evalmark.scoring.builtin.numeric import Numeric
    from evalmark.scoring.builtin.rag import (
        AnswerCorrectness,
        AnswerHallucination,
        AnswerQuestionRelevance,
        AnswerRelevance,
        ContextRelevance,
        ContextSufficiency,
    )
    from evalmark.scoring.builtin.retrieval import ContextPrecisionAtK, ContextRecallAtK
    from evalmark.scoring.builtin.similarity import CosineRule, Similarity
    from evalmark.scoring.builtin.structured_output import StructuredOutput
    from evalmark.scoring.builtin.text_similarity import Chrf, EditSimilarity
    from evalmark.scoring.builtin.tool_calls import ToolCalls
    from evalmark.scoring.matching.equality import ABSENT

__all__ = [
    "ABSENT",
    "AnswerCorrectness",
    "AnswerHallucination",
    "AnswerQuality",
    "AnswerQuestionRelevance",
    "AnswerRelevance",
    "Assertions",
    "Chrf",
    "Contains",
    "ContextPrecisionAtK",
    "ContextRecallAtK",
    "ContextRelevance",
    "ContextSufficiency",
    "CosineRule",
    "EditSimilarity",
    "Equals",
    "IsJson",
    "JsonSchema",
    "JudgedAssertions",
    "Length",
    "NodeAssertion",
    "Numeric",
    "OpenAIGrader",
    "OpenAIModelGrader",
    "PromptfooAssertion",
    "PythonAssertion",
    "Regex",
    "RegistryClassify",
    "RegistryMatch",
    "SimilarAssertions",
    "Similarity",
    "StructuredOutput",
    "Time",
    "ToolCalls",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "ABSENT": "evalmark.scoring.matching.equality",
        "AnswerCorrectness": "evalmark.scoring.builtin.rag",
        "AnswerHallucination": "evalmark.scoring.builtin.rag",
        "AnswerQuality": "evalmark.scoring.builtin.answer_quality",
        "AnswerQuestionRelevance": "evalmark.scoring.builtin.rag",
        "AnswerRelevance": "evalmark.scoring.builtin.rag",
        "Assertions": "evalmark.interop.shared.assertions",
        "Chrf": "evalmark.scoring.builtin.text_similarity",
        "Contains": "evalmark.scoring.builtin.checks",
        "ContextPrecisionAtK": "evalmark.scoring.builtin.retrieval",
        "ContextRecallAtK": "evalmark.scoring.builtin.retrieval",
        "ContextRelevance": "evalmark.scoring.builtin.rag",
        "ContextSufficiency": "evalmark.scoring.builtin.rag",
        "CosineRule": "evalmark.scoring.builtin.similarity",
        "EditSimilarity": "evalmark.scoring.builtin.text_similarity",
        "Equals": "evalmark.scoring.builtin.checks",
        "IsJson": "evalmark.scoring.builtin.json_checks",
        "JsonSchema": "evalmark.scoring.builtin.json_checks",
        "JudgedAssertions": "evalmark.interop.shared.assertions",
        "Length": "evalmark.scoring.builtin.checks",
        "NodeAssertion": "evalmark.interop.promptfoo.scorers",
        "Numeric": "evalmark.scoring.builtin.numeric",
        "OpenAIGrader": "evalmark.interop.openai_evals.graders",
        "OpenAIModelGrader": "evalmark.interop.openai_evals.graders",
        "PromptfooAssertion": "evalmark.interop.promptfoo.scorers",
        "PythonAssertion": "evalmark.interop.promptfoo.scorers",
        "Regex": "evalmark.scoring.builtin.checks",
        "RegistryClassify": "evalmark.interop.openai_evals.registry_scorers",
        "RegistryMatch": "evalmark.interop.openai_evals.registry_scorers",
        "SimilarAssertions": "evalmark.interop.shared.assertions",
        "Similarity": "evalmark.scoring.builtin.similarity",
        "StructuredOutput": "evalmark.scoring.builtin.structured_output",
        "Time": "evalmark.scoring.builtin.checks",
        "ToolCalls": "evalmark.scoring.builtin.tool_calls",
    },
)
