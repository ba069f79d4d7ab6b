"""Asking a judge: one question, at most one more where the reply cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from evalmark.core.errors import ModelCallError, NotRecordedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .question import Question
from .replies import ReplyFault, reply_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply(Generic[T]):
    """What came of one question."""

    found: T | None
    """What was read; None where the last reply could not be used."""
    fault: ReplyFault | None
    """Why the last reply could not be used."""
    reply: Reply
    """The last one."""
    calls: tuple[str, ...]
    """Where the journal keeps the calls, in the order they were made."""
    repaired: bool = False
    """Whether the judge was asked a second time."""
    without_logprobs: bool = False
    """Whether the endpoint rejected the question until it no longer asked for logprobs."""


async def ask_judge(judge: ChatModel, question: Question, read: Callable[[Reply], T | ReplyFault]) -> JudgeReply[T]:
    """Ask, and read the reply; where it cannot be used, say what is wrong and ask once more.

    Raises:
        ModelCallError: the judge gave no reply.
        NotRecordedError: strict replay has none.
        RunStoppedError: no further call may be made.
    """
    reply, bare = await _send(judge, question.request)
    found = read(reply)
    if not isinstance(found, ReplyFault):
        return JudgeReply(found=found, fault=None, reply=reply, calls=_call_keys(reply), without_logprobs=bare)
    request = question.again(reply_text(reply), found.sentence)
    second, later = await _send(judge, replace(request, logprobs=0) if bare else request)
    better = read(second)
    return JudgeReply(
        found=None if isinstance(better, ReplyFault) else better,
        fault=better if isinstance(better, ReplyFault) else None,
        reply=second,
        calls=_call_keys(reply, second),
        repaired=True,
        without_logprobs=bare or later,
    )


async def ask_repeatedly(
    judge: ChatModel, question: Question, read: Callable[[Reply], T | ReplyFault], times: int
) -> list[JudgeReply[T]]:
    """Ask one question so many times; a reply that cannot be used is the last. Raises what `hear` raises.

    One after the other, so that each finds its own reply again in a recording.
    """
    heard = [await ask_judge(judge, question, read)]
    while len(heard) < times and heard[-1].fault is None:
        heard.append(await ask_judge(judge, question, read))
    return heard


async def _send(judge: ChatModel, request: Request) -> tuple[Reply, bool]:
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


def _call_keys(*replies: Reply) -> tuple[str, ...]:
    return tuple(reply.key for reply in replies if reply.key)
