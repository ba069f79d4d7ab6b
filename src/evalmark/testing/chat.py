"""Chat models that answer from a script, and remember what they were asked."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Reply, Request

ScriptedResult = str | Mapping[str, Any] | Reply | Exception
"""What is said: a text, an object (as an endpoint that takes JSON schemas gives it), a whole reply, or what is raised."""


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Says what a list says, in order, or what a function makes of each request.

    >>> import asyncio
    >>> from evalmark import Turn
    >>> model = ScriptedModel(["Oslo"])
    >>> asyncio.run(model(Request(messages=(Turn(role="user", content="The capital of Norway?"),)))).text
    'Oslo'
    """

    replies: Sequence[ScriptedResult] | Callable[[Request], ScriptedResult]
    name: str = "scripted/model"
    seconds: float = 0.0
    """How long each call takes, as a model would."""
    asked: list[Request] = field(default_factory=list)
    """Every request, in order."""
    _made: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def identity(self) -> str:
        """That of its name: two models of one name are one endpoint."""
        return f"testing:{self.name}"

    async def __call__(self, request: Request) -> Reply:
        """The next reply; its key is that of the request and of how often it was made.

        Raises:
            ModelCallError: the list is at its end, or says so.
        """
        number = len(self.asked)
        self.asked.append(request)
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


def _reply(said: ScriptedResult, request: Request) -> Reply:
    if isinstance(said, Exception):
        raise said
    if isinstance(said, Reply):
        return said
    if isinstance(said, str):
        return Reply(text=said, status="ok" if said else "empty", form="text" if request.schema else "")
    return Reply(text=json.dumps(said), data=dict(said), form="schema" if request.schema else "")
