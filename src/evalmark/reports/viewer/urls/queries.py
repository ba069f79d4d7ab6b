"""What an address asks for: read leniently, since a person may have typed it, and written back."""

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import urlencode

from evalmark.core.values.score import Verdict
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES
from evalmark.storage.queries.filter import Order, ResultFilter
from evalmark.storage.queries.pages import FIRST_PAGE, PagePosition
from evalmark.storage.sessions.filter import LABEL_STATES, LabelState, SessionFilter
from evalmark.tracing.annotations.queue import MAX_ITEMS

from .paging import page_at, start_of
from .paths import decode_name, decode_query_name, encode_name, encode_query_name

SIZES = (25, 50, 100)
"""Rows a page; the second one where nobody says."""
_MOST_PAGES = 1_000_000
_LONGEST = 500
"""Characters of a condition; nobody types more."""
LABELS = {
    "up": "good",
    "down": "bad",
    "disputed": "disputed",
    "none": "by nobody",
    "not-mine": "not by me",
}
"""How outputs may be labelled that an address asks for, and what a form calls it."""
SESSION_LABELS: Mapping[LabelState, str] = {
    "up": "good",
    "down": "bad",
    "disputed": "disputed",
    "not": "not labelled",
}
"""The same of answers of a session."""
FLIPPED = {"any": "worse or better", "worse": "worse", "better": "better"}
"""What may have become of a case since the run before, and what a form calls it."""
_ORDERS: Mapping[str, Order] = {name: name for name in get_args(Order)}
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


EVERYTHING = ResultFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuery:
    """Which cases of a run, on which page."""

    wanted: ResultFilter = EVERYTHING
    label: str = ""
    """One of `LABELS`; empty: whatever people say, or nothing."""
    flipped: str = ""
    """One of `FLIPPED`, against the run before; empty: whatever became of them."""
    at: PagePosition = FIRST_PAGE
    page: int = 1
    """Which one this is, as whoever came here has counted; where `at` says otherwise, that holds."""
    size: int = SIZES[1]
    metrics: int = 0
    """Which page of the metrics, counted from 1; 0: the one with the metric that rows are sorted or filtered by."""

    @property
    def place(self) -> PagePosition:
        """Where the page is: beside a result, else, as somebody may have typed it, by its number."""
        return self.at if self.at != FIRST_PAGE else PagePosition(place=self.start)

    @property
    def start(self) -> int:
        """How many rows stand before the page, as whoever came here has counted."""
        return start_of(self.page, self.size)

    def found_at(self, place: int | None) -> "CaseQuery":
        """The same where so many rows were found before the page; None: nobody has counted."""
        return self if place is None else replace(self, page=page_at(place, self.size))

    @property
    def sort(self) -> str:
        """By what rows are sorted, as an address says it; empty for the order of the run."""
        wanted = self.wanted
        name = wanted.order if wanted.order != "position" or wanted.descending else ""
        by = f":{wanted.sorted_metric}" if wanted.sorted_metric else ""
        return ("-" if wanted.descending else "") + name + by

    @property
    def is_filtered(self) -> bool:
        wanted = self.wanted
        said = wanted.verdicts or wanted.tag or wanted.text or self.label or self.flipped
        return bool(said or wanted.low is not None or wanted.high is not None)

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, with the question mark; empty where nothing is asked.

        With another `page`, it says where that one is, or it is the first one.
        """
        wanted = self.wanted
        at = FIRST_PAGE if "page" in changes else self.at
        said = {
            "verdict": list(wanted.verdicts),
            "tag": wanted.tag,
            "text": wanted.text,
            "metric": wanted.metric,
            "low": "" if wanted.low is None else f"{wanted.low:g}",
            "high": "" if wanted.high is None else f"{wanted.high:g}",
            "label": self.label,
            "flipped": self.flipped,
            "sort": self.sort,
            "size": self.size if self.size != SIZES[1] else "",
            "page": self.page if self.page != 1 else "",
            "after": at.after,
            "before": at.before,
            "stretch": at.stretch,
            "metrics": self.metrics or "",
        } | changes
        return query_string(said)

    def sorted_by(self, order: str, metric: str = "") -> str:
        """The address of the same rows sorted by something; the other way round where they are so already."""
        wanted = self.wanted
        is_so = self.direction(order, metric) != "none"
        changed = replace(
            wanted,
            order=_ORDERS[order],
            sorted_metric=metric,
            descending=not wanted.descending if is_so else order == "seconds",
        )
        return replace(self, wanted=changed, at=FIRST_PAGE, page=1).query()

    def direction(self, order: str, metric: str = "") -> str:
        """`ascending` or `descending` where rows are sorted so, else `none`: the values of `aria-sort`."""
        wanted = self.wanted
        if wanted.order != order or wanted.sorted_metric != metric:
            return "none"
        return "descending" if wanted.descending else "ascending"


def parse_case_query(query: Mapping[str, str], verdicts: list[str], metrics: list[str]) -> CaseQuery:
    """What the query of an address asks of a run; what makes no sense is left out."""
    sort = query.get("sort", "")
    order, _, by = sort.removeprefix("-").partition(":")
    is_known = order in _ORDERS and (by in metrics if order == "score" else not by)
    metric = query.get("metric", "")
    wanted = ResultFilter(
        verdicts=tuple(dict.fromkeys(name for name in VERDICTS if name in verdicts)),
        tag=_text(query, "tag"),
        text=_text(query, "text"),
        metric=metric if metric in metrics else "",
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        order=_ORDERS[order] if is_known else "position",
        sorted_metric=by if is_known else "",
        descending=sort.startswith("-"),
    )
    size = parse_page(query.get("size", ""), SIZES[1])
    return CaseQuery(
        wanted=wanted,
        label=_one_of(LABELS, query.get("label", "")),
        flipped=_one_of(FLIPPED, query.get("flipped", "")),
        at=PagePosition(
            after=parse_count(query.get("after", "")),
            before=parse_count(query.get("before", "")),
            stretch=parse_count(query.get("stretch", "")),
        ),
        page=parse_page(query.get("page", ""), 1),
        size=size if size in SIZES else SIZES[1],
        metrics=parse_page(query.get("metrics", ""), 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs, on which page."""

    text: str = ""
    status: str = ""
    page: int = 1

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, with the question mark; empty where nothing is asked."""
        return query_string(
            {"text": self.text, "status": self.status, "page": self.page if self.page != 1 else ""} | changes
        )


def parse_run_query(query: Mapping[str, str]) -> RunQuery:
    """What the query of an address asks of the list of runs."""
    return RunQuery(text=_text(query, "text"), status=_text(query, "status"), page=parse_page(query.get("page", ""), 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """Which two runs, and which of their cases."""

    run: str = ""
    """As on a command line: an id, the start of one, `last`."""
    baseline: str = ""
    """The same, or `last-green`; empty: the one that nobody has to name."""
    target: str = ""
    """Only this target of the run, held to `against` of the baseline; empty: all that both have."""
    against: str = ""
    metric: str = ""
    """By which cases are sorted and filtered; empty: whether they pass."""
    went: str = ""
    """Only cases that became `worse` or `better`, or stayed the `same`."""
    of: str = ""
    """Only cases of this target."""
    page: int = 1

    @property
    def targets(self) -> tuple[str, str] | None:
        """Two targets to compare; None: all that have a partner."""
        if not self.target and not self.against:
            return None
        return self.target or self.against, self.against or self.target

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, with the question mark; empty where nothing is asked."""
        said = {name: getattr(self, name) for name in self.__slots__}
        return query_string(said | {"page": self.page if self.page != 1 else ""} | changes)


def parse_comparison_query(query: Mapping[str, str]) -> ComparisonQuery:
    """What the query of an address asks of a comparison."""
    names = {name: query.get(name, "")[:_LONGEST] for name in ("target", "against", "metric", "of")}
    return ComparisonQuery(
        run=_text(query, "run"),
        baseline=_text(query, "baseline"),
        went=_one_of(CASE_OUTCOMES, query.get("went", "")),
        page=parse_page(query.get("page", ""), 1),
        **names,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Which sessions, on which page: those older than a number, or newer than one."""

    wanted: SessionFilter
    below: int | None = None
    above: int | None = None

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, with the question mark; empty where nothing is asked."""
        wanted = self.wanted
        said = {
            "project": encode_query_name(wanted.project),
            "text": wanted.text,
            "labelled": wanted.labelled,
            "failed": "1" if wanted.failed else "",
            "template": encode_query_name(wanted.template),
            "below": self.below,
            "above": self.above,
        }
        return query_string(said | changes)


def parse_session_query(query: Mapping[str, str]) -> SessionQuery:
    """What the query of an address asks of the list of sessions; what makes no sense is left out."""
    below, above = (parse_count(query.get(name, "")) for name in ("below", "above"))
    wanted = SessionFilter(
        project=decode_query_name(_text(query, "project")),
        text=_text(query, "text"),
        labelled=next((one for one in LABEL_STATES if one == query.get("labelled", "").strip()), None),
        failed=query.get("failed", "") == "1",
        template=decode_query_name(_text(query, "template")),
    )
    return SessionQuery(wanted=wanted, below=below, above=None if below is not None else above)


def query_string(said: Mapping[str, Any]) -> str:
    """The part of an address that says this, without what is empty."""
    pairs = [(name, value) for name, value in said.items() if value not in ("", None, [])]
    return f"?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else ""


def _one_of(words: Container[str], word: str) -> str:
    return word if word in words else ""


def _text(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "").strip()[:_LONGEST]


def parse_count(text: str) -> int | None:
    """A whole number that a store could count to; None where the text is none.

    >>> parse_count("7"), parse_count("-7"), parse_count("9" * 30)
    (7, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_page(text: str, otherwise: int) -> int:
    """A whole number above 0, and at most a million; `otherwise` where the text is none.

    >>> parse_page("7", 1), parse_page("0", 1), parse_page("9" * 5_000, 1)
    (7, 1, 1000000)
    """
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    # Python turns no text of thousands of digits into a number.
    return min(int(digits[:12]), _MOST_PAGES) if digits else otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQueueQuery:
    """Which outputs are to be labelled, and which of them is looked at."""

    run: str = ""
    project: str = ""
    """One of the two is empty."""
    verdict: str = ""
    tag: str = ""
    n: int = 0
    """So many, drawn at random; 0: all."""
    seed: str = ""
    at: int = 0
    """The place of the output, counted from 1; 0: the next without a label."""
    start: int = 1
    """From where on the next one is looked for."""

    @property
    def what(self) -> str:
        """The run or the project as a form names it; empty where neither is named."""
        kind = "run" if self.run else "project" if self.project else ""
        return f"{kind}:{encode_name(self.run or self.project)}" if kind else ""

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, without the place but where `changes` names one."""
        said = {"what": self.what, "verdict": self.verdict, "tag": self.tag, "n": self.n or "", "seed": self.seed}
        return query_string(said | changes)


def parse_label_queue_query(query: Mapping[str, str]) -> LabelQueueQuery:
    """What an address or a form asks for; what makes no sense is left out."""
    kind, _, name = query.get("what", "").partition(":")
    verdict = query.get("verdict", "")
    return LabelQueueQuery(
        run=decode_name(name) if kind == "run" else "",
        project=decode_name(name) if kind == "project" else "",
        verdict=verdict if kind == "run" and verdict in VERDICTS else "",
        tag=query.get("tag", "").strip()[:500] if kind == "run" else "",
        n=min(parse_page(query.get("n", ""), 0), MAX_ITEMS),
        seed=query.get("seed", "").strip()[:100],
        at=parse_page(query.get("at", ""), 0),
        start=parse_page(query.get("start", ""), 1),
    )
