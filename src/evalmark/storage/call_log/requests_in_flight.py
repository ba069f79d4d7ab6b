"""Tracks requests in flight: each is noted before it is sent, and counts as in flight until its call is stored.

A note is one append to a file next to the store. It survives the process, and needs neither a sync nor the writer
thread. The transaction that stores calls writes to the table `sent` how much of the file it has processed, and which
of the notes so far are still in flight. Notes after that position are in flight, too. So the count is exact at every
moment.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalmark.core.errors import StoreError
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import read_int, read_list, read_object, read_text, to_json

LostRequests = dict[str, list[int]]
"""For each key, the passes that sent a request and never received its reply."""
UNKNOWN_HERE = ""
"""As a key: the passes whose notes are on another machine, so that their requests are unknown here."""


class RunPass(NamedTuple):
    """One pass of a run: from its start, or from a resume, until the process stops writing it."""

    run: int
    """The number of the run in the store."""
    number: int
    """1 for the start, one more for each resume."""


class RequestState(NamedTuple):
    """What the store knows about the requests of a run."""

    number: int = 0
    """The pass that wrote the state."""
    known: int = 0
    """How many bytes of this pass's notes are processed."""
    under_way: Collection[str] = ()
    """The keys in these bytes whose calls are not stored."""
    lost: Mapping[str, list[int]] = {}
    """Requests that earlier passes lost, and that no later pass has repeated."""


class RequestsInFlight:
    """The requests of one pass, from just before they are sent until their calls are stored."""

    def __init__(self, store: StoreLocation, of: RunPass, lost: Mapping[str, list[int]], run_id: str = "") -> None:
        self.of, self.run_id = of, run_id
        self._store, self._lost = store, dict(lost)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._over = False
        self._size = 0
        """How many bytes of the file are written."""
        self._under_way: dict[str, int] = {}
        """For each key, the end of its last note in the file."""
        if not isinstance(store, Path):  # a store on a server: the notes are in a local file
            with store_errors(store, what="the notes of requests"):
                self._file = _create_notes(notes_path(store, of))

    def note(self, key: str) -> None:
        """Note that a request is about to be sent. The note survives this process once the method returns.

        Raises:
            StoreFullError: there is no room for the note.
            StoreError: it cannot be written.
        """
        note = f"\n{to_json(key)}".encode(
            "ascii"
        )  # each note starts with a newline and ends with a quote, so a note that was cut off is detected
        with store_errors(self._store, needed=len(note), what="the note of a request"), self._lock:
            if self._over:
                raise StoreError(f"{self._store}: this process no longer writes the run; resume it first.")
            if self._file is None:
                self._file = _create_notes(notes_path(self._store, self.of))
            written = os.write(self._file, note)
            self._size += written
            if written < len(note):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._under_way[key] = self._size

    def last_note(self, key: str) -> int:
        """Return the position of the note that a call with this key answers; 0 if there is none."""
        return self._under_way.get(key, 0)

    def repeats(self, key: str) -> int:
        """Return how many earlier passes sent this request without receiving a reply."""
        return len(self._lost.get(key, ()))

    def save(self, db: Connection, answered: Mapping[str, int]) -> None:
        """Save the requests in flight, without the answered notes, in the transaction that stores the calls."""
        if not self._size and not self._lost:
            return
        with self._lock:
            size, noted = self._size, tuple(self._under_way.items())
        under_way = [key for key, note in noted if answered.get(key) != note]
        lost = {key: passes for key, passes in self._lost.items() if key not in answered}
        _save(db, self.of.run, RequestState(self.of.number, size, under_way, lost))

    def mark_answered(self, answered: Mapping[str, int]) -> None:
        """Remove notes whose answers are stored."""
        with self._lock:
            for key, note in answered.items():
                if self._under_way.get(key) == note:  # otherwise the request was sent once more
                    del self._under_way[key]
                self._lost.pop(key, None)

    def mark_complete(self, db: Connection) -> None:
        """Record that the run is complete and nothing is in flight."""
        if self._size or self._lost:
            _save(db, self.of.run, RequestState(self.of.number, self._size))

    def close(self) -> None:
        """Close the file; later calls of `note` fail."""
        with self._lock:
            self._over = True
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def remove(self) -> None:
        """Delete the file once the store has processed all notes."""
        self.close()
        remove_notes(self._store, self.of)


def reopen(db: Connection, store: Path, of: RunPass, answered: Mapping[str, int]) -> RequestsInFlight:
    """Return the requests of a pass whose process has ended, to store replies that came before its end.

    `answered` has the position of the note that each of these replies answers.
    """
    state = _state(db, of.run)
    known = state if state.number == of.number else RequestState()
    requests = RequestsInFlight(store, of, known.lost)
    # The store has no positions. A later note of the same key is in the file, behind the known part.
    requests._under_way = {key: answered.get(key, 0) for key in known.under_way}
    requests._size = known.known
    for key, end in _read_notes(notes_path(store, of), known.known):
        requests._size = end
        if key is not None:
            requests._under_way[key] = end
    return requests


def interrupted(db: Connection, store: StoreLocation, of: RunPass) -> int | None:
    """Return how many requests were in flight when a pass was interrupted; None if its notes are on another machine."""
    state = _state(db, of.run)
    if of.number < state.number:
        return lost_by(state.lost, of.number)
    return len(_under_way(state, store, of)) if _is_known_here(db, store, of) else None


def lost_by(lost: Mapping[str, Sequence[int]], number: int) -> int | None:
    """Return how many requests a pass has lost; None if that is not known here."""
    return None if number in lost.get(UNKNOWN_HERE, ()) else sum(number in passes for passes in lost.values())


def _is_known_here(db: Connection, store: StoreLocation, of: RunPass) -> bool:
    """Return whether all requests of a pass are known here: it has ended regularly, or its notes are on this machine."""
    if isinstance(store, Path) or notes_path(store, of).exists():
        return True
    row = db.execute("select 1 from run where number = ? and pass = ? and status = 'running'", of).fetchone()
    return row is None


def take_over(db: Connection, store: StoreLocation, of: RunPass) -> LostRequests:
    """Return the requests that earlier passes lost, in the transaction that starts a new pass."""
    state, before = _state(db, of.run), RunPass(of.run, of.number - 1)
    lost = {key: [*passes] for key, passes in state.lost.items()}
    for key in _under_way(state, store, before):
        lost.setdefault(key, []).append(before.number)
    if not _is_known_here(db, store, before):
        lost.setdefault(UNKNOWN_HERE, []).append(before.number)
    if lost:
        _save(db, of.run, RequestState(of.number, lost=lost))
    return lost


def forget(db: Connection, run: int) -> None:
    """Delete the request state of a run."""
    db.execute("delete from sent where run = ?", (run,))


def _under_way(state: RequestState, store: StoreLocation, of: RunPass) -> set[str]:
    known = state if state.number == of.number else RequestState()
    later = {key for key, _ in _read_notes(notes_path(store, of), known.known) if key is not None}
    return {*known.under_way, *later}


def _save(db: Connection, run: int, state: RequestState) -> None:
    """Save the state, unless a later pass has taken the run over."""
    db.execute(
        "insert into sent (run, pass, known, under_way, lost) values (?, ?, ?, ?, ?) on conflict (run) do update set "
        "pass = excluded.pass, known = excluded.known, under_way = excluded.under_way, lost = excluded.lost "
        "where excluded.pass >= sent.pass",
        (run, state.number, state.known, to_json([*state.under_way]), to_json({**state.lost})),
    )


def _state(db: Connection, run: int) -> RequestState:
    """Read the state of a run. A damaged state reads as empty, so that the run can be resumed."""
    row = db.execute("select pass, known, under_way, lost from sent where run = ?", (run,)).fetchone()
    if row is None:
        return RequestState()
    number, known, under_way, lost = row
    try:
        return RequestState(
            read_int(number),
            max(0, read_int(known)),
            [read_text(key) for key in read_list(json.loads(under_way))],
            {key: [*map(read_int, read_list(passes))] for key, passes in read_object(json.loads(lost)).items()},
        )
    except (ValueError, TypeError):
        return RequestState()


# The files of notes.


def notes_path(store: StoreLocation, of: RunPass) -> Path:
    """Return the file of notes of a pass; each pass has its own, so no two processes share one."""
    return store.with_name(f"{store.name}-sent-{of.run}-{of.number}")


def _create_notes(path: Path) -> int:
    """Create a file of notes for its owner only; replace one left by a deleted store."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)


def _read_notes(path: Path, known: int) -> Iterator[tuple[str | None, int]]:
    """Yield the keys that are noted after `known` bytes, each with the position where its note ends.

    A note that was cut off has the key None: its request was not sent.
    """
    try:
        with path.open("rb") as file:
            file.seek(known)
            first, *notes = file.read().split(b"\n")
    except FileNotFoundError:
        return
    end = known + len(first)
    for note in notes:
        end += 1 + len(note)
        try:
            key = read_text(json.loads(note))
        except ValueError:
            key = None
        yield key, end


def remove_notes(store: StoreLocation, of: RunPass) -> None:
    """Delete the file of a pass; a file that cannot be deleted does no harm."""
    with contextlib.suppress(OSError):
        notes_path(store, of).unlink()


def remove_stale_notes(db: Connection, store: StoreLocation) -> None:
    """Delete the notes of complete passes that a killed process has left."""
    for of in _passes(store):
        query = "select 1 from run where number = ? and pass = ? and status <> 'complete'"
        if db.execute(query, of).fetchone() is None:
            remove_notes(store, of)


def copy_notes(store: StoreLocation, to: Path) -> None:
    """Copy the notes of a store after its copy was made. Later notes count as in flight in the copy."""
    for of in _passes(to):
        remove_notes(to, of)
    for of in _passes(store):
        with (
            contextlib.suppress(FileNotFoundError),  # the run may have ended meanwhile
            notes_path(store, of).open("rb") as notes,
            open(_create_notes(notes_path(to, of)), "wb") as copy,
        ):
            shutil.copyfileobj(notes, copy)


def _passes(store: StoreLocation) -> list[RunPass]:
    """Return the passes that have a file of notes next to the store."""
    form = re.compile(re.escape(f"{store.name}-sent-") + r"([0-9]{1,18})-([0-9]{1,18})")
    found = (form.fullmatch(name) for name in os.listdir(store.parent))  # noqa: PTH208  names are enough
    return [RunPass(int(match[1]), int(match[2])) for match in found if match is not None]
