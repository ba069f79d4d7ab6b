"""The values of evaluations and of model calls: frozen dataclasses, described in docs/reference/values.md."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.core.values.call import Attempt, Call, Reply, Request, Token
    from evalmark.core.values.case import Case, Example, Output, ToolCall, Turn, Usage
    from evalmark.core.values.label import Label
    from evalmark.core.values.run import DatasetInfo, Gate, Metric, Run
    from evalmark.core.values.score import Result, Score, Trial
    from evalmark.core.values.spending import Spending

__all__ = [
    "Attempt",
    "Call",
    "Case",
    "DatasetInfo",
    "Example",
    "Gate",
    "Label",
    "Metric",
    "Output",
    "Reply",
    "Request",
    "Result",
    "Run",
    "Score",
    "Spending",
    "Token",
    "ToolCall",
    "Trial",
    "Turn",
    "Usage",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Attempt": "evalmark.core.values.call",
        "Call": "evalmark.core.values.call",
        "Case": "evalmark.core.values.case",
        "DatasetInfo": "evalmark.core.values.run",
        "Example": "evalmark.core.values.case",
        "Gate": "evalmark.core.values.run",
        "Label": "evalmark.core.values.label",
        "Metric": "evalmark.core.values.run",
        "Output": "evalmark.core.values.case",
        "Reply": "evalmark.core.values.call",
        "Request": "evalmark.core.values.call",
        "Result": "evalmark.core.values.score",
        "Run": "evalmark.core.values.run",
        "Score": "evalmark.core.values.score",
        "Spending": "evalmark.core.values.spending",
        "Token": "evalmark.core.values.call",
        "ToolCall": "evalmark.core.values.case",
        "Trial": "evalmark.core.values.score",
        "Turn": "evalmark.core.values.case",
        "Usage": "evalmark.core.values.case",
    },
)
