"""What is sent: JSON text in bytes, and the content of messages as providers take it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import RESERVED_SETTINGS, Attempt, Request
from evalmark.core.values.case import Turn
from evalmark.core.values.plain_data import canonical, plain

from .endpoint import Endpoint

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode_body(body: Mapping[str, Any], endpoint: Endpoint, messages: str | None = None) -> bytes:
    """The JSON text of a request; half a surrogate pair, which no server takes, becomes U+FFFD.

    `messages` is their JSON text where it is known already; then they do not stand in `body`, which is not empty.

    Raises:
        ModelCallError: rejected; something in it cannot be written as JSON.
    """
    try:
        text = _encode(body)
        if messages is not None:
            text = f'{text[:-1]},"messages":{messages}}}'
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{endpoint.name}: the request cannot be written as JSON: {error}."
        raise ModelCallError(message, fault="rejected") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def messages_text(request: Request) -> str | None:
    r"""The JSON text of the messages that the key of the request was made of, where it is what would be sent.

    None where a message is no text, and where letters would go out as \uXXXX, which takes twice the room.
    """
    if not all(type(turn.content) is str for turn in request.messages):
        return None
    text = request.texts[0]
    return None if "\\u" in text else text


def refuse_reserved_settings(request: Request, endpoint: Endpoint) -> None:
    """See to it that what is asked is what the request says, since that is what is recorded.

    Raises:
        ModelCallError: rejected; a setting would take the place of a part of it.
    """
    if request.settings and (taken := sorted(RESERVED_SETTINGS & set(request.settings))):
        message = f"{endpoint.name}: the setting {taken[0]!r} would take the place of what is asked. Leave it out."
        raise ModelCallError(message, fault="rejected")


def content_of(value: Any) -> Any:
    """A message's content: text, or a list of parts (each with a `type`) as it is; all else as JSON text.

    Nothing in it is fetched: an address of an image goes to the provider as it stands.

    >>> content_of("hi"), content_of({"a": 1}), content_of(None)
    ('hi', '{"a":1}', '')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (list, tuple)) and value and all(isinstance(x, Mapping) and "type" in x for x in value):
        return plain(value)
    return canonical(value)


def text_of(content: Any) -> str:
    """The text of what a provider gave as content: a text, or parts of which some hold text.

    >>> text_of("a"), text_of([{"type": "text", "text": "a"}, {"type": "image"}]), text_of(None)
    ('a', 'a', '')
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def json_value(value: Any) -> Any:
    """A setting as JSON data."""
    return value if type(value) in (str, int, float, bool) else plain(value)


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
