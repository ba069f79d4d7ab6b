"""How many rows a page of a grid has, and how long its texts are, so that it loads at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from evalmark.core.text import one_line
from evalmark.reports.html.escaping import source_text
from evalmark.reports.html.markdown import plain_beginning
from evalmark.reports.html.rich_text import rich_text

from .reading_rows import fair_share

_PAGE = 148_000
"""Bytes of a page, by these estimates of its parts."""
_FRAME, _HEAD, _ROW, _CELL, _SCORE = 14_000, 900, 900, 850, 170
"""Bytes of a page without its table, of a column's head, of a row's, and of a cell and a score without their texts."""
_COMPACT_ROW, _COMPACT_CELL = 650, 900
_TYPICAL = {"compact": 120, "": 250, "full": 500}
"""Bytes of a text that the number of rows is computed for."""
_LONGEST = {"compact": 240, "": 700, "full": 8_000}
_SHORTEST = 60
_LEAST_ROWS, _MOST_ROWS = 4, 50

CellPlace = tuple[str, int]
"""A run and the number of its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellText:
    """The output of a cell."""

    html: str
    """Escaped where it is used, unless it is markup."""
    is_drawn: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBudget:
    """The size of a page of so many columns and scores.

    >>> [PageBudget(columns=n, scores=1, density="").rows for n in (1, 3, 6, 24)]
    [50, 27, 15, 4]
    """

    columns: int
    scores: int
    density: str

    @property
    def rows(self) -> int:
        """The number of cases on a page, which is the same for all pages."""
        row = self._row + self.columns * _TYPICAL[self.density]
        return max(_LEAST_ROWS, min(_MOST_ROWS, (_PAGE - _FRAME - self.columns * _HEAD) // row))

    @property
    def _row(self) -> int:
        """Bytes of a row without the texts of its cells."""
        if self.density == "compact":
            return _COMPACT_ROW + self.columns * _COMPACT_CELL
        return _ROW + self.columns * (_CELL + _SCORE * self.scores)

    def texts(self, outputs: Sequence[tuple[CellPlace, Any]], rows: int) -> Mapping[CellPlace, CellText]:
        """Draw the outputs of cells, all cut to the same length, so that together they keep to the budget."""
        budget = max(_SHORTEST * len(outputs), _PAGE - _FRAME - self.columns * _HEAD - rows * self._row)
        longest = _LONGEST[self.density]
        longest = min(longest, fair_share((min(longest, len(source_text(value))) for _, value in outputs), budget))
        while True:
            drawn = {place: self._drawn(value, longest) for place, value in outputs}
            size = sum(len(escape(text.html).encode("utf-8", "replace")) for text in drawn.values())
            if size <= budget or longest <= _SHORTEST:
                return drawn
            longest = max(_SHORTEST, min(longest * 9 // 10, longest * budget // size))  # much markup for little text

    def _drawn(self, value: Any, longest: int) -> CellText:
        if self.density == "compact":
            return CellText(html=one_line(plain_beginning(value, longest), longest))
        drawn = rich_text(value, longest=longest)
        return CellText(html=drawn.html, is_drawn=drawn.is_drawn, is_cut=drawn.is_cut)
