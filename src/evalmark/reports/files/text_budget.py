"""Text limits that keep an HTML report below a size."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import NamedTuple

from markupsafe import Markup

from evalmark.core.text import one_line
from evalmark.reports.html.escaping import LONGEST, PageText, segments, visible, wrap_change
from evalmark.reports.html.rich_text import may_be_drawn, rich_text
from evalmark.reports.html.timeline import TimelineStep
from evalmark.reports.text.word_changes import merge_changes, word_changes

from .case_rows import ANSWER, ReportRow, TextPart

SHARED = 200
"""Texts at least this long are stored once per page."""
_EXCERPT = 40
"""Characters of the link to a text stored elsewhere."""
_OF_A_ROW, _OF_A_CELL, _OF_A_PART, _POINTER, _NOTE = 305, 22, 9, 34, 17
"""Bytes of tags of a row and its parts, rounded up."""
_SAID_CUT = 45
"""Bytes of the note on a cut text."""
_MOST_DRAWN = 1_000_000
"""Characters of a page that are drawn as Markdown or JSON, which takes a second or two; further ones are shown as written."""
_OF_A_DRAWING = 24
"""Bytes of the element around a drawing."""
_LEAST = 40
"""Least characters of a text."""
_ELEMENTS = {"gone": "del", "new": "ins"}


class TextLimits(NamedTuple):
    """The length limit of texts and what it cuts."""

    longest: int
    """Longest text in characters."""
    cut: int
    """Number of texts that are cut."""
    shared: frozenset[bytes]
    """Hashes of texts shared by several rows."""
    spare: int = 0
    """Bytes that are left for drawing texts as Markdown or JSON."""


class FittedText(NamedTuple):
    """A text as shown on the page."""

    pieces: list[tuple[str, str]]
    """Pieces with their HTML element, if any."""
    anchor: str = ""
    """Id of the text if others link to it."""
    points: str = ""
    """Id of the full text if this is only a link to it."""
    note: str = ""
    html: Markup | None = None
    """The text drawn as Markdown or JSON, in place of the pieces."""


def text_limits(rows: Iterable[ReportRow], budget: int) -> TextLimits:
    """Compute the greatest text length at which all rows fit in `budget` bytes."""
    met: Counter[bytes] = Counter()
    sizes: dict[int, list[int]] = {}
    for row in rows:
        budget -= _around(row)
        for cell in (row.answer, row.expected):
            if len(cell) > ANSWER:
                _count(sizes, len(cell), _size(cell))
        for part in row.parts:
            for text in filter(None, (part.text, part.before)):
                mark = _mark(text) if part.before is None and not part.unsupported else None
                if mark is not None:
                    met[mark] += 1
                if mark is not None and met[mark] > 1:
                    budget -= _POINTER + _size(one_line(text.shown, _EXCERPT))
                else:
                    _count(sizes, text.length, _size(text.shown))
    longest = _longest(sizes, budget)
    spare = budget - sum(size for _, size in sizes.values()) if longest == LONGEST else 0
    cut = sum(n for length, (n, _) in sizes.items() if length > longest)
    return TextLimits(longest, cut, frozenset(mark for mark, n in met.items() if n > 1), spare)


def _count(sizes: dict[int, list[int]], length: int, size: int) -> None:
    entry = sizes.setdefault(length, [0, 0])
    entry[0] += 1
    entry[1] += size


def _longest(sizes: dict[int, list[int]], budget: int) -> int:
    low, high = _LEAST, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        total = sum(
            size if length <= middle else size * middle / min(length, LONGEST) + n * _SAID_CUT
            for length, (n, size) in sizes.items()
        )
        low, high = (middle, high) if total <= budget else (low, middle - 1)
    return low


def _around(row: ReportRow) -> int:
    """Bytes of a row without its texts that may be cut."""
    texts = [
        row.name,
        row.name,
        row.asked,
        *(cell for cell in (row.answer, row.expected) if len(cell) <= ANSWER),
        *row.tags,
        *row.tags[:6],
        *(cell.text + cell.kind for cell in row.cells),
    ]
    for part in row.parts:
        texts += [part.label, part.head, *part.notes]
    notes = sum(len(part.notes) * _NOTE + (len(part.kind) + 9 if part.kind else 0) for part in row.parts)
    tags = _OF_A_ROW + _OF_A_CELL * len(row.cells) + _OF_A_PART * len(row.parts)
    return tags + notes + 26 * len(row.tags[:6]) + sum(map(_size, texts))


def _size(text: str) -> int:
    return len(escape(visible(text)).encode())


def _mark(text: PageText) -> bytes | None:
    """Hash a long text; None for a short one."""
    if text.length < SHARED:
        return None
    return hashlib.blake2b(text.shown.encode(errors="surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class TextFitter:
    """Fits each text to the page: cuts it, marks it, and stores it once."""

    limits: TextLimits
    _spent: int = 0
    """Bytes that drawing has added."""
    _drawn: int = 0
    """Characters drawn."""
    _anchors: dict[bytes, str] = field(default_factory=dict)

    def cell(self, text: str) -> str:
        """Cut the text of a cell that is not shown anywhere else."""
        return one_line(text, max(self.limits.longest, _LEAST)) if len(text) > ANSWER else text

    def __call__(self, part: TextPart) -> FittedText:
        """Fit the text of a part; repeated texts link to the first."""
        text, longest = part.text, self.limits.longest
        if part.before is not None:
            changes = merge_changes(word_changes(part.before.shown[:longest], text.shown[:longest]))
            pieces = [wrap_change(changed, _ELEMENTS[kind]) if kind else [(changed, "")] for changed, kind in changes]
            return FittedText([*chain.from_iterable(pieces)], note=self._note(text, longest))
        cut = text.shown[:longest]
        html = self._draw(cut, part.unsupported) if not part.head and part.kind != "error" else None
        if part.unsupported and html is not None:
            return FittedText([], note=self._note(text, longest), html=html)
        if part.unsupported:
            marked = segments(cut, part.unsupported)
            return FittedText([(p.text, "mark" if p.is_marked else "") for p in marked], note=self._note(text, longest))
        mark = _mark(text)
        if mark is None or mark not in self.limits.shared:
            return FittedText([(cut, "")] if html is None else [], note=self._note(text, longest), html=html)
        if mark in self._anchors:
            return FittedText([(one_line(cut, _EXCERPT), "")], points=self._anchors[mark])
        self._anchors[mark] = f"t{len(self._anchors)}"
        anchor = self._anchors[mark]
        return FittedText([(cut, "")] if html is None else [], anchor, note=self._note(text, longest), html=html)

    def timeline(self, row: ReportRow, draw: Callable[[Sequence[TimelineStep]], Markup]) -> Markup:
        """Draw the steps of a row as a timeline in place of its texts of steps; empty without steps or room."""
        texts = [part.text for part in row.parts if part.kind.startswith("step")]
        if not row.steps or self._spent >= self.limits.spare or any(text.length > LONGEST for text in texts):
            return Markup()
        html = draw(row.steps)
        added = len(html.encode("utf-8", "replace")) - sum(_size(text.shown) for text in texts)
        if self._spent + added > self.limits.spare:
            return Markup()
        self._spent += max(0, added)
        return html

    def _draw(self, text: str, sentences: Sequence[str]) -> Markup | None:
        """Draw a text while there is time and room for it; None for one that is shown unchanged."""
        if self._drawn > _MOST_DRAWN or self._spent >= self.limits.spare or not may_be_drawn(text):
            return None
        drawn = rich_text(text, sentences)
        added = len(drawn.html.encode("utf-8", "replace")) + _OF_A_DRAWING - _size(text)
        if not drawn.is_drawn or self._spent + added > self.limits.spare:
            return None
        self._drawn += len(text)
        self._spent += max(0, added)
        return drawn.html

    def _note(self, text: PageText, longest: int) -> str:
        return f"{min(longest, len(text.shown)):,} of {text.length:,} characters" if text.length > longest else ""
