"""The state of a run that this process writes: where results go, and which trials are stored already."""

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence

from evalmark.core.values.case import Output
from evalmark.core.values.score import Result, Trial
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.storage.call_log.requests_in_flight import RequestsInFlight, RunPass
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import sql_text
from evalmark.storage.results.rows import encode_result
from evalmark.storage.results.stored_runs import stored_result

from . import run_transactions
from .run_transactions import ConfirmedResult, RunLock

Act = Callable[[Connection], None]

_MANY_SEEN = 5_000


class OpenRun:
    """A run that this process writes, with earlier results that were confirmed but not yet saved."""

    def __init__(
        self, run_lock: RunLock, path: StoreLocation, usable: Callable[[], None], connect: Callable[[], Connection]
    ) -> None:
        self.run_lock = run_lock
        self.retry_errors = False
        self.confirmed: deque[ConfirmedResult] = deque()
        self._path, self._usable, self._connect = path, usable, connect
        self._lookups: Connection | None = None
        self.sent = RequestsInFlight(path, RunPass(run_lock.number, run_lock.pass_), run_lock.lost)

    def save(self, db: Connection, results: Sequence[Result]) -> None:
        """Save results and confirmed earlier ones, in the writer thread."""
        kept = [(encode_result(result), result) for result in results]
        with self.take_confirmed() as seen:
            needed = sum(200 + len(row.scores) + len(row.output) + len(row.content) for row, _ in kept)
            with store_errors(self._path, needed=needed, what=f"saving {len(kept)} results"):
                run_transactions.write(db, self._path, self.run_lock, kept, seen)

    @contextlib.contextmanager
    def take_confirmed(self) -> Iterator[list[ConfirmedResult]]:
        """Take the confirmed results that are not saved yet; restore them if the block raises."""
        seen = [self.confirmed.popleft() for _ in range(len(self.confirmed))]
        try:
            yield seen
        except BaseException:
            self.confirmed.extendleft(reversed(seen))
            raise

    @contextlib.contextmanager
    def lookups(self) -> Iterator[Connection]:
        """Lend the connection for lookups, which stays open as long as the run."""
        self._usable()
        with store_errors(self._path):
            if self._lookups is None:
                self._lookups = self._connect()
            yield self._lookups

    def result(self, number: int) -> Result | None:
        """Return a stored result by its row number.

        Raises:
            StoreError: it is damaged.
        """
        with self.lookups() as db:
            return stored_result(db, self._path, self.run_lock.number, number)

    def close(self) -> None:
        """Close the files of the run."""
        self.sent.close()
        if self._lookups is not None:
            self._lookups.close()


class RunSink:
    """Stores the results of one run."""

    def __init__(self, held: OpenRun, write: Callable[[Act, str], Awaitable[None]]) -> None:
        self._held, self._write = held, write

    async def write(self, results: Sequence[Result]) -> None:
        """Save results. They are durable when this returns.

        Raises:
            StoreFullError: the disk is full; none of these results is saved, all earlier ones are.
            StoreBusyError: another process has taken the run over.
            StoreError: the store cannot be written.
        """
        batch = tuple(results)
        await self._write(lambda db: self._held.save(db, batch), "the results")


class RecordedTrials:
    """Finds trials among the results that earlier passes of the run have stored."""

    def __init__(self, held: OpenRun, write: Callable[[Act, str], None], *, retry_errors: bool) -> None:
        self._held, self._write, self._retry_errors = held, write, retry_errors

    def __call__(self, trial: Trial) -> bool:
        held = self._held
        found = self._look_up(trial)
        if found is None:
            return False
        number, verdict = found
        # An error that is not retried, because of a limit, stays part of the run.
        held.confirmed.append(
            ConfirmedResult(number, trial.position, sql_text(mask_secrets(trial.case.place, careful=True)))
        )
        if len(held.confirmed) >= _MANY_SEEN:
            self._write(lambda db: held.save(db, ()), "the results")
        return not (self._retry_errors and verdict == "error")

    def output(self, trial: Trial) -> Output | None:
        """Return the stored output of a trial; None if there is none.

        Raises:
            StoreError: the stored result is damaged.
        """
        found = self._look_up(trial)
        result = None if found is None else self._held.result(found[0])
        return None if result is None else result.output

    def _look_up(self, trial: Trial) -> tuple[int, str] | None:
        if self._held.run_lock.pass_ == 1:
            return None
        with self._held.lookups() as db:
            return run_transactions.look_up(db, self._held.run_lock, trial)
