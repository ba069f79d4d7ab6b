"""A chat model as the target: the case's input is the user's message."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Case, Output, Turn
from evalmark.core.values.plain_data import canonical, fingerprint


@dataclass(frozen=True, kw_only=True)
class ModelTarget:
    """Asks a model what the case asks: history first, then the input, under a system message if there is one.

    >>> import asyncio
    >>> from evalmark.testing.chat import ScriptedModel
    >>> target = ModelTarget(model=ScriptedModel(["4"]), system="Answer with a number.")
    >>> asyncio.run(target(Case(id="1", input="2 + 2"))).value
    '4'
    """

    brings_contexts: ClassVar[bool] = False

    model: ChatModel
    system: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `max_tokens` and so on, for every request."""

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """Changes with the model, its endpoint, the system message and the settings."""
        return fingerprint(self.model.identity, self.system, self.settings)

    async def __call__(self, case: Case) -> Output:
        """The model's answer; one that is cut short, refused or empty is an error, since it is not the model's answer.

        Raises:
            ModelCallError: there is none.
            RunStoppedError: no further call may be made in this run.
        """
        return await ask_for_output(self.model, self.request(case))

    def request(self, case: Case) -> Request:
        """What is asked for a case."""
        system = (Turn(role="system", content=self.system),) if self.system else ()
        asked = case.input if isinstance(case.input, str) else canonical(case.input)
        return Request(
            messages=(*system, *map(_as_text, case.history), Turn(role="user", content=asked)), settings=self.settings
        )


async def ask_for_output(model: ChatModel, request: Request) -> Output:
    """What a model answers to a request, and how long it waited beside the attempt that succeeded. Raises what it raises."""
    started = time.perf_counter()
    reply = await model(request)
    output = reply_output(reply)
    if reply.seconds is None or reply.replayed:
        return output
    return replace(output, waited=max(0.0, time.perf_counter() - started - reply.seconds))


def reply_output(reply: Reply) -> Output:
    """A model's reply as an output; the object it was asked for, where there is one."""
    value = reply.text if reply.data is None else reply.data
    output = Output(value=value, seconds=reply.seconds, tool_calls=reply.tool_calls, metadata=_reply_metadata(reply))
    return output if reply.status == "ok" else replace(output, error=_STATUS_ERRORS[reply.status])


_STATUS_ERRORS = {
    "truncated": "the answer was cut by a length limit; raise `max_tokens`",
    "refused": "the model refused to answer",
    "filtered": "the provider's content filter held the answer back",
    "empty": "the model gave an empty answer",
}


def _as_text(turn: Turn) -> Turn:
    return turn if isinstance(turn.content, str) else replace(turn, content=canonical(turn.content))


def _reply_metadata(reply: Reply) -> Mapping[str, Any]:
    """Where the call is kept, and what the model said beside its answer."""
    told = {"calls": [reply.key] if reply.key else [], "reasoning": reply.reasoning}
    return {name: value for name, value in told.items() if value}
