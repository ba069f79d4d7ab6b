"""The nouns: frozen values that every room speaks of and none owns."""

from evalmark.errors import deferred

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from .call import NO_SETTINGS, Attempt, Call, Reply, ReplyForm, ReplyStatus, Request, Spending, Token
    from .case import Case, Example, Output, ToolCall, Turn
    from .label import Label, content_of, in_force, settled
    from .plain_data import MAX_DEPTH, canonical, fingerprint, plain
    from .run import DatasetInfo, Gate, Metric, Run, RunStatus, metrics_for
    from .score import Direction, Mode, Result, Score, Status, Trial, Verdict
    from .session import Session, Span, SpanKind
    from .tool import ToolRecording, tool_key
    from .usage import Usage
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
    "Label",
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
    "Session",
    "Span",
    "SpanKind",
    "Spending",
    "Status",
    "Token",
    "ToolCall",
    "ToolRecording",
    "Trial",
    "Turn",
    "Usage",
    "Verdict",
    "canonical",
    "content_of",
    "count",
    "fingerprint",
    "in_force",
    "metrics_for",
    "plain",
    "settled",
    "tool_key",
]

__getattr__ = deferred(
    __name__,
    {
        "MAX_DEPTH": "plain_data",
        "NO_SETTINGS": "call",
        "Attempt": "call",
        "Call": "call",
        "Case": "case",
        "DatasetInfo": "run",
        "Direction": "score",
        "Example": "case",
        "Gate": "run",
        "Label": "label",
        "Metric": "run",
        "Mode": "score",
        "Output": "case",
        "Reply": "call",
        "ReplyForm": "call",
        "ReplyStatus": "call",
        "Request": "call",
        "Result": "score",
        "Run": "run",
        "RunStatus": "run",
        "Score": "score",
        "Session": "session",
        "Span": "session",
        "SpanKind": "session",
        "Spending": "call",
        "Status": "score",
        "Token": "call",
        "ToolCall": "case",
        "ToolRecording": "tool",
        "Trial": "score",
        "Turn": "case",
        "Usage": "usage",
        "Verdict": "score",
        "canonical": "plain_data",
        "content_of": "label",
        "count": "words",
        "fingerprint": "plain_data",
        "in_force": "label",
        "metrics_for": "run",
        "plain": "plain_data",
        "settled": "label",
        "tool_key": "tool",
    },
)
