"""Metrics and gate outcomes of listed runs, computed in the background."""

from collections.abc import Mapping, Sequence
from functools import partial

from evalmark.core.errors import EvalmarkError
from evalmark.reports.html.trend_chart import RunMetrics, run_metrics

from .background import Task, YieldingReader, figures_of
from .cache import RecentCache
from .store_view import RunLine, StoreView

_CACHED = 1_000
"""Finished runs whose metrics are cached."""
_UNREADABLE = RunMetrics(outcome="", figures={})

_Key = tuple[str, str | None, int]


class ListedMetrics:
    """Computes the metrics of each run once, smallest runs first."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._cache = RecentCache[_Key, RunMetrics](_CACHED)

    def of(self, lines: Sequence[RunLine]) -> Mapping[str, RunMetrics | None]:
        """Return metrics by run id, None while being computed; running runs are left out."""
        ended = [line for line in lines if line.run.status != "running"]
        new = sorted((line for line in ended if self._cache.get(_key(line)) is None), key=lambda line: line.trials)
        if new:
            names = tuple(line.run.id for line in ended)
            task = Task(kind="metrics", names=names, state=[*map(_key, new)], trials=sum(line.trials for line in new))
            self._view.figures.result(task, partial(self._compute, new))
        return {line.run.id: self._cache.get(_key(line)) for line in ended}

    def _compute(self, lines: Sequence[RunLine], yielding: YieldingReader) -> bool:
        for line in lines:
            try:
                figures = figures_of(yielding(line.run))
                metrics = run_metrics(figures.summary, figures.verdict)
            except EvalmarkError:  # a result is damaged, or the run was deleted: its own page shows the error
                metrics = _UNREADABLE
            self._cache.keep(_key(line), metrics)
        return True


def _key(line: RunLine) -> _Key:
    return line.run.id, line.run.finished, line.trials
