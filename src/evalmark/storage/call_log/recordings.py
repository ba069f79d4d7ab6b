"""Lists, exports and deletes recorded calls of chat models."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from evalmark.core.errors import StoreError
from evalmark.core.values.call import Call
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.fields import from_sql, sql_text, to_json
from evalmark.storage.database.schema import transaction

from .rows import COLUMNS, CallRow, decode_call

LONGEST = 80
"""Characters of a request in a list."""
_COMPARED = 1_000
"""The largest number of calls whose texts are compared with each other."""
_MARK = re.compile("[0-9a-f]{16,}")
"""Ids that differ from call to call and tell a reader nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallSummary:
    """The recorded calls of one model."""

    model: str
    """As the user named it."""
    calls: int
    replayable: int
    """Calls whose reply can be replayed; the others are errors, and replies that were cut off or refused."""
    input_tokens: int
    output_tokens: int
    unknown_usage: int
    """Replies with unknown token counts; the sums leave them out."""
    cost: float | None
    """US dollars of the replies with a known price; None if there are none."""
    unknown_cost: int
    newest: str
    """ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded call in a list."""

    key: str
    model: str
    """As the user named it; for a tool, its name and `(a tool)`."""
    created: str
    """ISO 8601 in UTC."""
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    """US dollars; None when it is not known."""
    words: str
    """The start of the last message, without lines that most listed calls share; for a tool, the start of its
    arguments.
    """
    replayable: bool
    error: str | None = None


def by_model(db: Connection) -> list[ModelCallSummary]:
    """Summarize the recorded calls by model."""
    rows = db.execute("""
        select model, count(*), sum(ok),
        coalesce(sum(input_tokens + 0 * output_tokens), 0), coalesce(sum(output_tokens + 0 * input_tokens), 0),
        count(case when reply is not null and (input_tokens is null or output_tokens is null) then 1 end),
        sum(cost), count(case when reply is not null and cost is null then 1 end), max(created)
        from call group by model order by model
    """)
    names = tuple(ModelCallSummary.__dataclass_fields__)
    return [_summary(dict(zip(names, row, strict=True))) for row in rows]


def _summary(found: dict[str, Any]) -> ModelCallSummary:
    return ModelCallSummary(**{**found, "model": from_sql(found["model"]), "newest": from_sql(found["newest"])})


def list_calls(db: Connection, match: str = "", limit: int | None = None) -> list[Recording]:
    """List calls, the newest first.

    `match` selects calls whose model name or request contains the text, or whose key starts with it.
    """
    found = islice(_matching(db, match), limit)
    first = list(islice(found, _COMPARED))
    shared = Counter(line for _, text in first for line in {*map(_unmarked, _lines(text))})
    return [replace(recording, words=_excerpt(text, shared)) for recording, text in chain(first, found)]


def _excerpt(text: str, shared: Mapping[str, int]) -> str:
    """Return the lines of a message that the fewest other calls share: prompts of one judge begin and end alike."""
    lines = _lines(text)
    counts = [shared.get(_unmarked(line), 0) for line in lines]
    own = [line for line, number in zip(lines, counts, strict=True) if number == min(counts)]
    return " ".join(own)[:LONGEST]


def _lines(text: str) -> list[str]:
    return [plain for line in text.splitlines() if (plain := " ".join(line.split()))]


def _unmarked(line: str) -> str:
    return _MARK.sub("", line)


def _matching(db: Connection, match: str) -> Iterator[tuple[Recording, str]]:
    selected = sql_text(match)
    rows = db.execute(
        "select key, model, created, input_tokens, output_tokens, cost, request, ok, error from call "
        "where instr(model, ?1) > 0 or substr(key, 1, length(?1)) = ?1 or instr(request, ?2) > 0 "
        "order by created desc, number desc",
        (selected, to_json(match)[1:-1]),
    )
    row: tuple[Any, ...]
    for row in rows:
        key, model, created, input_tokens, output_tokens, cost, request, ok, error = row
        texts = _message_texts(request)
        recording = Recording(
            key=from_sql(key),
            model=from_sql(model),
            created=from_sql(created),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost=cost,
            words="",
            replayable=bool(ok),
            error=None if error is None else from_sql(error),
        )
        if match in recording.model or recording.key.startswith(match) or any(match in text for text in texts):
            yield recording, texts[-1] if texts else ""


def _message_texts(request: str) -> list[str]:
    """Return the texts of a request's messages; an empty list if the request is damaged."""
    try:
        contents = [message["content"] for message in json.loads(request)["messages"]]
    except (ValueError, TypeError, LookupError):
        return []
    return [content if isinstance(content, str) else to_json(content) for content in contents]


def find_call(db: Connection, path: StoreLocation, key: str) -> Call | None:
    """Return the call with a key, also one that cannot be replayed.

    Raises:
        StoreError: it is damaged.
    """
    query = f"select {COLUMNS} from call where key = ?"  # noqa: S608  columns, not data
    row = db.execute(query, (sql_text(key),)).fetchone()
    return None if row is None else _decoded(CallRow._make(row), path)


def replayable_calls(
    db: Connection, path: StoreLocation, run: int | None = None, model: str | None = None, used: Collection[str] = ()
) -> Iterator[Call]:
    """Yield all replayable calls by key; with `run`, only those that it paid for, and those in `used`.

    Raises:
        StoreError: one of them is damaged.
    """
    where, parameters = conditions(("model", model), of=(run, used))
    for row in db.execute(f"select {COLUMNS} from call where ok = 1{where} order by key", parameters):  # noqa: S608  columns
        yield _decoded(CallRow._make(row), path)


def conditions(
    *selected: tuple[str, str | None], of: tuple[int | None, Collection[str]] = (None, ())
) -> tuple[str, list[Any]]:
    """Return SQL conditions and their parameters; a column whose text is None gets no condition.

    `of` is a run and a list of keys; it selects calls that the run paid for, and calls with one of the keys.
    """
    run, keys = of
    parts: list[str] = []
    parameters: list[Any] = []
    if run is not None:
        parts.append("(run = ? or key in (select value from json_each(?)))")
        parameters += [run, to_json(list(keys))]
    for column, text in selected:
        if text is not None:
            parts.append(f"{column} = ?")
            parameters.append(sql_text(text))
    return "".join(f" and {part}" for part in parts), parameters


def _decoded(row: CallRow, path: StoreLocation) -> Call:
    try:
        return decode_call(row)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: the recorded call {row.key!r} is damaged ({error}). The request is sent again when it is needed."
        ) from error


def clear(
    db: Connection,
    *,
    model: str | None = None,
    tool: str | None = None,
    older_than: datetime | None = None,
    failed_only: bool = False,
) -> int:
    """Delete the calls that match every condition, and return how many.

    A call without a date does not match `older_than`.

    `failed_only` and `model` never match tool calls.
    """
    moment = None if older_than is None else older_than.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    old = "" if moment is None else " and created <> '' and created < ?"
    before = [] if moment is None else [moment]
    gone = 0
    with transaction(db):
        if tool is None:
            where, parameters = conditions(("model", model))
            db.execute(f"delete from call where ok <= ?{where}{old}", (0 if failed_only else 1, *parameters, *before))  # noqa: S608  columns
            gone += db.changes()
        if model is None and not failed_only:
            where, parameters = conditions(("tool", tool))
            db.execute(f"delete from tool_call where number > 0{where}{old}", (*parameters, *before))  # noqa: S608  columns
            gone += db.changes()
    return gone
