"""Finds rows of a run from a given position on: along an index, or, among few results, by sorting them.

A row is one repeat of a case with the results of all targets. Its leader is its first matching result, which gives
the row its position and its number.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from evalmark.storage.database.connection import Connection

from .budget import ScanBudget
from .sorting import IndexRange, ResultQuery


class ScanPosition(NamedTuple):
    """The position of a result, at which a scan starts or has stopped."""

    number: int
    stretch: int | None = None
    """The number of the index range, from 0; None: the range that the result belongs to."""


class ScanResult(NamedTuple):
    """The result of a scan."""

    leaders: list[int]
    """The leaders found, in the order of the scan."""
    reached: ScanPosition | None
    """The result at which the scan ran out of time; None if it was completed."""
    looked: int
    """How many results were read."""


def scan_rows(
    db: Connection,
    asked: ResultQuery,
    start: ScanPosition | None,
    most: int,
    pace: ScanBudget,
    *,
    backwards: bool = False,
) -> ScanResult:
    """Return the next rows after a position, or before it, until the time is up.

    Without `start`, the scan begins at the first row, or backwards at the last one. A result that does not belong
    to the order finds nothing.
    """
    found: list[int] = []
    looked, end = 0, time.monotonic() + pace.patience
    for index, key in _ways(db, asked, start, backwards=backwards):
        stretch = asked.stretches[index]
        for several in _candidates(db, asked, stretch, key, pace, backwards=backwards):
            looked += len(several)
            for number, value, is_hit in several:
                if is_hit and _leads(db, asked, stretch, number, value):
                    found.append(number)
                    if len(found) == most:
                        return ScanResult(found, None, looked)
            if looked >= pace.least and time.monotonic() > end:
                reached = next((one[0] for one in reversed(several) if _stands(db, stretch, *one)), None)
                if reached is not None:
                    return ScanResult(found, ScanPosition(reached, index), looked)
    return ScanResult(found, None, looked)


def can_resume(db: Connection, asked: ResultQuery, spot: ScanPosition) -> bool:
    """Return whether a scan can continue from this position."""
    return next(_ways(db, asked, spot, backwards=False), None) is not None


def _ways(
    db: Connection, asked: ResultQuery, start: ScanPosition | None, *, backwards: bool
) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
    """Yield the index ranges to scan, and the key to start from in the first one."""
    has_begun = start is None
    indices = range(len(asked.stretches))
    for index in reversed(indices) if backwards else indices:
        key = None if has_begun or start is None else _key(db, asked, index, start)
        has_begun = has_begun or key is not None
        if has_begun:
            yield index, key


def _key(db: Connection, asked: ResultQuery, index: int, spot: ScanPosition) -> tuple[Any, ...] | None:
    """Return the key of a result in an index range; None if it is not in it."""
    if spot.stretch not in (None, index):
        return None
    stretch = asked.stretches[index]
    columns: tuple[str, ...] = stretch.key
    given: tuple[Any, ...] = ()
    if stretch.place is not None:
        columns, given = (stretch.place.conditions, "r.number"), stretch.place.given
    sql = f"select {', '.join(columns)} from result r where r.number = ? and r.run = ? and r.pass > 0"  # noqa: S608  columns
    given = (*given, spot.number, asked.run)
    if spot.stretch is None and stretch.belongs:
        sql, given = f"{sql} and {stretch.belongs}", (*given, *stretch.belongs_given)
    found: tuple[Any, ...] | None = db.execute(sql, given).fetchone()
    return None if found is None or found[0] is None else found


_Candidate = tuple[int, Any, Any]
"""A result's row number, the first column of its key, and whether it matches."""


def _candidates(
    db: Connection,
    asked: ResultQuery,
    stretch: IndexRange,
    key: tuple[Any, ...] | None,
    pace: ScanBudget,
    *,
    backwards: bool,
) -> Iterator[list[_Candidate]]:
    """Yield all results of an index range in batches, so that each statement is short."""
    descends = asked.descending != backwards
    columns = ", ".join(stretch.key)
    besides = f" and {stretch.besides}" if stretch.besides else ""
    further = f" and ({columns}) {'<' if descends else '>'} ({', '.join('?' * len(stretch.key))})"
    order = ", ".join(f"{column} {'desc' if descends else 'asc'}" for column in stretch.key)
    hit = (*asked.query.given, *stretch.besides_given)
    size = pace.first
    while stretch.is_wanted:
        sql = f"""
            select {columns}, r.number, ({asked.query.conditions}{besides}) from {stretch.tables}
            where {stretch.held}{"" if key is None else further} order by {order} limit ?
        """  # noqa: S608  columns and parameters
        began = time.perf_counter()
        rows = db.execute(sql, (*hit, *stretch.given, *(key or ()), size)).fetchall()
        if rows:
            yield [(row[-2], row[0], row[-1]) for row in rows]
        if len(rows) < size:
            return
        key = tuple(rows[-1][:-2])
        in_time = size * pace.step / max(time.perf_counter() - began, 1e-6)
        size = max(pace.first, min(pace.most, size * 4, int(in_time)))


def _leads(db: Connection, asked: ResultQuery, stretch: IndexRange, number: int, value: Any) -> bool:
    """Return whether a result leads its row; a range by score may hold outdated values."""
    found = find_leader(db, asked, number)
    return found is not None and found[0] == number and (stretch.place is None or found[1] == value)


def _stands(db: Connection, stretch: IndexRange, number: int, value: Any, _is_hit: Any) -> bool:
    """Return whether a result is still at the position where it was found."""
    if stretch.place is None:
        return True
    sql = f"select {stretch.place.conditions} from result r where r.number = ?"  # noqa: S608  texts of ours
    return bool(db.execute(sql, (*stretch.place.given, number)).get == value)


def find_leader(db: Connection, asked: ResultQuery, number: int) -> tuple[int, float | None] | None:
    """Return the leader of a result's row, and its score if rows are sorted by score; None if no result matches."""
    value, value_given = _value(asked)
    sql = f"""
        with r as materialized (
            select {_COLUMNS}, {value} as v from result o join result r
            on r.run = o.run and r.source = o.source and r.dataset = o.dataset and r.position = o.position
            and r.repeat = o.repeat and r.pass > 0
            where o.number = ? and {asked.query.conditions}
        ) select r.number, r.v from r order by {_sorting(asked)} limit 1
    """  # noqa: S608  columns and parameters
    found: tuple[int, float | None] | None = db.execute(sql, (*value_given, number, *asked.query.given)).fetchone()
    return found


class SortedRows(NamedTuple):
    """All matching rows, if they are few."""

    leaders: list[int]
    place: int | None
    """How many rows come before the given row; None if it does not exist."""
    is_among_them: bool
    """Whether the given row matches."""


def sort_rows(db: Connection, asked: ResultQuery, numbers: list[int] | None, of: int | None) -> SortedRows:
    """Return all matching rows among some results, or in a small run, and the position of one row."""
    value, value_given = _value(asked)
    given = (*asked.query.given, *value_given, asked.run)
    part = "r.run = ? and r.pass > 0"
    if numbers is not None:  # found by row numbers, not by the index of runs
        part = f"+r.run = ? and +r.pass > 0 and r.number in ({', '.join('?' * (len(numbers) + 1))})"
        given = (*given, *numbers, of or 0)
    sql = f"""
        with r as materialized (
            select {_COLUMNS}, ({asked.query.conditions}) as hit, {value} as v from result r where {part}
        ) select r.number, r.source, r.dataset, r.position, r.repeat, r.hit from r order by {_sorting(asked)}
    """  # noqa: S608  columns and parameters
    rows = db.execute(sql, given).fetchall()
    leaders: dict[tuple[Any, ...], int] = {}
    own: tuple[Any, ...] | None = None
    before = 0
    for number, *row, is_hit in rows:
        row_of = tuple(row)
        if number == of:
            own, before = row_of, len(leaders)
        if is_hit:
            leaders.setdefault(row_of, number)
    is_among_them = own in leaders
    place = (list(leaders).index(own) if own in leaders else before) if own is not None else None
    return SortedRows(list(leaders.values()), place, is_among_them)


_COLUMNS = """
    r.number, r.source, r.dataset, r.position, r.repeat, r.target, r.mode, r.verdict, r.seconds, r.case_id, r.fingerprint
"""


def _value(asked: ResultQuery) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL expression for the score that rows are sorted by."""
    return ("null", ()) if asked.value is None else (asked.value.conditions, asked.value.given)


def _sorting(asked: ResultQuery) -> str:
    direction = "desc" if asked.descending else "asc"
    columns = asked.sorting
    return ", ".join(column if column.endswith("is null") else f"{column} {direction}" for column in columns)
