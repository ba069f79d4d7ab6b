"""Rescues the readable data of a damaged store."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.storage.call_log.reply_recovery import left_records
from evalmark.storage.call_log.rows import COLUMNS, CallRow, decode_call, encode_call
from evalmark.storage.call_log.stored_tool_log import put
from evalmark.storage.call_log.tool_rows import TOOL_COLUMNS, ToolRow, decode_tool
from evalmark.storage.database.connection import FileConnection
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import read_int, sortable_time, sql_text
from evalmark.storage.database.open import parse_store_location
from evalmark.storage.database.schema import transaction
from evalmark.storage.database.sqlite import open_writable_file
from evalmark.storage.postgres.addresses import is_address
from evalmark.storage.results.stored_results import ResultRow, decode_result, encode_result
from evalmark.storage.results.stored_runs import decode_run, encode_run

from .run_transactions import index_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """What `salvage` has rescued."""

    runs: int
    results: int
    calls: int
    """Recorded calls of chat models and tools."""
    lost: int
    """Rows that exist and cannot be read; rows that the damage hides are not counted."""


def salvage(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> SalvageReport:
    """Copy all readable runs, results and calls to a new store; the damaged file stays unchanged.

    A result whose run cannot be read gets a placeholder run. Vectors are left out, because they can be computed
    again. Replies in files next to the store that a killed run left are copied, too. The spending of unfinished runs is lost, because only the header of a finished run holds it.

    Args:
        path: The damaged file.
        to: The new file, which must not exist.

    Returns:
        How many rows were rescued, and how many were lost.

    Raises:
        StoreError: `to` exists already, nothing in `path` can be read, or it is on a server.

    Example:
        `evalmark.store.salvage(".evalmark/evalmark.db", "rescued.db")`
    """
    if is_address(os.fspath(path)):
        raise StoreError(
            f"{parse_store_location(path)}: a store on a server is mended with the server's own tools, or from a backup."
        )
    source, target = Path(os.path.abspath(path)), Path(os.path.abspath(to))  # noqa: PTH100
    if target.exists():
        raise StoreError(f"{target}: there is a file with this name already; name a new one.")
    with store_errors(source):
        damaged = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        damaged.execute(
            "select count(*) from sqlite_schema"
        ).fetchall()  # fails if the page with the schema cannot be read
    with (
        closing(damaged),
        store_errors(target, what="what was saved"),
        closing(open_writable_file(target, lambda _: None)) as db,
    ):
        rescue = _Rescue(damaged, db)
        with transaction(db):
            rescue.runs()
            rescue.results()
            rescue.calls()
            rescue.replies(source)
            rescue.tool_calls()
    return SalvageReport(runs=len(rescue.known), results=rescue.saved, calls=rescue.recorded, lost=rescue.lost)


class _Rescue:
    """Copies readable rows from a damaged store to a new one, and counts them."""

    def __init__(self, damaged: apsw.Connection, db: FileConnection) -> None:
        self.damaged, self.db = damaged, db
        self.known: set[int] = set()
        self.saved = self.recorded = self.lost = 0

    def runs(self) -> None:
        """Copy every run whose header can be read."""
        for number, status, pass_, header in self._rows("run", "status, pass, header"):
            try:
                run = decode_run(header)
            except (ValueError, TypeError):
                self.lost += 1
                continue
            self._insert_run(number, run, str(status), pass_ if isinstance(pass_, int) else 1)

    def results(self) -> None:
        """Copy every readable result, with a placeholder for an unreadable run."""
        named = [name if self._has("result", name) else "'single'" for name in ResultRow._fields]
        for _, run, pass_, source, *columns in self._rows("result", f"run, pass, source, {', '.join(named)}"):
            try:
                result = encode_result(decode_result(ResultRow._make(columns)))
                head = read_int(run), read_int(pass_), read_int(source)
            except (ValueError, TypeError):
                self.lost += 1
                continue
            if run not in self.known:
                self._insert_run(run, _placeholder_run(run), "interrupted", pass_)
            self.db.execute(_INSERT_RESULT, (*head, *result.row))
            index_scores(self.db, run, [result])
            self.saved += 1

    def calls(self) -> None:
        """Copy every readable call, if the store's version has calls."""
        if not self._has("call", "key"):
            return
        for _, run, *columns in self._rows("call", f"run, {COLUMNS}"):
            try:
                row = encode_call(decode_call(CallRow._make(columns)))
            except (ValueError, TypeError):
                self.lost += 1
                continue
            self.db.execute(_INSERT_CALL, (run if isinstance(run, int) else None, *row))
            self.recorded += self.db.changes()

    def replies(self, source: Path) -> None:
        """Copy every reply of the files next to the store that it does not have yet."""
        for record in left_records(source):
            try:
                row = encode_call(decode_call(record.row))
            except (ValueError, TypeError):
                self.lost += 1
                continue
            number = self.db.execute("select number from run where id = ?", (record.run,)).get
            self.db.execute(_INSERT_CALL, (number, *row))
            self.recorded += self.db.changes()

    def tool_calls(self) -> None:
        """Copy every readable tool call, if the store's version has them."""
        if not self._has("tool_call", "key"):
            return
        for _, run, *columns in self._rows("tool_call", f"run, {TOOL_COLUMNS}"):
            try:
                row = ToolRow._make(columns)
                decode_tool(row)
            except (ValueError, TypeError):
                self.lost += 1
                continue
            self.recorded += put(self.db, run if isinstance(run, int) else None, row) is row

    def _has(self, table: str, column: str) -> bool:
        """Return whether a table of the damaged store has a column; older versions have fewer."""
        with contextlib.suppress(apsw.Error):
            self.damaged.execute(f"select {column} from {table} limit 0").fetchall()  # noqa: S608  columns, not data
            return True
        return False

    def _insert_run(self, number: int, run: Run, status: str, pass_: int) -> None:
        status = "complete" if status == "complete" else "interrupted"
        self.db.execute(
            "insert into run (number, id, plan, suite, status, pass, created, header) values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                run.id,
                *map(sql_text, (run.plan, run.suite)),
                status,
                pass_,
                sortable_time(run.created),
                encode_run(run),
            ),
        )
        self.known.add(number)

    def _rows(self, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield all readable rows of a table, each read by its own number, so that damage affects single rows only."""
        query = f"select number, {columns} from {table} where number = ?"  # noqa: S608  columns, not data
        for number in self._numbers(table):
            try:
                row = self.damaged.execute(query, (number,)).fetchone()
            except (apsw.Error, UnicodeDecodeError):
                self.lost += 1
                continue
            if row is not None:
                yield row

    def _numbers(self, table: str) -> list[int]:
        """Return the row numbers that the table and its indexes show, and all numbers up to the largest."""
        found: set[int] = set()
        for query in _NUMBERS[table]:
            with contextlib.suppress(apsw.Error):  # keep the numbers that were read before the damage
                found.update(row[0] for row in self.damaged.execute(query) if isinstance(row[0], int))
        possible = self.damaged.pragma("page_count") * _MOST_ROWS  # a damaged number can be anything
        return sorted(found.union(range(1, min(max(found, default=0), possible) + 1)))


_MOST_ROWS = 100
"""More rows than a page can hold."""
_NUMBERS = {
    "run": ("select number from run order by number", "select number from run order by number desc"),
    "result": (
        "select number from result not indexed order by number",
        "select number from result not indexed order by number desc",
        "select number from result indexed by result_order where pass > 0",
        "select number from result indexed by result_once",
    ),
    "call": (
        "select number from call not indexed order by number",
        "select number from call not indexed order by number desc",
    ),
    "tool_call": (
        "select number from tool_call not indexed order by number",
        "select number from tool_call not indexed order by number desc",
    ),
}
_INSERT_RESULT = f"""
    insert or ignore into result (run, pass, source, {", ".join(ResultRow._fields)})
    values ({", ".join("?" * (3 + len(ResultRow._fields)))})
"""  # noqa: S608  columns, not data
_INSERT_CALL = f"""
    insert or ignore into call (run, {COLUMNS}) values ({", ".join("?" * (1 + len(CallRow._fields)))})
"""  # noqa: S608  columns, not data


def _placeholder_run(number: int) -> Run:
    return Run(
        id=f"salvaged-{number}",
        name=f"salvaged run {number}",
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        status="interrupted",
        notes=("The header of this run could not be read when its store was salvaged.",),
    )
