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
    """Sends the system message, the history and the input of a case to a model; without an input, the history alone.

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
    """Settings of every request, such as `temperature` and `max_tokens`."""
    label: str = ""
    """Its name in reports; empty: that of the model."""

    @property
    def name(self) -> str:
        """The label, or else the name of the model."""
        return self.label or self.model.name

    @property
    def fingerprint(self) -> str:
        """Changes with the model, its endpoint, the system message and the settings."""
        return fingerprint(self.model.identity, self.system, self.settings)

    async def __call__(self, case: Case) -> Output:
        """Return the model's output; a truncated, refused or empty reply is an error.

        Raises:
            ModelCallError: the call failed.
            RunStoppedError: no further call may be made in this run.
        """
        return await ask_for_output(self.model, self.request(case))

    def request(self, case: Case) -> Request:
        """Build the request of a case."""
        system = (Turn(role="system", content=self.system),) if self.system else ()
        text = case.input if isinstance(case.input, str) else canonical(case.input)
        # The history of a case without an input is the whole conversation, whatever the role of its last message.
        last = () if case.input is None and case.history else (Turn(role="user", content=text),)
        return Request(messages=(*system, *map(_as_text, case.history), *last), settings=self.settings)


async def ask_for_output(model: ChatModel, request: Request) -> Output:
    """Call a model and return its reply as an output, with the time outside of the successful attempt. Raises the model's error."""
    started = time.perf_counter()
    reply = await model(request)
    if reply.seconds is None or reply.replayed:
        return reply_output(reply)
    return reply_output(reply, max(0.0, time.perf_counter() - started - reply.seconds))


def reply_output(reply: Reply, waited: float | None = None) -> Output:
    """Convert a reply to an output; the value is the structured data, if any.

    Args:
        reply: The reply.
        waited: Seconds that the call waited; None: unknown.
    """
    return Output(
        value=reply.text if reply.data is None else reply.data,
        error=None if reply.status == "ok" else _STATUS_ERRORS[reply.status],
        seconds=reply.seconds,
        waited=waited,
        tool_calls=reply.tool_calls,
        metadata=_reply_metadata(reply),
    )


_STATUS_ERRORS = {
    "truncated": "the reply was cut by a length limit; raise `max_tokens`",
    "refused": "the model refused to answer",
    "filtered": "the provider's content filter blocked the reply",
    "empty": "the model returned an empty reply",
}


def _as_text(turn: Turn) -> Turn:
    return turn if isinstance(turn.content, str) else replace(turn, content=canonical(turn.content))


def _reply_metadata(reply: Reply) -> Mapping[str, Any]:
    metadata = {"calls": [reply.key] if reply.key else [], "reasoning": reply.reasoning, "cost": reply.cost}
    return {name: value for name, value in metadata.items() if value not in (None, "", [])}
