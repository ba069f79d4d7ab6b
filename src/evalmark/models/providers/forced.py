"""The object that a model gave as the arguments of the one tool it had to call."""

from typing import Any, NamedTuple

from evalmark.core.values.case import ToolCall

from .replies import parse_object
from .structured import TOOL


class ForcedCall(NamedTuple):
    """What a reply with a forced tool call comes to."""

    text: str
    data: dict[str, Any] | None
    calls: tuple[ToolCall, ...]
    """Those of other tools."""


EMPTY_CALL = ForcedCall("", None, ())


def read_forced_call(text: str, calls: tuple[ToolCall, ...]) -> ForcedCall:
    """The object, if the tool was called with one; else what was said in its place.

    >>> read_forced_call("", (ToolCall(name="answer", arguments={"score": 1}),)).data
    {'score': 1}
    """
    asked = next((call for call in calls if call.name == TOOL), None)
    if asked is None:  # the server let the model answer in words
        return ForcedCall(text, parse_object(text), calls)
    others = tuple(call for call in calls if call.name != TOOL)
    if asked.error is None:
        return ForcedCall(text, dict(asked.arguments), others)
    return ForcedCall(text or asked.error, None, others)
