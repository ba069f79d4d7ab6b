"""The store: runs and vectors in one SQLite file, written by one thread."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from apsw import Connection

from evalmark.database.faults import explained
from evalmark.database.fields import sql_text
from evalmark.database.holder import this_process
from evalmark.database.opening import Notes, reading
from evalmark.database.opening import writing as open_for_writing
from evalmark.database.schema import copy
from evalmark.errors import StoreError
from evalmark.roles import Recorded, Sink
from evalmark.values import Result, Run, Trial

from . import vectors, writing
from .health import Health, examine
from .results import all_runs, find_run, unfinished_run
from .rows import encode_result
from .writing import Seen, Writing

if TYPE_CHECKING:
    from evalmark.roles.protocols import Vectors

T = TypeVar("T")

_MANY_SEEN = 5_000


def open_store(
    path: str | os.PathLike[str], *, read_only: bool = False, notes: Notes | None = None, max_pages: int | None = None
) -> "Store":
    """Open the store in a file; unless `read_only`, a missing one is made.

    `notes` is told, in one sentence each and possibly from another thread, what a user should
    know: a wait for another process, a file system that is no good place. `max_pages` limits
    the size of the file, in pages of 4,096 bytes.

    Raises:
        StoreError: the file cannot be used; the message says why and what to do.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100  a target may change the working directory later
    tell = notes or (lambda _: None)
    if read_only:
        reading(place, tell).close()
        return Store(place, None, tell)
    return Store(place, open_for_writing(place, tell, max_pages), tell)


class Store:
    """Runs, their results, and the vectors of texts. Made by `open_store`."""

    def __init__(self, path: Path, db: Connection | None, notes: Notes) -> None:
        self.path = path
        self._db, self._notes = db, notes
        self._process = os.getpid()
        self._here = this_process()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store-read")
        self._vectors: Connection | None = None
        self._held: dict[str, _Held] = {}
        self._closed = False

    # Writing a run.

    def start(self, run: Run) -> None:
        """Write the header of a new run and hold the run for this process.

        Raises:
            StoreError: there is a run with this id, or the store cannot be written.
        """
        held = self._write(lambda db: writing.start(db, self.path, run, this_process()), "the run")
        self._held[run.id] = _Held(held)

    def resume(self, run_id: str, *, force: bool = False) -> Run:
        """Take up an unfinished run; its results so far count as recorded.

        `force` takes it even from a process that seems to be alive, on another machine say.

        Raises:
            StoreBusyError: another process writes the run.
            StoreError: there is no such run, or the store cannot be written.
        """
        held = self._write(lambda db: writing.resume(db, self.path, run_id, this_process(), force=force), "the run")
        self._held[run_id] = _Held(held)
        return self.run(run_id)

    def recorded(self, run_id: str) -> Recorded:
        """Tells which trials are stored already, by the case's id and content, not by its position.

        A trial that it finds is part of the run at its present position; when a resumed run
        ends complete, results that were not asked for are no longer part of it.
        """
        return _Recorded(self, self._holding(run_id))

    def sink(self, run_id: str) -> Sink:
        """Where the results of a run go."""
        return _Sink(self, self._holding(run_id))

    def finish(self, run: Run) -> None:
        """Write the final header of a run and let the run go.

        Raises:
            StoreError: the store cannot be written.
        """
        held = self._holding(run.id)
        with held.taken() as seen:
            self._write(lambda db: writing.finish(db, self.path, held.writing, run, seen), "the end of the run")
        held.close()
        del self._held[run.id]

    def forget(self, run_id: str) -> None:
        """Delete a run and its results for good.

        Raises:
            StoreError: there is no such run, or a living process writes it.
        """
        self._write(lambda db: writing.forget(db, self.path, run_id, self._here), "the change")

    # Reading.

    def runs(self, limit: int | None = None) -> list[Run]:
        """All runs, the newest first; results are read from the file when they are asked for."""
        return self._read(lambda db: all_runs(db, self.path, self._here, limit))

    def run(self, reference: str) -> Run:
        """The run with an id, with the only id that starts so, or `last` or `last~1`.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._read(lambda db: find_run(db, self.path, self._here, reference))

    def unfinished(self, plan: str, suite: str) -> Run | None:
        """The newest run of this plan and suite that is not complete."""
        return self._read(lambda db: unfinished_run(db, self.path, self._here, sql_text(plan), sql_text(suite)))

    def check(self) -> Health:
        """Whether the file is sound, and what is in it."""
        self._usable()
        return examine(self.path, self._notes)

    def copy(self, to: str | os.PathLike[str]) -> None:
        """Copy the whole store to a new file, also while runs are being written.

        Raises:
            StoreError: there is such a file already, or it cannot be written.
        """
        self._usable()
        target = Path(to)
        if target.exists():
            raise StoreError(f"{target}: there is a file with this name already; name another one.")
        with explained(target, needed=self.path.stat().st_size, what="the copy"):
            copy(self.path, target)

    # Vectors.

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known vectors of some texts by the model with this fingerprint."""
        self._usable()
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._get, fingerprint, tuple(texts))

    async def put(self, fingerprint: str, vectors_of: "Mapping[str, Vectors]") -> None:
        """Keep vectors.

        Raises:
            StoreFullError: the disk is full.
        """
        needed = sum(40 + 4 * len(vector) for vector in vectors_of.values())
        await self._write_soon(lambda db: vectors.put(db, fingerprint, vectors_of), "the vectors", needed)

    def _get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        with explained(self.path):
            if self._vectors is None:
                self._vectors = reading(self.path, self._notes)
            return vectors.get(self._vectors, fingerprint, texts)

    def _look_up(self, held: "_Held", trial: Trial) -> int | None:
        """The row of a result that an earlier pass has stored for this trial."""
        self._usable()
        with explained(self.path):
            if held.lookups is None:
                held.lookups = reading(self.path, self._notes)
            return writing.look_up(held.lookups, held.writing, trial)

    # Closing.

    def close(self) -> None:
        """Let go of everything; runs that were not finished can be resumed."""
        if self._closed or os.getpid() != self._process:
            return
        for held in self._held.values():
            held.close()
            with contextlib.suppress(StoreError):  # the process ends anyway, and with it its hold
                self._write(partial(writing.release, writing=held.writing), "the change")
        self._closed = True
        self._writer.shutdown()
        self._reader.shutdown()
        for db in (self._vectors, self._db):
            if db is not None:
                db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The two ways to the file.

    def _read(self, act: Callable[[Connection], T]) -> T:
        self._usable()
        with explained(self.path), closing(reading(self.path, self._notes)) as db:
            return act(db)

    def _write(self, act: Callable[[Connection], T], what: str) -> T:
        return self._writer.submit(self._acting, self._writable(), act, what, 0).result()

    async def _write_soon(self, act: Callable[[Connection], T], what: str, needed: int = 0) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._acting, self._writable(), act, what, needed)

    def _acting(self, db: Connection, act: Callable[[Connection], T], what: str, needed: int) -> T:
        with explained(self.path, needed=needed, what=what):
            return act(db)

    def _usable(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path}: this store was opened by process {self._process} and cannot be used by its child "
                f"{os.getpid()}; open it again in the child."
            )
        if self._closed:
            raise StoreError(f"{self.path}: this store is closed; open it again.")

    def _writable(self) -> Connection:
        self._usable()
        if self._db is None:
            raise StoreError(f"{self.path}: this store was opened for reading only; open it without `read_only`.")
        return self._db

    def _holding(self, run_id: str) -> "_Held":
        self._writable()
        if run_id not in self._held:
            raise StoreError(f"{self.path}: run {run_id!r} is not being written here; start or resume it first.")
        return self._held[run_id]


class _Held:
    """A run that this process writes, and what it has seen of earlier results but not yet saved."""

    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        self.seen: deque[Seen] = deque()
        self.lookups: Connection | None = None

    def save(self, db: Connection, path: Path, results: Sequence[Result]) -> None:
        """Save results and what was seen, in the writer's thread."""
        rows = [encode_result(result) for result in results]
        with self.taken() as seen:
            needed = sum(200 + len(row.scores) + len(row.output) + len(row.content) for row in rows)
            with explained(path, needed=needed, what=f"saving {len(rows)} results"):
                writing.write(db, path, self.writing, rows, seen)

    @contextlib.contextmanager
    def taken(self) -> Iterator[list[Seen]]:
        """What was seen and is not saved yet; it stays so when saving fails."""
        seen = [self.seen.popleft() for _ in range(len(self.seen))]
        try:
            yield seen
        except BaseException:
            self.seen.extendleft(reversed(seen))
            raise

    def close(self) -> None:
        if self.lookups is not None:
            self.lookups.close()


class _Sink:
    """Takes the results of one run."""

    def __init__(self, store: Store, held: _Held) -> None:
        self._store, self._held = store, held

    async def write(self, results: Sequence[Result]) -> None:
        """Save results; when this returns they are on the disk.

        Raises:
            StoreFullError: the disk is full; none of these results is saved, all earlier ones are.
            StoreBusyError: another process has taken the run over.
            StoreError: the store cannot be written.
        """
        batch = tuple(results)
        await self._store._write_soon(lambda db: self._held.save(db, self._store.path, batch), "the results")


class _Recorded:
    """Looks trials up among the stored results of one run."""

    def __init__(self, store: Store, held: _Held) -> None:
        self._store, self._held = store, held

    def __call__(self, trial: Trial) -> bool:
        held = self._held
        if held.writing.pass_ == 1:
            return False
        number = self._store._look_up(held, trial)
        if number is None:
            return False
        held.seen.append(Seen(number, trial.position, sql_text(trial.case.place)))
        if len(held.seen) >= _MANY_SEEN:
            self._store._write(lambda db: held.save(db, self._store.path, ()), "the results")
        return True
