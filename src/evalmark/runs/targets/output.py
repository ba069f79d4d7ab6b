"""Convert the return value of a target to an Output."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule
from evalmark.core.values.case import Output

if TYPE_CHECKING:
    from evalmark.runs.transcripts import frameworks, langchain
else:
    frameworks = LazyModule("evalmark.runs.transcripts.frameworks")
    langchain = LazyModule("evalmark.runs.transcripts.langchain")

_PLAIN = (str, int, float, bool, list, tuple, bytes, type(None))


def as_output(returned: Any, seconds: float | None) -> Output:
    """Return an Output unchanged, convert results of known frameworks, or wrap any other value."""
    if isinstance(returned, _PLAIN):
        return Output(value=returned, seconds=seconds)
    output = returned if isinstance(returned, Output) else frameworks.recognize_output(returned)
    if output is None:
        return Output(value=returned, seconds=seconds)
    return output if output.seconds is not None else replace(output, seconds=seconds)


def join_chunks(pieces: Iterable[Any], is_wanted: Callable[[], bool] = lambda: True) -> Any:
    """Join the chunks of a stream to a text, or return a list if a chunk is not a text.

    Reading stops once `is_wanted` returns False.

    >>> join_chunks(iter(["Hel", "lo"])), join_chunks([1, 2]), join_chunks([])
    ('Hello', [1, 2], '')
    """
    found = []
    for piece in pieces:
        found.append(piece)
        if not is_wanted():
            break
    texts = [
        piece.content if not isinstance(piece, _PLAIN) and langchain.is_message(piece) else piece for piece in found
    ]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else found


async def resolve_result(returned: Any) -> Any:
    """Await a result if necessary, and read a stream to its end."""
    if inspect.isawaitable(returned):
        returned = await returned
    if inspect.isasyncgen(returned):
        return await collect_stream(returned)
    return join_chunks(returned) if inspect.isgenerator(returned) else returned


async def collect_stream(pieces: AsyncIterator[Any]) -> Any:
    """Join the chunks of an asynchronous stream."""
    return join_chunks([piece async for piece in pieces])
