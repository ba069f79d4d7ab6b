"""Stores and finds sessions, spans and labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

from evalmark.core.errors import NotFoundError, StoreError
from evalmark.core.values.label import Label, LabelSample, about_output, about_span
from evalmark.core.values.session import Session, Span
from evalmark.storage.database.connection import NO_LIMIT, Connection, ReadCallback, StoreLocation, WriteCallback
from evalmark.storage.database.fields import from_sql, sql_text
from evalmark.storage.database.schema import transaction

from .examples import LabelledAnswers, label_answers
from .filter import SessionFilter
from .pages import SessionPage, SessionPart, first_input, names, neighbours, session_page, session_part, span_position
from .rows import (
    ChecksummedJson,
    decode_label,
    decode_label_sample,
    decode_session,
    decode_span,
    encode_label,
    encode_label_sample,
    encode_session,
    encode_span,
)

T = TypeVar("T")

_SPANS = "select content, checksum from span"
_LABELS = "select content, checksum from label"
_HEX = frozenset("0123456789abcdef")
_AT_ONCE = 100
MOST_TERMS = 500
"""The largest number of values in one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """A session in a list."""

    session: Session
    """Without its spans."""
    answers: int
    spans: int
    failed: int
    """Answers that ended in an error."""
    labels: int
    """All labels ever given to its answers and their steps."""
    first_input: Any = None
    """The input of the first answer; of a long input its beginning."""


class RecordedId(NamedTuple):
    """The kind and id of a recorded session or span."""

    kind: Literal["session", "span"]
    id: str


class SessionStore:
    """The recorded sessions and the labels of a store; `Store.sessions` returns it."""

    def __init__(self, path: StoreLocation, reading: ReadCallback, writing: WriteCallback) -> None:
        self._path, self._read, self._write = path, reading, writing

    # Recording.

    def add(self, sessions: Sequence[Session], spans: Sequence[Span]) -> None:
        """Store spans, and the headers of their sessions, in one transaction.

        A session that exists already is extended: it keeps its start time, dropped spans are added up, and
        the newest value of each metadata key counts.

        Raises:
            DataError: a span is too long to be stored.
            StoreFullError: the disk is full.
            StoreError: the store cannot be written.
        """
        rows = [(span, encode_span(span)) for span in spans]

        def write(db: Connection) -> None:
            with transaction(db):
                for session in sessions:
                    self._keep_header(db, session)
                for span, row in rows:
                    db.execute(
                        "insert into span (id, session, project, parent, template, content, checksum) "
                        "values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing",
                        (span.id, span.session, sql_text(span.project), span.parent, sql_text(span.template), *row),
                    )

        self._write(write, "the recorded session", sum(len(row.content) for _, row in rows))

    def projects(self) -> list[str]:
        """Return the names of all recorded projects, sorted."""
        return self._read(
            lambda db: [from_sql(p) for (p,) in db.execute("select distinct project from session order by 1")]
        )

    def summaries(self, project: str | None = None, limit: int | None = None) -> list[RecordedSession]:
        """Return sessions, the newest first."""
        of = "" if project is None else "where project = ?"
        query = f"""
            select header,
                   (select count(*) from span where session = s.id and parent = ''),
                   (select count(*) from span where session = s.id),
                   (select count(*) from span where session = s.id and parent = '' and json_extract(content, '$.error') is not null),
                   (select count(*) from label where about in (select 'span:' || id from span where session = s.id)),
                   (select min(number) from span where session = s.id and parent = '')
            from session s {of} order by number desc limit ?
        """  # noqa: S608  words of ours
        parameters = (*(() if project is None else (sql_text(project),)), NO_LIMIT if limit is None else limit)

        def read(db: Connection) -> list[RecordedSession]:
            rows: list[Any] = db.execute(query, parameters).fetchall()
            return [
                RecordedSession(
                    session=self._session(header),
                    answers=a,
                    spans=n,
                    failed=f,
                    labels=labels,
                    first_input=None if first is None else first_input(db, int(first)),
                )
                for header, a, n, f, labels, first in rows
            ]

        return self._read(read)

    def browse(
        self, filters: SessionFilter, *, below: int | None = None, above: int | None = None, limit: int = 50
    ) -> SessionPage:
        """Return matching sessions: the newest, those older than number `below`, or those newer than `above`."""
        return self._read(lambda db: session_page(db, self._session, filters, below=below, above=above, limit=limit))

    def neighbours(self, filters: SessionFilter, number: int) -> tuple[str | None, str | None]:
        """Return the ids of the next newer and the next older matching session; None at the ends."""
        return self._read(lambda db: neighbours(db, filters, number))

    def part(self, identity: str, after: int = 0) -> SessionPart | None:
        """Return a session with a page of its spans, after number `after`; None if nothing is recorded."""
        return self._read(lambda db: session_part(db, self._span, self._session, identity, after))

    def span_position(self, span: str) -> tuple[str, int] | None:
        """Return the session of a span, and the `after` of the page that shows it; None if there is no such span."""
        return self._read(lambda db: span_position(db, span))

    def iter_spans(self, identity: str) -> Iterator[Span]:
        """Yield all spans of a session in the order of recording."""
        query = "select number, content, checksum from span where session = ? and number > ? order by number limit ?"
        last = 0
        while rows := self._read(lambda db: db.execute(query, (sql_text(identity), last, _AT_ONCE)).fetchall()):  # noqa: B023  read at once
            yield from (self._span(row) for _, *row in rows)
            last = int(rows[-1][0])

    def count(self) -> int:
        """Return the number of sessions."""
        return self._read(lambda db: int(db.execute("select count(*) from session").get))

    def names(self) -> tuple[list[str], list[str]]:
        """Return the first 200 names of projects, and of prompts."""
        return self._read(lambda db: (names(db, "session", "project"), names(db, "span", "template")))

    def session(self, reference: str) -> Session:
        """Return the session with an id, a unique prefix of an id, or `last`, with its spans.

        Raises:
            NotFoundError: there is no such session, or there are several.
        """

        def read(db: Connection) -> Session:
            found = self._session(self._one(db, "session", reference, "header")[0])
            rows = db.execute(f"{_SPANS} where session = ?", (found.id,))
            spans = sorted((self._span(row) for row in rows), key=lambda span: span.started)
            return replace(found, spans=tuple(spans))

        return self._read(read)

    def span(self, reference: str) -> Span:
        """Return the span with an id or a unique prefix of an id.

        Raises:
            NotFoundError: there is no such span, or there are several.
        """
        return self._read(lambda db: self._span(self._one(db, "span", reference, "content, checksum")))

    def spans(self, ids: Iterable[str]) -> list[Span]:
        """Return the spans with these ids, in the order of recording; missing ones are left out."""
        rows = self._read(lambda db: _numbered(db, "select number, content, checksum from span", "id", list(ids)))
        return [self._span(row) for row in rows]

    def with_prefix(self, reference: str, most: int = 4) -> list[RecordedId]:
        """Return the sessions and spans whose ids start with a text, at most `most` of each."""
        if not reference or not set(reference) <= _HEX:
            return []
        ends = (reference, reference + "g", most)  # `g` sorts after every hex digit

        def read(db: Connection) -> list[RecordedId]:
            kinds: tuple[Literal["session", "span"], ...] = ("session", "span")
            return [
                RecordedId(kind, str(row[0]))
                for kind in kinds
                for row in db.execute(f"select id from {kind} where id >= ? and id < ? order by number limit ?", ends)  # noqa: S608  names of ours
            ]

        return self._read(read)

    def answers(self, project: str) -> list[Span]:
        """Return the answers of a project, in the order of recording."""
        where = f"{_SPANS} where project = ? and parent = '' order by number"
        return self._read(lambda db: [self._span(row) for row in db.execute(where, (sql_text(project),))])

    def answers_without_error(self, project: str) -> list[str]:
        """Return the ids of a project's answers that did not end in an error, in the order of recording."""
        sql = "select id from span where project = ? and parent = '' and json_extract(content, '$.error') is null order by number"
        return self._read(lambda db: [str(i) for (i,) in db.execute(sql, (sql_text(project),))])

    def template_spans(self, template: str) -> list[Span]:
        """Return the spans that used a prompt, in the order of recording."""
        where = f"{_SPANS} where template = ? order by number"
        return self._read(lambda db: [self._span(row) for row in db.execute(where, (sql_text(template),))])

    def labelled_answers(self, project: str) -> LabelledAnswers:
        """Return the labelled answers of a project, and the test cases that they form."""
        return self._with_labels(self.answers(project))

    def labelled_template_outputs(self, template: str) -> LabelledAnswers:
        """Return the labelled outputs of a prompt, and the test cases that they form."""
        return self._with_labels(self.template_spans(template))

    # Labels.

    def add_labels(self, labels: Sequence[Label]) -> frozenset[str]:
        """Store labels in one transaction; earlier ones stay.

        A label that is stored already with the same id and content is skipped; returns the ids of those.

        Raises:
            StoreFullError: the disk is full.
            StoreError: the store cannot be written.
        """
        rows = {
            number: (sql_text(label.about), label.content, *encode_label(label)) for number, label in enumerate(labels)
        }

        def write(db: Connection) -> frozenset[str]:
            with transaction(db):
                stored = self._by_id(db, {rows[number][0] for number, label in enumerate(labels) if label.id})
                known = frozenset(label.id for label in labels if label.id in stored and _same(label, stored[label.id]))
                new = [row for number, row in rows.items() if labels[number].id not in known]
                db.executemany("insert into label (about, fingerprint, content, checksum) values (?, ?, ?, ?)", new)
            return known

        return self._write(write, "the label", sum(len(row[2]) for row in rows.values()))

    def labels(self, about: Iterable[str]) -> list[Label]:
        """Return all labels on some subjects, in the order of recording."""
        return self._found("about", [sql_text(item) for item in about])

    def labels_by_content(self, contents: Iterable[str]) -> list[Label]:
        """Return all labels on outputs with these contents, wherever they occur; a content is a `content_fingerprint`."""
        return self._found("fingerprint", list(contents))

    def labels_of_run(self, run: str) -> list[Label]:
        """Return all labels on the outputs of a run, in the order of recording, without labels on its scores."""
        begin = about_output(run)
        ends = sql_text(begin), sql_text(f"{begin[:-1]}0")  # `0` sorts right after the slash
        where = f"{_LABELS} where about >= ? and about < ? order by number"
        return self._read(lambda db: [self._label(row) for row in db.execute(where, ends)])

    def last_label_number(self) -> int:
        """Return a number that grows with each label."""
        return self._read(lambda db: int(db.execute("select coalesce(max(number), 0) from label").get))

    def all_labels(self) -> list[Label]:
        """Return all labels in the order of recording."""
        return self._read(lambda db: [self._label(row) for row in db.execute(f"{_LABELS} order by number")])

    def add_label_sample(self, sample: LabelSample) -> int:
        """Store a sample of outputs to label, and return its number; an equal sample is not stored again.

        Raises:
            StoreFullError: the disk is full.
            StoreError: the store cannot be written.
        """
        row = encode_label_sample(sample)

        def write(db: Connection) -> int:
            with transaction(db):
                stored = self._samples(db, sample.run)
                for number, earlier in stored.items():
                    if replace(earlier, created=sample.created) == sample:
                        return number
                db.execute("insert into label_sample (run, content, checksum) values (?, ?, ?)", (sample.run, *row))
                return max(self._samples(db, sample.run))

        return self._write(write, "the sample", len(row.content))

    def label_samples(self, run: str) -> dict[int, LabelSample]:
        """Return the samples of the outputs of a run by their numbers, the oldest first."""
        return self._read(lambda db: self._samples(db, run))

    # Inside.

    def _samples(self, db: Connection, run: str) -> dict[int, LabelSample]:
        rows: list[Any] = db.execute(
            "select number, content, checksum from label_sample where run = ? order by number", (run,)
        ).fetchall()
        return {
            int(number): self._sound(decode_label_sample, ChecksummedJson(*row), "sample of outputs")
            for number, *row in rows
        }

    def _keep_header(self, db: Connection, session: Session) -> None:
        found = db.execute("select header from session where id = ?", (session.id,)).fetchone()
        if found is not None:
            earlier = self._session(found[0])
            metadata = {**earlier.metadata, **session.metadata}
            dropped = earlier.dropped + session.dropped
            session = replace(session, started=earlier.started, dropped=dropped, metadata=metadata)
        db.execute(
            "insert into session (id, project, dropped, header) values (?, ?, ?, ?) "
            "on conflict (id) do update set dropped = excluded.dropped, header = excluded.header",
            (session.id, sql_text(session.project), session.dropped, encode_session(session)),
        )

    def _with_labels(self, spans: Sequence[Span]) -> LabelledAnswers:
        return label_answers(spans, self.labels(about_span(span.id) for span in spans))

    def _found(self, column: str, values: Sequence[str | bytes]) -> list[Label]:
        rows = self._read(lambda db: _numbered(db, "select number, content, checksum from label", column, values))
        return [self._label(row) for row in rows]

    def _one(self, db: Connection, table: str, reference: str, columns: str) -> Any:
        parameters: tuple[str, ...] = () if reference == "last" else (reference,)
        which = "substr(id, 1, length(?1)) = ?1 and ?1 != ''" if parameters else "true"
        query = f"select {columns} from {table} where {which} order by number desc limit 2"  # noqa: S608  names of ours
        rows = db.execute(query, parameters).fetchall()
        if not rows:
            raise NotFoundError(
                f"{self._path}: there is no recorded {table} {reference!r}; list the sessions with: evalmark list sessions"
            )
        if parameters and len(rows) > 1:
            raise NotFoundError(
                f"{self._path}: several ids of a {table} start with {reference!r}; write more of the id."
            )
        return rows[0]

    def _span(self, row: Any) -> Span:
        return self._sound(decode_span, ChecksummedJson(*row), "span")

    def _by_id(self, db: Connection, about: Iterable[str | bytes]) -> dict[str, Label]:
        """Return the last label with each id, among labels on some subjects."""
        rows = _numbered(db, "select number, content, checksum from label", "about", list(about))
        return {label.id: label for row in rows if (label := self._label(row)).id}

    def _label(self, row: Any) -> Label:
        return self._sound(decode_label, ChecksummedJson(*row), "label")

    def _session(self, header: Any) -> Session:
        return self._sound(decode_session, header, "session")

    def _sound(self, opened: Callable[[Any], T], row: Any, what: str) -> T:
        try:
            return opened(row)
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{self._path}: a recorded {what} is damaged ({error}); evalmark doctor examines the store."
            ) from error


def _same(one: Label, other: Label) -> bool:
    return replace(one, created=other.created, content=other.content) == other


def _numbered(db: Connection, query: str, column: str, values: Sequence[str | bytes]) -> list[Any]:
    """Return the rows in which a column has one of the values, sorted by number."""
    found: dict[int, Any] = {}
    for start in range(0, len(values), MOST_TERMS):
        part = values[start : start + MOST_TERMS]
        places = ", ".join("?" * len(part))
        found |= {int(str(n)): row for n, *row in db.execute(f"{query} where {column} in ({places})", part)}
    return [found[number] for number in sorted(found)]
