"""Foreign text for pages: unchanged, but with control characters made visible."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from evalmark.core.values.plain_data import plain

LONGEST = 64_000
"""Longest text on a page in characters; downloads have all of it."""
_MOST_MARKED = 200
_ODD = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_CODE = re.compile(r"`([^`\n]+)`")
_PICTURES = 0x2400
"""First of Unicode's control pictures."""


class PageText(NamedTuple):
    """A text for a page, and its full length."""

    shown: str
    length: int

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.shown)


class Segment(NamedTuple):
    """A part of an output, and whether it is marked as unsupported."""

    text: str
    is_marked: bool


def visible(text: str) -> str:
    r"""Replace control and direction characters with visible signs.

    >>> print(visible("\x1b[31mred\x1b[0m\r\nuser\u202etxt.exe \ud800"))
    ␛[31mred␛[0m
    user⟨U+202E⟩txt.exe ⟨U+D800⟩
    """
    return text if text.isprintable() else _ODD.sub(_sign, text)  # all of them count as not printable


def _sign(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\r\n":
        return "\n"
    code = ord(character)
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def breakable(name: str) -> Markup:
    """Escape a name that may break into lines after its separators, rather than within its words.

    >>> breakable("shop.bot:<b> 10:15")
    Markup('shop.<wbr>bot:<wbr>&lt;b&gt; 10:15')
    """
    return Markup("<wbr>").join(re.split(r"(?<=[./:_@])(?=\D)", visible(name)))


def inner_text(text: str) -> Markup:
    """Escape a text between tags, for places with many quotation marks: these stay as they are.

    >>> inner_text('"a" < b')
    Markup('"a" &lt; b')
    """
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(text)  # noqa: S704  escaped above


def coded(sentence: str) -> Markup:
    """Escape a sentence that evalmark wrote, and mark what is between backticks as code.

    >>> print(coded("Label some with `evalmark view`, not <b>."))
    Label some with <code>evalmark view</code>, not &lt;b&gt;.
    """
    parts = _CODE.split(visible(sentence))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def page_text(value: Any) -> PageText:
    """Convert any value to page text: strings unchanged, others as JSON."""
    whole = source_text(value)
    return PageText(whole[:LONGEST], len(whole))


def source_text(value: Any) -> str:
    """Convert any value to text: strings unchanged, others as JSON, indented if it is long."""
    if isinstance(value, str):
        return value
    short = json.dumps(plain(value), ensure_ascii=False)
    return short if len(short) <= 60 else json.dumps(plain(value), ensure_ascii=False, indent=2)


def segments(text: str, sentences: Sequence[str]) -> list[Segment]:
    """Split a text into marked sentences and the rest; sentences that it lacks follow.

    >>> segments("It is high. It is red.", ["It is red.", "It sings."])
    [Segment(text='It is high. ', is_marked=False), Segment(text='It is red.', is_marked=True), \
Segment(text='It sings.', is_marked=True)]
    """
    distinct = dict.fromkeys(s for s in sentences[:_MOST_MARKED] if s.strip() and len(s) < LONGEST)
    longest_first = sorted(distinct, key=len, reverse=True)
    cut: list[Segment] = []
    done = 0
    # Search one sentence at a time: one regular expression for all takes minutes if they are long and similar.
    for start, end in sorted(
        (span for one in longest_first for span in _places(text, one)), key=lambda at: (at[0], -at[1])
    ):
        if start >= done:
            cut += [Segment(text[done:start], False), Segment(text[start:end], True)]
            done = end
    cut.append(Segment(text[done:], False))
    return [*(part for part in cut if part.text), *(Segment(one, True) for one in longest_first if one not in text)]


def wrap_change(text: str, element: str) -> list[tuple[str, str]]:
    """Wrap a changed part of a text in an element, without its leading blanks.

    >>> wrap_change(" 3,000 m", "ins")
    [(' ', ''), ('3,000 m', 'ins')]
    """
    bare = text.lstrip()
    return [(text[: len(text) - len(bare)], ""), (bare, element)]


def _places(text: str, sentence: str) -> Iterator[tuple[int, int]]:
    start = text.find(sentence)
    while start >= 0:
        yield start, start + len(sentence)
        start = text.find(sentence, start + len(sentence))
