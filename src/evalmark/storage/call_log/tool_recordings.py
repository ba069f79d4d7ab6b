"""Lists, exports and prices recorded calls of tools."""

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from evalmark.core.errors import StoreError
from evalmark.core.values.call import Call, is_model
from evalmark.core.values.tool import ToolRecording
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.fields import from_sql, sql_text, to_json

from .recordings import LONGEST, Recording, conditions, replayable_calls
from .recordings import list_calls as listed_calls
from .tool_rows import TOOL_COLUMNS, ToolRow, decode_tool

_AT_ONCE = 500
"""Keys in one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallSummary:
    """The recorded calls of one version of a tool."""

    tool: str
    version: str
    """Empty if the user gave none."""
    calls: int
    newest: str
    """ISO 8601 in UTC."""


def by_tool(db: Connection) -> list[ToolCallSummary]:
    """Summarize the recorded calls by tool and version."""
    rows = db.execute(
        "select tool, version, count(*), max(created) from tool_call group by tool, version order by tool, version"
    )
    return [
        ToolCallSummary(tool=from_sql(tool), version=from_sql(version), calls=int(str(calls)), newest=from_sql(newest))
        for tool, version, calls, newest in rows
    ]


def list_all_calls(db: Connection, match: str = "", limit: int | None = None) -> list[Recording]:
    """List calls of models and tools, the newest first.

    `match` selects calls whose model, tool or request contains the text, or whose key starts with it.
    """
    both = heapq.merge(listed_calls(db, match, limit), _tools(db, match), key=lambda one: one.created, reverse=True)
    return list(islice(both, limit))


def _tools(db: Connection, match: str) -> Iterator[Recording]:
    rows = db.execute(
        "select key, tool, version, created, substr(arguments, 1, ?3) from tool_call "
        "where instr(tool, ?1) > 0 or substr(key, 1, length(?1)) = ?1 "
        "or instr(arguments, ?1) > 0 or instr(arguments, ?2) > 0 "
        "order by created desc, number desc",
        (sql_text(match), to_json(match)[1:-1], LONGEST),
    )
    for key, tool, version, created, arguments in rows:
        name = " ".join(filter(None, (from_sql(tool), from_sql(version))))
        yield Recording(
            key=from_sql(key),
            model=f"{name} (a tool)",
            created=from_sql(created),
            input_tokens=None,
            output_tokens=None,
            cost=None,
            words=from_sql(arguments),
            replayable=True,
        )


def find_tool_call(db: Connection, path: StoreLocation, key: str) -> ToolRecording | None:
    """Return the recording with a key; None if there is none.

    Raises:
        StoreError: it is damaged.
    """
    query = f"select {TOOL_COLUMNS} from tool_call where key = ?"  # noqa: S608  columns, not data
    row = db.execute(query, (sql_text(key),)).fetchone()
    return None if row is None else _decoded(ToolRow._make(row), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFilter:
    """Selects calls for a file; all conditions have to hold."""

    run: int | None = None
    """A run: calls that it paid for, and those in `used`."""
    used: Collection[str] = ()
    model: str | None = None
    tool: str | None = None


def prices(db: Connection, keys: Collection[str]) -> dict[str, tuple[str, float | None]]:
    """Return the model and the cost in US dollars of each call; tool calls are left out, they have no price.

    So are calls of services and commands that reported no cost; those that did have no model.

    The cost is None if it is unknown; the model is empty if the call is no longer recorded.
    """
    texts = [sql_text(key) for key in keys]
    found: dict[str, tuple[str, float | None]] = {}
    others: set[str] = set()
    for first in range(0, len(texts), _AT_ONCE):
        part = texts[first : first + _AT_ONCE]
        places = ", ".join("?" * len(part))
        query = f"select key, model, cost, identity from call where key in ({places})"  # noqa: S608  places
        for key, model, cost, identity in db.execute(query, part).fetchall():
            name = from_sql(model) if is_model(str(from_sql(identity))) else ""
            if name or cost is not None:
                found[from_sql(key)] = name, cost
            else:
                others.add(from_sql(key))
        others |= {from_sql(key) for (key,) in db.execute(f"select key from tool_call where key in ({places})", part)}  # noqa: S608
    return {key: found.get(key, ("", None)) for key in keys if key not in others or key in found}


def exported_calls(db: Connection, path: StoreLocation, filters: RecordingFilter) -> Iterator[Call | ToolRecording]:
    """Yield all replayable calls by key, those of models first.

    Raises:
        StoreError: one of them is damaged.
    """
    if filters.tool is None:
        yield from replayable_calls(db, path, filters.run, filters.model, filters.used)
    if filters.model is None:
        yield from _exported_tools(db, path, filters)


def _exported_tools(db: Connection, path: StoreLocation, filters: RecordingFilter) -> Iterator[ToolRecording]:
    where, parameters = conditions(("tool", filters.tool), of=(filters.run, filters.used))
    query = f"select {TOOL_COLUMNS} from tool_call where number > 0{where} order by key"  # noqa: S608  columns, not data
    for row in db.execute(query, parameters):
        yield _decoded(ToolRow._make(row), path)


def _decoded(row: ToolRow, path: StoreLocation) -> ToolRecording:
    try:
        return decode_tool(row)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: the recorded tool call {row.key!r} is damaged ({error}). The tool is called again when the result is needed."
        ) from error
