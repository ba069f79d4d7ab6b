"""Calls that are about to be stored, and the transaction that stores many of them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evalmark.core.values.spending import Spending
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.schema import transaction

from .requests_in_flight import RequestsInFlight
from .rows import CallRow
from .spending import add_spent


class LogEntry(NamedTuple):
    """A call to be stored."""

    key: str
    row: CallRow
    spent: Spending
    sent: RequestsInFlight | None
    """The requests in flight of the run that pays for the call; None outside of runs."""
    note: int
    """The position of the note that the call answers."""


_KEPT = ("run", *CallRow._fields)
_KEEP = f"""
    insert into call ({", ".join(_KEPT)}) values ({", ".join("?" * len(_KEPT))})
    on conflict (key) do update set {", ".join(f"{name} = excluded.{name}" for name in _KEPT if name != "key")}
    where excluded.ok >= call.ok
"""  # noqa: S608  columns, not data


Answers = Mapping[RequestsInFlight, Mapping[str, LogEntry]]
"""Calls by the run whose requests they answer, and by key."""


def save_calls(
    db: Connection, entries: Sequence[LogEntry], further: Callable[[Connection], None] | None = None
) -> None:
    """Save calls in one transaction in the writer thread. They are durable when this returns.

    `further` makes further changes in the same transaction.
    """
    with transaction(db):
        answers = put_calls(db, entries)
        if further is not None:
            further(db)
    for sent, calls in answers.items():
        sent.mark_answered({key: call.note for key, call in calls.items()})


def put_calls(db: Connection, entries: Sequence[LogEntry]) -> Answers:
    """Store calls, what they cost and the requests that they answer, within a transaction."""
    answers = _answers(entries)
    db.executemany(_KEEP, [(entry.sent and entry.sent.of.run, *entry.row) for entry in entries])
    add_spent(db, _spent(entries, answers))
    for sent, calls in answers.items():
        sent.save(db, {key: call.note for key, call in calls.items()})
    return answers


def _answers(entries: Sequence[LogEntry]) -> Answers:
    found: defaultdict[RequestsInFlight, dict[str, LogEntry]] = defaultdict(dict)
    for entry in entries:
        if entry.sent is not None:
            found[entry.sent][entry.key] = entry
    return found


def _spent(entries: Sequence[LogEntry], answers: Answers) -> Mapping[tuple[int, str | bytes], Sequence[Spending]]:
    spent: defaultdict[tuple[int, str | bytes], list[Spending]] = defaultdict(list)
    for entry in entries:
        if entry.sent is not None:
            spent[entry.sent.of.run, entry.row.model].append(entry.spent)
    for sent, calls in answers.items():
        for key, call in calls.items():
            if times := sent.repeats(key):
                spent[sent.of.run, call.row.model].append(Spending(model=call.spent.model, repeated=times))
    return spent
