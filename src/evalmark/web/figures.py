"""The figures of runs, worked out beside the pages: those of a large run take seconds, and no page waits for them."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TakesLongerError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from evalmark import stats
from evalmark.errors import EvalmarkError
from evalmark.values import Result, Run

_KEPT = 16
_FEW = 4_000
"""Trials that are counted while a page waits; with more it does not wait, since it would in vain."""


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
        self._at_work = 0
        self._free = threading.Event()
        self._free.set()
        self._known: OrderedDict[str, tuple[object, Future[RunFigures]]] = OrderedDict()

    def of(self, run: Run, trials: int) -> RunFigures | None:
        """The figures of a run with so many trials; None while they are being worked out.

        Raises:
            EvalmarkError: a result is damaged, or the store cannot be read.
        """
        future = self._asked(run, (run.status, run.finished, trials))
        with suppress(TakesLongerError):
            return future.result(self._patience if trials <= _FEW else 0)
        return None

    @contextmanager
    def give_way(self) -> Iterator[None]:
        """While a page looks for its rows, figures wait: two busy threads of Python would slow each other down."""
        with self._lock:
            self._at_work += 1
            self._free.clear()
        try:
            yield
        finally:
            with self._lock:
                self._at_work -= 1
                if not self._at_work:
                    self._free.set()

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
        patient = replace(run, results=_Patient(run.results, self._free))
        threading.Thread(target=_work, args=(patient, future), daemon=True, name="evalmark-figures").start()
        return future


@dataclass(frozen=True, slots=True)
class _Patient(Collection[Result]):
    """Results that come as long as no page is at work."""

    results: Collection[Result]
    free: threading.Event

    def __iter__(self) -> Iterator[Result]:
        for result in self.results:
            self.free.wait()
            yield result

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, wanted: object) -> bool:
        return wanted in self.results


def _work(run: Run, future: "Future[RunFigures]") -> None:
    try:
        summary, verdict = stats.figures_and_verdict(run, stats.summarise(run, worst=0))
        future.set_result(RunFigures(summary=summary, verdict=verdict))
    except EvalmarkError as error:
        future.set_exception(error)
    finally:
        if not future.done():
            future.cancel()
