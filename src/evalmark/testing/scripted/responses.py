"""The responses of the scripted server, good and bad."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

COUNTED_USAGE: Final[Mapping[str, Any]] = {"as": "counted"}
"""Stands for the usage that the server counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """A complete reply; each part is sent in the form of the provider.

    Example:
        >>> ScriptedReply(text="Oslo", reasoning="An easy one.").text
        'Oslo'
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    """Names and arguments; the arguments as JSON text."""
    finish: str | None = None
    """The finish reason of the provider, such as `length`, `max_tokens` or `SAFETY`; None: that of a complete reply."""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: COUNTED_USAGE)
    """Sent unchanged; None sends none. By default the server counts tokens."""
    tokens: Sequence[tuple[str, float, Sequence[tuple[str, float]]]] | None = None
    """Text, log probability and alternatives of each token; None: one token a word, if requested."""
    model: str = ""
    """The model named in the reply; empty: the requested one."""


@dataclass(frozen=True, slots=True)
class Status:
    """Responds with this HTTP status."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """None: the error of the provider for this status; a text or bytes unchanged; anything else as JSON."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Announces a whole reply, sends its first bytes and closes the connection."""

    after_bytes: int
    text: str = "cut short"


@dataclass(frozen=True, slots=True)
class Slow:
    """Sends the reply slowly."""

    bytes_per_second: float
    text: str = "slowly"


@dataclass(frozen=True, slots=True)
class HeadersOnly:
    """Sends the headers of a reply and then nothing."""


@dataclass(frozen=True, slots=True)
class Endless:
    """Sends a reply that never ends."""

    bytes_at_once: int = 65_536


@dataclass(frozen=True, slots=True)
class Huge:
    """Sends a valid reply with a text of so many bytes."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Sends these bytes with status 200."""

    bytes: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reset:
    """Resets the connection without a response."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Waits, then sends another response."""

    seconds: float
    then: "ScriptedResponse" = None


@dataclass(frozen=True, slots=True)
class FinishWith:
    """A reply with this finish reason of the provider, such as `length`, `max_tokens` or `SAFETY`."""

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """A refusal of the model."""

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True)
class NoUsage:
    """A reply without usage."""

    text: str = "no usage"


@dataclass(frozen=True, slots=True)
class OddUsage:
    """A reply with this usage, valid or not."""

    usage: Mapping[str, Any]
    text: str = "odd usage"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The error of the provider for a part of the request that it does not support."""

    what: Literal["response_format", "tools", "logprobs", "max_tokens", "temperature"]


Misbehavior = (
    Status
    | Cut
    | Slow
    | HeadersOnly
    | Endless
    | Huge
    | Raw
    | Reset
    | Delay
    | FinishWith
    | ModelRefusal
    | NoUsage
    | OddUsage
    | Unsupported
)
ScriptedResponse = str | Mapping[str, Any] | Sequence[Sequence[float]] | ScriptedReply | Misbehavior | None
"""A text, the requested object, vectors, a complete reply, or misbehaviour; None: the default reply."""


def as_reply(answer: ScriptedResponse) -> ScriptedReply | None:
    """Return the reply that a scripted response stands for; None if it is not a reply."""
    match answer:
        case ScriptedReply():
            return answer
        case FinishWith():
            return ScriptedReply(text=answer.text, finish=answer.reason)
        case ModelRefusal():
            return ScriptedReply(refusal=answer.text)
        case NoUsage():
            return ScriptedReply(text=answer.text, usage=None)
        case OddUsage():
            return ScriptedReply(text=answer.text, usage=answer.usage)
        case Cut() | Slow():
            return ScriptedReply(text=answer.text)
        case Huge():
            return ScriptedReply(text="x" * answer.bytes)
    return None
