"""Requests under way: each is noted before it goes out, and no longer counted once its call is kept.

A note is one write at the end of a file beside the store. What a process has written so outlives it, whatever ends it,
and no task waits for the disk or for the thread that writes the store. The transaction that keeps calls says in the
table `sent` how far it knows the file, and which requests noted up to there are under way; whatever was noted after that
is under way too. So the count is exact at every moment, and calls and notes never contradict each other.
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
"""By key: the passes that sent a request and never heard of it."""
UNKNOWN_HERE = ""
"""In the place of a key: the passes whose notes are on another machine, so that nobody here knows what they sent."""


class RunPass(NamedTuple):
    """A run while one process writes it, from its start or from one of its resumes."""

    run: int
    """The run's number in the store."""
    number: int
    """1 at first, one more with every resume."""


class RequestState(NamedTuple):
    """What the store says of a run's requests."""

    number: int = 0
    """The pass that said so last."""
    known: int = 0
    """How many bytes of that pass's notes it takes into account."""
    under_way: Collection[str] = ()
    """The keys noted in these bytes whose calls are not kept."""
    lost: Mapping[str, list[int]] = {}
    """What earlier passes have lost, and no later one has kept."""


class RequestsInFlight:
    """The requests of one pass of a run, from right before they go out until their calls are kept."""

    def __init__(self, store: StoreLocation, of: RunPass, lost: Mapping[str, list[int]]) -> None:
        self.of = of
        self._store, self._lost = store, dict(lost)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._over = False
        self._size = 0
        self._under_way: dict[str, int] = {}
        """By key: where its last note ends."""
        if not isinstance(store, Path):  # where there is no file, the notes are on another machine
            with store_errors(store, what="the notes of requests"):
                self._file = _new(notes_path(store, of))

    def note(self, key: str) -> None:
        """Note that a request is about to go out; when this returns, the note outlives this process.

        Raises:
            StoreFullError: there is no room for the note.
            StoreError: it cannot be written.
        """
        note = f"\n{to_json(key)}".encode("ascii")  # the line ends with the text, so one that is cut off shows
        with store_errors(self._store, needed=len(note), what="the note of a request"), self._lock:
            if self._over:
                raise StoreError(f"{self._store}: the run is not being written here any more; resume it first.")
            if self._file is None:
                self._file = _new(notes_path(self._store, self.of))
            written = os.write(self._file, note)
            self._size += written
            if written < len(note):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._under_way[key] = self._size

    def last_note(self, key: str) -> int:
        """Which note a call with this key answers that is kept now; 0 when there is none."""
        return self._under_way.get(key, 0)

    def repeats(self, key: str) -> int:
        """How many earlier passes have sent this request in vain."""
        return len(self._lost.get(key, ()))

    def save(self, db: Connection, answered: Mapping[str, int]) -> None:
        """Save what is under way but for notes that are answered; part of the transaction that keeps the calls."""
        if not self._size and not self._lost:
            return
        with self._lock:
            size, noted = self._size, tuple(self._under_way.items())
        under_way = [key for key, note in noted if answered.get(key) != note]
        lost = {key: passes for key, passes in self._lost.items() if key not in answered}
        _save(db, self.of.run, RequestState(self.of.number, size, under_way, lost))

    def mark_answered(self, answered: Mapping[str, int]) -> None:
        """These notes are answered, and that is on the disk."""
        with self._lock:
            for key, note in answered.items():
                if self._under_way.get(key) == note:  # else it went out once more
                    del self._under_way[key]
                self._lost.pop(key, None)

    def mark_complete(self, db: Connection) -> None:
        """The run is complete: nothing of it is under way."""
        if self._size or self._lost:
            _save(db, self.of.run, RequestState(self.of.number, self._size))

    def close(self) -> None:
        """Let go of the file: what is noted stays noted, and nothing more is."""
        with self._lock:
            self._over = True
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def remove(self) -> None:
        """The store knows all that was noted: the file is not needed any more."""
        self.close()
        remove_notes(self._store, self.of)


def interrupted(db: Connection, store: StoreLocation, of: RunPass) -> int | None:
    """Requests that were under way when a pass of a run broke off; None where its notes are on another machine."""
    state = _state(db, of.run)
    if of.number < state.number:
        return lost_by(state.lost, of.number)
    return len(_under_way(state, store, of)) if _is_told(db, store, of) else None


def lost_by(lost: Mapping[str, Sequence[int]], number: int) -> int | None:
    """How many requests a pass has lost; None where nobody here knows."""
    return None if number in lost.get(UNKNOWN_HERE, ()) else sum(number in passes for passes in lost.values())


def _is_told(db: Connection, store: StoreLocation, of: RunPass) -> bool:
    """Whether all that a pass has sent is known here: it has ended itself, or its notes are here."""
    if isinstance(store, Path) or notes_path(store, of).exists():
        return True
    row = db.execute("select 1 from run where number = ? and pass = ? and status = 'running'", of).fetchone()
    return row is None


def take_over(db: Connection, store: StoreLocation, of: RunPass) -> LostRequests:
    """What a new pass of a run knows to be lost; part of the transaction that starts the pass, before the run says so."""
    state, before = _state(db, of.run), RunPass(of.run, of.number - 1)
    lost = {key: [*passes] for key, passes in state.lost.items()}
    for key in _under_way(state, store, before):
        lost.setdefault(key, []).append(before.number)
    if not _is_told(db, store, before):
        lost.setdefault(UNKNOWN_HERE, []).append(before.number)
    if lost:
        _save(db, of.run, RequestState(of.number, lost=lost))
    return lost


def forget(db: Connection, run: int) -> None:
    """Forget what a run has sent."""
    db.execute("delete from sent where run = ?", (run,))


def _under_way(state: RequestState, store: StoreLocation, of: RunPass) -> set[str]:
    known = state if state.number == of.number else RequestState()
    return {*known.under_way, *_noted(notes_path(store, of), known.known)}


def _save(db: Connection, run: int, state: RequestState) -> None:
    """One who slept while another process took the run over changes nothing any more."""
    db.execute(
        "insert into sent (run, pass, known, under_way, lost) values (?, ?, ?, ?, ?) on conflict (run) do update set "
        "pass = excluded.pass, known = excluded.known, under_way = excluded.under_way, lost = excluded.lost "
        "where excluded.pass >= sent.pass",
        (run, state.number, state.known, to_json([*state.under_way]), to_json({**state.lost})),
    )


def _state(db: Connection, run: int) -> RequestState:
    """What is saved of a run; where that is damaged, nothing is known, and the run can be resumed all the same."""
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


# The files.


def notes_path(store: StoreLocation, of: RunPass) -> Path:
    """The file in which a pass of a run notes its requests; each has its own, so that no two processes share one."""
    return store.with_name(f"{store.name}-sent-{of.run}-{of.number}")


def _new(path: Path) -> int:
    """A file for notes that only its owner may read; an older one with its name is of a store that is gone."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)


def _noted(path: Path, known: int) -> Iterator[str]:
    """The keys that are noted after so many bytes; of a note that was cut off, the request never went out."""
    try:
        with path.open("rb") as file:
            file.seek(known)
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):
            yield read_text(json.loads(line))


def remove_notes(store: StoreLocation, of: RunPass) -> None:
    """Remove the file of a pass; one that stays for some reason does no harm."""
    with contextlib.suppress(OSError):
        notes_path(store, of).unlink()


def remove_stale_notes(db: Connection, store: StoreLocation) -> None:
    """Remove the notes of passes that are over, which a kill has left behind."""
    for of in _passes(store):
        query = "select 1 from run where number = ? and pass = ? and status <> 'complete'"
        if db.execute(query, of).fetchone() is None:
            remove_notes(store, of)


def copy_notes(store: StoreLocation, to: Path) -> None:
    """Copy the notes of a store whose copy has just been made: all that was noted since counts as under way there."""
    for of in _passes(to):
        remove_notes(to, of)
    for of in _passes(store):
        with (
            contextlib.suppress(FileNotFoundError),  # the run may have ended meanwhile
            notes_path(store, of).open("rb") as notes,
            open(_new(notes_path(to, of)), "wb") as copy,
        ):
            shutil.copyfileobj(notes, copy)


def _passes(store: StoreLocation) -> list[RunPass]:
    """The passes that have a file beside the store."""
    form = re.compile(re.escape(f"{store.name}-sent-") + r"([0-9]{1,18})-([0-9]{1,18})")
    found = (form.fullmatch(name) for name in os.listdir(store.parent))  # noqa: PTH208  names are enough
    return [RunPass(int(match[1]), int(match[2])) for match in found if match is not None]
