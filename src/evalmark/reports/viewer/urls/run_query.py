"""The query of the list of runs."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from .parameters import chosen_columns, hidden_fields, one_of, parse_page, parse_text, query_string

RUN_COLUMNS = {
    "dataset": "Dataset",
    "models": "Models",
    "trials": "Trials",
    "verdict": "Verdict",
    "change": "Since the previous run",
    "cost": "Cost",
    "time": "Time",
}
"""Columns of the list of runs beside the run and its pass rate, and their names."""
RUN_GROUPS = {"": "none", "suite": "suite", "target": "target", "model": "model", "tags": "tags"}
"""What runs of the list are grouped by, and its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Query of the list of runs."""

    text: str = ""
    status: str = ""
    group: str = ""
    """One of `RUN_GROUPS`."""
    columns: tuple[str, ...] = tuple(RUN_COLUMNS)
    """Those of `RUN_COLUMNS` that are shown."""
    page: int = 1

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`; empty if there is nothing to say."""
        return query_string(self._values() | changes)

    def fields(self, *without: str) -> list[tuple[str, str]]:
        """List the names and values of hidden fields that repeat the query in a form."""
        return hidden_fields(self._values(), without)

    def _values(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "status": self.status,
            "group": self.group,
            "columns": [] if self.columns == tuple(RUN_COLUMNS) else ["run", *self.columns],
            "page": self.page if self.page != 1 else "",
        }


def parse_run_query(query: Mapping[str, str], columns: Container[str] = ()) -> RunQuery:
    """Parse a query of the list of runs; no `columns` are all of them."""
    return RunQuery(
        text=parse_text(query, "text"),
        status=parse_text(query, "status"),
        group=one_of(RUN_GROUPS, query.get("group", "")),
        columns=chosen_columns(RUN_COLUMNS, columns),
        page=parse_page(query.get("page", ""), 1),
    )
