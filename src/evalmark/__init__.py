"""evalmark tells whether a change made a system built on language models better, worse, or left it the same.

Importing it does nothing and loads next to nothing: each name loads its room at first use.
"""

from evalmark.errors import deferred

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from .api import evaluate, evaluate_async
    from .errors import ConfigError, DataError, EvalmarkError, ModelError, StoreError
    from .scorers import Similarity
    from .values import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn

__all__ = [
    "Case",
    "ConfigError",
    "DataError",
    "EvalmarkError",
    "Example",
    "Gate",
    "ModelError",
    "Output",
    "Result",
    "Run",
    "Score",
    "Similarity",
    "StoreError",
    "ToolCall",
    "Turn",
    "evaluate",
    "evaluate_async",
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
        "EvalmarkError": "errors",
        "Example": "values",
        "Gate": "values",
        "ModelError": "errors",
        "Output": "values",
        "Result": "values",
        "Run": "values",
        "Score": "values",
        "Similarity": "scorers",
        "StoreError": "errors",
        "ToolCall": "values",
        "Turn": "values",
        "evaluate": "api",
        "evaluate_async": "api",
    },
)
