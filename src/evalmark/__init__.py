"""evalmark tells whether a change made a system built on language models better, worse, or left it the same.

Importing it does nothing and loads next to nothing: each name loads its room at first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import evaluate, evaluate_async
    from .errors import ConfigError, DataError, EvalmarkError, ModelError, StoreError
    from .scorers import Similarity
    from .values import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn

_HOME = {
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
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
