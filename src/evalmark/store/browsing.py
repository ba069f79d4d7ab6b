"""The results of a run a page at a time, in any order, whatever their number: a page costs no more than it shows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from apsw import Connection

from evalmark.database.faults import explained
from evalmark.database.fields import from_sql, sql_text
from evalmark.database.stored import a_mode
from evalmark.values import Case, Mode, Output, Result, Trial, Verdict

from .results import stored_result
from .trials import Trials, trials_of
from .wanted import Query, Wanted, query_of

_LARGE = 64_000
"""Characters of JSON in a column; of results with more, a page shows the beginning as it is stored."""
_BEGINNING = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A result and the number of its row, by which it is found again."""

    number: int
    verdict: Verdict
    result: Result
    is_cut: bool = False
    """Whether it is too large for a page: `result` then has the first words of input and answer as they are stored, and
    no scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """A case for the n-th time, and what every target gave for it."""

    place: int
    """Among all that are wanted, counted from 0."""
    results: tuple[Kept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One page of what is wanted."""

    total: int
    """Rows on all pages."""
    rows: tuple[CaseRow, ...]


_GROUP = "r.source, r.dataset, r.position, r.repeat"
_Place = tuple[Any, ...]


class CaseOf(NamedTuple):
    """A case of one target, asked in one way."""

    dataset: str
    case: str
    target: str
    mode: Mode = "single"


class Browsing:
    """Reads one run of a store, for any thread. Made by `Store.browse`; close it after use."""

    def __init__(self, db: Connection, path: Path, run: int) -> None:
        self._db, self._path, self._run = db, path, run
        self._lock = Lock()
        self._scores_of: tuple[int, str] | None = None
        self._last_total: tuple[tuple[int, str], tuple[str, tuple[Any, ...]], int] | None = None
        self._counted: tuple[tuple[int, str], Mapping[Verdict, int]] | None = None
        self._trials: tuple[tuple[int, str], Trials] | None = None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def verdicts(self) -> Mapping[Verdict, int]:
        """How many trials ended how."""
        with self._reading():
            at = self._pass()
            if self._counted is None or not _is_settled(at) or self._counted[0] != at:
                sql = "select verdict, count(*) from result where run = ? and pass > 0 group by verdict"
                self._counted = at, Counter(dict(self._db.execute(sql, (self._run,))))
            return self._counted[1]

    def page(self, wanted: Wanted, offset: int = 0, limit: int = 50) -> Found:
        """Rows from `offset` on, at most `limit` of them, and how many there are in all."""
        query = query_of(self._run, wanted)
        with self._reading():
            if wanted.needs_scores:
                self._gather_scores()
            total = self._total(query)
            places = self._places(query, offset, limit) if offset < total else []
            rows = [CaseRow(place=n, results=self._at(place)) for n, place in enumerate(places, start=offset)]
            return Found(total=total, rows=tuple(rows))

    def around(self, wanted: Wanted, place: int) -> tuple[int | None, int | None]:
        """The first results of the rows before and after a place among those wanted; None at the ends."""
        query = query_of(self._run, wanted)
        with self._reading():
            if wanted.needs_scores:
                self._gather_scores()
            first = max(0, place - 1)
            numbers = [self._numbers(found)[0] for found in self._places(query, first, place - first + 2)]
        before = numbers[0] if place > 0 and numbers else None
        after = numbers[place - first + 1] if len(numbers) > place - first + 1 else None
        return before, after

    def result(self, number: int) -> Result | None:
        """A result in full; None where this run has none with this number, or no longer."""
        with self._reading():
            sql = "select 1 from result where number = ? and run = ? and pass > 0"
            if self._db.execute(sql, (number, self._run)).fetchone() is None:
                return None
            return stored_result(self._db, self._path, self._run, number)

    def beside(self, number: int) -> list[Kept]:
        """All results of the case of a result, that one among them: of other targets, modes and repeats."""
        sql = """
            select o.number from result r join result o
            on o.run = r.run and o.dataset = r.dataset and o.case_id = r.case_id and o.pass > 0
            where r.number = ? order by o.repeat, o.target, o.mode limit 200
        """
        with self._reading():
            rows: list[Any] = self._db.execute(sql, (number,)).fetchall()
            return [self._kept(found) for (found,) in rows]

    def trials(self) -> Trials:
        """Every result by the id of its trial; some may have left the run, and no page shows them."""
        with self._reading():
            at = self._pass()
            if self._trials is None or not _is_settled(at) or self._trials[0] != at:
                self._trials = at, trials_of(self._db, self._run)
            return self._trials[1]

    def answered(self, wanted: Wanted) -> list[int]:
        """The numbers of all results wanted that have an output, in no order; those that ended in an error have none."""
        query = query_of(self._run, wanted)
        has_output = "(r.verdict <> 'error' or r.output ->> '$.error' is null)"
        with self._reading():
            if wanted.needs_scores:
                self._gather_scores()
            sql = f"select r.number from result r where {query.conditions} and {has_output}"  # noqa: S608  parameters
            return [int(number) for (number,) in self._db.execute(sql, query.given)]

    def numbers(self, cases: Iterable[CaseOf]) -> list[tuple[int, ...]]:
        """The numbers of the results of each case, by repeat; none of one that is not there."""
        with self._reading():
            return [self._numbers_of(case) for case in cases]

    def of_cases(self, cases: Iterable[CaseOf]) -> list[tuple[Kept, ...]]:
        """The results of each case, by repeat."""
        with self._reading():
            return [tuple(self._kept(number) for number in self._numbers_of(case)) for case in cases]

    @contextmanager
    def _reading(self) -> Any:
        with self._lock, explained(self._path):
            yield

    def _pass(self) -> tuple[int, str]:
        row: Any = self._db.execute("select pass, status from run where number = ?", (self._run,)).fetchone()
        return row or (0, "gone")

    def _total(self, query: Query) -> int:
        """How many rows there are; of a run at its end, counted once for the pages that follow each other."""
        at, asked = self._pass(), (query.conditions, query.given)
        if self._last_total is not None and _is_settled(at) and self._last_total[:2] == (at, asked):
            return self._last_total[2]
        sql = f"select count(*) from (select 1 from result r where {query.conditions} group by {_GROUP})"  # noqa: S608  parameters
        total = int(self._db.execute(sql, query.given).get)
        self._last_total = at, asked, total
        return total

    def _gather_scores(self) -> None:
        """Have the values of all scores in a table of this connection; of a run that goes on, anew each time."""
        at = self._pass()
        if self._scores_of == at and _is_settled(at):
            return
        db = self._db
        db.pragma("query_only", False)  # a table in memory; the file is only read
        db.execute("""
            create table if not exists temp.cell (
                result integer not null, metric text not null, value real, primary key (result, metric)
            ) without rowid
        """)
        db.execute("delete from temp.cell")
        db.execute(
            """
            insert or replace into temp.cell
            select r.number, j.value ->> '$.name', j.value ->> '$.value' from result r, json_each(r.scores) j
            where r.run = ? and r.pass > 0
            """,
            (self._run,),
        )
        db.pragma("query_only", True)
        self._scores_of = at

    def _places(self, query: Query, offset: int, limit: int) -> list[_Place]:
        """The rows of a page: source, dataset, position, repeat."""
        key = f", {query.key} as k" if query.key else ""
        direction = query.direction
        columns = _GROUP.split(", ")
        order = ["k is null", f"k {direction}", *columns] if query.key else [f"{c} {direction}" for c in columns]
        sql = f"""
            select {_GROUP}{key} from result r where {query.conditions}
            group by {_GROUP} order by {", ".join(order)} limit ? offset ?
        """  # noqa: S608  columns and parameters
        given = (*query.key_given, *query.given, limit, offset)
        return [row[:4] for row in self._db.execute(sql, given).fetchall()]

    def _numbers(self, place: _Place) -> list[int]:
        sql = """
            select number from result
            where run = ? and source = ? and dataset = ? and position = ? and repeat = ? and pass > 0
            order by target, mode, number
        """
        return [int(number) for (number,) in self._db.execute(sql, (self._run, *place)).fetchall()]  # type: ignore[arg-type]

    def _numbers_of(self, case: CaseOf) -> tuple[int, ...]:
        sql = """
            select number from result
            where run = ? and dataset = ? and case_id = ? and target = ? and mode = ? and pass > 0 order by repeat, number
        """
        given = (self._run, *map(sql_text, case))
        return tuple(int(number) for (number,) in self._db.execute(sql, given).fetchall())

    def _at(self, place: _Place) -> tuple[Kept, ...]:
        return tuple(self._kept(number) for number in self._numbers(place))

    def _kept(self, number: int) -> Kept:
        sql = "select verdict, max(length(content), length(output), length(scores)) from result where number = ?"
        row: Any = self._db.execute(sql, (number,)).fetchone()
        verdict, length = row
        whole = stored_result(self._db, self._path, self._run, number) if length <= _LARGE else None
        if whole is None:
            return Kept(number=number, verdict=verdict, result=self._beginning(number), is_cut=True)
        return Kept(number=number, verdict=verdict, result=whole)

    def _beginning(self, number: int) -> Result:
        """Of a large result, what a table shows: who, and the first words of what is stored."""
        sql = f"""
            select dataset, position, repeat, target, mode, case_id, seconds, output ->> '$.error',
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
                mode=a_mode(mode),
            ),
            output=Output(value=output, error=error, seconds=seconds),
        )


def _is_settled(at: tuple[int, str]) -> bool:
    """Whether a run is at its end, so that what was found of it stays so."""
    return at[1] not in ("running", "gone")
