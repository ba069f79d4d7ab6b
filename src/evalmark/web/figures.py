"""The figures of runs, worked out beside the pages: those of a large run take seconds, and no page waits for them."""

import threading
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TakesLongerError
from contextlib import suppress
from dataclasses import dataclass

from evalmark import stats
from evalmark.errors import EvalmarkError
from evalmark.values import Run

_KEPT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """What a run came to, and what its gate says of it."""

    summary: stats.Summary
    verdict: stats.GateVerdict


class Figures:
    """Works out the figures of each run once, and again when there is more of it."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds that a page waits for them."""
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[object, Future[RunFigures]]] = OrderedDict()

    def of(self, run: Run, trials: int) -> RunFigures | None:
        """The figures of a run with so many trials; None while they are being worked out.

        Raises:
            EvalmarkError: a result is damaged, or the store cannot be read.
        """
        future = self._asked(run, (run.status, run.finished, trials))
        with suppress(TakesLongerError):
            return future.result(self._patience)
        return None

    def _asked(self, run: Run, state: object) -> "Future[RunFigures]":
        with self._lock:
            known = self._known.get(run.id)
            # Of a run that goes on, one count at a time: what is under way is waited for, even if there is more by now.
            if known is not None and (known[0] == state or not known[1].done()):
                self._known.move_to_end(run.id)
                return known[1]
            future: Future[RunFigures] = Future()
            self._known[run.id] = state, future
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        # A thread that ends with the process, whatever is left to count.
        threading.Thread(target=_work, args=(run, future), daemon=True, name="evalmark-figures").start()
        return future


def _work(run: Run, future: "Future[RunFigures]") -> None:
    try:
        summary, verdict = stats.figures_and_verdict(run, stats.summarise(run, worst=0))
        future.set_result(RunFigures(summary=summary, verdict=verdict))
    except EvalmarkError as error:
        future.set_exception(error)
    finally:
        if not future.done():
            future.cancel()
