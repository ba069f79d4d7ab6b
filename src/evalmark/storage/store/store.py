"""The public class `Store`, and `open_store`."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from evalmark.core.errors import OlderStoreError, StoreError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import CallLog, CompletedTrials, Sink, ToolLog
from evalmark.core.values.run import Run, RunTotals, Shard
from evalmark.core.values.score import VerdictListener
from evalmark.core.values.spending import Spending
from evalmark.storage.call_log import reply_recovery, requests_in_flight, spending
from evalmark.storage.call_log.lookups import CallLookup, RowLookup
from evalmark.storage.call_log.reply_file import CAN_LOCK
from evalmark.storage.call_log.reply_log import ReplyLog
from evalmark.storage.call_log.requests_in_flight import RunPass
from evalmark.storage.call_log.stored_log import StoredCallLog
from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import close_on_error, store_errors
from evalmark.storage.database.holder import this_process
from evalmark.storage.database.open import open_read_only, open_writable, parse_store_location
from evalmark.storage.database.schema import copy
from evalmark.storage.database.sqlite import Notes, open_writable_file
from evalmark.storage.results.stored_results import RunSink
from evalmark.storage.results.stored_runs import (
    current_pass,
    find_number,
    find_run,
    list_runs,
    runs_of_suite,
    unfinished_run,
)

from . import run_transactions, vectors
from .access import StoreAccess
from .open_run import OpenRun, RecordedTrials
from .run_transactions import RunLock

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.storage.call_log import stored_tool_log
    from evalmark.storage.queries import overlap, pages, progress, run_totals, search, stop_requests, verdict_counts
    from evalmark.storage.queries.filter import ResultFilter
    from evalmark.storage.queries.overlap import SharedTrials
    from evalmark.storage.queries.pages import NumberedResult, ResultBrowser, TargetCase
    from evalmark.storage.queries.progress import RunProgress, StoreProgress, StoreVersion
    from evalmark.storage.queries.search import SearchHits
    from evalmark.storage.queries.verdict_counts import VerdictCounts
    from evalmark.storage.sessions import store
    from evalmark.storage.sessions.store import SessionStore

    from . import deletion as stored_deletion
    from . import health, merge, recordings
    from .deletion import Deletion, DeletionPlan
    from .health import Health
    from .merge import StoredMerge
    from .recordings import Recordings
else:
    stored_deletion = LazyModule("evalmark.storage.store.deletion")
    health = LazyModule("evalmark.storage.store.health")
    merge = LazyModule("evalmark.storage.store.merge")
    overlap = LazyModule("evalmark.storage.queries.overlap")
    pages = LazyModule("evalmark.storage.queries.pages")
    progress = LazyModule("evalmark.storage.queries.progress")
    recordings = LazyModule("evalmark.storage.store.recordings")
    run_totals = LazyModule("evalmark.storage.queries.run_totals")
    stop_requests = LazyModule("evalmark.storage.queries.stop_requests")
    search = LazyModule("evalmark.storage.queries.search")
    store = LazyModule("evalmark.storage.sessions.store")
    stored_tool_log = LazyModule("evalmark.storage.call_log.stored_tool_log")
    verdict_counts = LazyModule("evalmark.storage.queries.verdict_counts")


def open_store(
    path: str | os.PathLike[str], *, read_only: bool = False, notes: Notes | None = None, max_pages: int | None = None
) -> "Store":
    """Open the store in a file or on a PostgreSQL server; unless `read_only`, a missing one is created.

    Args:
        path: A file, or an address that begins with `postgresql://`.
        read_only: Open for reading; the store has to exist.
        notes: Called with one sentence at a time that a user should know, possibly from another thread: a
            wait for another process, or a file system that is unsuitable.
        max_pages: The largest size of a file, in pages of 4,096 bytes; by default unlimited.

    Returns:
        The store, which should be closed after use; it is a context manager.

    Raises:
        ConfigError: The schema in an address is not a valid name.
        MissingExtraError: The extra `postgres`, which an address needs, is not installed.
        StoreError: The store cannot be used; the message says why and what to do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/evals.db") as store:
    ...     store.runs()
    []
    """
    location = parse_store_location(path)
    tell = notes or (lambda _: None)
    if read_only:
        with contextlib.closing(_open_to_read(location, tell)) as db:
            if isinstance(location, Path) and reply_recovery.has_files(db, location):
                _recover_before_reading(location, notes)
        return Store(StoreAccess(location, None, tell))
    db = open_writable(location, tell, max_pages)
    if isinstance(location, Path):
        with store_errors(location, what="the replies of a process that was killed"), close_on_error(db):
            reply_recovery.recover(db, location, tell)
            for unknown in reply_recovery.unknown_files(db, location):
                tell(reply_recovery.unknown_file_message(unknown))
            if location.with_name(f"{location.name}-erase").exists():
                stored_deletion.erase(location, waits=False)
    return Store(StoreAccess(location, db, tell))


def await_store(path: str | os.PathLike[str], *, notes: Notes | None = None) -> "Store":
    """Return the store in a file that does not exist yet: without content until a run or the first write creates it."""
    return Store(StoreAccess(parse_store_location(path), None, notes or (lambda _: None), is_awaited=True))


def _open_to_read(location: StoreLocation, notes: Notes) -> Connection:
    """Open a store for reading; a file of an older evalmark is brought up to date first, if that is possible."""
    try:
        return open_read_only(location, notes)
    except OlderStoreError:
        if not (isinstance(location, Path) and os.access(location, os.W_OK) and os.access(location.parent, os.W_OK)):
            raise
    open_writable(location, notes).close()
    notes(f"{location} was written by an older evalmark and is up to date now; a copy of the older one is beside it.")
    return open_read_only(location, notes)


def _recover_before_reading(path: Path, notes: Notes | None) -> None:
    """Store the replies that killed processes left, if that is possible without a wait."""
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return
    with (
        contextlib.suppress(StoreError),
        store_errors(path),
        contextlib.closing(open_writable_file(path, notes or (lambda _: None))) as db,
    ):
        db.set_busy_handler(None)
        reply_recovery.recover(db, path, notes)


class Store:
    """Runs with their results, recorded calls, sessions, labels and vectors. `open_store` creates it."""

    def __init__(self, access: StoreAccess) -> None:
        self.path = access.path
        self._access = access
        self._here = this_process()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store-read")
        self._vectors: Connection | None = None
        self._open_runs: dict[str, OpenRun] = {}
        self._log = ReplyLog(
            self.path, access.submit, access.write_now, uses_file=CAN_LOCK and access.has_write_ahead_log()
        )
        access.move_calls = self._log.drain
        self._lookups = RowLookup(self.path, access.check_usable, access.connect)
        self._find_call = CallLookup(self._lookups, self._log)

    @cached_property
    def recordings(self) -> "Recordings":
        """The recorded calls of chat models and tools."""
        return recordings.Recordings(self._access)

    @cached_property
    def sessions(self) -> "SessionStore":
        """The recorded sessions of applications, and all labels."""
        return store.SessionStore(self.path, self._access.read, self._access.write)

    @property
    def is_writable(self) -> bool:
        """Whether the store can be written."""
        return self._access.is_writable

    # Writing a run.

    def start(self, run: Run) -> None:
        """Write the header of a new run, and reserve the run for this process.

        Raises:
            StoreError: there is a run with this id, or the store cannot be written.
        """
        run_lock = self._access.write(lambda db: run_transactions.start(db, self.path, run, this_process()), "the run")
        self._open_runs[run.id] = self._opened(run_lock)

    def resume(self, run_id: str, *, force: bool = False, retry_errors: bool = False) -> Run:
        """Continue a run, also a complete one; its stored results count as recorded.

        With `force`, the run is taken over even from a process that seems to be alive, for example on another
        machine. With `retry_errors`, here or in `recorded`, trials that ended in an error are run again.

        Raises:
            StoreBusyError: another process writes the run.
            StoreError: there is no such run, or the store cannot be written.
        """
        self._recover()
        run_lock = self._access.write(
            lambda db: run_transactions.resume(db, self.path, run_id, this_process(), force=force), "the run"
        )
        if (earlier := self._open_runs.get(run_id)) is not None:
            earlier.close()
        self._open_runs[run_id] = self._opened(run_lock)
        self._open_runs[run_id].retry_errors = retry_errors
        return self.run(run_id)

    def recorded(self, run_id: str, *, retry_errors: bool = False) -> CompletedTrials:
        """Return a function that tells which trials are stored already, by the id and content of their cases.

        A trial that it finds belongs to the run, at its present position. When a resumed run ends complete,
        earlier results that were not looked up are dropped. With `retry_errors`, a trial that ended in an
        error is not found, and its new result replaces the error.
        """
        open_run = self._open_run(run_id)
        return RecordedTrials(open_run, self._access.write, retry_errors=retry_errors or open_run.retry_errors)

    def sink(self, run_id: str) -> Sink:
        """Return the sink for the results of a run."""
        return RunSink(self._open_run(run_id).save, self._access.write_async)

    def amend(self, run: Run) -> None:
        """Update the header of a run that continues with further datasets or metrics.

        Raises:
            StoreError: the store cannot be written.
        """
        open_run = self._open_run(run.id)
        open_run.run_lock = self._access.write(
            lambda db: run_transactions.amend(db, self.path, open_run.run_lock, run), "the run"
        )

    def finish(self, run: Run) -> None:
        """Write the final header of a run and release it.

        Raises:
            StoreError: the store cannot be written.
        """
        open_run = self._open_run(run.id)
        if self._open_runs.keys() == {run.id}:
            self._log.release()
        else:
            self._log.drain()
        with open_run.take_confirmed() as confirmed:
            self._access.write(
                lambda db: run_transactions.finish(db, self.path, open_run.run_lock, run, confirmed, open_run.sent),
                "the end of the run",
            )
        open_run.close()
        open_run.sent.remove()
        del self._open_runs[run.id]

    def add(self, runs: Sequence[Run]) -> None:
        """Write finished runs with all their results, in one transaction.

        Raises:
            StoreError: there is a run with the id of one of them, or the store cannot be written.
        """
        self._access.write(lambda db: run_transactions.add(db, self.path, runs), "the runs")

    def forget(self, run_id: str) -> None:
        """Delete a run and its results permanently.

        Raises:
            StoreError: there is no such run, or a living process writes it.
        """
        self._recover()
        self._access.write(lambda db: run_transactions.forget(db, self.path, run_id, self._here), "the change")

    def plan_deletion(self, deletion: "Deletion") -> "DeletionPlan":
        """Count what a deletion of runs and recorded sessions deletes; nothing is changed."""
        return self._access.read(lambda db: stored_deletion.plan_deletion(db, self.path, deletion))

    def delete(self, deletion: "Deletion") -> str:
        """Delete runs and recorded sessions, all or none, so that nothing of them can be recovered from the store.

        Labels on them go too, and so do recorded replies that no other run uses. Returns what could not be erased yet,
        as a sentence; empty if all was.

        Raises:
            StoreBusyError: another process writes one of the runs.
            StoreError: the store cannot be written.
        """
        self._recover()
        stored_deletion.note_deletion(self.path, deletion)
        try:
            self._access.write(lambda db: stored_deletion.delete(db, self.path, deletion, self._here), "the change")
        except StoreError:
            stored_deletion.withdraw_note(self.path, deletion)
            raise
        return stored_deletion.erase(self.path)

    def labels_of_run(self, run_id: str) -> int:
        """Return the number of labels on the outputs and scores of a run."""
        return self._access.read(lambda db: stored_deletion.labels_of_run(db, run_id))

    def labelled_sessions(self, project: str) -> tuple[list[str], list[str]]:
        """Return the ids of the sessions of a project without labels, and of those with labels."""
        return self._access.read(lambda db: stored_deletion.labelled_sessions(db, project))

    def merge(
        self, whole: Run, shares: Sequence[tuple["Store", Run]], on_verdicts: VerdictListener | None = None
    ) -> "StoredMerge":
        """Merge shards, each given with the store that holds it, into a new run, in one transaction.

        Results, recorded calls and labels are copied; calls that are already here stay unchanged. If the
        merged run exists already, only new labels are copied. `on_verdicts` is called as results are copied, in
        another thread.

        Raises:
            StoreError: a shard is damaged, or there is another run with this id, or the store cannot be written.
        """
        sources = [merge.MergeSource(run=run, path=store.path, connect=store._access.connect) for store, run in shares]
        self._log.drain()
        return self._access.write(
            lambda db: merge.merge_shards(db, self.path, whole, sources, on_verdicts), "the merged run"
        )

    # Reading.

    def runs(self, limit: int | None = None, offset: int = 0, *, before: str = "") -> list[Run]:
        """Return runs, the newest first by the time they started: at most `limit`, after the first `offset`.

        Results are read when they are iterated.

        With `before`, the id of a run, only runs that were started earlier are returned.
        """
        return self._access.read(lambda db: list_runs(db, self.path, self._here, limit, offset, before=before))

    def runs_of_suite(self, run: Run, *, later: int, earlier: int) -> tuple[list[Run], list[Run]]:
        """Return the runs after and before a run that have its suite file and its name, each the newest first.

        Args:
            run: a run of the store.
            later: the most runs after it.
            earlier: the most runs before it.
        """
        return self._access.read(lambda db: runs_of_suite(db, self.path, self._here, run, later=later, earlier=earlier))

    def progress(self) -> "StoreProgress":
        """Return the number of runs, and the progress of those that are being written."""
        return self._access.read(lambda db: progress.store_progress(db, self.path, self._here))

    def version(self) -> "StoreVersion":
        """Return a reader that tells cheaply whether anything was written since; it has to be closed."""
        return progress.StoreVersion(self._access.connect, self.path)

    def run_progress(self, reference: str) -> "RunProgress":
        """Return the progress of a run.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._access.read(
            lambda db: progress.run_progress(db, self.path, self._here, find_number(db, self.path, reference))
        )

    def run(self, reference: str) -> Run:
        """Return the run with an id, or a unique prefix of one, or the newest run of a name or a suite file.

        `last` is the newest run; `~N` after it, a name or a suite file goes back by N runs.

        Raises:
            StoreError: there is no such run, or there are several.
        """
        return self._access.read(lambda db: find_run(db, self.path, self._here, reference, self._access.notes))

    def unfinished(
        self, plan: str, suite: str, shard: Shard | None = None, *, retry_errors: bool = False
    ) -> Run | None:
        """Return the newest incomplete run of this plan, suite and shard; with `retry_errors`, also a complete one with errors."""
        return self._access.read(
            lambda db: unfinished_run(db, self.path, self._here, (plan, suite), shard, errors=retry_errors)
        )

    def browse(self, run_id: str) -> "ResultBrowser":
        """Return a reader for pages of a run's results, in any order.

        It can be used from any thread, and has to be closed.

        Raises:
            StoreError: there is no such run.
        """
        number = self._access.read(lambda db: find_number(db, self.path, run_id))
        return pages.ResultBrowser(self._access.connect(), self.path, number)

    def results_of_case(self, cases: "Mapping[str, TargetCase]") -> "Mapping[str, tuple[NumberedResult, ...]]":
        """Return the results of a case in several runs, by repeat; runs that are not stored any more are left out.

        Args:
            cases: the id of each run, and where the case is in it.

        Raises:
            StoreError: a result is damaged.
        """

        def read(db: Connection) -> "Mapping[str, tuple[NumberedResult, ...]]":
            known = {
                run_id: db.execute("select number from run where id = ?", (run_id,)).fetchone() for run_id in cases
            }
            return {
                run_id: pages.ResultBrowser(db, self.path, row[0]).results_of_cases([cases[run_id]])[0]
                for run_id, row in known.items()
                if row is not None
            }

        return self._access.read(read)

    def search(self, run_id: str, wanted: "ResultFilter") -> "SearchHits":
        """Find all matching results of a run by reading every result; takes seconds for a large run.

        Raises:
            StoreError: there is no such run.
        """
        return self._access.read(lambda db: search.search_all(db, find_number(db, self.path, run_id), wanted))

    def search_texts(
        self, run_id: str, matches: Callable[[str], bool], pause: Callable[[], object] = lambda: None
    ) -> list[int]:
        """Return the numbers of the results of a run of which `matches` accepts the id, a text of the case or the output, or a reason.

        Raises:
            StoreError: there is no such run.
        """
        return self._access.read(lambda db: search.search_texts(db, find_number(db, self.path, run_id), matches, pause))

    def verdict_counts(self, run: Run) -> "VerdictCounts":
        """Count the verdicts of a run's trials."""
        return self.all_verdict_counts([run])[0]

    def all_verdict_counts(self, runs: Sequence[Run]) -> "list[VerdictCounts]":
        """Count the verdicts of several runs, in one read."""
        return self._access.read(
            lambda db: [verdict_counts.count_verdicts(db, run.id, len(run.datasets)) for run in runs]
        )

    def totals(self, runs: Iterable[Run]) -> Mapping[str, RunTotals]:
        """Return the stored totals of finished runs by id, without reading results; those not calculated yet are left out."""
        return self._access.read(lambda db: run_totals.read_totals(db, [run.id for run in runs]))

    def save_totals(self, totals: Sequence[tuple[Run, RunTotals]]) -> None:
        """Store totals that were calculated from the results of finished runs.

        A store that was opened for reading stores them too, if it can do so without a wait.
        """
        self._save_calculated(lambda db: run_totals.save_totals(db, totals))

    def summary(self, run: Run) -> str | None:
        """Return the stored summary of a finished run, without reading results; None if it was not calculated yet."""
        return self._access.read(lambda db: run_totals.read_summary(db, run))

    def save_summary(self, run: Run, summary: str) -> None:
        """Store the summary that was calculated from the results of a finished run, as `save_totals` does."""
        self._save_calculated(lambda db: run_totals.save_summary(db, run, summary))

    def accept_stops(self, run_id: str) -> None:
        """Note that the process of a run looks for requests to stop it."""
        self._access.write(lambda db: stop_requests.accept_stops(db, run_id), "the run")

    def request_stop(self, run_id: str, by: str) -> bool:
        """Request that a run stops; return whether its process looks for requests."""
        return self._access.write(lambda db: stop_requests.request_stop(db, run_id, by), "the request")

    def stop_request(self, run_id: str) -> str | None:
        """Return who requested that a run stops; empty if nobody did, None if its process does not look for requests."""
        return self._access.read(lambda db: stop_requests.stop_request(db, run_id))

    def _save_calculated(self, save: Callable[["Connection"], None]) -> None:
        if self._access.is_writable:
            self._access.write(save, "the figures of a run")
            return
        with (
            contextlib.suppress(StoreError),
            store_errors(self.path),
            contextlib.closing(open_writable(self.path, lambda _: None)) as db,
        ):
            if isinstance(db, FileConnection):
                db.set_busy_handler(None)
            save(db)

    def shared_trials(self, run: Run, baseline: Run, *, counted_only: bool = False) -> "SharedTrials":
        """Count the trials that a run shares with an earlier one, and how many of them passed in each.

        `counted_only` leaves out prompt tests that do not count for the headline figure.
        """
        return self._access.read(lambda db: overlap.count_shared_trials(db, run, baseline, counted_only=counted_only))

    def check(self) -> "Health":
        """Check the store, and count what it holds."""
        self._access.check_usable()
        self._log.drain()
        if isinstance(self.path, Path):
            return health.examine(self.path, self._access.notes)
        return self._access.read(lambda db: health.examine_server(db, self.path))

    def copy(self, to: str | os.PathLike[str]) -> None:
        """Copy the whole store to a new file; runs may be written meanwhile.

        Raises:
            StoreError: there is such a file already, or it cannot be written; or the store is on a server.
        """
        self._access.check_usable()
        if not isinstance(self.path, Path):
            raise StoreError(
                f"{self.path}: a store on a server is copied with the server's own tools, such as pg_dump."
            )
        target = Path(to)
        if target.exists():
            raise StoreError(f"{target}: there is a file with this name already; name another one.")
        with store_errors(target, needed=self.path.stat().st_size, what="the copy"):
            self._copy(self.path, target)

    def _copy(self, path: Path, target: Path) -> None:
        self._log.drain()
        with contextlib.ExitStack() as stack:
            opened = self._access.read(lambda db: reply_recovery.open_files(db, path))
            for file in opened.values():
                stack.enter_context(file)
            copy(path, target)
            requests_in_flight.copy_notes(path, target)
            with contextlib.closing(FileConnection(str(target))) as db:
                reply_recovery.copy_files(opened, path, db, target)

    # The calls of a run.

    def call_log(self, run_id: str | None = None) -> CallLog:
        """Return the call log of a run that is written here, or the one for calls outside of runs.

        A call is durable once its `keep` has returned. The call log of a read-only store finds calls and
        stores none.
        """
        of = None if run_id is None else self._open_run(run_id).sent
        return StoredCallLog(self._find_call, self._access.notes, self._access.check_writable, self._log, of)

    def tool_log(self, run_id: str | None = None) -> ToolLog:
        """Return the log of tool calls, for a run that is written here or outside of runs; for any thread."""
        number = None if run_id is None else self._open_run(run_id).run_lock.number
        return stored_tool_log.StoredToolLog(self._lookups, self._access.write, number)

    def interrupted_calls(self, run_id: str) -> int | None:
        """Return how many requests were in flight when a run was interrupted.

        For a run that was resumed here, that is its previous pass. None if the notes of requests are on
        another machine, which can happen only with a store on a server.
        """
        if run_id in self._open_runs:
            return self._open_runs[run_id].run_lock.interrupted

        def count(db: Connection) -> int | None:
            number, passed, is_written = current_pass(db, self.path, self._here, run_id)
            return requests_in_flight.interrupted(db, self.path, RunPass(number, passed - is_written))

        return self._access.read(count)

    def spending(self, run_id: str) -> tuple[Spending, ...]:
        """Return what a run has spent in all its passes, one entry for each model, without replayed calls."""
        return self._access.read(lambda db: spending.spending(db, current_pass(db, self.path, self._here, run_id)[0]))

    # Vectors.

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return the stored vectors of texts, computed by the model with this fingerprint."""
        self._access.check_usable()
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._get, fingerprint, tuple(texts))

    async def put(self, fingerprint: str, vectors_of: "Mapping[str, Vectors]") -> None:
        """Store vectors.

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
        """Close the store; unfinished runs can be resumed."""
        if not self._access.is_open:
            return
        self._log.drain()  # before another process can resume a run
        for open_run in self._open_runs.values():
            with contextlib.suppress(StoreError):  # the process ends anyway, which releases the run
                self._access.write(partial(run_transactions.release, run_lock=open_run.run_lock), "the change")
        self._access.stop_accepting()
        self._log.close()
        for open_run in self._open_runs.values():
            open_run.close()
        self._reader.shutdown()
        self._find_call.close()
        if self._vectors is not None:
            self._vectors.close()
        self._access.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _recover(self) -> None:
        """Store all calls of this process, and those of processes that were killed since the store was opened."""
        self._log.drain()
        if isinstance(path := self.path, Path):
            notes = self._access.notes
            self._access.write(
                lambda db: reply_recovery.recover(db, path, notes), "the replies of a process that was killed"
            )

    def _opened(self, run_lock: RunLock) -> OpenRun:
        return OpenRun(run_lock, self.path, self._access.check_usable, self._access.connect)

    def _open_run(self, run_id: str) -> OpenRun:
        self._access.check_writable()
        if run_id not in self._open_runs:
            raise StoreError(f"{self.path}: run {run_id!r} is not being written here; start or resume it first.")
        return self._open_runs[run_id]
