"""Word-level differences of two texts."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rapidfuzz.distance import LCSseq

from evalmark.core.text import cut, display_text

AROUND = 40
"""Common words shown on each side of a change."""
_MOST = 2_000
"""Words of a text that are compared; time grows quadratically."""
_WORD = re.compile(r"\s*(?:\S*[^\s.,;:!?]|[.,;:!?]+)")
"""Punctuation after a word is a word of its own, so that `cash` and `cash.` match."""
_SPACED = re.compile(r"\s*\S+")
_LONGEST_WORD = 200
GONE, NEW = ("[-", "-]"), ("{+", "+}")
"""Marks around words of the earlier text only, and of the later text only."""
LEFT_OUT = " … "


class TextPiece(NamedTuple):
    """A part of a text, and whether both texts have it."""

    text: str
    is_common: bool


class TextPair(NamedTuple):
    """Two texts as pieces."""

    before: tuple[TextPiece, ...]
    now: tuple[TextPiece, ...]


def word_changes(before: Any, now: Any) -> TextPair:
    """Compare two values as texts, word by word; long common parts and words beyond 2,000 are left out.

    >>> word_changes("It is 4,806 m high.", "It is 3,000 m high.").now
    (TextPiece(text='It is', is_common=True), TextPiece(text=' 3,000', is_common=False), TextPiece(text=' m high.', is_common=True))
    """
    old, new = _words(display_text(before)), _words(display_text(now))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    inner = old[start : len(old) - end], new[start : len(new) - end]
    head, tail = old[:start], old[len(old) - end :] if end else []
    left, right = _compared(*inner)
    ends = [_piece(_last(head), is_common=True)], [_piece(_first(tail), is_common=True)]
    return TextPair(_joined([*ends[0], *left, *ends[1]]), _joined([*ends[0], *right, *ends[1]]))


def common_share(before: Any, now: Any) -> float:
    """Return which share of the words of the longer text the other one has too, in the same order; of the first 2,000 words.

    >>> common_share("It is 4,806 m high.", "It is 3,000 m high."), common_share("Oslo.", "No idea.")
    (0.8, 0.0)
    """
    old, new = (_letters([word.strip() for word in _words(display_text(text))[:_MOST]]) for text in (before, now))
    longest = max(len(old), len(new))
    return LCSseq.similarity(old, new) / longest if longest else 1.0


def _letters(words: list[str]) -> list[str]:
    """Leave out punctuation, which any two texts have in common."""
    return [word for word in words if any(map(str.isalnum, word))] or words


def mark_changes(pieces: Sequence[TextPiece], marks: tuple[str, str]) -> str:
    """Join pieces to one text, with marks around those that the other text lacks.

    >>> mark_changes(word_changes("a b", "a c").now, NEW)
    'a {+c+}'
    """
    return "".join(piece.text if piece.is_common else _around(piece.text, marks) for piece in pieces)


def merge_changes(sides: TextPair) -> list[tuple[str, str]]:
    """Merge both texts: each part with `gone`, `new`, or an empty kind if both have it.

    >>> merge_changes(word_changes("It is 4,806 m high.", "It is 3,000 m high."))
    [('It is', ''), (' 4,806', 'gone'), (' 3,000', 'new'), (' m high.', '')]
    """
    old, new = list(sides.before), list(sides.now)
    parts: list[tuple[str, str]] = []
    while old or new:
        for pieces, kind in ((old, "gone"), (new, "new")):
            if pieces and not pieces[0].is_common:
                parts.append((pieces.pop(0).text, kind))
        # A common part stays whole if only the other text changed within it.
        length = min((len(pieces[0].text) for pieces in (old, new) if pieces), default=0)
        heads = {pieces[0].text[:length] for pieces in (old, new) if pieces}
        parts += [(head, "") for head in sorted(heads)]  # two if only one text has a note on left-out words
        for pieces in (old, new):
            if pieces:
                left = pieces.pop(0).text[length:]
                pieces[:0] = [TextPiece(left, is_common=True)] if left else []
    return parts


def shorten_common(parts: Sequence[tuple[str, str]], words: int) -> list[tuple[str, str]]:
    """Keep only a number of words of the common parts beside each change, so that a short view shows the changes.

    >>> shorten_common([("It is so", ""), (" 4,806", "gone"), (" 3,000", "new"), (" m high there.", "")], 1)
    [('… so', ''), (' 4,806', 'gone'), (' 3,000', 'new'), (' m …', '')]
    """
    return [
        (text if kind else _ends(text, 0 if n == 0 else words, 0 if n == len(parts) - 1 else words), kind)
        for n, (text, kind) in enumerate(parts)
    ]


def _ends(text: str, first: int, last: int) -> str:
    """Keep the first and last words of a text; a single word more is kept too, since a mark would be as long."""
    words = _SPACED.findall(text)
    if len(words) <= first + last + 1:
        return text
    return f"{''.join(words[:first])}{' ' if first else ''}…{''.join(words[len(words) - last :])}"


def _around(text: str, marks: tuple[str, str]) -> str:
    bare = text.lstrip()
    return f"{text[: len(text) - len(bare)]}{marks[0]}{bare}{marks[1]}"


def _words(text: str) -> list[str]:
    # Trailing spaces are removed first: matching them would take quadratic time.
    return [cut(word, _LONGEST_WORD) for word in _WORD.findall(text.rstrip())]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the common words at the start."""
    pairs = zip(old, new, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> tuple[list[TextPiece], list[TextPiece]]:
    left: list[TextPiece] = []
    right: list[TextPiece] = []
    for step in LCSseq.opcodes(old[:_MOST], new[:_MOST]):
        gone = old[step.src_start : step.src_end]
        if step.tag == "equal":
            both = _piece(_middle(gone), is_common=True)
            left.append(both)
            right.append(both)
        else:
            left.append(_piece(_middle(gone), is_common=False))
            right.append(_piece(_middle(new[step.dest_start : step.dest_end]), is_common=False))
    for words, pieces in ((old, left), (new, right)):
        if len(words) > _MOST:
            pieces.append(_piece([f" … and {len(words) - _MOST:,} more words"], is_common=True))
    return left, right


def _first(words: list[str]) -> list[str]:
    return words if len(words) <= AROUND else [*words[:AROUND], LEFT_OUT]


def _last(words: list[str]) -> list[str]:
    return words if len(words) <= AROUND else [LEFT_OUT, *words[-AROUND:]]


def _middle(words: list[str]) -> list[str]:
    """Keep the first and last words."""
    return words if len(words) <= 2 * AROUND + 1 else [*words[:AROUND], LEFT_OUT, *words[-AROUND:]]


def _piece(words: Sequence[str], *, is_common: bool) -> TextPiece:
    return TextPiece("".join(words), is_common)


def _joined(pieces: Sequence[TextPiece]) -> tuple[TextPiece, ...]:
    """Drop empty pieces and join neighbours of the same kind."""
    joined: list[TextPiece] = []
    for piece in pieces:
        if not piece.text:
            continue
        if joined and joined[-1].is_common == piece.is_common:
            joined[-1] = TextPiece(joined[-1].text + piece.text, piece.is_common)
        else:
            joined.append(piece)
    return tuple(joined)
