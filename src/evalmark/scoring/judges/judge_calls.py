"""Asks a judge: one question, and at most one more if the reply cannot be used."""

from collections.abc import Awaitable, Callable
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
    """The result of one question to a judge."""

    found: T | None
    """The parsed reply; None if the last reply could not be used."""
    fault: ReplyFault | None
    """Why the last reply could not be used."""
    reply: Reply
    """The last reply."""
    calls: tuple[str, ...]
    """The keys of the calls in the call log, in order."""
    repaired: bool = False
    """Whether the judge was asked a second time."""
    without_logprobs: bool = False
    """Whether the endpoint rejected the question until logprobs were left out."""


async def ask_judge(
    judge: Callable[[Request], Awaitable[Reply]], question: Question, read: Callable[[Reply], T | ReplyFault]
) -> JudgeReply[T]:
    """Ask and parse the reply; if it cannot be used, say what is wrong and ask once more.

    Raises:
        ModelCallError: The judge gave no reply.
        NotRecordedError: Strict replay has no reply.
        RunStoppedError: No further call is allowed.
    """
    reply, without_logprobs = await _send(judge, question.request)
    replies, found = [reply], read(reply)
    if isinstance(found, ReplyFault):
        request = question.repair_request(reply_text(reply), found.sentence)
        reply, again = await _send(judge, replace(request, logprobs=0) if without_logprobs else request)
        replies.append(reply)
        found, without_logprobs = read(reply), without_logprobs or again
    return JudgeReply(
        found=None if isinstance(found, ReplyFault) else found,
        fault=found if isinstance(found, ReplyFault) else None,
        reply=reply,
        calls=tuple(one.key for one in replies if one.key),
        repaired=len(replies) > 1,
        without_logprobs=without_logprobs,
    )


async def ask_repeatedly(
    judge: ChatModel, question: Question, read: Callable[[Reply], T | ReplyFault], times: int
) -> list[JudgeReply[T]]:
    """Ask the same question `times` times; stop at a reply that cannot be used. Raises what `ask_judge` raises.

    The calls run one after the other, so that each finds its own recorded reply again.
    """
    replies = [await ask_judge(judge, question, read)]
    while len(replies) < times and replies[-1].fault is None:
        replies.append(await ask_judge(judge, question, read))
    return replies


async def _send(judge: Callable[[Request], Awaitable[Reply]], request: Request) -> tuple[Reply, bool]:
    """Return the reply, and whether logprobs had to be left out: some endpoints reject requests for them."""
    try:
        return await judge(request), False
    except ModelCallError as error:
        if error.fault != "rejected" or not request.logprobs:
            raise
    except NotRecordedError:  # a question that was rejected while recording has no recorded reply
        if not request.logprobs:
            raise
    return await judge(replace(request, logprobs=0)), True
