"""How one JSON object is asked for: native JSON schema first, a forced tool call next, in the prompt last."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from evalmark.values import Reply, ReplyForm, Request

TOOL = "answer"
"""The name of the one tool that a forced call goes to, and of a native schema."""

Ask = Callable[[Request, ReplyForm], Awaitable[Reply]]
"""Sends one request in the form asked for: `schema`, `tool`, `text` (the request then holds the instruction already,
and nothing is left to do), or "" where no object is wanted. In the form `tool` it fills `data` itself from the
arguments of the call; in the others the ladder reads `data` out of the text."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Which form of structured replies a server takes, for each schema; one object a model, filled while calls run."""

    first: ReplyForm = "schema"
    _known: dict[str, ReplyForm] = field(default_factory=dict, repr=False)

    async def climb(self, request: Request, ask: Ask) -> Reply:
        """The reply, in the first form that the server does not reject; `form` and `data` are filled."""
        raise NotImplementedError
