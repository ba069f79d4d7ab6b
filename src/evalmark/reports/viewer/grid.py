"""Which cases and targets a grid has: the columns of several runs, and the rows that their results share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePath

from evalmark.core.values.run import Run
from evalmark.core.values.score import Verdict
from evalmark.reports.viewer.urls.paths import grid_path, run_path
from evalmark.stats.comparison.baseline_choice import is_complete_run

from .background import YieldingReader
from .store_view import StoreView

MOST_RESULTS = 200_000
"""Results of all runs of a grid; more are shown run by run."""
_SEARCHED_RUNS = 200
"""Newest runs searched for those of other suites of the folder."""

CellResults = tuple[tuple[int, Verdict], ...]
"""The row number and the verdict of each repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """A target of a run."""

    number: int
    """The position without the choice of another first column."""
    run: Run
    target: str
    title: str
    below: str
    """What tells it apart from columns of the same title; empty if nothing has to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """A case, with the results of each column."""

    cells: tuple[CellResults, ...]
    """In the order of the columns; empty where a column lacks the case."""
    differs: bool
    """Whether columns passed and failed differently; where no output can pass, whether outputs differ."""
    fails: int
    """How many columns have a failed trial or an error."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The columns and rows of some runs."""

    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]
    _worst_first: list[GridRow] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The titles of the columns, with what tells apart those of the same title."""
        titles = Counter(column.title for column in self.columns)
        return [
            f"{one.title} ({one.below})" if titles[one.title] > 1 and one.below else one.title for one in self.columns
        ]

    def sorted_rows(self, order: str) -> Sequence[GridRow]:
        """Return the rows as in the file, or else those first that most columns fail."""
        if order == "file":
            return self.rows
        if not self._worst_first:
            self._worst_first[:] = sorted(self.rows, key=lambda row: (-row.fails, not row.differs))
        return self._worst_first


def prepared_grid(view: StoreView, runs: Sequence[Run]) -> Grid | None:
    """Find the cases and targets of some runs; None while they are being read.

    Raises:
        EvalmarkError: a run was deleted.
    """
    task = replace(view.task("grid", runs), or_earlier=any(run.status == "running" for run in runs))

    def work(_: YieldingReader) -> Grid:
        return _grid(view, runs)

    return view.figures.result(task, work)


def _grid(view: StoreView, runs: Sequence[Run]) -> Grid:
    cells: dict[tuple[str, str, str], dict[tuple[int, str], list[tuple[int, Verdict]]]] = {}
    targets: list[list[str]] = []
    hashes: dict[tuple[int, int], int] = {}
    is_one_dataset = all(len(run.datasets) <= 1 for run in runs)
    for number, run in enumerate(runs):
        browser = view.store.browse(run.id)
        try:
            outlines = browser.outlines()
            names = dict.fromkeys(one.target for one in outlines)
            targets.append(run.in_order(names))
            for one in outlines:
                # A single dataset may be named differently in another run.
                key = ("" if is_one_dataset else one.dataset, one.mode, one.case)
                cells.setdefault(key, {}).setdefault((number, one.target), []).append((one.number, one.verdict))
            if not any(one.verdict in ("pass", "fail") for one in outlines):
                hashes |= {(number, row): hashed for row, hashed in browser.output_hashes().items()}
        finally:
            browser.close()
    places = [(number, target) for number, names in enumerate(targets) for target in names]
    rows = (tuple(tuple(row.get(place, ())) for place in places) for row in cells.values())
    return Grid(
        columns=tuple(_columns(runs, targets)),
        rows=tuple(
            GridRow(cells=row, differs=_differs(row, places, hashes), fails=sum(map(_fails, row))) for row in rows
        ),
    )


def _fails(cell: CellResults) -> bool:
    return any(verdict in ("fail", "error") for _, verdict in cell)


def _differs(
    row: Sequence[CellResults], places: Sequence[tuple[int, str]], hashes: Mapping[tuple[int, int], int]
) -> bool:
    known = [(place, cell) for place, cell in zip(places, row, strict=True) if cell]
    if any(verdict != "ungated" for _, cell in known for _, verdict in cell):
        return len({verdict_shares([verdict for _, verdict in cell]) for _, cell in known}) > 1
    return len({tuple(sorted(hashes.get((run, number), 0) for number, _ in cell)) for (run, _), cell in known}) > 1


def verdict_shares(verdicts: Sequence[Verdict]) -> frozenset[tuple[Verdict, float]]:
    """Return the share of each verdict among the repeats, of which columns can have unequal numbers."""
    return frozenset((verdict, n / len(verdicts)) for verdict, n in Counter(verdicts).items())


def _columns(runs: Sequence[Run], targets: Sequence[Sequence[str]]) -> Iterator[GridColumn]:
    """Title each column by its target, a prompt before its model, or by its run if all runs have the same single target."""
    several = len(runs) > 1
    is_one_target = several and all(len(names) == 1 for names in targets) and len({names[0] for names in targets}) == 1
    are_prompts = all(prompt and model for names in targets for prompt, _, model in (t.partition("@") for t in names))
    labels = run_labels(runs)
    number = 0
    for run, names in zip(runs, targets, strict=True):
        for target in names:
            prompt, _, model = target.partition("@") if are_prompts else (target or "outputs", "", "")
            of = [model, labels[run.id] if several else ""]
            title, below = (labels[run.id], "") if is_one_target else (prompt, " · ".join(filter(None, of)))
            yield GridColumn(number=number, run=run, target=target, title=title, below=below)
            number += 1


def run_label(run: Run, runs: Sequence[Run]) -> str:
    """Return what tells a run apart from others: its given name, its suite, or its time."""
    if run.given_name:
        return run.given_name
    if common := set_name(runs):
        return run.name.removeprefix(f"{common}: ")
    if run.name and [one.name for one in runs].count(run.name) == 1:
        return run.name
    return _time(run, runs)


def _time(run: Run, runs: Sequence[Run]) -> str:
    """Return the time of a run to the minute, or to the second where minutes are equal."""
    characters = 16 if len({one.created[:16] for one in runs}) == len(runs) else 19
    return run.created[:characters].replace("T", " ")


def run_labels(runs: Sequence[Run]) -> dict[str, str]:
    """Return the label of each run by its id, with its time, or else its id, where another run has the same label."""
    labels = {run.id: run_label(run, runs) for run in runs}
    timed = {run.id: f"{labels[run.id]} · {_time(run, runs)}" for run in runs}
    named = {run.id: f"{labels[run.id]} · {run.id}" for run in runs}
    for others in (timed, named):
        times = Counter(labels.values())
        labels = {run: label if times[label] == 1 else others[run] for run, label in labels.items()}
    return labels


def runs_of_folder(view: StoreView, run: Run) -> list[Run]:
    """Return the runs of other suites in the same folder, with the same datasets and metrics; of each suite the nearest in time."""
    if not run.suite or not run.datasets:
        return []
    nearest: dict[str, Run] = {}
    newer = True
    # Newest first, so the last newer one and the first older one are nearest.
    for one in islice(view.every_run(), _SEARCHED_RUNS):
        newer = newer and one.id != run.id
        if (
            one.suite != run.suite
            and is_complete_run(one)
            and _is_beside(one, run)
            and (newer or one.suite not in nearest)
        ):
            nearest[one.suite] = one
    return sorted(nearest.values(), key=lambda one: (one.name, one.suite))


def landing_path(run: Run, near: Sequence[Run]) -> str:
    """Return the path of the page that a link to a run opens: a grid for several targets, else its own page.

    Args:
        run: the run.
        near: runs around it, among which the other suites of its set are looked for.
    """
    is_in_set = any(is_of_one_set(one, run) and _is_beside(one, run) for one in near)
    return grid_path(run.id) if is_in_set or ", " in run.target else run_path(run.id)


def is_of_one_set(one: Run, other: Run) -> bool:
    """Return whether two suites are parts of one evaluation, such as `NAME: PROMPT` for each prompt of another tool's file."""
    return one.suite != other.suite and bool(set_name([one, other]))


def set_name(runs: Sequence[Run]) -> str:
    """Return what the names of several suites have in common before a colon; empty if that is nothing, or names are equal."""
    starts = {run.name.rpartition(": ")[0] for run in runs}
    return starts.pop() if len(starts) == 1 and len({run.name for run in runs}) == len(runs) > 1 else ""


def _is_beside(one: Run, run: Run) -> bool:
    same_cases = [[(info.name, info.path, info.rows) for info in each.datasets] for each in (one, run)]
    return bool(one.suite) and (
        PurePath(one.suite).parent == PurePath(run.suite).parent
        and same_cases[0] == same_cases[1]
        and {metric.name for metric in one.metrics} == {metric.name for metric in run.metrics}
    )
