"""Lists sessions and the spans of one session, a page at a time. The cost does not depend on the size of the store."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Any

from evalmark.core.values.case import Usage
from evalmark.core.values.session import Session, Span
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import from_sql, read_optional_number, sql_text

from .filter import SessionFilter, conditions
from .trees import SpanSpending, total_spending

MOST_SPANS = 150
"""Spans on one page."""
_MOST_TEXT = 4_000_000
"""Characters of JSON on one page, unless a single span is longer."""
_MOST_COUNTED = 1_000
"""Spans of a session that the list of sessions reads."""
_MOST_INPUT = 1_000
"""Characters of an input in the list of sessions."""
_LARGE = 64_000
_HIGHEST = 4
"""Levels of parents that are read for the spans of a page."""
_FIRST_NAMES = 200

_FAILED = """
    select count(*), min(case when number > ? then number end), min(case when number <= ? then number end)
    from span where session = ? and content like '%"error":%' and json_extract(content, '$.error') is not null
"""

DecodeSpan = Callable[[Any], Span]
DecodeSession = Callable[[Any], Session]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    """A session in a list."""

    number: int
    """In the order of recording, from 1."""
    session: Session
    """Without its spans."""
    first_input: Any
    """The first input, or its beginning if it is long; None before the first answer has ended."""
    last_output: Any
    """The output of the last answer; None if it failed, is large, or is not known."""
    answers: tuple[str, ...]
    """The ids of its answers, among the spans that were read."""
    failed: int
    """Those of these answers that ended in an error."""
    failed_steps: int
    spans: int
    """All spans."""
    is_counted: bool
    """Whether all spans were read; of a very long session, only the first ones are."""
    seconds: float | None
    """The sum over its answers; None if it was not measured."""
    spent: SpanSpending


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A page of matching sessions, the newest first."""

    lines: tuple[SessionLine, ...]
    newer: bool
    """Whether newer sessions match."""
    older: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart:
    """A session with some of its spans."""

    session: Session
    """Its spans are those of the page and their parents, in the order of recording."""
    number: int | None
    """None if only spans of the session are stored."""
    before: int
    """Spans before those of the page."""
    shown: int
    """Spans of the page, without their parents."""
    total: int
    after: int | None
    """The number of the last span of the page; None if there are no more."""
    starts: tuple[int, ...]
    """The `after` of each page of the session."""
    page: int
    """Which of them the part begins at, or is after, from 0."""
    failed: int
    """Steps and answers of the whole session that ended in an error."""
    failed_elsewhere: str
    """The id of the first of them after the page, else of the first before it; empty if the page has all."""
    elsewhere: frozenset[str]
    """Ids of parents that are stored, but not part of the page."""


def session_page(
    db: Connection,
    decode_session: DecodeSession,
    filters: SessionFilter,
    *,
    below: int | None,
    above: int | None,
    limit: int,
) -> SessionPage:
    """Return sessions older than number `below`, or newer than `above`, or the newest ones."""
    is_upward = below is None and above is not None
    rows = _select(db, filters, "header", below=below, above=above, limit=limit + 1)
    is_more, at_edge = len(rows) > limit, below is not None or above is not None
    shown_rows = rows[:limit][::-1] if is_upward else rows[:limit]
    lines = tuple(_line(db, int(number), decode_session(header)) for number, header in shown_rows)
    # after a jump to older sessions there are newer ones
    return SessionPage(lines=lines, newer=is_more if is_upward else at_edge and bool(rows), older=is_upward or is_more)


def neighbours(db: Connection, filters: SessionFilter, number: int) -> tuple[str | None, str | None]:
    """Return the ids of the next newer and the next older matching session."""
    newer = _select(db, filters, "s.id", above=number, limit=1)
    older = _select(db, filters, "s.id", below=number, limit=1)
    return (str(newer[0][1]) if newer else None), (str(older[0][1]) if older else None)


def names(db: Connection, table: str, column: str) -> list[str]:
    """Return the first names in a column, without empty ones.

    Each is found by an index, so the number of rows does not matter.
    """
    least = f"select min({column}) from {table} where {column} != ''"  # noqa: S608  names of ours
    sql = f"""
        with recursive found(name) as (
            {least} union all
            select ({least} and {column} > found.name) from found where found.name is not null
        ) select name from found where name is not null limit {_FIRST_NAMES}
    """  # noqa: S608  names of ours
    return [from_sql(name) for (name,) in db.execute(sql).fetchall()]


def session_part(
    db: Connection, decode_span: DecodeSpan, decode_session: DecodeSession, identity: str, after: int
) -> SessionPart | None:
    """Return a session with the spans after number `after`, or with those of the last page; None if nothing is stored under this id."""
    header = db.execute("select number, header from session where id = ?", (sql_text(identity),)).fetchone()
    total = int(db.execute("select count(*) from span where session = ?", (sql_text(identity),)).get)
    if header is None and not total:
        return None
    every = _sizes(db, identity)
    starts = _page_starts(every)
    after = after if every and after < every[-1][0] else starts[-1]
    sized = [one for one in every if one[0] > after][: MOST_SPANS + 1]
    chosen = [number for number, _ in sized][: _fitting(sized)]
    last = chosen[-1] if chosen else after
    some = "select content, checksum from span where session = ? and number > ? and number <= ? order by number"
    spans = [decode_span(row) for row in db.execute(some, (sql_text(identity), after, last)).fetchall()]
    room = _MOST_TEXT - sum(size for _, size in sized[: len(chosen)])
    higher, elsewhere = _parents(db, decode_span, spans, room)
    before = "select count(*) from span where session = ? and number <= ?"
    known = decode_session(header[1]) if header else _session_of_spans(identity, spans)
    shown = sorted([*spans, *higher], key=lambda span: span.started)
    failed, *numbers = db.execute(_FAILED, (last, after, sql_text(identity))).fetchone()
    elsewhere_failed = next((number for number in numbers if number is not None), None)
    named = db.execute("select id from span where number = ?", (elsewhere_failed,)).fetchone()
    return SessionPart(
        session=replace(known, spans=tuple(shown)),
        number=int(header[0]) if header else None,
        before=int(db.execute(before, (sql_text(identity), after)).get) if after else 0,
        shown=len(chosen),
        total=total,
        after=last if len(sized) > len(chosen) else None,
        starts=starts,
        page=max(bisect_right(starts, after) - 1, 0),
        failed=int(failed),
        failed_elsewhere=str(named[0]) if named else "",
        elsewhere=elsewhere,
    )


def _sizes(db: Connection, identity: str) -> list[tuple[int, int]]:
    """List the numbers and bytes of a session's spans."""
    sql = "select number, octet_length(content) from span where session = ? order by number"
    return [(int(number), int(size)) for number, size in db.execute(sql, (sql_text(identity),)).fetchall()]


def _fitting(sized: Sequence[tuple[int, int]]) -> int:
    """Count the spans at the beginning that one page has room for, at least one."""
    sizes = accumulate(size for _, size in sized[:MOST_SPANS])
    return max(1, sum(1 for _ in takewhile(lambda size: size <= _MOST_TEXT, sizes)))


def _page_starts(sized: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """List the `after` of each page: 0, then the number of the last span of the page before."""
    starts, at = [0], 0
    while (at := at + _fitting(sized[at : at + MOST_SPANS])) < len(sized):
        starts.append(sized[at - 1][0])
    return tuple(starts)


def span_position(db: Connection, span: str) -> tuple[str, int] | None:
    """Return the session of a span, and the `after` of the page that shows it."""
    found = db.execute("select session, number from span where id = ?", (sql_text(span),)).fetchone()
    if found is None:
        return None
    session, number = str(found[0]), int(found[1])
    starts = _page_starts(_sizes(db, session))
    return session, starts[bisect_left(starts, number) - 1]


def _session_of_spans(identity: str, spans: Sequence[Span]) -> Session:
    return Session(
        id=identity,
        project=spans[0].project if spans else "",
        started=min((span.started for span in spans), default=""),
    )


def _parents(
    db: Connection, decode_span: DecodeSpan, spans: Sequence[Span], room: int
) -> tuple[list[Span], frozenset[str]]:
    """Return stored parents of the spans, as far as there is room, and the ids of those left out."""
    found: list[Span] = []
    known, elsewhere = {span.id for span in spans}, set[str]()
    layer = spans
    for level in range(_HIGHEST + 1):
        missing = sorted({span.parent for span in layer if span.parent} - known)
        if not missing:
            break
        places = ", ".join("?" * len(missing))
        sql = f"select id, octet_length(content) from span where id in ({places}) order by number"  # noqa: S608  parameters
        sized = [(str(i), int(n)) for i, n in db.execute(sql, tuple(missing)).fetchall()]
        fits = [i for (i, _), used in zip(sized, accumulate(n for _, n in sized), strict=True) if used <= room]
        fits = fits if level < _HIGHEST else []
        room -= sum(n for i, n in sized if i in fits)
        elsewhere |= {i for i, _ in sized} - {*fits}
        known |= {*missing}
        layer = [
            decode_span(db.execute("select content, checksum from span where id = ?", (i,)).fetchone()) for i in fits
        ]
        found += layer
    return found, frozenset(elsewhere)


def _select(
    db: Connection,
    filters: SessionFilter,
    column: str,
    *,
    below: int | None = None,
    above: int | None = None,
    limit: int,
) -> list[Any]:
    """Return the numbers and one column of matching sessions, from a number downward or upward."""
    clauses = list(conditions(db, filters))
    if below is not None:
        clauses.append(("s.number < ?", (below,)))
    elif above is not None:
        clauses.append(("s.number > ?", (above,)))
    where = " and ".join(text for text, _ in clauses) or "1 = 1"
    direction = "asc" if below is None and above is not None else "desc"
    sql = f"select s.number, {column} from session s where {where} order by s.number {direction} limit ?"  # noqa: S608  parameters
    return db.execute(sql, (*(value for _, parameters in clauses for value in parameters), limit)).fetchall()


_COUNTED = """
    select number, id, parent, json_extract(content, '$.kind'),
        case when content like '%"usage":%' then json_extract(content, '$.usage.input_tokens') end,
        case when content like '%"usage":%' then json_extract(content, '$.usage.output_tokens') end,
        case when content like '%"cost":%' then json_extract(content, '$.cost') end,
        json_extract(content, '$.seconds'),
        case when content like '%"error":%' then json_extract(content, '$.error') end
    from span where session = ? order by number limit ?
"""


def _line(db: Connection, number: int, session: Session) -> SessionLine:
    rows = db.execute(_COUNTED, (session.id, _MOST_COUNTED)).fetchall()
    spans = [_counted_span(row, session) for row in rows]
    is_counted = len(spans) < _MOST_COUNTED
    answers = [span for span in spans if not span.parent]
    numbers = [int(row[0]) for row, span in zip(rows, spans, strict=True) if not span.parent]
    seconds = [span.seconds for span in answers if span.seconds is not None]
    total = "select count(*) from span where session = ?"
    return SessionLine(
        number=number,
        session=session,
        first_input=first_input(db, numbers[0]) if numbers else None,
        last_output=_output(db, numbers[-1]) if numbers and is_counted else None,
        answers=tuple(span.id for span in answers),
        failed=sum(span.error is not None for span in answers),
        failed_steps=sum(span.error is not None for span in spans if span.parent),
        spans=len(spans) if is_counted else int(db.execute(total, (session.id,)).get),
        is_counted=is_counted,
        seconds=sum(seconds) if seconds and is_counted else None,
        spent=total_spending(spans) if is_counted else SpanSpending(),
    )


def _counted_span(row: Any, session: Session) -> Span:
    """Build a span with only the fields that are counted."""
    _, identity, parent, kind, tokens_in, tokens_out, cost, seconds, error = row
    counts = [None if count is None else int(count) for count in (tokens_in, tokens_out)]
    return Span(
        id=str(identity),
        session=session.id,
        project=session.project,
        parent=str(parent),
        kind=kind or "run",
        started="",
        usage=None if counts == [None, None] else Usage(input_tokens=counts[0], output_tokens=counts[1]),
        cost=_number(cost),
        seconds=_number(seconds),
        error=None if error is None else str(error),
    )


def _number(value: Any) -> float | None:
    return read_optional_number(float(value)) if value is not None else None


def first_input(db: Connection, number: int) -> Any:
    """Return the input of a span; of a long one, its beginning as text."""
    sql = f"""
        select octet_length(content), case when octet_length(content) <= {_LARGE} then content
            else substr(content, instr(content, '"input":') + 8, {_MOST_INPUT}) end from span where number = ?
    """  # noqa: S608  numbers of ours
    length, text = db.execute(sql, (number,)).fetchone()
    if length <= _LARGE:
        return json.loads(text).get("input")
    return _beginning(text)


def _output(db: Connection, number: int) -> Any:
    """Return the output of a span; None of a large one."""
    sql = f"select content from span where number = ? and octet_length(content) <= {_LARGE}"  # noqa: S608  numbers of ours
    row = db.execute(sql, (number,)).fetchone()
    return json.loads(row[0]).get("output") if row else None


def _beginning(text: str) -> str:
    r"""Decode the beginning of a JSON text that was cut off; other JSON is returned unchanged.

    >>> _beginning('"A question with a \\u26')
    'A question with a '
    """
    if not text.startswith('"'):
        return text
    for cut in range(12):  # an escape has at most twelve characters
        try:
            return str(json.JSONDecoder().raw_decode(text[: len(text) - cut] + '"')[0])
        except ValueError:
            continue
    return text
