"""Gate outcomes of listed runs, computed in the background."""

from collections.abc import Mapping, Sequence
from functools import partial

from evalmark.core.errors import EvalmarkError
from evalmark.reports.html.trend_chart import Outcome

from .background import Task, YieldingReader, figures_of
from .cache import RecentCache
from .store_view import RunLine, StoreView

_KEPT = 1_000
"""Cached gates of finished runs."""
LOOKED_UP = 20_000
"""Most trials of a run whose gate is shown in a list."""

_Key = tuple[str, str | None, int]


class GateOutcomes:
    """Computes each gate once, smallest runs first."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._known = RecentCache[_Key, Outcome](_KEPT)

    def of(self, lines: Sequence[RunLine]) -> Mapping[str, Outcome | None]:
        """Return outcomes by run id: empty if nothing is gated, None while being computed.

        Running and large runs are left out.
        """
        told = [line for line in lines if line.run.status != "running" and line.trials <= LOOKED_UP]
        new = sorted((line for line in told if self._known.get(_key(line)) is None), key=lambda line: line.trials)
        if new:
            names = tuple(line.run.id for line in told)
            about = Task(kind="gates", names=names, state=[*map(_key, new)], trials=sum(line.trials for line in new))
            self._view.figures.found(about, partial(self._find, new))
        return {line.run.id: self._known.get(_key(line)) for line in told}

    def _find(self, lines: Sequence[RunLine], patiently: YieldingReader) -> bool:
        for line in lines:
            try:
                verdict = figures_of(patiently(line.run)).verdict
                self._known.keep(_key(line), verdict.outcome if verdict.gated else "")
            except EvalmarkError:  # a result is damaged, or the run was deleted: its own page says so
                self._known.keep(_key(line), "")
        return True


def _key(line: RunLine) -> _Key:
    return line.run.id, line.run.finished, line.trials
