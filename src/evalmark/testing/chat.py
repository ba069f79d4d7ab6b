"""A chat model for tests, which replies from a script and records its requests."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Reply, Request

ScriptedResult = str | Mapping[str, Any] | Reply | Exception
"""A text, an object (for structured output), a whole reply, or an exception to raise."""


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A chat model that returns the replies of a list in order, or of a function of the request.

    Args:
        replies: A list of texts, objects, replies or exceptions; or a function from a request to one of these.
        name: The name of the model.
        seconds: The duration of each call.

    Example:
        >>> import asyncio
        >>> from evalmark import Turn
        >>> model = ScriptedModel(["Oslo"])
        >>> asyncio.run(model(Request(messages=(Turn(role="user", content="The capital of Norway?"),)))).text
        'Oslo'
        >>> len(model.requests)
        1
    """

    replies: Sequence[ScriptedResult] | Callable[[Request], ScriptedResult]
    name: str = "scripted/model"
    seconds: float = 0.0
    requests: list[Request] = field(default_factory=list)
    """All requests so far, in order."""
    _made: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def identity(self) -> str:
        """The identity for the call log; models with the same name share it."""
        return f"testing:{self.name}"

    async def __call__(self, request: Request) -> Reply:
        """Return the next reply, with the key of the request.

        Raises:
            ModelCallError: The list has ended, or the script raises it.
        """
        number = len(self.requests)
        self.requests.append(request)
        use, self._made[request.hash] = self._made[request.hash], self._made[request.hash] + 1
        await asyncio.sleep(self.seconds)
        reply = _reply(self._next(request, number), request)
        return reply if reply.key else replace(reply, key=request.key(self.identity, 0, use))

    def _next(self, request: Request, number: int) -> ScriptedResult:
        if callable(self.replies):
            return self.replies(request)
        if number >= len(self.replies):
            raise ModelCallError(f"the script has no reply for request {number + 1}", fault="rejected")
        return self.replies[number]


def _reply(result: ScriptedResult, request: Request) -> Reply:
    if isinstance(result, Exception):
        raise result
    if isinstance(result, Reply):
        return result
    if isinstance(result, str):
        return Reply(text=result, status="ok" if result else "empty", form="text" if request.schema else "")
    return Reply(text=json.dumps(result), data=dict(result), form="schema" if request.schema else "")
