"""Request bodies: JSON in bytes, and the content of messages in the form of the providers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import RESERVED_SETTINGS, Attempt, Request
from evalmark.core.values.case import Turn
from evalmark.core.values.plain_data import canonical, plain

from .endpoint import Endpoint

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode_body(body: Mapping[str, Any], endpoint: Endpoint, messages: str | None = None) -> bytes:
    """Encode a request as JSON in UTF-8; lone surrogates, which no server accepts, become U+FFFD.

    `messages` is the JSON text of the messages if it is known already; then `body` does not contain them and is not empty.

    Raises:
        ModelCallError: A value cannot be written as JSON (fault `rejected`).
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
    r"""Return the JSON text of the messages that was computed for the cache key, if it can be sent as it is.

    None if a message is not a text, or if characters are escaped as \uXXXX, which doubles the size.
    """
    if not all(type(turn.content) is str for turn in request.messages):
        return None
    text = request.texts[0]
    return None if "\\u" in text else text


def refuse_reserved_settings(request: Request, endpoint: Endpoint) -> None:
    """Check that no setting replaces a part of the request, since the request is what is logged.

    Raises:
        ModelCallError: A setting would replace a part of the request (fault `rejected`).
    """
    if request.settings and (taken := sorted(RESERVED_SETTINGS & set(request.settings))):
        message = f"{endpoint.name}: the setting {taken[0]!r} would replace a part of the request. Remove it."
        raise ModelCallError(message, fault="rejected")


def content_of(value: Any) -> Any:
    """Return the content of a message: a text, or a list of parts (each with a `type`); anything else as JSON text.

    Nothing is downloaded: the URL of an image is sent to the provider as it is.

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
    """Return the text of the content of a reply: a text, or the text parts of a list.

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
    """Convert the value of a setting to JSON data."""
    return value if type(value) in (str, int, float, bool) else plain(value)


_SYSTEM = ("system", "developer")
_SPOKEN = {"user": "user", "tool": "user", "assistant": "assistant"}


def split_system(messages: Sequence[Turn], endpoint: Endpoint) -> tuple[str, list[tuple[str, Any]]]:
    """Separate the system messages, for providers that take them apart and know only two other roles.

    The system prompt joins all system messages with empty lines between; it is empty without any. Of each other message the
    role (`user` or `assistant`) and the content (text or list of parts) are returned; there is at least one.

    Results of tools become messages of the user. If there are only system messages, they become a message of the user, since
    these providers require one.

    Raises:
        ModelCallError: The role of a message is unknown (fault `rejected`).
    """
    for turn in messages:
        if turn.role not in _SYSTEM and turn.role not in _SPOKEN:
            fault = f"{endpoint.name}: {turn.role!r} is not a role. Use user, assistant, system or tool."
            raise ModelCallError(fault, fault="rejected", attempts=(Attempt(seconds=0.0, error=fault),))
    system = "\n\n".join(text_of(content_of(turn.content)) for turn in messages if turn.role in _SYSTEM)
    others = [(_SPOKEN[turn.role], content_of(turn.content)) for turn in messages if turn.role in _SPOKEN]
    return (system, others) if others else ("", [("user", system)])
