"""Messages for providers that take system texts apart and know two roles only."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Attempt
from evalmark.core.values.case import Turn

from .endpoint import Endpoint
from .request_body import content_of, text_of

_SYSTEM = ("system", "developer")
_SPOKEN = {"user": "user", "tool": "user", "assistant": "assistant"}


class SplitMessages(NamedTuple):
    """A conversation with its system texts apart."""

    system: str
    """All of them, in order, with an empty line between two; empty when there is none."""
    spoken: list[tuple[str, Any]]
    """Role (`user` or `assistant`) and content of the others, a text or a list of parts; at least one."""


def split_system(messages: Sequence[Turn], endpoint: Endpoint) -> SplitMessages:
    """The system texts, and what was said.

    What a tool returned is said by the user. Where nothing but system texts is given, they are what the user says:
    these providers answer nobody else.

    Raises:
        ModelCallError: rejected; a role is none of those that `Turn.role` names.
    """
    for turn in messages:
        if turn.role not in _SYSTEM and turn.role not in _SPOKEN:
            fault = f"{endpoint.name}: {turn.role!r} is no role of a message. Use user, assistant, system or tool."
            raise ModelCallError(fault, fault="rejected", attempts=(Attempt(seconds=0.0, error=fault),))
    system = "\n\n".join(text_of(content_of(turn.content)) for turn in messages if turn.role in _SYSTEM)
    spoken = [(_SPOKEN[turn.role], content_of(turn.content)) for turn in messages if turn.role in _SPOKEN]
    return SplitMessages(system, spoken) if spoken else SplitMessages("", [("user", system)])
