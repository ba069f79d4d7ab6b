"""The state of a run that this process writes, and which trials are stored already."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from evalmark.core.values.case import Output
from evalmark.core.values.score import Result, Trial
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.storage.call_log.requests_in_flight import RequestsInFlight, RunPass
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import sql_text
from evalmark.storage.results.stored_results import EncodedResult, masked_id, stored_result

from . import run_transactions
from .run_transactions import ConfirmedResult, RunLock

_MANY_CONFIRMED = 5_000
_LOOK_UP = """
    select number, verdict from result where run = ? and dataset = ? and case_id = ? and target = ?
    and repeat = ? and mode = ? and fingerprint = ? and pass < ?
"""


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
        self.sent = RequestsInFlight(path, RunPass(run_lock.number, run_lock.pass_), run_lock.lost, run_lock.run_id)

    def save(self, db: Connection, results: Sequence[EncodedResult]) -> None:
        """Save results and confirmed earlier ones, in the writer thread."""
        with self.take_confirmed() as confirmed:
            needed = sum(200 + len(row.scores) + len(row.output) + len(row.content) for row, _ in results)
            with store_errors(self._path, needed=needed, what=f"saving {len(results)} results"):
                run_transactions.write(db, self._path, self.run_lock, results, confirmed)

    @contextlib.contextmanager
    def take_confirmed(self) -> Iterator[list[ConfirmedResult]]:
        """Take the confirmed results that are not saved yet; restore them if the block raises."""
        taken = [self.confirmed.popleft() for _ in range(len(self.confirmed))]
        try:
            yield taken
        except BaseException:
            self.confirmed.extendleft(reversed(taken))
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


class RecordedTrials:
    """Finds trials among the results that earlier passes of the run have stored."""

    def __init__(
        self, run: OpenRun, write: Callable[[Callable[[Connection], None], str], None], *, retry_errors: bool
    ) -> None:
        self._run, self._write, self._retry_errors = run, write, retry_errors

    def __call__(self, trial: Trial) -> bool:
        found = self._look_up(trial)
        if found is None:
            return False
        number, verdict = found
        # An error that is not retried, because of a limit, stays part of the run.
        self._run.confirmed.append(
            ConfirmedResult(number, trial.position, sql_text(mask_secrets(trial.case.place, careful=True)))
        )
        if len(self._run.confirmed) >= _MANY_CONFIRMED:
            self._write(lambda db: self._run.save(db, ()), "the results")
        return not (self._retry_errors and verdict == "error")

    def output(self, trial: Trial) -> Output | None:
        """Return the stored output of a trial; None if there is none.

        Raises:
            StoreError: the stored result is damaged.
        """
        found = self._look_up(trial)
        result = None if found is None else self._run.result(found[0])
        return None if result is None else result.output

    def _look_up(self, trial: Trial) -> tuple[int, str] | None:
        """Return the row number and the verdict of a trial's earlier result, if its case is unchanged."""
        run_lock = self._run.run_lock
        if run_lock.pass_ == 1:
            return None
        with self._run.lookups() as db:
            row = db.execute(
                _LOOK_UP,
                (
                    run_lock.number,
                    sql_text(trial.dataset),
                    sql_text(masked_id(trial.case.id)),
                    sql_text(trial.target),
                    trial.repeat,
                    trial.mode,
                    trial.case.fingerprint,
                    run_lock.pass_,
                ),
            ).fetchone()
        return None if row is None else (int(row[0]), str(row[1]))
