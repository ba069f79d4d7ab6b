"""What a target's function returned, as an Output."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from evalmark.values import Output, ToolCall


def as_output(returned: Any, seconds: float) -> Output:
    """An Output as it is, a chat message as its text and tool calls, anything else as the value."""
    if isinstance(returned, Output):
        return returned if returned.seconds is not None else replace(returned, seconds=seconds)
    if is_message(returned):
        return _of_message(returned, seconds)
    return Output(value=returned, seconds=seconds)


def joined(pieces: Iterable[Any], is_wanted: Callable[[], bool] = lambda: True) -> Any:
    """The pieces of a stream as one text, or as a list where one of them is no text.

    A stream is read no further once nobody wants it.

    >>> joined(iter(["Hel", "lo"])), joined([1, 2]), joined([])
    ('Hello', [1, 2], '')
    """
    found = []
    for piece in pieces:
        found.append(piece)
        if not is_wanted():
            break
    texts = [piece.content if is_message(piece) else piece for piece in found]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else found


async def gathered(pieces: AsyncIterator[Any]) -> Any:
    """`joined`, for an asynchronous stream."""
    return joined([piece async for piece in pieces])


def is_message(thing: Any) -> bool:
    """Whether this looks like the message of a chat model (LangChain's AIMessage and its chunks)."""
    return isinstance(getattr(thing, "content", None), (str, list)) and hasattr(thing, "response_metadata")


def _of_message(message: Any, seconds: float) -> Output:
    calls = getattr(message, "tool_calls", None) or ()
    metadata = {
        key: value
        for key in ("response_metadata", "usage_metadata")
        if isinstance(value := getattr(message, key, None), Mapping) and value
    }
    return Output(
        value=message.content,
        seconds=seconds,
        tool_calls=tuple(
            ToolCall(name=str(call.get("name")), arguments=call.get("args") or {})
            for call in calls
            if isinstance(call, Mapping)
        ),
        metadata=metadata,
    )
