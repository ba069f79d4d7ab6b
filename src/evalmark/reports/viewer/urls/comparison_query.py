"""The query of a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES

from .parameters import one_of, parse_page, parse_text, query_string
from .search_query import LONGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """Query of a comparison."""

    run: str = ""
    """An id, a prefix of one, or `last`."""
    baseline: str = ""
    """The same, or `last-green`; empty for the default baseline."""
    target: str = ""
    """Target of the run to compare with `against` of the baseline; empty for all."""
    against: str = ""
    metric: str = ""
    """Metric to sort and filter by; empty for pass or fail."""
    outcome: str = ""
    """Only cases that became `worse` or `better`, or stayed the `same`."""
    of: str = ""
    """Only cases of this target."""
    page: int = 1
    metrics: int = 0
    """Page of metrics, from 1; 0 is the one with the metric to sort by."""

    @property
    def targets(self) -> tuple[str, str] | None:
        """Two targets to compare; None for all common ones."""
        if not self.target and not self.against:
            return None
        return self.target or self.against, self.against or self.target

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`; empty if there is nothing to say."""
        values = {name: getattr(self, name) for name in self.__slots__}
        pages = {"page": self.page if self.page != 1 else "", "metrics": self.metrics or ""}
        return query_string(values | pages | changes)


def parse_comparison_query(query: Mapping[str, str]) -> ComparisonQuery:
    """Parse a query of a comparison."""
    names = {name: query.get(name, "")[:LONGEST] for name in ("target", "against", "metric", "of")}
    return ComparisonQuery(
        run=parse_text(query, "run"),
        baseline=parse_text(query, "baseline"),
        outcome=one_of(CASE_OUTCOMES, query.get("outcome", "")),
        page=parse_page(query.get("page", ""), 1),
        metrics=parse_page(query.get("metrics", ""), 0),
        **names,
    )
