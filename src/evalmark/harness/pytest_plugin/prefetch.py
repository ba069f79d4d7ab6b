"""Runs the cases of an eval concurrently, while pytest reports them one by one."""

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress

from evalmark.core.errors import RunStoppedError
from evalmark.core.sync import BackgroundLoop
from evalmark.core.values.score import Result, Trial
from evalmark.runs.session.run_session import PreparedPlan, RunSession

from .result_store import RunKeeper, WorkerResults

CUT_SHORT = "the run ended before this case was run"
Key = tuple[int, int]
"""Position and repeat."""


class Prefetch:
    """The results of one eval, whose cases run concurrently."""

    def __init__(
        self,
        run_session: RunSession,
        keeper: RunKeeper | WorkerResults,
        prepared: PreparedPlan,
        trials: Sequence[Trial],
        loop: BackgroundLoop,
    ) -> None:
        self._run_session, self._keeper, self._prepared = run_session, keeper, prepared
        self._results: dict[Key, Future[Result]] = {(t.position, t.repeat): Future() for t in trials}
        self._running = loop.start(self._run(trials))

    def result(self, trial: Trial) -> Result | None:
        """Wait for the result of a trial and return it; None where the trial is not prefetched.

        Raises:
            RunStoppedError: no further call could be made.
            StoreError: the result could not be stored.
        """
        future = self._results.get((trial.position, trial.repeat))
        return None if future is None else future.result()

    @property
    def is_done(self) -> bool:
        """Whether all trials have ended."""
        return self._running.done()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all trials have ended and their spending is noted, or for so many seconds."""
        with suppress(TimeoutError):
            self._running.exception(seconds)

    async def _run(self, trials: Sequence[Trial]) -> None:
        before = self._run_session.spending()
        try:
            reason = await self._run_session.run(self._prepared, trials, self)
        except BaseException as error:
            self._settle(error)
            raise
        self._keeper.spent(self._prepared.dataset, self._run_session.spent_since(before))
        self._settle(RunStoppedError(reason or CUT_SHORT))

    async def write(self, results: Sequence[Result]) -> None:
        """Store results, and only then pass them to the tests that wait for them."""
        await self._keeper.write(results)
        for result in results:
            self._results[result.trial.position, result.trial.repeat].set_result(result)

    def _settle(self, error: BaseException) -> None:
        """Raise an error in every test that still waits."""
        for waiting in self._results.values():
            if not waiting.done():
                waiting.set_exception(error)
