"""evalmark tells whether a change made a system built on language models better, worse, or left it the same.

Importing it does nothing and loads next to nothing: each name loads its room at first use.
"""

from evalmark.errors import deferred

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from .api import evaluate, evaluate_async
    from .comparison import compare
    from .errors import ConfigError, DataError, EvalmarkError, ModelError, StoreError
    from .evals import EvalFailedError, check_factuality, describe_eval, expect
    from .judges import Factuality
    from .plans import chat_model
    from .recording import record
    from .scorers import Similarity, StructuredOutput, ToolCalls
    from .values import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn

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
    """What a notebook completes: the names that are not loaded yet too."""
    return sorted(__all__)


__getattr__ = deferred(
    __name__,
    {
        "Case": "values",
        "ConfigError": "errors",
        "DataError": "errors",
        "EvalFailedError": "evals",
        "EvalmarkError": "errors",
        "Example": "values",
        "Factuality": "judges",
        "Gate": "values",
        "ModelError": "errors",
        "Output": "values",
        "Result": "values",
        "Run": "values",
        "Score": "values",
        "Similarity": "scorers",
        "StoreError": "errors",
        "StructuredOutput": "scorers",
        "ToolCall": "values",
        "ToolCalls": "scorers",
        "Turn": "values",
        "chat_model": "plans",
        "check_factuality": "evals",
        "compare": "comparison",
        "describe_eval": "evals",
        "evaluate": "api",
        "evaluate_async": "api",
        "expect": "evals",
        "record": "recording",
    },
)
