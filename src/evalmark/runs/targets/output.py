"""What a target's function returned, as an Output."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output
from evalmark.runs.transcripts.frameworks import recognize_output
from evalmark.runs.transcripts.langchain import is_message


def as_output(returned: Any, seconds: float | None) -> Output:
    """An Output as it is, what a known framework gives with its transcript, anything else as the value."""
    output = returned if isinstance(returned, Output) else recognize_output(returned)
    if output is None:
        return Output(value=returned, seconds=seconds)
    return output if output.seconds is not None else replace(output, seconds=seconds)


def join_chunks(pieces: Iterable[Any], is_wanted: Callable[[], bool] = lambda: True) -> Any:
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


async def resolve_result(returned: Any) -> Any:
    """What a function gave, awaited where that is to be done; an asynchronous stream is read to its end."""
    if inspect.isawaitable(returned):
        returned = await returned
    if inspect.isasyncgen(returned):
        return await collect_stream(returned)
    return join_chunks(returned) if inspect.isgenerator(returned) else returned


async def collect_stream(pieces: AsyncIterator[Any]) -> Any:
    """`joined`, for an asynchronous stream."""
    return join_chunks([piece async for piece in pieces])
