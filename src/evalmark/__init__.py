"""Evaluate LLM applications: decide whether a change made one better, worse, or left it the same.

Importing the package is fast: each name loads its module at first use.
"""

from evalmark.core.lazy import lazy_getattr

TYPE_CHECKING = False  # not imported from `typing`, which takes longer to load than the rest of this module

if TYPE_CHECKING:
    from evalmark.harness.evals.definition import describe_eval
    from evalmark.harness.evals.failure import EvalFailedError
    from evalmark.runs.planning.target_models import chat_model
    from evalmark.scoring.judges.builtin import Factuality

    from .core.errors import ConfigError, DataError, EvalmarkError, ModelError, StoreError
    from .core.values.case import Case, Example, Output, ToolCall, Turn
    from .core.values.run import Gate, Run
    from .core.values.score import Result, Score
    from .harness.evals.expectation import expect
    from .runs.execution.evaluation import evaluate, evaluate_async
    from .scoring.builtin.similarity import Similarity
    from .scoring.builtin.structured_output import StructuredOutput
    from .scoring.builtin.tool_calls import ToolCalls
    from .scoring.judges.builtin import check_factuality
    from .stats.comparison.compare import compare
    from .tracing.recorder.record import record

__all__ = [
    "Case",
    "ConfigError",
    "DataError",
    "EvalFailedError",
    "EvalmarkError",
    "Example",
    "Factuality",
    "Gate",
    "ModelError",
    "Output",
    "Result",
    "Run",
    "Score",
    "Similarity",
    "StoreError",
    "StructuredOutput",
    "ToolCall",
    "ToolCalls",
    "Turn",
    "chat_model",
    "check_factuality",
    "compare",
    "describe_eval",
    "evaluate",
    "evaluate_async",
    "expect",
    "record",
]


def __dir__() -> list[str]:
    """Return all public names, loaded or not, for completion in notebooks."""
    return sorted(__all__)


__getattr__ = lazy_getattr(
    __name__,
    {
        "Case": "evalmark.core.values.case",
        "ConfigError": "evalmark.core.errors",
        "DataError": "evalmark.core.errors",
        "EvalFailedError": "evalmark.harness.evals.failure",
        "EvalmarkError": "evalmark.core.errors",
        "Example": "evalmark.core.values.case",
        "Factuality": "evalmark.scoring.judges.builtin",
        "Gate": "evalmark.core.values.run",
        "ModelError": "evalmark.core.errors",
        "Output": "evalmark.core.values.case",
        "Result": "evalmark.core.values.score",
        "Run": "evalmark.core.values.run",
        "Score": "evalmark.core.values.score",
        "Similarity": "evalmark.scoring.builtin.similarity",
        "StoreError": "evalmark.core.errors",
        "StructuredOutput": "evalmark.scoring.builtin.structured_output",
        "ToolCall": "evalmark.core.values.case",
        "ToolCalls": "evalmark.scoring.builtin.tool_calls",
        "Turn": "evalmark.core.values.case",
        "chat_model": "evalmark.runs.planning.target_models",
        "check_factuality": "evalmark.scoring.judges.builtin",
        "compare": "evalmark.stats.comparison.compare",
        "describe_eval": "evalmark.harness.evals.definition",
        "evaluate": "evalmark.runs.execution.evaluation",
        "evaluate_async": "evalmark.runs.execution.evaluation",
        "expect": "evalmark.harness.evals.expectation",
        "record": "evalmark.tracing.recorder.record",
    },
)
