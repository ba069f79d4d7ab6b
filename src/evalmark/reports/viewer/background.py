"""Figures of runs and the like, worked out beside the pages: those of a large run take seconds, and no page waits for them."""

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

from .cache import RecentCache

FEW = 4_000
"""Trials that are counted while a page waits; with more it does not wait, since it would in vain."""

_AT_ONCE = 2
"""Large works of each kind; more of them would take as long, more memory, and the time that pages need."""

T = TypeVar("T")
YieldingReader = Callable[[Run], Run]
"""Gives a run whose results come as long as no page is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be worked out."""

    kind: str
    """Of each kind so many are held that were asked for last."""
    names: tuple[str, ...]
    """What it is about, the ids of runs first."""
    state: object
    """Of what it is made: found anew when it is another."""
    trials: int | None
    """How many results have to be read for it; None: nobody knows, and it may be long."""
    kept: int = 16
    or_earlier: bool = False
    """Whether what was found for an earlier state will do while this is being worked out."""

    @property
    def is_short(self) -> bool:
        """Whether it is done while a page waits."""
        return self.trials is not None and self.trials <= FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """What a run came to, and what its gate says of it."""

    summary: Summary
    verdict: GateVerdict


class BackgroundFigures:
    """Works out each thing once, and again when there is more of it."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds that a page waits for them."""
        self._lock = threading.Lock()
        self._at_work = 0
        self._free = threading.Event()
        self._free.set()
        self._turns: defaultdict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(_AT_ONCE))
        self._known: dict[str, RecentCache[tuple[str, ...], _CachedTask]] = {}

    def of(self, run: Run, trials: int) -> RunFigures | None:
        """The figures of a run with so many trials; None while they are being worked out.

        Of a run that goes on, while they are: those of fewer trials, where there are some.

        Raises:
            EvalmarkError: a result is damaged, or the store cannot be read.
        """
        state, goes_on = figures_state(run, trials), run.status == "running"
        about = Task(kind="run", names=(run.id,), state=state, trials=trials, or_earlier=goes_on)
        return self.found(about, lambda patiently: figures_of(patiently(run)))

    def found(self, about: Task, work: Callable[[YieldingReader], T]) -> T | None:
        """What the work gives, which is done in a thread of its own; None while it is under way.

        Raises:
            EvalmarkError: the work has raised it.
        """
        known = self._asked(about, work)
        with suppress(TakesLongerError):
            now: T = known.future.result(self._patience if about.is_short else 0)
            return now
        found: T | None = known.before if about.or_earlier else None
        return found

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

    def _asked(self, about: Task, work: Callable[[YieldingReader], T]) -> "_CachedTask":
        with self._lock:
            held = self._known.setdefault(about.kind, RecentCache(about.kept))
            known = held.get(about.names)
            # Of a run that goes on, one count at a time: what is under way is waited for, even if there is more by now.
            if known is not None and (known.state == about.state or not known.future.done()):
                return known
            future: Future[T] = Future()
            made = _CachedTask(about.state, future, None if known is None else known.future)
            held.keep(about.names, made)
            turn = nullcontext() if about.is_short else self._turns[about.kind]
        # A thread that ends with the process, whatever is left to count.
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


def figures_state(run: Run, trials: int) -> object:
    """What the figures of a run are of; of a large one that goes on they are worked out anew for each tenth more."""
    size = int(math.log(trials, 1.1)) if run.status == "running" and trials > FEW else trials
    return run.status, run.finished, size


class _CachedTask(NamedTuple):
    """What is known, or being worked out, and what was known before."""

    state: object
    future: Future[Any]
    earlier: Future[Any] | None

    @property
    def before(self) -> Any:
        """What was found for an earlier state; None where there was none, or it could not be found."""
        had = self.earlier
        return None if had is None or had.cancelled() or had.exception() is not None else had.result()


@dataclass(frozen=True, slots=True)
class _YieldingResults(Collection[Result]):
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


def figures_of(run: Run) -> RunFigures:
    """What a run came to, with each of its results read.

    Raises:
        EvalmarkError: a result is damaged.
    """
    summary, verdict = summary_and_verdict(run, summarise(run, worst=0))
    return RunFigures(summary=summary, verdict=verdict)
