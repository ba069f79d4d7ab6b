"""The query of a run's cases."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from evalmark.core.values.score import Verdict
from evalmark.reports.text.change_words import CASE_WORDS
from evalmark.storage.queries.filter import Order, ResultFilter
from evalmark.storage.queries.pages import FIRST_PAGE, PagePosition

from .paging import page_at, start_of
from .parameters import (
    chosen_columns,
    hidden_fields,
    one_of,
    parse_count,
    parse_number,
    parse_page,
    parse_text,
    query_string,
)
from .paths import decode_query_name, encode_query_name
from .search_query import SearchQuery, parse_search_query
from .search_terms import FLIPPED_WORDS, LABEL_WORDS, VERDICT_WORDS, short_number

SIZES = (25, 50, 100)
"""Rows per page; the second is the default."""
_FULL_TEXT_SIZE = 10
"""The default with full texts, of which 50 would make too large a page."""
_MOST_FIELDS, _LONGEST_FIELD = 4, 80
"""Most fields of JSON that are columns, and the most characters of the name of one."""
LABELS = {
    "up": "good",
    "down": "bad",
    "disputed": "disputed",
    "none": "not labelled",
    "not-mine": "not by me",
}
"""Label filters and their names in forms."""
FLIPPED = {
    "any": f"{CASE_WORDS['worse']} or {CASE_WORDS['better']}",
    "worse": CASE_WORDS["worse"],
    "better": CASE_WORDS["better"],
}
"""Filters on changes since the previous run, and their names in forms."""
_ORDERS: Mapping[str, Order] = {name: name for name in get_args(Order)}
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
EVERYTHING = ResultFilter()
EVERY_CASE = SearchQuery()
_FILTERED_BY = ("q", "text", "verdict", "tag", "metric", "low", "high", "label", "flipped")
_PAGED_BY = ("page", "after", "before", "stretch")
DENSITIES = {"compact": "Compact", "comfortable": "Comfortable", "full": "Full text"}
"""How much of each case a run page shows, and its name; the second is the default."""
COLUMNS = {"output": "Output", "expected": "Expected", "scores": "Scores", "time": "Time", "label": "Label"}
"""Columns of cases beside the input, and their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuery:
    """Query of a run's cases."""

    conditions: ResultFilter = EVERYTHING
    """With the conditions of `search`."""
    search: SearchQuery = EVERY_CASE
    label: str = ""
    """One of `LABELS`; empty for all."""
    flipped: str = ""
    """One of `FLIPPED`, since the previous run; empty for all."""
    at: PagePosition = FIRST_PAGE
    page: int = 1
    """Page number; `at` takes precedence."""
    size: int = SIZES[1]
    usual_size: int = SIZES[1]
    """The size without one in the address."""
    metrics: int = 0
    """Page of metrics, from 1; 0 is the one with the sort or filter metric."""
    is_ordered: bool = False
    """Whether the address names the order; otherwise a run page shows the worst cases first."""
    density: str = "comfortable"
    """One of `DENSITIES`."""
    columns: tuple[str, ...] = tuple(COLUMNS)
    """Those of `COLUMNS` that are shown."""
    json_fields: tuple[str, ...] = ()
    """Fields of JSON inputs and outputs that are columns, such as `output.city`."""
    as_text: bool = False
    """Show texts as they were written, without drawing their Markdown or JSON."""
    is_searching: bool = False
    """Whether a pattern of `search` is still being searched; no case is listed then."""
    looked_up: Mapping[str, ResultFilter] = field(default_factory=dict)
    """The filters of the lookups of `search` that are known so far."""

    def look_up(self, found: Mapping[str, ResultFilter]) -> "CaseQuery":
        """Add the conditions of `search` whose lookups are known with these filters."""
        known = {**self.looked_up, **found}
        ready = [
            term
            for term in self.search.terms
            if term.lookups and term.lookups <= known.keys() and not term.lookups <= self.looked_up.keys()
        ]
        conditions = replace(self.conditions, also=(*self.conditions.also, *(term.filter(known) for term in ready)))
        return replace(self, conditions=conditions, looked_up=known)

    @property
    def changes(self) -> list[str]:
        """The names in `FLIPPED` that the conditions need; empty if they need no comparison with the previous run."""
        looked_up = [one.partition(":")[2] for one in sorted(self.search.lookups) if one.startswith("flipped:")]
        return [*([self.flipped] if self.flipped else []), *looked_up]

    @property
    def place(self) -> PagePosition:
        """Position of the page: next to a result, else by number."""
        return self.at if self.at != FIRST_PAGE else PagePosition(place=self.start)

    @property
    def start(self) -> int:
        """Rows before the page."""
        return start_of(self.page, self.size)

    def found_at(self, rows_before: int | None) -> "CaseQuery":
        """Set the page by the number of rows before it, or None if that is unknown."""
        return self if rows_before is None else replace(self, page=page_at(rows_before, self.size))

    @property
    def sort(self) -> str:
        """Sort order as in an address; empty for the default order."""
        conditions = self.conditions
        name = conditions.order if self.is_ordered else ""
        by = f":{conditions.sorted_metric}" if conditions.sorted_metric else ""
        return ("-" if conditions.descending else "") + name + by if name else ""

    @property
    def is_filtered(self) -> bool:
        conditions = self.conditions
        condition = conditions.verdicts or conditions.tag or conditions.text or self.label or self.flipped
        return bool(condition or self.search.text or conditions.low is not None or conditions.high is not None)

    @property
    def active_filters(self) -> list[tuple[str, str]]:
        """Each condition in plain words, and the query string without it."""
        conditions = self.conditions
        found: list[tuple[str, dict[str, Any]]] = []
        if conditions.verdicts:
            found.append((" or ".join(VERDICT_WORDS[one] for one in conditions.verdicts), {"verdict": []}))
        if conditions.tag:
            found.append((f"tagged {conditions.tag}", {"tag": ""}))
        if conditions.text:
            found.append((f"has “{conditions.text}”", {"text": ""}))
        if (score := _score_words(conditions)) != "":
            found.append((score, {"metric": "", "low": "", "high": ""}))
        if self.label:
            found.append((LABEL_WORDS[self.label], {"label": ""}))
        if self.flipped:
            found.append((FLIPPED_WORDS[self.flipped], {"flipped": ""}))
        found += [(term.words, {"q": self.search.without(at)}) for at, term in enumerate(self.search.terms)]
        return [(words, self.string(**change, page="")) for words, change in found]

    @property
    def other_values(self) -> list[tuple[str, str]]:
        """Parts of the query string that neither filter nor page: a form of filters sends them unchanged."""
        return self.fields((*_FILTERED_BY, *_PAGED_BY, "size"))

    @property
    def without_filters(self) -> str:
        """The query string without any filter."""
        return self.string(**dict.fromkeys((*_FILTERED_BY, *_PAGED_BY), ""))

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`; empty if there is nothing to say.

        A changed `page` resets the position unless given.
        """
        at = FIRST_PAGE if "page" in changes else self.at
        return query_string(replace(self, at=at)._values() | changes)

    def fields(self, without: Container[str]) -> list[tuple[str, str]]:
        """List the names and values of hidden fields that repeat the query in a form."""
        return hidden_fields(self._values(), without)

    def _values(self) -> dict[str, Any]:
        conditions, at = self.conditions, self.at
        return {
            "q": self.search.text,
            "verdict": list(conditions.verdicts),
            "tag": encode_query_name(conditions.tag),
            "text": conditions.text,
            "metric": conditions.metric,
            "low": "" if conditions.low is None else short_number(conditions.low),
            "high": "" if conditions.high is None else short_number(conditions.high),
            "label": self.label,
            "flipped": self.flipped,
            "sort": self.sort,
            "size": self.size if self.size != self.usual_size else "",
            "page": self.page if self.page != 1 else "",
            "after": at.after,
            "before": at.before,
            "stretch": at.index_range,
            "metrics": self.metrics or "",
            "density": self.density if self.density != "comfortable" else "",
            "columns": []
            if self.columns == tuple(COLUMNS) and not self.json_fields
            else ["input", *self.columns, *self.json_fields],
            "as": "text" if self.as_text else "",
        }

    def sorted_by(self, order: str, metric: str = "") -> str:
        """Format the query with another sort order, reversed if already sorted so."""
        conditions = self.conditions
        is_so = self.direction(order, metric) != "none"
        changed = replace(
            conditions,
            order=_ORDERS[order],
            sorted_metric=metric,
            descending=not conditions.descending if is_so else order == "seconds",
        )
        return replace(self, conditions=changed, at=FIRST_PAGE, page=1, is_ordered=True).string()

    def direction(self, order: str, metric: str = "") -> str:
        """Return the value of `aria-sort`: `ascending`, `descending` or `none`."""
        conditions = self.conditions
        if conditions.order != order or conditions.sorted_metric != metric:
            return "none"
        return "descending" if conditions.descending else "ascending"


def parse_case_query(
    query: Mapping[str, str],
    verdicts: list[str],
    metrics: list[str],
    columns: Sequence[str] = (),
    usual_size: int = SIZES[1],
) -> CaseQuery:
    """Parse a query of a run's cases, ignoring invalid parts; no `columns` are all of them."""
    sort = query.get("sort", "")
    order, _, by = sort.removeprefix("-").partition(":")
    is_known = order in _ORDERS and (by in metrics if order == "score" else not by)
    metric = query.get("metric", "")
    conditions = ResultFilter(
        verdicts=tuple(dict.fromkeys(name for name in VERDICTS if name in verdicts)),
        tag=decode_query_name(parse_text(query, "tag")),
        text=parse_text(query, "text"),
        metric=metric if metric in metrics else "",
        low=parse_number(query.get("low", "")),
        high=parse_number(query.get("high", "")),
        order=_ORDERS[order] if is_known else "position",
        sorted_metric=by if is_known else "",
        descending=sort.startswith("-"),
    )
    density = one_of(DENSITIES, query.get("density", "")) or "comfortable"
    usual_size = min(usual_size, _FULL_TEXT_SIZE) if density == "full" else usual_size
    json_fields = [name for name in columns if name.startswith(("input.", "output.")) and len(name) <= _LONGEST_FIELD]
    usual_size = min(usual_size, SIZES[0]) if json_fields else usual_size
    size = parse_page(query.get("size", ""), usual_size)
    search = parse_search_query(query.get("q", ""), metrics)
    return CaseQuery(
        conditions=search.restrict(conditions),
        search=search,
        label=one_of(LABELS, query.get("label", "")),
        flipped=one_of(FLIPPED, query.get("flipped", "")),
        at=PagePosition(
            after=parse_count(query.get("after", "")),
            before=parse_count(query.get("before", "")),
            index_range=parse_count(query.get("stretch", "")),
        ),
        page=parse_page(query.get("page", ""), 1),
        size=size if size in SIZES else usual_size,
        usual_size=usual_size,
        metrics=parse_page(query.get("metrics", ""), 0),
        is_ordered=is_known and bool(sort),
        density=density,
        columns=chosen_columns(COLUMNS, columns),
        json_fields=tuple(dict.fromkeys(json_fields))[:_MOST_FIELDS],
        as_text=query.get("as", "") == "text",
    )


def _score_words(conditions: ResultFilter) -> str:
    """Describe the range of scores; empty without one."""
    ends = [f"from {short_number(conditions.low)}"] if conditions.low is not None else []
    ends += [f"to {short_number(conditions.high)}"] if conditions.high is not None else []
    return f"{conditions.metric or 'any score'} {' '.join(ends)}" if ends else ""
