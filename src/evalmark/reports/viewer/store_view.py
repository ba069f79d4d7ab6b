"""Cached access of the pages to one store."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import mul

from evalmark.core.errors import EvalmarkError, NotFoundError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Verdict
from evalmark.core.values.spending import Spending
from evalmark.stats.inference.intervals import Share, no_interval, wilson
from evalmark.stats.inference.means import share
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.stats.summary.collection import left_out
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.queries.pages import ResultBrowser
from evalmark.storage.queries.progress import file_identity
from evalmark.storage.queries.search import SearchHits
from evalmark.storage.queries.verdict_counts import VerdictCounts
from evalmark.storage.store.store import Store

from .background import BackgroundFigures, Task
from .cache import RecentCache

_RUNS = 50
"""Runs read at a time."""
_KEPT = 4
"""Tasks of a kind on several runs kept in memory; some megabytes each for ten thousand cases."""
_SEARCHED_RUNS = 500
"""Earlier runs searched for a baseline."""
_OPEN = 4
"""Runs whose results stay open."""
_MOST_CLUSTERED = 20_000
"""The largest number of results that are read for the interval of a run with clusters in a list."""
_COUNTED = 10_000
"""Finished runs whose counts are cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run with its counts, for a list."""

    run: Run
    verdicts: Mapping[Verdict, int]
    passed: Share
    spending: tuple[Spending, ...]
    left_out: int | None
    """Tests left out of the headline; None if there are too many trials to count."""

    @property
    def trials(self) -> int:
        return sum(self.verdicts.values())


class StoreView:
    """Thread-safe, cached access to one store."""

    def __init__(self, store: Store, figures: BackgroundFigures, flags: str = "") -> None:
        self.store = store
        self.flags = flags
        self.figures = figures
        self._searching = threading.Lock()
        self._file = file_identity(store.path)
        self._browsing = RecentCache[tuple[object, ...], ResultBrowser](_OPEN)  # closed when no page uses it any more
        self.chosen = RecentCache[tuple[str, str, str, str, int], list[int]](_OPEN)
        """Results of finished runs that were chosen to be labelled."""
        self._endings = RecentCache[tuple[str, str | None], VerdictCounts](_COUNTED)
        self._rates = RecentCache[tuple[str, str | None], Share](_COUNTED)

    @property
    def is_replaced(self) -> bool:
        """Whether the file of the store was deleted or replaced since it was opened, so that what is written would be lost."""
        return self._file is not None and file_identity(self.store.path) != self._file

    def sentence_of(self, error: Exception) -> str:
        """Return the sentence of an error without the path of the store, which is of the machine that runs the viewer."""
        sentence = str(error).removeprefix(f"{self.store.path}: ")
        return sentence[:1].upper() + sentence[1:]

    def browsing(self, run: Run) -> ResultBrowser:
        """Return the results of a run for browsing."""
        key = (run.id, run.created, file_identity(self.store.path))
        return self._browsing.find(key, lambda: self.store.browse(run.id))

    def result(self, run: Run, number: int) -> Result:
        """Return the result of a run with a row number.

        Raises:
            NotFoundError: the run does not have it.
        """
        if (result := self.browsing(run).result(number)) is not None:
            return result
        raise NotFoundError(
            f"{run.id} does not have this result: its case was run again or removed since, or the address belongs to "
            "another store. Look for the case in the list of the run."
        )

    def known(self, run: Run, conditions: ResultFilter) -> SearchHits | None:
        """Return the result of a search through a large run; None if there is none yet."""
        hits: SearchHits | None = self.figures.known(_search_task(run, _unordered(conditions)))
        return hits

    def search(self, run: Run, conditions: ResultFilter) -> None:
        """Start to search a large run, for pages to come; a running one is not searched.

        It starts once the page has read its rows: both at the same time would take turns.
        """
        if run.status == "running":
            return
        unordered = _unordered(conditions)

        def search(_: object) -> SearchHits:
            with self._searching:  # one after the other, so that pages have a processor too
                return self.store.search(run.id, unordered)

        self.figures.result(_search_task(run, unordered), search)

    def every_run(self) -> Iterator[Run]:
        """Iterate over the runs lazily, newest first."""
        yield from self._read(None)

    def back_from(self, run: Run) -> Iterator[Run]:
        """Iterate over a run and the runs before it, newest first."""
        yield run
        yield from islice(self._read(run), _SEARCHED_RUNS)

    def _read(self, before: Run | None) -> Iterator[Run]:
        offset = 0
        while runs := self.store.runs(_RUNS, offset, before="" if before is None else before.id):
            yield from runs
            offset += len(runs)

    def line(self, run: Run) -> RunLine:
        """Return a run with its counts."""
        return self.lines([run])[0]

    def lines(self, runs: Sequence[Run]) -> list[RunLine]:
        """Return several runs with their counts; finished runs are counted once."""
        return [self._line(run, counted) for run, counted in zip(runs, self._counts(runs), strict=True)]

    def trials(self, runs: Sequence[Run]) -> list[int]:
        """Count the trials of several runs, without the intervals of `lines`."""
        return [sum(counted.verdicts.values()) for counted in self._counts(runs)]

    def task(self, kind: str, runs: Sequence[Run], *names: str, passes: Sequence[int] = ()) -> Task:
        """Return the identity of a task on several runs, which is done again once one of them has changed.

        Args:
            kind: the kind of task.
            runs: the runs.
            names: what else tells it from other tasks of this kind.
            passes: how often the task reads each run; by default once.
        """
        trials = self.trials(runs)
        return Task(
            kind=kind,
            names=(*(run.id for run in runs), *names),
            state=[(run.status, run.finished, n) for run, n in zip(runs, trials, strict=True)],
            trials=sum(map(mul, trials, passes)) if passes else sum(trials),
            kept=_KEPT,
        )

    def _counts(self, runs: Sequence[Run]) -> list[VerdictCounts]:
        known = {(run.id, run.finished): self._endings.get((run.id, run.finished)) for run in runs}
        new = [run for run in runs if known[run.id, run.finished] is None]
        counts = {
            run.id: _by_cluster(run, counted) if _is_clustered(run) else counted
            for run, counted in zip(new, self.store.all_verdict_counts(new) if new else (), strict=True)
        }
        for run in new:
            if run.status == "complete" and run.finished is not None:
                self._endings.keep((run.id, run.finished), counts[run.id])
        return [known[run.id, run.finished] or counts[run.id] for run in runs]

    def _line(self, run: Run, counted: VerdictCounts) -> RunLine:
        return RunLine(
            run=run,
            verdicts=counted.verdicts,
            passed=self._pass_rate(run, counted),
            spending=self.spending(run),
            left_out=None
            if counted.counted is None
            else sum(counted.verdicts.values()) - sum(counted.counted.values()),
        )

    def _pass_rate(self, run: Run, counted: VerdictCounts) -> Share:
        """Return the pass rate of a run; a finished one has it computed once, since clusters of many cases take long."""
        rate = self._rates.get((run.id, run.finished))
        if rate is None:
            rate = pass_share(counted, is_clustered=_is_clustered(run))
            if run.status == "complete" and run.finished is not None:
                self._rates.keep((run.id, run.finished), rate)
        return rate

    def spending(self, run: Run) -> tuple[Spending, ...]:
        """Return the spending of a run; for running or killed runs it comes from the call log."""
        if run.spending or run.status == "complete":
            return run.spending
        try:
            return self.store.spending(run.id)
        except NotFoundError:  # it was deleted since
            return ()


def _unordered(conditions: ResultFilter) -> ResultFilter:
    return replace(conditions, order="position", sorted_metric="", descending=False)


def _search_task(run: Run, conditions: ResultFilter) -> Task:
    names, state = (run.id, repr(conditions)), (run.status, run.finished)
    return Task(kind="search", names=names, state=state, trials=None, kept=32)


def _is_clustered(run: Run) -> bool:
    """Return whether cases depend on each other, so that counts of verdicts do not give the interval."""
    return any(info.cluster for info in run.datasets) or any(metric.mode != "single" for metric in run.metrics)


def _by_cluster(run: Run, counted: VerdictCounts) -> VerdictCounts:
    """Count verdicts by cluster, as reports do.

    There are no counts by cluster for a run that is not complete, has too many results to read, or has a damaged one.
    """
    unknown = replace(counted, by_case=())
    if run.status != "complete" or counted.counted is None or sum(counted.verdicts.values()) > _MOST_CLUSTERED:
        return unknown
    finder, clusters = ClusterFinder(run), dict[int, tuple[int, int]]()
    try:
        for result in run.results:
            if left_out(result.trial.case) is None and result.verdict in ("pass", "fail"):
                passed, judged = clusters.get(number := finder.find(result.trial), (0, 0))
                clusters[number] = (passed + (result.verdict == "pass"), judged + 1)
    except EvalmarkError:
        return unknown
    return replace(counted, by_case=tuple(clusters.values()))


def pass_share(counted: VerdictCounts, *, is_clustered: bool = False) -> Share:
    """Return the pass rate of counted trials, with the interval used in reports if the counts give it.

    >>> found = pass_share(VerdictCounts(verdicts={}, counted={"pass": 9, "fail": 1, "error": 4}))
    >>> found.passed, found.n, round(found.interval.low, 3)
    (9, 10, 0.596)
    """
    verdicts = counted.verdicts if counted.counted is None else counted.counted
    passed = verdicts.get("pass", 0)
    n = passed + verdicts.get("fail", 0)
    if counted.counted is None or (is_clustered and not counted.by_case):
        why = no_interval("some of these trials may be left out of the headline, or cases depend on each other")
        return Share(passed=passed, n=n, value=passed / n if n else None, interval=why)
    if any(judged > 1 for _, judged in counted.by_case):
        flags = [int(turn < yes) for yes, judged in counted.by_case for turn in range(judged)]
        cases = [case for case, (_, judged) in enumerate(counted.by_case) for _ in range(judged)]
        return share(flags, cases)
    return Share(passed=passed, n=n, value=passed / n if n else None, interval=wilson(passed, n))
