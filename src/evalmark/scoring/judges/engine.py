"""Asking a judge: one question, at most one more where the reply cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from evalmark.core.errors import ModelCallError, NotRecordedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .faults import Fault
from .question import Question
from .replies import said

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard(Generic[T]):
    """What came of one question."""

    found: T | None
    """What was read; None where the last reply could not be used."""
    fault: Fault | None
    """Why the last reply could not be used."""
    reply: Reply
    """The last one."""
    calls: tuple[str, ...]
    """Where the journal keeps the calls, in the order they were made."""
    repaired: bool = False
    """Whether the judge was asked a second time."""
    without_logprobs: bool = False
    """Whether the endpoint rejected the question until it no longer asked for logprobs."""


async def hear(judge: ChatModel, question: Question, read: Callable[[Reply], T | Fault]) -> Heard[T]:
    """Ask, and read the reply; where it cannot be used, say what is wrong and ask once more.

    Raises:
        ModelCallError: the judge gave no reply.
        NotRecordedError: strict replay has none.
        RunStoppedError: no further call may be made.
    """
    reply, bare = await _asked(judge, question.request)
    found = read(reply)
    if not isinstance(found, Fault):
        return Heard(found=found, fault=None, reply=reply, calls=_keys(reply), without_logprobs=bare)
    request = question.again(said(reply), found.sentence)
    second, later = await _asked(judge, replace(request, logprobs=0) if bare else request)
    better = read(second)
    return Heard(
        found=None if isinstance(better, Fault) else better,
        fault=better if isinstance(better, Fault) else None,
        reply=second,
        calls=_keys(reply, second),
        repaired=True,
        without_logprobs=bare or later,
    )


async def hear_often(
    judge: ChatModel, question: Question, read: Callable[[Reply], T | Fault], times: int
) -> list[Heard[T]]:
    """Ask one question so many times; a reply that cannot be used is the last. Raises what `hear` raises.

    One after the other, so that each finds its own reply again in a recording.
    """
    heard = [await hear(judge, question, read)]
    while len(heard) < times and heard[-1].fault is None:
        heard.append(await hear(judge, question, read))
    return heard


async def _asked(judge: ChatModel, request: Request) -> tuple[Reply, bool]:
    """The reply, and whether logprobs had to be left out: some endpoints reject requests for them."""
    try:
        return await judge(request), False
    except ModelCallError as error:
        if error.fault != "rejected" or not request.logprobs:
            raise
    except NotRecordedError:  # nor would a question be that was rejected when the run was recorded
        if not request.logprobs:
            raise
    return await judge(replace(request, logprobs=0)), True


def _keys(*replies: Reply) -> tuple[str, ...]:
    return tuple(reply.key for reply in replies if reply.key)
