"""What the scripted server may do instead of a plain answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

COUNTED_USAGE: Final[Mapping[str, Any]] = {"as": "counted"}
"""Stands for the usage that the server counts itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """A whole reply, each part in the provider's own form."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    """Name and arguments, the latter as the text that is sent."""
    finish: str | None = None
    """The provider's own word, such as `length`, `max_tokens` or `SAFETY`; None: the word for a complete reply."""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: COUNTED_USAGE)
    """Sent as it is; None sends none."""
    tokens: Sequence[tuple[str, float, Sequence[tuple[str, float]]]] | None = None
    """Text, log probability and those of others; None: one a word, where the request asks for them."""
    model: str = ""
    """The model that claims to answer; empty: the one that was asked."""


@dataclass(frozen=True, slots=True)
class Status:
    """Answers with this HTTP status."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """None: the error that the provider sends with this status; a text or bytes as they are; all else as JSON."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Promises a whole reply, sends the first bytes of it and hangs up."""

    after_bytes: int
    text: str = "cut short"


@dataclass(frozen=True, slots=True)
class Slow:
    """Sends the reply a byte at a time, so to speak."""

    bytes_per_second: float
    text: str = "slowly"


@dataclass(frozen=True, slots=True)
class HeadersOnly:
    """Sends the head of a reply and then nothing, for ever."""


@dataclass(frozen=True, slots=True)
class Endless:
    """Sends a reply that does not end."""

    bytes_at_once: int = 65_536


@dataclass(frozen=True, slots=True)
class Huge:
    """Sends a well-formed reply with a text of that many bytes."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Sends these bytes with status 200."""

    bytes: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reset:
    """Resets the connection without a word."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Waits, and then does the other thing."""

    seconds: float
    then: "ScriptedResponse" = None


@dataclass(frozen=True, slots=True)
class FinishWith:
    """Ends with the provider's own word for why, such as `length`, `max_tokens` or `SAFETY`."""

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """The model will not answer."""

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True)
class NoUsage:
    """Answers, and does not say what it took."""

    text: str = "no usage"


@dataclass(frozen=True, slots=True)
class OddUsage:
    """Answers, and says this of what it took, whatever it is."""

    usage: Mapping[str, Any]
    text: str = "odd usage"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Says, as a real provider does, that it does not know this part of the request."""

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
"""A text, the object that was asked for, vectors, a whole reply, or trouble; None is the echo."""


def as_reply(answer: ScriptedResponse) -> ScriptedReply | None:
    """The reply that an answer stands for, where it is one."""
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
