"""Background computation of run summaries and the like, so that pages do not wait for large runs."""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TakesLongerError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import Summary
from evalmark.stats.summary.totals import summary_from, summary_text
from evalmark.storage.store.store import Store

from .cache import RecentCache

FEW = 4_000
"""Most trials for which a page waits."""

_STORED = 16
"""Runs whose figures were read from the store that stay in memory."""
_AT_ONCE = 2
"""Large tasks of each kind that run at once."""

T = TypeVar("T")
YieldingReader = Callable[[Run], Run]
"""Wraps a run so that reading its results pauses while pages are being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The identity of a background task."""

    kind: str
    """Kind of task; recent results are kept by kind."""
    names: tuple[str, ...]
    """Subject, run ids first."""
    state: object
    """State of its inputs; a new state computes it again."""
    trials: int | None
    """Results to read; None if unknown."""
    kept: int = 16
    or_earlier: bool = False
    """Whether the result for an earlier state may be returned meanwhile."""

    @property
    def is_short(self) -> bool:
        """Whether a page waits for it."""
        return self.trials is not None and self.trials <= FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """Summary and gate verdict of a run."""

    summary: Summary
    verdict: GateVerdict


class BackgroundFigures:
    """Computes each task once per state, in background threads."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds that a page waits."""
        self._lock = threading.Lock()
        self._at_work = 0
        self._free = threading.Event()
        self._free.set()
        self._turns: defaultdict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(_AT_ONCE))
        self._stored = RecentCache[tuple[str, str], RunFigures](_STORED)
        self._known: dict[str, RecentCache[tuple[str, ...], _CachedTask]] = {}
        self._finished = 0

    @property
    def finished(self) -> int:
        """Number of tasks that have finished, which changes whenever a page has something new to show."""
        return self._finished

    def of(self, run: Run, trials: int, store: Store | None = None) -> RunFigures | None:
        """Return the figures of a run; None while being computed.

        Of a running run, earlier figures are returned meanwhile. Those of a large finished run are read from the store, or kept
        in it once they are computed.

        Raises:
            EvalmarkError: a result is damaged, or the store cannot be read.
        """
        state, goes_on = figures_state(run, trials), run.status == "running"
        task = Task(kind="run", names=(run.id,), state=state, trials=trials, or_earlier=goes_on)
        if store is not None and (stored := self.stored(run, store)) is not None:
            return stored

        def compute(yielding: YieldingReader) -> RunFigures:
            figures = figures_of(yielding(run))
            if store is not None and store.is_writable and not goes_on and not task.is_short:
                store.save_summary(run, summary_text(figures.summary))
            return figures

        return self.result(task, compute)

    def stored(self, run: Run, store: Store) -> RunFigures | None:
        """Return the figures that the store keeps of a large finished run; None if there are none.

        Raises:
            StoreError: the store cannot be read.
        """
        if run.status == "running" or run.finished is None:
            return None
        key = run.id, run.finished
        if (known := self._stored.get(key)) is not None:
            return known
        saved = store.summary(run)
        summary = None if saved is None else summary_from(saved)
        if summary is None or summary.trials <= FEW:
            return None
        figures = RunFigures(summary=summary, verdict=summary_and_verdict(run, summary)[1])
        self._stored.keep(key, figures)
        return figures

    def result(self, task: Task, work: Callable[[YieldingReader], T]) -> T | None:
        """Return the result of `work`, done in a thread of its own; None while it runs.

        Raises:
            EvalmarkError: the work has raised it.
        """
        cached = self._start_or_find(task, work)
        with suppress(TakesLongerError):
            now: T = cached.future.result(self._patience if task.is_short else 0)
            return now
        earlier: T | None = cached.before if task.or_earlier else None
        return earlier

    def known(self, task: Task) -> Any:
        """Return the result of a task that was done before; None if there is none yet.

        Raises:
            EvalmarkError: the work has raised it.
        """
        with self._lock:
            cached = self._known[task.kind].get(task.names) if task.kind in self._known else None
        is_done = cached is not None and cached.state == task.state and cached.future.done()
        return cached.future.result() if cached is not None and is_done else None

    def wait_for_pages(self) -> None:
        """Wait until no page is being made."""
        self._free.wait()

    @contextmanager
    def give_way(self) -> Iterator[None]:
        """Pause background tasks while a page reads its rows, since Python threads slow each other down."""
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

    def _start_or_find(self, task: Task, work: Callable[[YieldingReader], T]) -> "_CachedTask":
        with self._lock:
            cache = self._known.setdefault(task.kind, RecentCache(task.kept))
            cached = cache.get(task.names)
            # One task at a time for a running run, even if there are more results by now.
            if cached is not None and (cached.state == task.state or not cached.future.done()):
                return cached
            future: Future[T] = Future()
            made = _CachedTask(task.state, future, None if cached is None else cached.future)
            cache.keep(task.names, made)
            turn = nullcontext() if task.is_short else self._turns[task.kind]
        # A daemon thread ends with the process.
        threading.Thread(target=self._work, args=(work, future, turn), daemon=True, name="evalmark-figures").start()
        return made

    def _work(
        self, work: Callable[[YieldingReader], T], future: "Future[T]", turn: AbstractContextManager[object]
    ) -> None:
        try:
            with turn:
                future.set_result(work(lambda run: replace(run, results=_YieldingResults(run.results, self._free))))
        except EvalmarkError as error:
            future.set_exception(error)
        finally:
            if not future.done():
                future.cancel()
            with self._lock:  # after the result: a page that was made with an earlier number is requested again
                self._finished += 1


def figures_state(run: Run, trials: int) -> object:
    """State of a run's figures; large running runs are recomputed after 10 % more trials."""
    size = int(math.log(trials, 1.1)) if run.status == "running" and trials > FEW else trials
    return run.status, run.finished, size


class _CachedTask(NamedTuple):
    """A result or a running task, and the earlier result."""

    state: object
    future: Future[Any]
    earlier: Future[Any] | None

    @property
    def before(self) -> Any:
        """The result for an earlier state; None if there is none."""
        had = self.earlier
        return None if had is None or had.cancelled() or had.exception() is not None else had.result()


@dataclass(frozen=True, slots=True)
class _YieldingResults(Collection[Result]):
    """Results that pause while a page is being made."""

    results: Collection[Result]
    free: threading.Event

    def __iter__(self) -> Iterator[Result]:
        for result in self.results:
            self.free.wait()
            yield result

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, result: object) -> bool:
        return result in self.results


def figures_of(run: Run) -> RunFigures:
    """Summarize a run from all its results.

    Raises:
        EvalmarkError: a result is damaged.
    """
    summary, verdict = summary_and_verdict(run, summarise(run, worst=0))
    return RunFigures(summary=summary, verdict=verdict)
