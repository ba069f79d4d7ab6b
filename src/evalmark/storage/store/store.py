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
from evalmark.storage.call_log import requests_in_flight, spending
from evalmark.storage.call_log.group_commit import GroupCommit
from evalmark.storage.call_log.requests_in_flight import RunPass
from evalmark.storage.call_log.stored_log import LogEntry, ReplyFinder, RowLookup, StoredCallLog, save_calls
from evalmark.storage.call_log.stored_tool_log import StoredToolLog
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.holder import this_process
from evalmark.storage.database.open import open_read_only, open_writable, parse_store_location
from evalmark.storage.database.schema import copy
from evalmark.storage.database.sqlite import Notes
from evalmark.storage.queries import search
from evalmark.storage.queries.overlap import count_shared_trials
from evalmark.storage.queries.progress import run_progress
from evalmark.storage.queries.progress import store_progress as browsing_moment
from evalmark.storage.queries.verdict_counts import count_verdicts
from evalmark.storage.results.stored_runs import current_pass, find_number, find_run, list_runs, unfinished_run

from . import run_transactions, vectors
from .access import StoreAccess
from .health import Health, examine, examine_server
from .merge import MergeResult, MergeSource, ResultListener, merge_shards
from .open_run import OpenRun, RecordedTrials, RunSink
from .recordings import Recordings
from .run_transactions import HeldRun

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.storage.queries import pages
    from evalmark.storage.queries.filter import ResultFilter
    from evalmark.storage.queries.overlap import SharedTrials
    from evalmark.storage.queries.pages import ResultBrowser
    from evalmark.storage.queries.progress import RunProgress, StoreProgress
    from evalmark.storage.queries.search import SearchHits
    from evalmark.storage.queries.verdict_counts import VerdictCounts
    from evalmark.storage.sessions import store
    from evalmark.storage.sessions.store import SessionStore
else:
    pages = LazyModule("evalmark.storage.queries.pages")
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
    place = parse_store_location(path)
    tell = notes or (lambda _: None)
    if read_only:
        open_read_only(place, tell).close()
        return Store(StoreAccess(place, None, tell))
    return Store(StoreAccess(place, open_writable(place, tell, max_pages), tell))


class Store:
    """Runs, their results, and the vectors of texts. Made by `open_store`."""

    def __init__(self, access: StoreAccess) -> None:
        self.path = access.path
        self.recordings = Recordings(access)
        """The recorded calls of chat models and tools."""
        self._access = access
        self._here = this_process()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store-read")
        self._vectors: Connection | None = None
        self._held: dict[str, OpenRun] = {}
        self._log = GroupCommit(access.submit, self._save_calls)
        self._lookups = RowLookup(self.path, access.check_usable, access.connect)
        self._finder = ReplyFinder(self.path, self._lookups, access.notes)

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
        held = self._access.write(lambda db: run_transactions.start(db, self.path, run, this_process()), "the run")
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
            lambda db: run_transactions.resume(db, self.path, run_id, this_process(), force=force), "the run"
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
        return RunSink(self._holding(run_id), self._access.write_async)

    def amend(self, run: Run) -> None:
        """Write the header anew of a run that goes on with further datasets, after those it has, or with further metrics.

        Raises:
            StoreError: the store cannot be written.
        """
        held = self._holding(run.id)
        held.writing = self._access.write(
            lambda db: run_transactions.amend(db, self.path, held.writing, run), "the run"
        )

    def finish(self, run: Run) -> None:
        """Write the final header of a run and let the run go.

        Raises:
            StoreError: the store cannot be written.
        """
        held = self._holding(run.id)
        self._log.drain()
        with held.taken() as seen:
            self._access.write(
                lambda db: run_transactions.finish(db, self.path, held.writing, run, seen, held.sent),
                "the end of the run",
            )
        held.close()
        held.sent.remove()
        del self._held[run.id]

    def add(self, runs: Sequence[Run]) -> None:
        """Write whole runs that were found elsewhere: all of them with all their results, or nothing.

        Raises:
            StoreError: there is a run with the id of one of them, or the store cannot be written.
        """
        self._access.write(lambda db: run_transactions.add(db, self.path, runs), "the runs")

    def forget(self, run_id: str) -> None:
        """Delete a run and its results for good.

        Raises:
            StoreError: there is no such run, or a living process writes it.
        """
        self._access.write(lambda db: run_transactions.forget(db, self.path, run_id, self._here), "the change")

    def merge(
        self, whole: Run, shares: Sequence[tuple["Store", Run]], watch: ResultListener | None = None
    ) -> MergeResult:
        """Write a run with all that its shares hold, each of which stands in the store beside it: all of it, or nothing.

        Results, recorded calls and labels are carried over; those calls that are here stay as they are. Where the run is
        here already, only labels are that its shares have been given since. `watch` is told of results on their way, in another thread.

        Raises:
            StoreError: a share is damaged, or there is another run with this id, or the store cannot be written.
        """
        found = [MergeSource(run=run, path=store.path, connect=store._access.connect) for store, run in shares]
        return self._access.write(lambda db: merge_shards(db, self.path, whole, found, watch), "the merged run")

    # Reading.

    def runs(self, limit: int | None = None, offset: int = 0, *, before: str = "") -> list[Run]:
        """The runs, the newest first: all, or at most `limit` behind the first `offset`; results are read when asked for.

        With `before`, the id of a run, those that were started before it.
        """
        return self._access.read(lambda db: list_runs(db, self.path, self._here, limit, offset, before=before))

    def progress(self) -> "StoreProgress":
        """How many runs there are, and how far those have come that are under way."""
        return self._access.read(lambda db: browsing_moment(db, self.path, self._here))

    def run_progress(self, reference: str) -> "RunProgress":
        """How far the run has come that a reference names.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._access.read(
            lambda db: run_progress(db, self.path, self._here, find_number(db, self.path, reference))
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

    def browse(self, run_id: str) -> "ResultBrowser":
        """Pages of a run's results, in any order; for any thread, until it is closed.

        Raises:
            StoreError: there is no such run.
        """
        number = self._access.read(lambda db: find_number(db, self.path, run_id))
        return pages.ResultBrowser(self._access.connect(), self.path, number)

    def search(self, run_id: str, wanted: "ResultFilter") -> "SearchHits":
        """What is wanted of a run, found by a look at every result; of a large run, that takes seconds.

        Raises:
            StoreError: there is no such run.
        """
        return self._access.read(lambda db: search.search_all(db, find_number(db, self.path, run_id), wanted))

    def verdict_counts(self, run: Run) -> "VerdictCounts":
        """How the trials of a run ended, counted in the file."""
        return self.all_verdict_counts([run])[0]

    def all_verdict_counts(self, runs: Sequence[Run]) -> "list[VerdictCounts]":
        """The same for each of several runs, with one look into the file."""
        return self._access.read(lambda db: [count_verdicts(db, run.id, len(run.datasets)) for run in runs])

    def shared_trials(self, run: Run, baseline: Run, *, beside: bool = False) -> "SharedTrials":
        """How many trials of a run were in an earlier one too, and how many of them passed in each.

        `beside` says that some are tests of a prompt that stand beside the headline figure: those are left out.
        """
        return self._access.read(lambda db: count_shared_trials(db, run, baseline, beside=beside))

    def check(self) -> Health:
        """Whether the file is sound, and what is in it."""
        self._access.check_usable()
        if isinstance(self.path, Path):
            return examine(self.path, self._access.notes)
        return self._access.read(lambda db: examine_server(db, self.path))

    def copy(self, to: str | os.PathLike[str]) -> None:
        """Copy the whole store to a new file, also while runs are being written.

        Raises:
            StoreError: there is such a file already, or it cannot be written; or the store is on a server.
        """
        self._access.check_usable()
        if not isinstance(self.path, Path):
            raise StoreError(f"{self.path}: a store on a server is copied with the server's own tools, as pg_dump.")
        target = Path(to)
        if target.exists():
            raise StoreError(f"{target}: there is a file with this name already; name another one.")
        with store_errors(target, needed=self.path.stat().st_size, what="the copy"):
            copy(self.path, target)
            requests_in_flight.copy_notes(self.path, target)

    # The calls of a run.

    def call_log(self, run_id: str | None = None) -> CallLog:
        """The journal of a run that is written here, or one for calls outside of runs.

        What its `keep` has returned from is on the disk. A store that was opened for reading finds
        calls and keeps none.
        """
        of = None if run_id is None else self._holding(run_id).sent
        return StoredCallLog(self._finder, self._access.check_writable, self._log, of)

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
            number, passed, is_written = current_pass(db, self.path, self._here, run_id)
            return requests_in_flight.interrupted(db, self.path, RunPass(number, passed - is_written))

        return self._access.read(count)

    def spending(self, run_id: str) -> tuple[Spending, ...]:
        """What the calls of a run came to in all its passes so far, one entry a model; without what was replayed."""
        self._log.drain()
        return self._access.read(lambda db: spending.spending(db, current_pass(db, self.path, self._here, run_id)[0]))

    # Vectors.

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known vectors of some texts by the model with this fingerprint."""
        self._access.check_usable()
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._get, fingerprint, tuple(texts))

    async def put(self, fingerprint: str, vectors_of: "Mapping[str, Vectors]") -> None:
        """Keep vectors.

        Raises:
            StoreFullError: the disk is full.
        """
        needed = sum(40 + 4 * len(vector) for vector in vectors_of.values())
        await self._access.write_async(lambda db: vectors.put(db, fingerprint, vectors_of), "the vectors", needed)

    def _get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        with store_errors(self.path):
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
                self._access.write(partial(run_transactions.release, writing=held.writing), "the change")
        self._access.stop_accepting()
        self._log.drain()
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

    def _save_calls(self, entries: Sequence[LogEntry]) -> None:
        """Save what the log has gathered, in the thread that writes."""
        needed = sum(300 + entry.row.size for entry in entries)
        self._access.write_now(lambda db: save_calls(db, entries), f"saving {count(len(entries), 'call')}", needed)

    def _hold(self, held: HeldRun) -> OpenRun:
        return OpenRun(held, self.path, self._access.check_usable, self._access.connect)

    def _holding(self, run_id: str) -> OpenRun:
        self._access.check_writable()
        if run_id not in self._held:
            raise StoreError(f"{self.path}: run {run_id!r} is not being written here; start or resume it first.")
        return self._held[run_id]
