"""Foreign text as a page shows it: as it is, but that nothing in it can act, and that what could is seen."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalmark.core.values.plain_data import plain

LONGEST = 64_000
"""Characters of one text on a page; the rest is in the download."""
_MOST_MARKED = 200
_ODD = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_PICTURES = 0x2400
"""Where Unicode has pictures of the control characters."""


class PageText(NamedTuple):
    """A text of a page, and how long it was before it was cut."""

    shown: str
    length: int

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.shown)


class Segment(NamedTuple):
    """A part of an answer, and whether nothing supports it."""

    text: str
    is_marked: bool


def visible(text: str) -> str:
    r"""The text with a sign in the place of each character that steers a terminal or the direction of writing.

    >>> print(visible("\x1b[31mred\x1b[0m\r\nuser\u202etxt.exe \ud800"))
    ␛[31mred␛[0m
    user⟨U+202E⟩txt.exe ⟨U+D800⟩
    """
    return _ODD.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\r\n":
        return "\n"
    code = ord(character)
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def page_text(value: Any) -> PageText:
    """Any value as the text of a page: text as it is, all else as JSON, one entry a line where it is long."""
    whole = value if isinstance(value, str) else _json(value)
    return PageText(whole[:LONGEST], len(whole))


def _json(value: Any) -> str:
    short = json.dumps(plain(value), ensure_ascii=False)
    return short if len(short) <= 60 else json.dumps(plain(value), ensure_ascii=False, indent=2)


def segments(text: str, sentences: Sequence[str]) -> list[Segment]:
    """A text, cut so that the sentences that stand in it are parts of their own; the others follow it.

    >>> segments("It is high. It is red.", ["It is red.", "It sings."])
    [Segment(text='It is high. ', is_marked=False), Segment(text='It is red.', is_marked=True), \
Segment(text='It sings.', is_marked=True)]
    """
    named = dict.fromkeys(s for s in sentences[:_MOST_MARKED] if s.strip() and len(s) < LONGEST)
    wanted = sorted(named, key=len, reverse=True)
    cut: list[Segment] = []
    done = 0
    # Each is looked for by itself: all of them in one expression would take minutes where they are long and much alike.
    for start, end in sorted((place for one in wanted for place in _places(text, one)), key=lambda at: (at[0], -at[1])):
        if start >= done:
            cut += [Segment(text[done:start], False), Segment(text[start:end], True)]
            done = end
    cut.append(Segment(text[done:], False))
    return [*(part for part in cut if part.text), *(Segment(one, True) for one in wanted if one not in text)]


def wrap_change(text: str, element: str) -> list[tuple[str, str]]:
    """A part of a text that another one has not, each piece with the element around it; blanks before a word have none.

    >>> wrap_change(" 3,000 m", "ins")
    [(' ', ''), ('3,000 m', 'ins')]
    """
    bare = text.lstrip()
    return [(text[: len(text) - len(bare)], ""), (bare, element)]


def _places(text: str, sentence: str) -> Iterator[tuple[int, int]]:
    """Where a sentence begins and ends in a text, each time that it stands there."""
    start = text.find(sentence)
    while start >= 0:
        yield start, start + len(sentence)
        start = text.find(sentence, start + len(sentence))
