"""Query strings of pages: parsed leniently, since people type them, and formatted."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, get_args
from urllib.parse import urlencode

from evalmark.core.values.score import Verdict
from evalmark.reports.text.change_words import CASE_WORDS
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES
from evalmark.storage.queries.filter import Order, ResultFilter
from evalmark.storage.queries.pages import FIRST_PAGE, PagePosition
from evalmark.storage.sessions.filter import LABEL_STATES, LabelState, SessionFilter
from evalmark.tracing.annotations.queue import MAX_ITEMS
from evalmark.tracing.annotations.samples import CHOSEN

from .paging import page_at, start_of
from .paths import decode_name, decode_query_name, encode_name, encode_query_name
from .search_query import (
    FLIPPED_WORDS,
    LABEL_WORDS,
    LONGEST,
    VERDICT_WORDS,
    SearchQuery,
    parse_search_query,
    short_number,
)

SIZES = (25, 50, 100)
"""Rows per page; the second is the default."""
_FULL_TEXT_SIZE = 10
"""The default with full texts, which 50 rows have no room for."""
_MOST_PAGES = 1_000_000
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
SESSION_LABELS: Mapping[LabelState, str] = {
    "up": "good",
    "down": "bad",
    "disputed": "disputed",
    "not": "not labelled",
}
"""Label filters of sessions."""
FLIPPED = {
    "any": f"{CASE_WORDS['worse']} or {CASE_WORDS['better']}",
    "worse": CASE_WORDS["worse"],
    "better": CASE_WORDS["better"],
}
"""Filters on changes since the previous run, and their names in forms."""
GRID_ROWS = {"": "all", "differ": "columns differ", "fails": "any fails"}
"""Which rows of a grid are shown, and their names on the page."""
GRID_DENSITIES = {"compact": "Compact", "": "Comfortable", "full": "Full text"}
GRID_ORDERS = {"": "worst first", "file": "as in the file"}
GRID_WIDTHS = {"narrow": "narrow", "": "fit the page", "wide": "wide"}
"""Widths of the columns of a grid."""
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
        return _fields(self._values(), without)

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
        tag=decode_query_name(_text(query, "tag")),
        text=_text(query, "text"),
        metric=metric if metric in metrics else "",
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        order=_ORDERS[order] if is_known else "position",
        sorted_metric=by if is_known else "",
        descending=sort.startswith("-"),
    )
    density = _one_of(DENSITIES, query.get("density", "")) or "comfortable"
    usual_size = min(usual_size, _FULL_TEXT_SIZE) if density == "full" else usual_size
    json_fields = [name for name in columns if name.startswith(("input.", "output.")) and len(name) <= _LONGEST_FIELD]
    usual_size = min(usual_size, SIZES[0]) if json_fields else usual_size
    size = parse_page(query.get("size", ""), usual_size)
    search = parse_search_query(query.get("q", ""), metrics)
    return CaseQuery(
        conditions=search.restrict(conditions),
        search=search,
        label=_one_of(LABELS, query.get("label", "")),
        flipped=_one_of(FLIPPED, query.get("flipped", "")),
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
        columns=_chosen(COLUMNS, columns),
        json_fields=tuple(dict.fromkeys(json_fields))[:_MOST_FIELDS],
        as_text=query.get("as", "") == "text",
    )


def _score_words(conditions: ResultFilter) -> str:
    """Describe the range of scores; empty without one."""
    ends = [f"from {short_number(conditions.low)}"] if conditions.low is not None else []
    ends += [f"to {short_number(conditions.high)}"] if conditions.high is not None else []
    return f"{conditions.metric or 'any score'} {' '.join(ends)}" if ends else ""


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
        return _fields(self._values(), without)

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
        text=_text(query, "text"),
        status=_text(query, "status"),
        group=_one_of(RUN_GROUPS, query.get("group", "")),
        columns=_chosen(RUN_COLUMNS, columns),
        page=parse_page(query.get("page", ""), 1),
    )


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
    went: str = ""
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
        run=_text(query, "run"),
        baseline=_text(query, "baseline"),
        went=_one_of(CASE_OUTCOMES, query.get("went", "")),
        page=parse_page(query.get("page", ""), 1),
        metrics=parse_page(query.get("metrics", ""), 0),
        **names,
    )


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
        kept = {name: value for name, value in self._values().items() if name not in ("q", "page") and value}
        return [
            (name, str(one)) for name, value in kept.items() for one in (value if isinstance(value, list) else [value])
        ]

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
        show=_one_of(GRID_ROWS, query.get("show", "")),
        first=parse_count(query.get("first", "")) or 0,
        differences=query.get("differences", "") == "1",
        density=_one_of(GRID_DENSITIES, query.get("density", "")),
        order=_one_of(GRID_ORDERS, query.get("order", "")),
        width=_one_of(GRID_WIDTHS, query.get("width", "")),
        column=parse_count(query.get("column", "")) or 0,
        page=parse_page(query.get("page", ""), 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Query of the list of sessions."""

    conditions: SessionFilter
    below: int | None = None
    above: int | None = None

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`; empty if there is nothing to say."""
        conditions = self.conditions
        values = {
            "project": encode_query_name(conditions.project),
            "text": conditions.text,
            "labelled": conditions.labelled,
            "failed": "1" if conditions.failed else "",
            "template": encode_query_name(conditions.template),
            "since": conditions.since,
            "until": conditions.until,
            **{
                f"{name}_{end}": "" if limit is None else short_number(limit)
                for name, limits in (("seconds", conditions.seconds), ("cost", conditions.cost))
                for end, limit in zip(("from", "to"), limits, strict=True)
            },
            "below": self.below,
            "above": self.above,
        }
        return query_string(values | changes)


def parse_session_query(query: Mapping[str, str]) -> SessionQuery:
    """Parse a query of the list of sessions, ignoring invalid parts."""
    below, above = (parse_count(query.get(name, "")) for name in ("below", "above"))
    conditions = SessionFilter(
        project=decode_query_name(_text(query, "project")),
        text=_text(query, "text"),
        labelled=next((one for one in LABEL_STATES if one == query.get("labelled", "").strip()), None),
        failed=query.get("failed", "") == "1",
        template=decode_query_name(_text(query, "template")),
        since=_date(query.get("since", "")),
        until=_date(query.get("until", "")),
        seconds=(_number(query.get("seconds_from", "")), _number(query.get("seconds_to", ""))),
        cost=(_number(query.get("cost_from", "")), _number(query.get("cost_to", ""))),
    )
    return SessionQuery(conditions=conditions, below=below, above=None if below is not None else above)


def query_string(values: Mapping[str, Any]) -> str:
    """Format a query string without empty values."""
    pairs = [(name, value) for name, value in values.items() if value not in ("", None, [])]
    return f"?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else ""


def _fields(values: Mapping[str, Any], without: Container[str]) -> list[tuple[str, str]]:
    kept = {name: value for name, value in values.items() if name not in without}
    return [
        (name, str(one))
        for name, value in kept.items()
        for one in (value if isinstance(value, list) else [value])
        if one not in ("", None)
    ]


def _chosen(names: Iterable[str], columns: Container[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not columns or name in columns)


def _one_of(words: Container[str], word: str) -> str:
    return word if word in words else ""


def _text(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "").strip()[:LONGEST]


def parse_count(text: str) -> int | None:
    """Parse a non-negative integer below 10**18; None if invalid.

    >>> parse_count("7"), parse_count("-7"), parse_count("9" * 30)
    (7, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_page(text: str, otherwise: int) -> int:
    """Parse a positive integer, at most a million; `otherwise` if invalid.

    >>> parse_page("7", 1), parse_page("0", 1), parse_page("9" * 5_000, 1)
    (7, 1, 1000000)
    """
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    # Python turns no text of thousands of digits into a number.
    return min(int(digits[:12]), _MOST_PAGES) if digits else otherwise


QUEUE = "/label/queue"
"""The path of the labelling queue."""


MAX_INSTRUCTIONS = 2_000
"""Most characters of the instructions of a labelling queue; they are part of its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQueueQuery:
    """Query of the labelling queue."""

    run: str = ""
    project: str = ""
    """One of the two is empty."""
    verdict: str = ""
    tag: str = ""
    n: int = 0
    """Random sample size; 0 for all."""
    seed: str = ""
    at: int = 0
    """Position of the output, from 1; 0 for the next unlabelled one."""
    start: int = 1
    """Position to search from."""
    sample: int = 0
    """The number of a recorded sample of the run; 0 for none."""
    by_verdict: str = ""
    """In a form: the metric whose passed and failed outputs are drawn in equal numbers."""
    how: str = ""
    """`near` or `judges` for outputs that were chosen by `metric`; else empty."""
    metric: str = ""
    instructions: str = ""
    """For everybody who labels, in the words of whoever shared the address."""

    @property
    def what(self) -> str:
        """The run or project as in a form; empty if neither is set."""
        kind = "run" if self.run else "project" if self.project else ""
        return f"{kind}:{encode_name(self.run or self.project)}" if kind else ""

    def string(self, **changes: Any) -> str:
        """Format the query string, without the position unless in `changes`."""
        values = {"what": self.what, "verdict": self.verdict, "tag": self.tag, "n": self.n or "", "seed": self.seed}
        values |= {"sample": self.sample or "", "how": self.how, "metric": self.metric}
        return query_string(values | {"instructions": self.instructions} | changes)


def parse_label_queue_query(query: Mapping[str, str]) -> LabelQueueQuery:
    """Parse a query or form of the labelling queue, ignoring invalid parts."""
    kind, _, name = query.get("what", "").partition(":")
    verdict = query.get("verdict", "")
    how = query.get("how", "") if kind == "run" and query.get("how", "") in CHOSEN else ""
    return LabelQueueQuery(
        run=decode_name(name) if kind == "run" else "",
        project=decode_name(name) if kind == "project" else "",
        verdict=verdict if kind == "run" and verdict in VERDICTS else "",
        tag=query.get("tag", "").strip()[:500] if kind == "run" else "",
        n=min(parse_page(query.get("n", ""), 0), MAX_ITEMS),
        seed=query.get("seed", "").strip()[:100],
        at=parse_page(query.get("at", ""), 0),
        start=parse_page(query.get("start", ""), 1),
        sample=parse_page(query.get("sample", ""), 0) if kind == "run" else 0,
        by_verdict=query.get("by_verdict", "").strip()[:500] if kind == "run" else "",
        how=how,
        metric=query.get("metric", "").strip()[:500] if how else "",
        instructions=query.get("instructions", "").replace("\r\n", "\n").strip()[:MAX_INSTRUCTIONS],
    )


def sample_queue(run: str, sample: int) -> str:
    """Return the address of the labelling queue of a recorded sample."""
    return QUEUE + LabelQueueQuery(run=run, sample=sample).string()
