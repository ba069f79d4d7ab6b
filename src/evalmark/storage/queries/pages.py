"""Reads the results of a run a page at a time, in any order. The cost of a page does not depend on the size of the run."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple

from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Mode, Result, Trial, Verdict
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.field_specs import read_mode
from evalmark.storage.database.fields import from_sql, sql_text
from evalmark.storage.results.stored_results import stored_result

from .filter import ResultFilter, filter_condition
from .outlines import ResultOutline, read_outlines, read_output_hashes
from .pagination import DEFAULT_BUDGET, ScanBudget, ScanPosition, can_resume, find_leader, scan_rows, sort_rows
from .search import Candidates, SearchHits, count_rows, find_candidates, has_more_than
from .sorting import ResultQuery, build_query
from .trial_numbers import TrialNumbers, read_trial_numbers

_LARGE = 64_000
"""Characters of JSON in a column; of larger results, a page shows the beginning of the stored text."""
_BEGINNING = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedResult:
    """A result with its row number."""

    number: int
    verdict: Verdict
    result: Result
    is_cut: bool = False
    """Whether the result is too large for a page. `result` then holds only the beginning of input and output, and no
    scores.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One repeat of a case, with the results of all targets."""

    leader: int
    """The row number of the first matching result."""
    results: tuple[NumberedResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePosition:
    """The position of a page: after a result, before a result, or, with neither, at the start."""

    after: int | None = None
    before: int | None = None
    index_range: int | None = None
    """The number of the index range where a scan stopped; None for the position of the result itself."""
    place: int = 0
    """How many rows come before the page; known only for few rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """One page of matching rows."""

    rows: tuple[CaseRow, ...]
    total: int | None = None
    """The rows of all pages; None if unknown."""
    place: int | None = None
    """The position of the first row, from 0; None if unknown."""
    is_first: bool = True
    """Whether no rows come before."""
    is_last: bool = True
    """Whether no rows come after."""
    stopped_at: PagePosition | None = None
    """Where to continue a scan that ran out of time."""
    results_read: int = 0
    """How many results were read one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNeighbours:
    """The rows before and after a row, by their leaders."""

    before: int | None = None
    after: int | None = None
    is_first: bool = True
    """Whether there is certainly no row before; False if the scan ran out of time."""
    is_last: bool = True

    @property
    def is_unfinished(self) -> bool:
        """Whether a scan ran out of time."""
        return (self.before is None and not self.is_first) or (self.after is None and not self.is_last)


FIRST_PAGE = PagePosition()


class TargetCase(NamedTuple):
    """A case on one target, in one mode."""

    dataset: str
    case: str
    target: str
    mode: Mode = "single"


class ResultBrowser:
    """Reads the results of one run, from any thread. `Store.browse` creates it; close it after use."""

    def __init__(self, db: Connection, path: StoreLocation, run: int, budget: ScanBudget = DEFAULT_BUDGET) -> None:
        self._db, self._path, self._run, self._pace = db, path, run, budget
        self._lock = Lock()
        self._totals: dict[ResultFilter, tuple[tuple[int, str], int]] = {}
        self._counted: tuple[tuple[int, str], Mapping[Verdict, int]] | None = None
        self._trials: tuple[tuple[int, str], TrialNumbers] | None = None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()

    def verdicts(self) -> Mapping[Verdict, int]:
        """Return the number of trials with each verdict."""
        with self._reading():
            return self._verdicts(self._pass())

    def page(
        self, filters: ResultFilter, at: PagePosition = FIRST_PAGE, limit: int = 50, known: SearchHits | None = None
    ) -> ResultPage:
        """Return a page of at most `limit` rows; `known` is the result of `Store.search` with the same filter."""
        query = build_query(self._run, filters)
        with self._reading():
            several = find_candidates(self._db, self._run, filters, self._pace, known)
            if several is not None:
                return self._sorted_page(query, several, at, limit)
            found = self._scanned_page(query, at, limit)
            if found.is_first and found.is_last and found.stopped_at is None:
                return replace(found, total=len(found.rows))
            return replace(found, total=self._total(filters) if known is None else known.rows)

    def neighbours(self, filters: ResultFilter, number: int, known: SearchHits | None = None) -> RowNeighbours:
        """Return the rows before and after the row of a result, which need not match the filter."""
        query = build_query(self._run, filters)
        with self._reading():
            several = find_candidates(self._db, self._run, filters, self._pace, known)
            if several is not None:
                return self._sorted_neighbours(query, several, number)
            first = find_leader(self._db, query, number)
            start = ScanPosition(number if first is None else first[0])
            before, after = (scan_rows(self._db, query, start, 1, self._pace, backwards=way) for way in (True, False))
            return RowNeighbours(
                before=before.leaders[0] if before.leaders else None,
                after=after.leaders[0] if after.leaders else None,
                is_first=not before.leaders and before.stopped_at is None,
                is_last=not after.leaders and after.stopped_at is None,
            )

    def result(self, number: int) -> Result | None:
        """Return a complete result; None if the run has no result with this number."""
        with self._reading():
            sql = "select 1 from result where number = ? and run = ? and pass > 0"
            if self._db.execute(sql, (number, self._run)).fetchone() is None:
                return None
            return stored_result(self._db, self._path, self._run, number)

    def results_of_same_case(self, number: int) -> list[NumberedResult]:
        """Return all results of the same case: other targets, modes and repeats, and the result itself."""
        sql = """
            select o.number from result r join result o
            on o.run = r.run and o.dataset = r.dataset and o.case_id = r.case_id and o.pass > 0
            where r.number = ? order by o.repeat, o.target, o.mode limit 200
        """
        with self._reading():
            rows: list[Any] = self._db.execute(sql, (number,)).fetchall()
            return [self._numbered_result(found) for (found,) in rows]

    def trials(self) -> TrialNumbers:
        """Return the numbers of all results by trial id, including results that no longer belong to the run."""
        with self._reading():
            at = self._pass()
            if self._trials is None or not _is_finished(at) or self._trials[0] != at:
                self._trials = at, read_trial_numbers(self._db, self._run)
            return self._trials[1]

    def matching_numbers(self, filters: ResultFilter) -> list[int]:
        """Return the numbers of all matching results."""
        query = filter_condition(self._run, filters)
        with self._reading():
            every = self._db.execute(f"select r.number from result r where {query.conditions}", query.parameters)  # noqa: S608
            return [int(number) for (number,) in every]

    def numbers_with_output(self, filters: ResultFilter) -> list[int]:
        """Return the numbers of all matching results that have an output."""
        query = filter_condition(self._run, filters)
        # An index lists the results with errors, so only their outputs are read.
        broken = "r.run = ? and r.pass > 0 and r.verdict = 'error' and json_extract(r.output, '$.error') is not null"
        with self._reading():
            every = self._db.execute(f"select r.number from result r where {query.conditions}", query.parameters)  # noqa: S608
            gone = self._db.execute(f"select r.number from result r where {broken}", (self._run,))  # noqa: S608
            return list({int(number) for (number,) in every} - {int(number) for (number,) in gone})

    def nearest_scores(self, metric: str, value: float, limit: int) -> list[int]:
        """Return the numbers of the results whose score by a metric is the closest to a value, in random order among equals.

        After a run was resumed, some of these scores may be earlier ones of a result.
        """
        return self._by_scores((metric,), "count(*) > 0", "min(abs(c.value - ?))", (value,), limit)

    def widest_scores(self, metrics: Iterable[str], limit: int) -> list[int]:
        """Return the numbers of the results whose scores by these metrics differ most; see `nearest_scores`."""
        return self._by_scores(tuple(metrics), "min(c.value) < max(c.value)", "min(c.value) - max(c.value)", (), limit)

    def _by_scores(
        self, metrics: tuple[str, ...], condition: str, order: str, parameters: tuple[float, ...], limit: int
    ) -> list[int]:
        sql = f"""
            select c.result from scored c, result r
            where c.run = ? and c.metric in ({", ".join("?" * len(metrics))}) and r.number = c.result and r.pass > 0
            group by c.result having {condition} order by {order}, c.result * 40503 % 65536, c.result limit ?
        """  # noqa: S608  texts of ours
        with self._reading():
            rows = self._db.execute(sql, (self._run, *map(sql_text, metrics), *parameters, limit)).fetchall()
            return [int(number) for (number,) in rows]

    def numbers(self, cases: Iterable[TargetCase]) -> list[tuple[int, ...]]:
        """Return the row numbers of each case's results, by repeat."""
        with self._reading():
            return [self._numbers_of(case) for case in cases]

    def results(self, numbers: Iterable[int]) -> list[NumberedResult]:
        """Return the results with these row numbers."""
        with self._reading():
            return [self._numbered_result(number) for number in numbers]

    def outlines(self) -> list[ResultOutline]:
        """Return where each result belongs, and its verdict, without its texts."""
        with self._reading():
            return read_outlines(self._db, self._run)

    def output_hashes(self) -> Mapping[int, int]:
        """Return a hash of the output of each result, by row number."""
        with self._reading():
            return read_output_hashes(self._db, self._run)

    def results_of_cases(self, cases: Iterable[TargetCase]) -> list[tuple[NumberedResult, ...]]:
        """Return the results of each case, by repeat."""
        with self._reading():
            return [tuple(self._numbered_result(number) for number in self._numbers_of(case)) for case in cases]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, store_errors(self._path), self._db:  # a transaction, so that a page shows one state
            yield

    def _pass(self) -> tuple[int, str]:
        row: Any = self._db.execute("select pass, status from run where number = ?", (self._run,)).fetchone()
        return row or (0, "gone")

    def _sorted_page(self, query: ResultQuery, several: Candidates, at: PagePosition, limit: int) -> ResultPage:
        """Return a page of few rows, which are sorted in memory."""
        number = at.before if at.after is None else at.after
        start = None if number is None else ScanPosition(number, at.index_range)
        every, place, is_among_them = sort_rows(self._db, query, several.numbers, start)
        first = max(0, min(at.place, (len(every) - 1) // limit * limit))
        if place is not None:
            first = place + is_among_them if at.after is not None else max(0, place - limit)
        last = first + limit
        return ResultPage(
            rows=self._rows(every[first:last]),
            total=len(every),
            place=first,
            is_first=first == 0,
            is_last=last >= len(every),
        )

    def _sorted_neighbours(self, query: ResultQuery, several: Candidates, number: int) -> RowNeighbours:
        every, place, is_among_them = sort_rows(self._db, query, several.numbers, ScanPosition(number))
        if place is None:
            return RowNeighbours()
        after = place + is_among_them
        return RowNeighbours(
            before=every[place - 1] if place else None,
            after=every[after] if after < len(every) else None,
            is_first=place == 0,
            is_last=after >= len(every),
        )

    def _scanned_page(self, query: ResultQuery, at: PagePosition, limit: int) -> ResultPage:
        """Return a page of many rows, found along an index. One row more than shown tells whether there are others."""
        if at.before is not None:  # close to the start, show the first page
            spot = ScanPosition(at.before, at.index_range)
            back = scan_rows(self._db, query, spot, limit + 1, self._pace, backwards=True)
            if len(back.leaders) > limit or back.stopped_at is not None:
                stopped_at = (
                    None
                    if back.stopped_at is None
                    else PagePosition(before=back.stopped_at.number, index_range=back.stopped_at.index_range)
                )
                rows = self._rows(back.leaders[:limit][::-1])
                return ResultPage(
                    rows=rows, is_first=False, is_last=False, stopped_at=stopped_at, results_read=back.results_read
                )
        after = None if at.after is None else ScanPosition(at.after, at.index_range)
        after = after if after is not None and can_resume(self._db, query, after) else None
        way = scan_rows(self._db, query, after, limit + 1, self._pace)
        return ResultPage(
            rows=self._rows(way.leaders[:limit]),
            place=0 if after is None else None,
            is_first=after is None,
            is_last=len(way.leaders) <= limit and way.stopped_at is None,
            stopped_at=None
            if way.stopped_at is None
            else PagePosition(after=way.stopped_at.number, index_range=way.stopped_at.index_range),
            results_read=way.results_read,
        )

    def _total(self, filters: ResultFilter) -> int | None:
        """Return the number of rows if an index can count them quickly; cached for a finished run."""
        every = ResultFilter(verdicts=filters.verdicts)
        if replace(filters, verdicts=(), order="position", sorted_metric="", descending=False) != ResultFilter():
            return None
        at = self._pass()
        if (had := self._totals.get(every)) is not None and had[0] == at and _is_finished(at):
            return had[1]
        if has_more_than(self._db, self._run, every, self._pace.counted):
            return None
        self._totals[every] = at, count_rows(self._db, self._run, every)
        return self._totals[every][1]

    def _verdicts(self, at: tuple[int, str]) -> Mapping[Verdict, int]:
        if self._counted is None or not _is_finished(at) or self._counted[0] != at:
            sql = "select verdict, count(*) from result where run = ? and pass > 0 group by verdict"
            self._counted = at, Counter(dict(self._db.execute(sql, (self._run,))))
        return self._counted[1]

    def _rows(self, leaders: Iterable[int]) -> tuple[CaseRow, ...]:
        sql = """
            select r.number from result o join result r
            on r.run = o.run and r.source = o.source and r.dataset = o.dataset and r.position = o.position
            and r.repeat = o.repeat and r.pass > 0
            where o.number = ? order by r.target, r.mode, r.number
        """
        rows = ((leader, self._db.execute(sql, (leader,)).fetchall()) for leader in leaders)
        return tuple(
            CaseRow(leader=leader, results=tuple(self._numbered_result(number) for (number,) in several))
            for leader, several in rows
        )

    def _numbers_of(self, case: TargetCase) -> tuple[int, ...]:
        sql = """
            select number from result
            where run = ? and dataset = ? and case_id = ? and target = ? and mode = ? and pass > 0 order by repeat, number
        """
        parameters = (self._run, *map(sql_text, case))
        return tuple(int(number) for (number,) in self._db.execute(sql, parameters).fetchall())

    def _numbered_result(self, number: int) -> NumberedResult:
        sql = "select verdict, max(length(content), length(output), length(scores)) from result where number = ?"
        row: Any = self._db.execute(sql, (number,)).fetchone()
        verdict, length = row
        whole = stored_result(self._db, self._path, self._run, number) if length <= _LARGE else None
        if whole is None:
            return NumberedResult(number=number, verdict=verdict, result=self._beginning(number), is_cut=True)
        return NumberedResult(number=number, verdict=verdict, result=whole)

    def _beginning(self, number: int) -> Result:
        sql = f"""
            select dataset, position, repeat, target, mode, case_id, seconds, json_extract(output, '$.error'),
            substr(content, 1, {_BEGINNING}), substr(output, 1, {_BEGINNING}) from result where number = ?
        """  # noqa: S608  numbers of ours
        row: Any = self._db.execute(sql, (number,)).fetchone()
        dataset, position, repeat, target, mode, case_id, seconds, error, content, output = row
        return Result(
            trial=Trial(
                case=Case(id=from_sql(case_id), input=content),
                dataset=from_sql(dataset),
                target=from_sql(target),
                position=position,
                repeat=repeat,
                mode=read_mode(mode),
            ),
            output=Output(value=output, error=error, seconds=seconds),
        )


def _is_finished(at: tuple[int, str]) -> bool:
    """Return whether the run is finished, so that counts stay valid."""
    return at[1] not in ("running", "gone")
