"""Finds a small set of results that contains all matches, using indexes only."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import from_json, from_sql, sql_text

from .filter import ResultFilter, score_bounds
from .pagination import DEFAULT_BUDGET, ScanBudget
from .sorting import build_query

_BATCH = 50
"""Results whose texts are in memory together."""


class Candidates(NamedTuple):
    """A few results that contain all matches."""

    numbers: list[int] | None
    """None: all results of the run."""


class SearchHits(NamedTuple):
    """The result of a search through the whole run."""

    rows: int | None
    """The number of matching rows; None if `numbers` are known."""
    numbers: tuple[int, ...] | None
    """The row numbers of the matching results; None if there are too many."""


def find_candidates(
    db: Connection, run: int, filters: ResultFilter, budget: ScanBudget, known: SearchHits | None = None
) -> Candidates | None:
    """Return a few results that contain all matches; None if there may be many."""
    if known is not None and known.numbers is not None:
        return Candidates(list(known.numbers))
    if _numbers_up_to(db, "select number from result where run = ? and pass > 0", (run,), budget.few) is not None:
        return Candidates(None)
    for numbers in _indexed_candidates(db, run, filters, budget.few):
        if numbers is not None:
            return Candidates(numbers)
    return None


def _indexed_candidates(db: Connection, run: int, filters: ResultFilter, most: int) -> Iterator[list[int] | None]:
    if filters.numbers is not None:
        yield sorted(filters.numbers) if len(filters.numbers) <= most else None
    if filters.verdicts:
        names = ", ".join("?" * len(filters.verdicts))
        sql = f"select number from result where run = ? and pass > 0 and verdict in ({names})"  # noqa: S608  parameters
        yield _numbers_up_to(db, sql, (run, *filters.verdicts), most)
    if filters.metadata:
        yield None  # no index holds it
    elif filters.measure == "seconds":
        sql = "select number from result where run = ? and pass > 0 and seconds between ? and ?"
        yield _numbers_up_to(db, sql, (run, *score_bounds(filters)), most)
    elif filters.measure is None and (filters.low is not None or filters.high is not None):
        yield _by_score(db, run, filters, most)
    for one in filters.also:
        yield from _indexed_candidates(db, run, one, most)
    if filters.any_of:
        yield _of_any(db, run, filters.any_of, most)


def _of_any(db: Connection, run: int, choices: tuple[ResultFilter, ...], most: int) -> list[int] | None:
    """Return the candidates of each choice together; None if one of them may have many."""
    found: set[int] = set()
    for choice in choices:
        few = next((numbers for numbers in _indexed_candidates(db, run, choice, most) if numbers is not None), None)
        if few is None or len(found := found.union(few)) > most:
            return None
    return sorted(found)


def _by_score(db: Connection, run: int, filters: ResultFilter, most: int) -> list[int] | None:
    """Return the results with a score in the range; some may be outdated."""
    found: set[int] = set()
    for metric in [sql_text(filters.metric)] if filters.metric else _metrics(db, run):
        sql = "select result from scored where run = ? and metric = ? and value between ? and ?"
        numbers = _numbers_up_to(db, sql, (run, metric, *score_bounds(filters)), most)
        if numbers is None or len(found := found.union(numbers)) > most:
            return None
    return sorted(found)


def _metrics(db: Connection, run: int) -> Iterator[Any]:
    sql = "select metric from scored where run = ? order by metric limit 1"
    parameters: tuple[Any, ...] = (run,)
    while (row := db.execute(sql, parameters).fetchone()) is not None:
        yield row[0]
        sql = "select metric from scored where run = ? and metric > ? order by metric limit 1"
        parameters = (run, row[0])


def _numbers_up_to(db: Connection, sql: str, parameters: tuple[Any, ...], most: int) -> list[int] | None:
    """Return the numbers that a statement finds; None if there are more than `most`."""
    rows = db.execute(f"{sql} limit {most + 1}", parameters).fetchall()
    return [number for (number,) in rows] if len(rows) <= most else None


def search_all(db: Connection, run: int, filters: ResultFilter, budget: ScanBudget = DEFAULT_BUDGET) -> SearchHits:
    """Find all matches by reading every result; takes seconds for a large run."""
    query = build_query(run, filters).query
    sql = f"select r.number from result r where {query.conditions}"  # noqa: S608  parameters
    numbers = _numbers_up_to(db, sql, query.parameters, budget.few)
    return SearchHits(count_rows(db, run, filters), None) if numbers is None else SearchHits(None, tuple(numbers))


def has_more_than(db: Connection, run: int, filters: ResultFilter, most: int) -> bool:
    """Return whether more than `most` results match."""
    query = build_query(run, filters).query
    sql = f"select count(*) from (select 1 from result r where {query.conditions} limit ?) found"  # noqa: S608  parameters
    return int(db.execute(sql, (*query.parameters, most + 1)).get) > most


def count_rows(db: Connection, run: int, filters: ResultFilter) -> int:
    """Return the number of matching rows."""
    query = build_query(run, filters).query
    row = "r.source, r.dataset, r.position, r.repeat"
    sql = f"select count(*) from (select 1 from result r where {query.conditions} group by {row}) found"  # noqa: S608  parameters
    return int(db.execute(sql, query.parameters).get)


def search_texts(db: Connection, run: int, matches: Callable[[str], bool], pause: Callable[[], object]) -> list[int]:
    """Return the numbers of the results of which `matches` accepts a text: those that a word is searched in.

    Every result is read, in small batches; `pause` is called before each.
    """
    every = db.execute("select number from result where run = ? and pass > 0 order by number", (run,)).fetchall()
    numbers, found = [number for (number,) in every], []
    for start in range(0, len(numbers), _BATCH):
        pause()
        batch = numbers[start : start + _BATCH]
        places = ", ".join("?" * len(batch))
        sql = f"select number, case_id, content, output, scores from result where number in ({places}) order by number"  # noqa: S608  parameters
        for number, case_id, *columns in db.execute(sql, batch).fetchall():
            if matches(from_sql(case_id)) or any(map(matches, _texts(*columns))):
                found.append(number)
    return found


def _texts(content: str, output: str, scores: str) -> Iterator[str]:
    """Yield the texts and numbers of a result; none of a damaged part, whose own page shows the error."""
    for column in (content, output):
        yield from _leaves(_decoded(column))
    several = _decoded(scores)
    for score in several if isinstance(several, list) else ():
        if isinstance(score, dict) and isinstance(score.get("reason"), str):
            yield score["reason"]


def _decoded(column: str) -> Any:
    try:
        return from_json(column) if column else None
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield str(one)
