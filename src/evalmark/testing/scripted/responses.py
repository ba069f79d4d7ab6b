"""The responses of the scripted server, good and bad."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

COUNTED_USAGE: Final[Mapping[str, Any]] = {"as": "counted"}
"""Stands for the usage that the server counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """A complete reply; each part is sent in the form of the provider.

    Args:
        text: The text.
        reasoning: The reasoning; empty: none.
        refusal: The text of a refusal; empty: the model does not refuse.
        tool_calls: The name and the arguments, as JSON text, of each tool call.
        finish: The finish reason of the provider, such as `length`, `max_tokens` or `SAFETY`; None: that of a complete
            reply.
        usage: The token counts, sent unchanged; None sends none. By default the server counts tokens.
        tokens: The text, log probability and alternatives of each token; None: one token a word, if requested.
        model: The model named in the reply; empty: the requested one.

    Example:
        >>> ScriptedReply(text="Oslo", reasoning="An easy one.").text
        'Oslo'
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    finish: str | None = None
    usage: Mapping[str, Any] | None = field(default_factory=lambda: COUNTED_USAGE)
    tokens: Sequence[tuple[str, float, Sequence[tuple[str, float]]]] | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Responds with this HTTP status.

    Args:
        code: The status.
        headers: Headers of the response.
        body: None: the error of the provider for this status; a text or bytes are sent unchanged; anything else as JSON.

    Example:
        >>> Status(429, headers={"retry-after": "2"}).code
        429
    """

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Announces a whole reply, sends its first bytes and closes the connection.

    Args:
        after_bytes: How many bytes of the body are sent.
        text: The text of the reply.
    """

    after_bytes: int
    text: str = "cut short"


@dataclass(frozen=True, slots=True)
class Slow:
    """Sends the reply slowly.

    Args:
        bytes_per_second: The speed.
        text: The text of the reply.
    """

    bytes_per_second: float
    text: str = "slowly"


@dataclass(frozen=True, slots=True)
class HeadersOnly:
    """Sends the headers of a reply and then nothing."""


@dataclass(frozen=True, slots=True)
class Endless:
    """Sends a reply that never ends.

    Args:
        bytes_at_once: The size of each piece.
    """

    bytes_at_once: int = 65_536


@dataclass(frozen=True, slots=True)
class Huge:
    """Sends a valid reply with a long text.

    Args:
        bytes: The length of the text.
    """

    bytes: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Sends bytes that may not be a reply, with status 200.

    Args:
        bytes: The body.
        content_type: The `content-type` header.
        headers: Further headers.
    """

    bytes: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reset:
    """Resets the connection without a response."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Waits, then sends another response.

    Args:
        seconds: How long it waits.
        then: The response; None: the default reply.
    """

    seconds: float
    then: "ScriptedResponse" = None


@dataclass(frozen=True, slots=True)
class FinishWith:
    """A reply with a finish reason.

    Args:
        reason: The finish reason of the provider, such as `length`, `max_tokens` or `SAFETY`.
        text: The text of the reply.
    """

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """A refusal of the model.

    Args:
        text: What the model says instead of an answer.
    """

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True)
class NoUsage:
    """A reply without token counts.

    Args:
        text: The text of the reply.
    """

    text: str = "no usage"


@dataclass(frozen=True, slots=True)
class OddUsage:
    """A reply with these token counts, valid or not.

    Args:
        usage: The counts, under the names of the provider.
        text: The text of the reply.
    """

    usage: Mapping[str, Any]
    text: str = "odd usage"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The error of the provider for a part of the request that it does not support.

    Args:
        what: The part.
    """

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


def with_usage(reply: dict[str, Any], name: str, script: ScriptedReply, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Add the token counts to a reply: those of the script, or the counted ones."""
    if script.usage is None:
        return reply
    return {**reply, name: counted if script.usage is COUNTED_USAGE else script.usage}
