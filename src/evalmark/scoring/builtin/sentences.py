"""An answer, sentence by sentence."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from sentencex import segment

from evalmark.core.errors import ConfigError

Splitter = str | Callable[[str], Sequence[str]]
"""`sentencex`, `sentencex:LANGUAGE` (`en` unless said otherwise), `simple`, or a function from a text to its sentences."""

MAX_CHUNK_CHARS = 10_000
"""Characters that are looked at together."""
_ENDS = ("\n\n", ". ", "? ", "! ")
"""Where a sentence ends, the surest first."""


def split_sentences(text: str, splitter: Splitter = "sentencex") -> tuple[str, ...]:
    """The sentences of a text, trimmed; empty ones and those of mere punctuation are left out.

    `simple` cuts at every `.`, `!` and `?`, and so takes numbers, abbreviations and addresses apart.

    >>> split("It costs 3.5 euros. Ask Dr. Smith!")
    ('It costs 3.5 euros.', 'Ask Dr. Smith!')
    >>> split("It costs 3.5 euros.", "simple")
    ('It costs 3', '5 euros')

    Raises:
        ConfigError: there is no such splitter.
    """
    check_splitter(splitter)
    if callable(splitter):
        return tuple(stripped for part in splitter(text) if (stripped := part.strip()))
    if splitter == "simple":
        return tuple(stripped for part in re.split(r"[.!?]", text) if (stripped := part.strip()))
    language = splitter.partition(":")[2] or "en"
    return tuple(part.strip() for part in _segments(_encodable(text), language) if _has_content(part))


def _segments(text: str, language: str) -> Iterator[str]:
    """The sentences of a text of any length: the library can take the square of the time, so it is given pieces."""
    held = ""
    for piece, ends in _chunks(text):
        first, *others = segment(language, piece) or [""]
        found = [held + first, *others]
        held = "" if ends else found.pop()
        yield from found


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it ends where a sentence does; most texts are one."""
    start = 0
    while len(text) - start > MAX_CHUNK_CHARS:
        window = text[start : start + MAX_CHUNK_CHARS]
        marks = ((place + len(mark), mark in _ENDS) for mark in (*_ENDS, " ") if (place := window.rfind(mark)) > 0)
        length, ends = next(marks, (MAX_CHUNK_CHARS, False))
        yield window[:length], ends
        start += length
    yield text[start:], True


def check_splitter(splitter: Splitter) -> None:
    """Refuse what is no splitter.

    Raises:
        ConfigError: it is neither a known name nor callable.
    """
    if callable(splitter):
        return
    name, _, language = str(splitter).partition(":")
    if not (splitter == "simple" or (name == "sentencex" and (splitter == name or language.isalpha()))):
        raise ConfigError(f"splitter {splitter!r} is unknown; use 'sentencex', 'sentencex:de', 'simple' or a function.")


def _has_content(sentence: str) -> bool:
    """Whether there is anything but punctuation, blanks and control characters."""
    return any(unicodedata.category(character)[0] not in "PZC" for character in sentence)


def _encodable(text: str) -> str:
    """The text with half surrogate pairs, which no encoder takes, replaced by the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
