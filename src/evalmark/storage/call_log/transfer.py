"""Copies recorded calls of a run to another store, unchanged."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from evalmark.core.values.spending import Spending
from evalmark.storage.database.connection import Connection, SelectRows
from evalmark.storage.database.fields import sql_text

from .rows import COLUMNS, CallRow, is_sound
from .spending import add_spent
from .stored_tool_log import put
from .tool_rows import TOOL_COLUMNS, ToolRow, decode_tool

AT_ONCE = 500
"""Rows in memory at a time."""
_INTO = f"""
    insert into call (run, {COLUMNS}) values ({", ".join("?" * (1 + len(CallRow._fields)))})
    on conflict (key) do update set
    run = excluded.run, {", ".join(f"{name} = excluded.{name}" for name in CallRow._fields if name != "key")}
    where excluded.ok > call.ok
"""  # noqa: S608  columns, not data


class CallTransfer:
    """Copies calls to another store. Replayable calls that are already there stay unchanged."""

    def __init__(self, select: SelectRows, db: Connection, run: int) -> None:
        self._select, self._db, self._run = select, db, run
        self.damaged: set[str | bytes] = set()
        """The keys of calls that could not be read and were not copied."""

    def copy_run_calls(self, run: int) -> None:
        """Copy the calls that a run has paid for."""
        for rows in _pages(self._select, "call", COLUMNS, run):
            self._put_calls(rows)
        for rows in _pages(self._select, "tool_call", TOOL_COLUMNS, run):
            self._put_tools(rows)

    def copy_keys(self, keys: Collection[str]) -> None:
        """Copy the calls with these keys, whichever run has paid for them."""
        texts = [sql_text(key) for key in keys]
        for first in range(0, len(texts), AT_ONCE):
            part = texts[first : first + AT_ONCE]
            known = {row[0] for table in ("call", "tool_call") for row in _found(self._own, table, "key", part)}
            new = [key for key in part if key not in known]
            if new:
                self._put_calls(_found(self._select, "call", COLUMNS, new))
                self._put_tools(_found(self._select, "tool_call", TOOL_COLUMNS, new))

    def _own(self, sql: str, given: Sequence[Any]) -> list[Any]:
        return self._db.execute(sql, given).fetchall()

    def _put_calls(self, rows: Iterable[Sequence[Any]]) -> None:
        found = [CallRow._make(row) for row in rows]
        self.damaged.update(row.key for row in found if not is_sound(row))
        self._db.executemany(_INTO, [(self._run, *row) for row in found if row.key not in self.damaged])

    def _put_tools(self, rows: Iterable[Sequence[Any]]) -> None:
        for row in map(ToolRow._make, rows):
            try:
                decode_tool(row)
            except (ValueError, TypeError):
                self.damaged.add(row.key)
            else:
                put(self._db, self._run, row)


def add_run_spending(db: Connection, run: int, spent: Iterable[Spending]) -> None:
    """Add the spending of a merged run, in the transaction that stores the run."""
    add_spent(db, {(run, sql_text(one.model)): [one] for one in spent})


def _found(select: SelectRows, table: str, columns: str, keys: Sequence[str | bytes]) -> list[Any]:
    return select(f"select {columns} from {table} where key in ({', '.join('?' * len(keys))})", keys)  # noqa: S608  names of ours


def _pages(select: SelectRows, table: str, columns: str, run: int) -> Iterator[list[Any]]:
    """Yield the rows of a run, a page at a time and without their numbers."""
    page = f"select number, {columns} from {table} where run = ? and number > ? order by number limit ?"  # noqa: S608  names of ours
    last = 0
    while rows := select(page, (run, last, AT_ONCE)):
        yield [row[1:] for row in rows]
        last = rows[-1][0]
