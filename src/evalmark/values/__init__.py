"""The nouns: frozen values that every room speaks of and none owns."""

from .call import NO_SETTINGS, Attempt, Call, Reply, ReplyForm, ReplyStatus, Request, Spending, Token, Usage
from .canonical import MAX_DEPTH, canonical, fingerprint, plain
from .case import Case, Example, Output, ToolCall, Turn
from .run import DatasetInfo, Gate, Metric, Run, RunStatus
from .score import Direction, Mode, Result, Score, Status, Trial, Verdict
from .words import count

__all__ = [
    "MAX_DEPTH",
    "NO_SETTINGS",
    "Attempt",
    "Call",
    "Case",
    "DatasetInfo",
    "Direction",
    "Example",
    "Gate",
    "Metric",
    "Mode",
    "Output",
    "Reply",
    "ReplyForm",
    "ReplyStatus",
    "Request",
    "Result",
    "Run",
    "RunStatus",
    "Score",
    "Spending",
    "Status",
    "Token",
    "ToolCall",
    "Trial",
    "Turn",
    "Usage",
    "Verdict",
    "canonical",
    "count",
    "fingerprint",
    "plain",
]
