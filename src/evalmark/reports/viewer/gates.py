"""What the gates of the runs of a list say, looked up beside the page."""

from collections.abc import Mapping, Sequence
from functools import partial

from evalmark.core.errors import EvalmarkError
from evalmark.reports.html.trend_chart import Outcome

from .background import Task, YieldingReader, figures_of
from .cache import RecentCache
from .store_view import RunLine, StoreView

_KEPT = 1_000
"""Gates of runs at their end."""
LOOKED_UP = 20_000
"""Trials of a run that are read for a list; the gate of a larger run stands on its own page."""

_Key = tuple[str, str | None, int]


class GateOutcomes:
    """Looks each up once, those of the smallest runs first."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._known = RecentCache[_Key, Outcome](_KEPT)

    def of(self, lines: Sequence[RunLine]) -> Mapping[str, Outcome | None]:
        """Those of some runs, by id: empty where nothing is gated, None while it is being looked up.

        Not among them are runs that go on, and large ones.
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
