"""The query of a grid of cases and targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .parameters import hidden_fields, one_of, parse_count, parse_page, query_string
from .search_query import LONGEST

GRID_ROWS = {"": "all", "differ": "columns differ", "fails": "any fails"}
"""Which rows of a grid are shown, and their names on the page."""
GRID_DENSITIES = {"compact": "Compact", "": "Comfortable", "full": "Full text"}
GRID_ORDERS = {"": "worst first", "file": "as in the file"}
GRID_WIDTHS = {"narrow": "narrow", "": "fit the page", "wide": "wide"}
"""Widths of the columns of a grid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridQuery:
    """Query of a grid of cases and targets."""

    runs: tuple[str, ...] = ()
    """Ids, beginnings of ids, or `last`, in the order of the columns."""
    alone: bool = False
    """Whether a single run is shown without the others of its set."""
    text: str = ""
    """A query of `search_query` on the outputs; empty for all."""
    show: str = ""
    """One of `GRID_ROWS`."""
    first: int = 0
    """The column that comes first, by its number without this choice."""
    differences: bool = False
    """Whether each output is shown by its difference from the first column."""
    density: str = ""
    """One of `GRID_DENSITIES`."""
    order: str = ""
    """One of `GRID_ORDERS`."""
    width: str = ""
    """One of `GRID_WIDTHS`."""
    column: int = 0
    """The column that a narrow screen shows, by its number in the shown order."""
    page: int = 1

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`."""
        return query_string(self._values() | changes)

    @property
    def other_values(self) -> list[tuple[str, str]]:
        """What a form with a query repeats in hidden fields: all but the query and the page."""
        return hidden_fields(self._values(), ("q", "page"))

    def _values(self) -> dict[str, Any]:
        return {
            "run": list(self.runs),
            "q": self.text,
            "alone": "1" if self.alone else "",
            "show": self.show,
            "first": self.first or "",
            "differences": "1" if self.differences else "",
            "density": self.density,
            "order": self.order,
            "width": self.width,
            "column": self.column or "",
            "page": self.page if self.page != 1 else "",
        }


def parse_grid_query(query: Mapping[str, str], runs: Sequence[str]) -> GridQuery:
    """Parse a query of a grid; `runs` are the references of all its `run` and `pick` parameters."""
    return GridQuery(
        runs=tuple(dict.fromkeys(run.strip()[:LONGEST] for run in runs if run.strip())),
        text=query.get("q", "").strip()[: LONGEST + 1],
        alone=query.get("alone", "") == "1",
        show=one_of(GRID_ROWS, query.get("show", "")),
        first=parse_count(query.get("first", "")) or 0,
        differences=query.get("differences", "") == "1",
        density=one_of(GRID_DENSITIES, query.get("density", "")),
        order=one_of(GRID_ORDERS, query.get("order", "")),
        width=one_of(GRID_WIDTHS, query.get("width", "")),
        column=parse_count(query.get("column", "")) or 0,
        page=parse_page(query.get("page", ""), 1),
    )
