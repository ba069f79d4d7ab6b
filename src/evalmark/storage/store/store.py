"""The store: runs and vectors in one SQLite file, written by one thread."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from evalmark.core.errors import StoreError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import CallLog, CompletedTrials, Sink, ToolLog
from evalmark.core.values.run import Run, Shard
from evalmark.core.values.spending import Spending
from evalmark.core.values.words import count
from evalmark.storage.call_log import sent, spending
from evalmark.storage.call_log.log import Log
from evalmark.storage.call_log.sent import Pass
from evalmark.storage.call_log.stored_log import Entry, Finder, Lookups, StoredCallLog, save
from evalmark.storage.call_log.stored_tool_log import StoredToolLog
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.doors import look_into, place_of, write_to
from evalmark.storage.database.faults import explained
from evalmark.storage.database.holder import this_process
from evalmark.storage.database.opening import Notes
from evalmark.storage.database.schema import copy
from evalmark.storage.queries import narrowing
from evalmark.storage.queries.endings import endings_of
from evalmark.storage.queries.shared import shared_by
from evalmark.storage.queries.standing import moment as browsing_moment
from evalmark.storage.queries.standing import standing_of
from evalmark.storage.results.stored import all_runs, find_number, find_run, unfinished_run, writing_of

from . import vectors, writing
from .access import Access
from .health import Health, examine, examine_server
from .held import Held, RecordedTrials, RunSink
from .joining import Joined, Share, Watch, join
from .recordings import Recordings
from .writing import Writing

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.storage.queries import browsing
    from evalmark.storage.queries.browsing import Browsing
    from evalmark.storage.queries.endings import Endings
    from evalmark.storage.queries.narrowing import Known
    from evalmark.storage.queries.shared import Shared
    from evalmark.storage.queries.standing import Moment, Standing
    from evalmark.storage.queries.wanted import Wanted
    from evalmark.storage.sessions import store
    from evalmark.storage.sessions.store import SessionStore
else:
    browsing = LazyModule("evalmark.storage.queries.browsing")
    store = LazyModule("evalmark.storage.sessions.store")


def open_store(
    path: str | os.PathLike[str], *, read_only: bool = False, notes: Notes | None = None, max_pages: int | None = None
) -> "Store":
    """Open the store in a file, or at an address that begins with `postgresql://`; unless `read_only`, a missing one is made.

    `notes` is told, in one sentence each and possibly from another thread, what a user should
    know: a wait for another process, a file system that is no good place. `max_pages` limits
    the size of a file, in pages of 4,096 bytes.

    Raises:
        ConfigError: an address names a schema that is no name.
        DependencyError: for an address, the extra `postgres` is missing.
        StoreError: the store cannot be used; the message says why and what to do.
    """
    place = place_of(path)
    tell = notes or (lambda _: None)
    if read_only:
        look_into(place, tell).close()
        return Store(Access(place, None, tell))
    return Store(Access(place, write_to(place, tell, max_pages), tell))


class Store:
    """Runs, their results, and the vectors of texts. Made by `open_store`."""

    def __init__(self, access: Access) -> None:
        self.path = access.path
        self.recordings = Recordings(access)
        """The recorded calls of chat models and tools."""
        self._access = access
        self._here = this_process()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store-read")
        self._vectors: Connection | None = None
        self._held: dict[str, Held] = {}
        self._log = Log(access.submit, self._save_calls)
        self._lookups = Lookups(self.path, access.usable, access.connect)
        self._finder = Finder(self.path, self._lookups, access.notes)

    @cached_property
    def sessions(self) -> "SessionStore":
        """What apps did for their users, and what people say of outputs."""
        return store.SessionStore(self.path, self._access.read, self._access.write)

    @property
    def is_writable(self) -> bool:
        """Whether it was opened to be written as well."""
        return self._access.is_writable

    # Writing a run.

    def start(self, run: Run) -> None:
        """Write the header of a new run and hold the run for this process.

        Raises:
            StoreError: there is a run with this id, or the store cannot be written.
        """
        held = self._access.write(lambda db: writing.start(db, self.path, run, this_process()), "the run")
        self._held[run.id] = self._hold(held)

    def resume(self, run_id: str, *, force: bool = False, retry_errors: bool = False) -> Run:
        """Take up a run, also one that is complete; its results so far count as recorded.

        `force` takes it even from a process that seems to be alive, on another machine say.
        With `retry_errors`, here or in `recorded`, trials that ended in an error do not count.

        Raises:
            StoreBusyError: another process writes the run.
            StoreError: there is no such run, or the store cannot be written.
        """
        held = self._access.write(
            lambda db: writing.resume(db, self.path, run_id, this_process(), force=force), "the run"
        )
        if (earlier := self._held.get(run_id)) is not None:
            earlier.close()
        self._held[run_id] = self._hold(held)
        self._held[run_id].retry_errors = retry_errors
        return self.run(run_id)

    def recorded(self, run_id: str, *, retry_errors: bool = False) -> CompletedTrials:
        """Tells which trials are stored already, by the case's id and content, not by its position.

        A trial that it finds is part of the run at its present position; when a resumed run
        ends complete, results that were not asked for are no longer part of it. With
        `retry_errors` a trial that ended in an error is not recorded, and a new result takes
        the place of the error; until then the error stays.
        """
        held = self._holding(run_id)
        return RecordedTrials(held, self._access.write, retry_errors=retry_errors or held.retry_errors)

    def sink(self, run_id: str) -> Sink:
        """Where the results of a run go."""
        return RunSink(self._holding(run_id), self._access.write_soon)

    def amend(self, run: Run) -> None:
        """Write the header anew of a run that goes on with further datasets, after those it has, or with further metrics.

        Raises:
            StoreError: the store cannot be written.
        """
        held = self._holding(run.id)
        held.writing = self._access.write(lambda db: writing.amend(db, self.path, held.writing, run), "the run")

    def finish(self, run: Run) -> None:
        """Write the final header of a run and let the run go.

        Raises:
            StoreError: the store cannot be written.
        """
        held = self._holding(run.id)
        self._log.settle()
        with held.taken() as seen:
            self._access.write(
                lambda db: writing.finish(db, self.path, held.writing, run, seen, held.sent), "the end of the run"
            )
        held.close()
        held.sent.remove()
        del self._held[run.id]

    def add(self, runs: Sequence[Run]) -> None:
        """Write whole runs that were found elsewhere: all of them with all their results, or nothing.

        Raises:
            StoreError: there is a run with the id of one of them, or the store cannot be written.
        """
        self._access.write(lambda db: writing.add(db, self.path, runs), "the runs")

    def forget(self, run_id: str) -> None:
        """Delete a run and its results for good.

        Raises:
            StoreError: there is no such run, or a living process writes it.
        """
        self._access.write(lambda db: writing.forget(db, self.path, run_id, self._here), "the change")

    def join(self, whole: Run, shares: Sequence[tuple["Store", Run]], watch: Watch | None = None) -> Joined:
        """Write a run with all that its shares hold, each of which stands in the store beside it: all of it, or nothing.

        Results, recorded calls and labels are carried over; those calls that are here stay as they are. Where the run is
        here already, only labels are that its shares have been given since. `watch` is told of results on their way, in another thread.

        Raises:
            StoreError: a share is damaged, or there is another run with this id, or the store cannot be written.
        """
        found = [Share(run=run, path=store.path, connect=store._access.connect) for store, run in shares]
        return self._access.write(lambda db: join(db, self.path, whole, found, watch), "the merged run")

    # Reading.

    def runs(self, limit: int | None = None, offset: int = 0, *, before: str = "") -> list[Run]:
        """The runs, the newest first: all, or at most `limit` behind the first `offset`; results are read when asked for.

        With `before`, the id of a run, those that were started before it.
        """
        return self._access.read(lambda db: all_runs(db, self.path, self._here, limit, offset, before=before))

    def moment(self) -> "Moment":
        """How many runs there are, and how far those have come that are under way."""
        return self._access.read(lambda db: browsing_moment(db, self.path, self._here))

    def standing(self, reference: str) -> "Standing":
        """How far the run has come that a reference names.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._access.read(
            lambda db: standing_of(db, self.path, self._here, find_number(db, self.path, reference))
        )

    def run(self, reference: str) -> Run:
        """The run with an id, with the only id that starts so, or `last` or `last~1`.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._access.read(lambda db: find_run(db, self.path, self._here, reference))

    def unfinished(
        self, plan: str, suite: str, shard: Shard | None = None, *, retry_errors: bool = False
    ) -> Run | None:
        """The newest run of this plan, suite and shard that is not complete; with `retry_errors` also one that has errors."""
        return self._access.read(
            lambda db: unfinished_run(db, self.path, self._here, (plan, suite), shard, errors=retry_errors)
        )

    def browse(self, run_id: str) -> "Browsing":
        """Pages of a run's results, in any order; for any thread, until it is closed.

        Raises:
            StoreError: there is no such run.
        """
        number = self._access.read(lambda db: find_number(db, self.path, run_id))
        return browsing.Browsing(self._access.connect(), self.path, number)

    def search(self, run_id: str, wanted: "Wanted") -> "Known":
        """What is wanted of a run, found by a look at every result; of a large run, that takes seconds.

        Raises:
            StoreError: there is no such run.
        """
        return self._access.read(lambda db: narrowing.search(db, find_number(db, self.path, run_id), wanted))

    def endings(self, run: Run) -> "Endings":
        """How the trials of a run ended, counted in the file."""
        return self.all_endings([run])[0]

    def all_endings(self, runs: Sequence[Run]) -> "list[Endings]":
        """The same for each of several runs, with one look into the file."""
        return self._access.read(lambda db: [endings_of(db, run.id, len(run.datasets)) for run in runs])

    def shared(self, run: Run, baseline: Run, *, beside: bool = False) -> "Shared":
        """How many trials of a run were in an earlier one too, and how many of them passed in each.

        `beside` says that some are tests of a prompt that stand beside the headline figure: those are left out.
        """
        return self._access.read(lambda db: shared_by(db, run, baseline, beside=beside))

    def check(self) -> Health:
        """Whether the file is sound, and what is in it."""
        self._access.usable()
        if isinstance(self.path, Path):
            return examine(self.path, self._access.notes)
        return self._access.read(lambda db: examine_server(db, self.path))

    def copy(self, to: str | os.PathLike[str]) -> None:
        """Copy the whole store to a new file, also while runs are being written.

        Raises:
            StoreError: there is such a file already, or it cannot be written; or the store is on a server.
        """
        self._access.usable()
        if not isinstance(self.path, Path):
            raise StoreError(f"{self.path}: a store on a server is copied with the server's own tools, as pg_dump.")
        target = Path(to)
        if target.exists():
            raise StoreError(f"{target}: there is a file with this name already; name another one.")
        with explained(target, needed=self.path.stat().st_size, what="the copy"):
            copy(self.path, target)
            sent.copy_notes(self.path, target)

    # The calls of a run.

    def call_log(self, run_id: str | None = None) -> CallLog:
        """The journal of a run that is written here, or one for calls outside of runs.

        What its `keep` has returned from is on the disk. A store that was opened for reading finds
        calls and keeps none.
        """
        of = None if run_id is None else self._holding(run_id).sent
        return StoredCallLog(self._finder, self._access.writable, self._log, of)

    def tool_log(self, run_id: str | None = None) -> ToolLog:
        """Where the calls of tools are kept, for a run that is written here or outside of runs; for any thread."""
        number = None if run_id is None else self._holding(run_id).writing.number
        return StoredToolLog(self.path, self._lookups, self._access.write, number)

    def interrupted_calls(self, run_id: str) -> int | None:
        """Requests that were under way when a run broke off, and that nobody knows the reply of.

        Of a run that was resumed here: when its earlier pass broke off. None where that was another machine, which alone
        has the notes of it: a store on a server only.
        """
        if run_id in self._held:
            return self._held[run_id].writing.interrupted

        def count(db: Connection) -> int | None:
            number, passed, is_written = writing_of(db, self.path, self._here, run_id)
            return sent.interrupted(db, self.path, Pass(number, passed - is_written))

        return self._access.read(count)

    def spending(self, run_id: str) -> tuple[Spending, ...]:
        """What the calls of a run came to in all its passes so far, one entry a model; without what was replayed."""
        self._log.settle()
        return self._access.read(lambda db: spending.spending(db, writing_of(db, self.path, self._here, run_id)[0]))

    # Vectors.

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known vectors of some texts by the model with this fingerprint."""
        self._access.usable()
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._get, fingerprint, tuple(texts))

    async def put(self, fingerprint: str, vectors_of: "Mapping[str, Vectors]") -> None:
        """Keep vectors.

        Raises:
            StoreFullError: the disk is full.
        """
        needed = sum(40 + 4 * len(vector) for vector in vectors_of.values())
        await self._access.write_soon(lambda db: vectors.put(db, fingerprint, vectors_of), "the vectors", needed)

    def _get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        with explained(self.path):
            if self._vectors is None:
                self._vectors = self._access.connect()
            return vectors.get(self._vectors, fingerprint, texts)

    # Closing.

    def close(self) -> None:
        """Let go of everything; runs that were not finished can be resumed."""
        if not self._access.is_open:
            return
        for held in self._held.values():
            with contextlib.suppress(StoreError):  # the process ends anyway, and with it its hold
                self._access.write(partial(writing.release, writing=held.writing), "the change")
        self._access.refuse()
        self._log.settle()
        for held in self._held.values():
            held.close()
        self._reader.shutdown()
        self._lookups.close()
        if self._vectors is not None:
            self._vectors.close()
        self._access.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _save_calls(self, entries: Sequence[Entry]) -> None:
        """Save what the log has gathered, in the thread that writes."""
        needed = sum(300 + entry.row.size for entry in entries)
        self._access.write_here(lambda db: save(db, entries), f"saving {count(len(entries), 'call')}", needed)

    def _hold(self, held: Writing) -> Held:
        return Held(held, self.path, self._access.usable, self._access.connect)

    def _holding(self, run_id: str) -> Held:
        self._access.writable()
        if run_id not in self._held:
            raise StoreError(f"{self.path}: run {run_id!r} is not being written here; start or resume it first.")
        return self._held[run_id]
