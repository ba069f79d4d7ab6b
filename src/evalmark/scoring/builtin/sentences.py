"""Splits a text into sentences."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from sentencex import segment

from evalmark.core.errors import ConfigError

Splitter = str | Callable[[str], Sequence[str]]
"""`sentencex`, `sentencex:LANGUAGE` (default `en`), `simple`, or a function from a text to its sentences."""

MAX_CHUNK_CHARS = 10_000
"""Characters passed to the library at a time."""
_ENDS = ("\n\n", ". ", "? ", "! ")
"""Sentence ends, the most reliable first."""


def split_sentences(text: str, splitter: Splitter = "sentencex") -> tuple[str, ...]:
    """Return the sentences of a text, trimmed; empty ones and those without letters or digits are left out.

    `simple` splits at every `.`, `!` and `?`, also inside numbers, abbreviations and addresses.

    >>> split_sentences("It costs 3.5 euros. Ask Dr. Smith!")
    ('It costs 3.5 euros.', 'Ask Dr. Smith!')
    >>> split_sentences("It costs 3.5 euros.", "simple")
    ('It costs 3', '5 euros')

    Raises:
        ConfigError: The splitter is unknown.
    """
    check_splitter(splitter)
    if callable(splitter):
        return tuple(stripped for part in splitter(text) if (stripped := part.strip()))
    if splitter == "simple":
        return tuple(stripped for part in re.split(r"[.!?]", text) if (stripped := part.strip()))
    language = splitter.partition(":")[2] or "en"
    return tuple(part.strip() for part in _segments(_encodable(text), language) if _has_content(part))


def _segments(text: str, language: str) -> Iterator[str]:
    """Yield the sentences of a text of any length, chunk by chunk: the library may take quadratic time."""
    held = ""
    for piece, ends in _chunks(text):
        first, *others = segment(language, piece) or [""]
        found = [held + first, *others]
        held = "" if ends else found.pop()
        yield from found


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in chunks, each with whether it ends at a sentence end; most texts are one chunk."""
    start = 0
    while len(text) - start > MAX_CHUNK_CHARS:
        window = text[start : start + MAX_CHUNK_CHARS]
        marks = ((place + len(mark), mark in _ENDS) for mark in (*_ENDS, " ") if (place := window.rfind(mark)) > 0)
        length, ends = next(marks, (MAX_CHUNK_CHARS, False))
        yield window[:length], ends
        start += length
    yield text[start:], True


def check_splitter(splitter: Splitter) -> None:
    """Raise an error for an unknown splitter.

    Raises:
        ConfigError: It is neither a known name nor callable.
    """
    if callable(splitter):
        return
    name, _, language = str(splitter).partition(":")
    if not (splitter == "simple" or (name == "sentencex" and (splitter == name or language.isalpha()))):
        raise ConfigError(f"splitter {splitter!r} is unknown; use 'sentencex', 'sentencex:de', 'simple' or a function.")


def _has_content(sentence: str) -> bool:
    """Return whether a text holds more than punctuation, white space and control characters."""
    return any(unicodedata.category(character)[0] not in "PZC" for character in sentence)


def _encodable(text: str) -> str:
    """Return the text with lone surrogates, which cannot be encoded, replaced by the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
