"""The nouns: frozen values that every room speaks of and none owns."""

from evalmark.errors import deferred

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from .call import NO_SETTINGS, Attempt, Call, Reply, ReplyForm, ReplyStatus, Request, Token
    from .case import Case, Example, Output, ToolCall, Turn
    from .label import Label, content_of, in_force, settled, thumb
    from .plain_data import MAX_DEPTH, canonical, fingerprint, plain
    from .run import DatasetInfo, Gate, Metric, Run, RunStatus, UntilDecided, metrics_for
    from .score import Direction, Mode, Result, Score, Status, Trial, Verdict, trial_ids
    from .session import Session, Span, SpanKind, keyed_session
    from .spending import Spending, by_model, in_all, minus, spent_on
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
    "UntilDecided",
    "Usage",
    "Verdict",
    "by_model",
    "canonical",
    "content_of",
    "count",
    "fingerprint",
    "in_all",
    "in_force",
    "keyed_session",
    "metrics_for",
    "minus",
    "plain",
    "settled",
    "spent_on",
    "thumb",
    "tool_key",
    "trial_ids",
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
        "Spending": "spending",
        "Status": "score",
        "Token": "call",
        "ToolCall": "case",
        "ToolRecording": "tool",
        "Trial": "score",
        "Turn": "case",
        "UntilDecided": "run",
        "Usage": "usage",
        "Verdict": "score",
        "by_model": "spending",
        "canonical": "plain_data",
        "content_of": "label",
        "count": "words",
        "fingerprint": "plain_data",
        "in_all": "spending",
        "in_force": "label",
        "keyed_session": "session",
        "metrics_for": "run",
        "minus": "spending",
        "plain": "plain_data",
        "settled": "label",
        "spent_on": "spending",
        "thumb": "label",
        "tool_key": "tool",
        "trial_ids": "score",
    },
)
