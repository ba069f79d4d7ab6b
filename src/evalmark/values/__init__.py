"""The nouns: frozen values that every room speaks of and none owns."""

from .canonical import MAX_DEPTH, canonical, fingerprint, plain
from .case import Case, Example, Output, ToolCall, Turn
from .run import DatasetInfo, Gate, Metric, Run, RunStatus
from .score import Direction, Result, Score, Status, Trial, Verdict
from .words import count

__all__ = [
    "MAX_DEPTH",
    "Case",
    "DatasetInfo",
    "Direction",
    "Example",
    "Gate",
    "Metric",
    "Output",
    "Result",
    "Run",
    "RunStatus",
    "Score",
    "Status",
    "ToolCall",
    "Trial",
    "Turn",
    "Verdict",
    "canonical",
    "count",
    "fingerprint",
    "plain",
]
