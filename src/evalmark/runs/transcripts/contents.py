"""Read fields, texts, arguments and results of foreign messages. No function here raises on foreign data."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalmark.core.values.plain_data import plain
from evalmark.inputs.documents.strict_json import RefusedJsonError, decode_at

UNPARSED = "unparsed"
"""The key for arguments that are not a JSON object."""
_TEXTS = frozenset(("text", "input_text", "output_text"))
_REASONING = frozenset(("reasoning", "thinking", "redacted_thinking", "reasoning_content"))
_FILES = (
    *("image", "audio", "video", "document", "file", "media", "binary", "uploaded-file", "computer_screenshot"),
    *("input_image", "input_audio", "input_video", "input_file", "output_image", "output_audio"),
)
"""Prefixes of the types of message parts without text."""


def get_field(value: Any, name: str) -> Any:
    """Return a field of a mapping or an attribute of an object, or None.

    >>> get_field({"role": "user"}, "role"), get_field(1j, "imag"), get_field(None, "role")
    ('user', 1.0, None)
    """
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:  # noqa: BLE001  foreign code: attributes may be computed, and fail
        return None


def first_field(value: Any, *names: str) -> Any:
    """Return the first of these fields that is not None."""
    return next((field for name in names if (field := get_field(value, name)) is not None), None)


def as_name(value: Any) -> str:
    """Return an id or a name as a text, or an empty text.

    >>> as_name("call_1"), as_name(7), as_name(None)
    ('call_1', '7', '')
    """
    return value if isinstance(value, str) else "" if value is None else str(as_plain(value))


def as_plain(value: Any) -> Any:
    """Convert a value to plain data; an object that cannot be converted becomes the name of its type."""
    try:
        return plain(value)
    except Exception:  # noqa: BLE001  foreign code: objects convert themselves
        return f"<{type(value).__name__}>"


def as_list(value: Any) -> Sequence[Any]:
    """Return a list unchanged, None as an empty list, and any other value as a list of one."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return value
    return () if value is None else (value,)


def one_line(value: Any) -> str:
    r"""Return a text on one line, or another value as JSON.

    >>> one_line("no such\n  town"), one_line({"code": 404})
    ('no such town', '{"code": 404}')
    """
    text = value if isinstance(value, str) else json.dumps(as_plain(value), ensure_ascii=False)
    return " ".join(text.split())


def message_text(content: Any) -> Any:
    r"""Return the parts of a message as one text, with files as `[type]`, or other content as plain data.

    >>> message_text([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:…"}}])
    'What is it?\n[image_url]'
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping) and _part_text(content) is None:
        return as_plain(content)
    if isinstance(content, (int, float, bytes)):
        return as_plain(content)
    words = [words for item in as_list(content) if (words := _part_text(item)) is not None]
    return ("" if all(is_text for _, is_text in words) else "\n").join(text for text, _ in words)


def tool_result(content: Any) -> Any:
    """Return the result of a tool: text parts as one text, or other content as plain data.

    >>> tool_result([{"type": "text", "text": "3 degrees"}]), tool_result([3, 4]), tool_result(None)
    ('3 degrees', [3, 4], None)
    """
    if not isinstance(content, (list, tuple)) or not content:
        return as_plain(content)
    texts = [
        text
        for item in content
        if as_name(get_field(item, "type")) in _TEXTS and isinstance(text := get_field(item, "text"), str)
    ]
    return "".join(texts) if len(texts) == len(content) else as_plain(content)


def _part_text(item: Any) -> tuple[str, bool] | None:
    """Return the text for a message part, and whether it is the part's own text."""
    if isinstance(item, str):
        return item, True
    if item is None or isinstance(item, (int, float, bytes, list, tuple)):
        return None
    kind = as_name(first_field(item, "type", "kind"))
    if kind in _REASONING:
        return None
    text = next((t for name in ("text", "refusal", "content") if isinstance(t := get_field(item, name), str)), None)
    # A mapping with a text and no type is data, not a message part.
    if text is not None and (kind or not isinstance(item, Mapping)):
        return text, True
    return (f"[{kind}]", False) if kind.startswith(_FILES) else None


def reasoning_texts(content: Any) -> Iterator[str]:
    """Yield reasoning texts from the parts of a message or from a reasoning item."""
    for item in as_list(content):
        if isinstance(item, str) or as_name(get_field(item, "type")) not in _REASONING:
            continue
        text_or_parts = first_field(item, "thinking", "reasoning", "text")
        pieces = (
            (text_or_parts,)
            if isinstance(text_or_parts, str)
            else (*as_list(get_field(item, "summary")), *as_list(get_field(item, "content")))
        )
        for piece in pieces:
            text = piece if isinstance(piece, str) else get_field(piece, "text")
            if isinstance(text, str) and text.strip():
                yield text


def call_arguments(arguments: Any) -> Mapping[str, Any]:
    """Return the arguments of a call from a mapping or its JSON text; any other value becomes `unparsed`.

    >>> call_arguments('{"city": "Oslo"}'), call_arguments('{"city": '), call_arguments("")
    ({'city': 'Oslo'}, {'unparsed': '{"city": '}, {})
    """
    if isinstance(arguments, Mapping):
        parsed = as_plain(arguments)
        return parsed if isinstance(parsed, dict) else {UNPARSED: parsed}
    if not isinstance(arguments, str):
        return {} if arguments is None else {UNPARSED: as_plain(arguments)}
    text = arguments.strip(" \t\r\n")
    if text in ("", "null"):
        return {}
    try:
        parsed, end = decode_at(text, 0)
    except (json.JSONDecodeError, RefusedJsonError):
        return {UNPARSED: arguments}
    return parsed if isinstance(parsed, dict) and end == len(text) else {UNPARSED: arguments}
