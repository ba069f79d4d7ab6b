"""Where what is wanted of a run is among a few of its results, which ones: found in an index alone."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import sql_text

from .budget import DEFAULT_BUDGET, ScanBudget
from .filter import ResultFilter, score_bounds
from .sorting import build_query


class Candidates(NamedTuple):
    """A few results, with all that is wanted among them."""

    numbers: list[int] | None
    """None: all of the run."""


class SearchHits(NamedTuple):
    """What a search through all of a run has found."""

    rows: int | None
    """How many rows there are; None where the results are few, and tell it themselves."""
    numbers: tuple[int, ...] | None
    """The results; None where they are many."""


def find_candidates(
    db: Connection, run: int, wanted: ResultFilter, pace: ScanBudget, known: SearchHits | None = None
) -> Candidates | None:
    """A few results with all that is wanted among them; None where there may be many."""
    if known is not None and known.numbers is not None:
        return Candidates(list(known.numbers))
    if _up_to(db, "select number from result where run = ? and pass > 0", (run,), pace.few) is not None:
        return Candidates(None)
    for numbers in _ways(db, run, wanted, pace.few):
        if numbers is not None:
            return Candidates(numbers)
    return None


def _ways(db: Connection, run: int, wanted: ResultFilter, most: int) -> Iterator[list[int] | None]:
    if wanted.numbers is not None:
        yield sorted(wanted.numbers) if len(wanted.numbers) <= most else None
    if wanted.verdicts:
        names = ", ".join("?" * len(wanted.verdicts))
        sql = f"select number from result where run = ? and pass > 0 and verdict in ({names})"  # noqa: S608  parameters
        yield _up_to(db, sql, (run, *wanted.verdicts), most)
    if wanted.low is not None or wanted.high is not None:
        yield _scored(db, run, wanted, most)


def _scored(db: Connection, run: int, wanted: ResultFilter, most: int) -> list[int] | None:
    """The results with a score in the range that is wanted, and perhaps some that had one before."""
    found: set[int] = set()
    for metric in [sql_text(wanted.metric)] if wanted.metric else _metrics(db, run):
        sql = "select result from scored where run = ? and metric = ? and value between ? and ?"
        numbers = _up_to(db, sql, (run, metric, *score_bounds(wanted)), most)
        if numbers is None or len(found := found.union(numbers)) > most:
            return None
    return sorted(found)


def _metrics(db: Connection, run: int) -> Iterator[Any]:
    """The names of all metrics of a run, each found by the one before it."""
    sql = "select metric from scored where run = ? order by metric limit 1"
    given: tuple[Any, ...] = (run,)
    while (row := db.execute(sql, given).fetchone()) is not None:
        yield row[0]
        sql = "select metric from scored where run = ? and metric > ? order by metric limit 1"
        given = (run, row[0])


def _up_to(db: Connection, sql: str, given: tuple[Any, ...], most: int) -> list[int] | None:
    """The numbers that a statement finds; None where there are many."""
    rows = db.execute(f"{sql} limit {most + 1}", given).fetchall()
    return [number for (number,) in rows] if len(rows) <= most else None


def search_all(db: Connection, run: int, wanted: ResultFilter, pace: ScanBudget = DEFAULT_BUDGET) -> SearchHits:
    """What is wanted, found by a look at every result: of a large run, that takes seconds."""
    query = build_query(run, wanted).query
    numbers = _up_to(db, f"select r.number from result r where {query.conditions}", query.given, pace.few)  # noqa: S608
    return SearchHits(count_rows(db, run, wanted), None) if numbers is None else SearchHits(None, tuple(numbers))


def has_more_than(db: Connection, run: int, wanted: ResultFilter, most: int) -> bool:
    """Whether more results than so many are wanted."""
    query = build_query(run, wanted).query
    sql = f"select count(*) from (select 1 from result r where {query.conditions} limit ?) found"  # noqa: S608  parameters
    return int(db.execute(sql, (*query.given, most + 1)).get) > most


def count_rows(db: Connection, run: int, wanted: ResultFilter) -> int:
    """How many rows there are."""
    query = build_query(run, wanted).query
    row = "r.source, r.dataset, r.position, r.repeat"
    sql = f"select count(*) from (select 1 from result r where {query.conditions} group by {row}) found"  # noqa: S608  parameters
    return int(db.execute(sql, query.given).get)
