"""Finds rows of a run from a given position on: along an index, or, among few results, by sorting them.

A row is one repeat of a case with the results of all targets. Its leader is its first matching result, which gives
the row its position and its number.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalmark.storage.database.connection import Connection

from .filter import SqlCondition
from .sorting import IndexRange, ResultQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanBudget:
    """Limits for a scan of results that no index can narrow down."""

    few: int = 5_000
    """Up to this many results are all read and sorted; in more, matches are found along an index."""
    least: int = 200
    """Results that are read regardless of the time."""
    patience: float = 0.05
    """Seconds, after which the page shows what was found so far."""
    first: int = 25
    """Results that the first statement reads."""
    most: int = 10_000
    """Results that one statement reads at most."""
    step: float = 0.01
    """Seconds that one statement should take, so that the time is checked often."""
    counted: int = 100_000
    """Trials that an index may count while a page waits."""


DEFAULT_BUDGET = ScanBudget()


class ScanPosition(NamedTuple):
    """The position of a result, at which a scan starts or has stopped."""

    number: int
    index_range: int | None = None
    """The number of the index range, from 0; None: the range that the result belongs to."""


class ScanResult(NamedTuple):
    """The result of a scan."""

    leaders: list[int]
    """The leaders found, in the order of the scan."""
    stopped_at: ScanPosition | None
    """The result at which the scan ran out of time; None if it was completed."""
    results_read: int
    """How many results were read."""


def scan_rows(
    db: Connection,
    query: ResultQuery,
    start: ScanPosition | None,
    most: int,
    budget: ScanBudget,
    *,
    backwards: bool = False,
) -> ScanResult:
    """Return the next rows after a position, or before it, until the time is up.

    Without `start`, the scan begins at the first row, or backwards at the last one. A result that does not belong
    to the order finds nothing.
    """
    found: list[int] = []
    results_read, end = 0, time.monotonic() + budget.patience
    for index, key in _ranges_from(db, query, start, backwards=backwards):
        index_range = query.index_ranges[index]
        for batch in _batches(db, query, index_range, key, budget, backwards=backwards):
            results_read += batch.size
            for number, value in batch.matches:
                if _is_leader(db, query, index_range, number, value):
                    found.append(number)
                    if len(found) == most:
                        return ScanResult(found, None, results_read)
            if results_read >= budget.least and time.monotonic() > end:
                stopped_at = _last_in_place(db, index_range, batch)
                if stopped_at is not None:
                    return ScanResult(found, ScanPosition(stopped_at, index), results_read)
    return ScanResult(found, None, results_read)


def can_resume(db: Connection, query: ResultQuery, spot: ScanPosition) -> bool:
    """Return whether a scan can continue from this position."""
    return next(_ranges_from(db, query, spot, backwards=False), None) is not None


def _ranges_from(
    db: Connection, query: ResultQuery, start: ScanPosition | None, *, backwards: bool
) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
    """Yield the index ranges to scan, and the key to start from in the first one."""
    has_begun = start is None
    indices = range(len(query.index_ranges))
    for index in reversed(indices) if backwards else indices:
        key = None if has_begun or start is None else _key(db, query, index, start)
        has_begun = has_begun or key is not None
        if has_begun:
            yield index, key


def _key(db: Connection, query: ResultQuery, index: int, spot: ScanPosition) -> tuple[Any, ...] | None:
    """Return the key of a result in an index range; None if it is not in it."""
    if spot.index_range not in (None, index):
        return None
    index_range = query.index_ranges[index]
    columns: tuple[str, ...] = index_range.key
    parameters: tuple[Any, ...] = ()
    if index_range.place is not None:
        columns, parameters = (index_range.place.conditions, "r.number"), index_range.place.parameters
    sql = f"select {', '.join(columns)} from result r where r.number = ? and r.run = ? and r.pass > 0"  # noqa: S608  columns
    parameters = (*parameters, spot.number, query.run)
    if spot.index_range is None and index_range.membership:
        sql, parameters = f"{sql} and {index_range.membership}", (*parameters, *index_range.membership_parameters)
    found: tuple[Any, ...] | None = db.execute(sql, parameters).fetchone()
    return None if found is None or found[0] is None else found


class _ScannedBatch(NamedTuple):
    """Consecutive results of an index range."""

    size: int
    matches: list[tuple[int, Any]]
    """The row number and the first column of the key of each result that matches."""
    source: SqlCondition
    """The rest of a statement that selects the results."""
    reverse: str
    """The order with the last result first."""


def _batches(
    db: Connection,
    query: ResultQuery,
    index_range: IndexRange,
    key: tuple[Any, ...] | None,
    budget: ScanBudget,
    *,
    backwards: bool,
) -> Iterator[_ScannedBatch]:
    """Yield the results of an index range in batches, so that each statement is short.

    An index alone tells where a batch ends, so only results that match become Python values.
    """
    ways = ("desc", "asc") if query.descending != backwards else ("asc", "desc")
    after, up_to = ("<", ">=") if query.descending != backwards else (">", "<=")
    columns = ", ".join(index_range.key)
    bound = f"({columns}) {{}} ({', '.join('?' * len(index_range.key))})"
    order, reverse = (", ".join(f"{column} {way}" for column in index_range.key) for way in ways)
    besides = f" and {index_range.extra_condition}" if index_range.extra_condition else ""
    match = SqlCondition(
        f"({query.query.conditions}{besides})", (*query.query.parameters, *index_range.extra_parameters)
    )
    size = budget.first
    while index_range.can_match:
        began = time.perf_counter()
        source = f"from {index_range.tables} where {index_range.condition}"
        given = (*index_range.parameters, *(key or ()))
        if key is not None:
            source = f"{source} and {bound.format(after)}"
        end = f"select {columns} {source} order by {order} limit 1 offset ?"
        last: tuple[Any, ...] | None = db.execute(end, (*given, size - 1)).fetchone()
        if last is not None:
            source, given = f"{source} and {bound.format(up_to)}", (*given, *last)
        matches = f"select {columns}, r.number {source} and {match.conditions} order by {order} limit ?"
        rows = db.execute(matches, (*given, *match.parameters, size)).fetchall()
        yield _ScannedBatch(
            size=size if last is not None else int(db.execute(f"select count(*) {source}", given).get),
            matches=[(row[-1], row[0]) for row in rows],
            source=SqlCondition(source, given),
            reverse=reverse,
        )
        if last is None:
            return
        key = last
        in_time = size * budget.step / max(time.perf_counter() - began, 1e-6)
        size = max(budget.first, min(budget.most, size * 4, int(in_time)))


def _is_leader(db: Connection, query: ResultQuery, index_range: IndexRange, number: int, value: Any) -> bool:
    """Return whether a result leads its row; a range by score may hold outdated values."""
    found = find_leader(db, query, number)
    return found is not None and found[0] == number and (index_range.place is None or found[1] == value)


def _last_in_place(db: Connection, index_range: IndexRange, batch: _ScannedBatch) -> int | None:
    """Return the number of the last result of a batch that is still at its position in the index; None if none is."""
    source, parameters = batch.source.conditions, batch.source.parameters
    if index_range.place is not None:
        source = f"{source} and {index_range.key[0]} = {index_range.place.conditions}"
        parameters = (*parameters, *index_range.place.parameters)
    number: int | None = db.execute(f"select r.number {source} order by {batch.reverse} limit 1", parameters).get
    return number


def find_leader(db: Connection, query: ResultQuery, number: int) -> tuple[int, float | None] | None:
    """Return the leader of a result's row, and its score if rows are sorted by score; None if no result matches."""
    value, value_given = _value(query)
    sql = f"""
        with r as materialized (
            select {_COLUMNS}, {value} as v from result o join result r
            on r.run = o.run and r.source = o.source and r.dataset = o.dataset and r.position = o.position
            and r.repeat = o.repeat and r.pass > 0
            where o.number = ? and {query.query.conditions}
        ) select r.number, r.v from r order by {_sorting(query)} limit 1
    """  # noqa: S608  columns and parameters
    found: tuple[int, float | None] | None = db.execute(sql, (*value_given, number, *query.query.parameters)).fetchone()
    return found


class SortedRows(NamedTuple):
    """All matching rows, if they are few."""

    leaders: list[int]
    place: int | None
    """How many rows come before the given position; None if it does not exist."""
    is_among_them: bool
    """Whether the row at this position matches."""


def sort_rows(db: Connection, query: ResultQuery, numbers: list[int] | None, start: ScanPosition | None) -> SortedRows:
    """Return all matching rows among some results, or in a small run, and the place of a position.

    With an index range, the position is that of the result itself, where a scan has stopped, else that of its row.
    """
    of = None if start is None else start.number
    value, value_given = _value(query)
    parameters = (*query.query.parameters, *value_given, query.run)
    part = "r.run = ? and r.pass > 0"
    if numbers is not None:  # found by row numbers, not by the index of runs
        part = f"+r.run = ? and +r.pass > 0 and r.number in ({', '.join('?' * (len(numbers) + 1))})"
        parameters = (*parameters, *numbers, of or 0)
    # a scan for results without a score may have stopped at one with a score
    last = len(query.index_ranges) - 1
    stopped = query.index_ranges[last].extra_condition and start is not None and start.index_range == last
    mark = f"union all select {_COLUMNS}, false, null from every r where r.number = ? and r.v is not null"  # noqa: S608  columns
    sql = f"""
        with every as materialized (
            select {_COLUMNS}, ({query.query.conditions}) as hit, {value} as v from result r where {part}
        ), r as (select * from every {mark if stopped else ""})
        select r.number, r.source, r.dataset, r.position, r.repeat, r.hit from r order by {_sorting(query)}
    """  # noqa: S608  columns and parameters
    rows = db.execute(sql, (*parameters, of) if stopped else parameters).fetchall()
    leaders: dict[tuple[Any, ...], int] = {}
    own: tuple[Any, ...] | None = None
    before = 0
    for number, *row, is_hit in rows:
        row_of = tuple(row)
        if number == of:
            own, before = row_of, len(leaders)
        if is_hit:
            leaders.setdefault(row_of, number)
    every = list(leaders.values())
    if own is None:
        return SortedRows(every, None, False)
    if start is not None and start.index_range is not None:
        return SortedRows(every, before, every[before : before + 1] == [of])
    return SortedRows(every, list(leaders).index(own) if own in leaders else before, own in leaders)


_COLUMNS = """
    r.number, r.source, r.dataset, r.position, r.repeat, r.target, r.mode, r.verdict, r.seconds, r.case_id, r.fingerprint
"""


def _value(query: ResultQuery) -> tuple[str, tuple[Any, ...]]:
    return ("null", ()) if query.value is None else (query.value.conditions, query.value.parameters)


def _sorting(query: ResultQuery) -> str:
    direction = "desc" if query.descending else "asc"
    columns = query.sorting
    return ", ".join(column if column.endswith("is null") else f"{column} {direction}" for column in columns)
