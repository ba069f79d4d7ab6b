"""The cells of a grid: an output with its scores, cost and time, and how it differs from that of the first column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalmark.core.money import money
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score, Verdict
from evalmark.reports.html.compared_cases import plain_change
from evalmark.reports.text.change_words import CASE_SIGNS, CASE_WORDS
from evalmark.reports.text.output_changes import OutputChange
from evalmark.reports.text.verdicts import shown_scores
from evalmark.stats.comparison.compared_cases import CaseOutcome
from evalmark.stats.comparison.metric_values import case_fingerprint
from evalmark.stats.summary.pareto import own_calls
from evalmark.storage.queries.pages import NumberedResult

from .grid import CellResults, GridColumn, verdict_shares
from .grid_budget import CellPlace
from .store_view import StoreView


@dataclass(frozen=True, slots=True, kw_only=True)
class GridScore:
    """A score of an output, and how far it is from that of the first column."""

    score: Score
    metric: Metric | None
    above: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """A case in a column."""

    column: GridColumn
    kept: NumberedResult
    """The first repeat."""
    verdicts: Sequence[Verdict]
    """Of all repeats."""
    against: str
    """A sign and a word for how the verdicts differ from those of the first column; empty if they do not."""
    scores: Sequence[GridScore]
    cost: str
    """Of the output's own calls; empty if it made none or a price is unknown."""
    change: OutputChange | None
    """The difference from the first column, if it is shown."""
    is_edited: bool
    """Whether the case has another input or expected output than in the row's first cell."""

    @property
    def place(self) -> CellPlace:
        return self.column.run.id, self.kept.number

    @property
    def is_whole(self) -> bool:
        """Whether the cell shows its output rather than an error or a difference."""
        output = self.kept.result.output
        has_text = output.value is not None and output.error is None
        return has_text and (self.change is None or self.change.kind not in ("same", "words", "fields"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row of the page."""

    cells: Sequence[GridCell | None]

    @property
    def differs(self) -> bool:
        """Whether a cell differs in its verdicts from the first column."""
        return any(cell.against for cell in self.cells if cell is not None)

    @property
    def first(self) -> GridCell:
        return next(cell for cell in self.cells if cell is not None)


def shown_rows(
    view: StoreView, columns: Sequence[GridColumn], rows: Sequence[Sequence[CellResults]], *, differences: bool
) -> list[ShownRow]:
    """Read the results of a page, a run at a time, and the prices of their calls."""
    results: dict[tuple[str, int], NumberedResult] = {}
    for run in {column.run.id: column.run for column in columns}.values():
        numbers = [row[n][0][0] for row in rows for n, column in enumerate(columns) if row[n] and column.run is run]
        found = view.browsing(run).results(numbers)
        results |= {(run.id, one.number): one for one in found}
    prices = view.store.recordings.prices([key for one in results.values() for key in own_calls(one.result)])
    shown = []
    for row in rows:
        kept = [results[column.run.id, cell[0][0]] if cell else None for column, cell in zip(columns, row, strict=True)]
        verdicts = [[verdict for _, verdict in cell] for cell in row]
        shown.append(_shown_row(columns, kept, verdicts, prices, differences=differences))
    return shown


def _shown_row(
    columns: Sequence[GridColumn],
    kept: Sequence[NumberedResult | None],
    verdicts: Sequence[Sequence[Verdict]],
    prices: Mapping[str, tuple[str, float | None]],
    *,
    differences: bool,
) -> ShownRow:
    first = next(one for one in kept if one is not None)
    content = case_fingerprint(first.result.trial)
    base = kept[0] if differences else None
    cells = [
        None
        if one is None
        else GridCell(
            column=column,
            kept=one,
            verdicts=several,
            against=""
            if kept[0] is None
            else _against(verdicts[0], several, in_time=column.run.id != columns[0].run.id),
            scores=_scores(column.run, one.result, None if one is base or base is None else base.result),
            cost=_cost(one.result, prices),
            change=_change(base, one),
            is_edited=not (one.is_cut or first.is_cut) and case_fingerprint(one.result.trial) != content,
        )
        for column, one, several in zip(columns, kept, verdicts, strict=True)
    ]
    return ShownRow(cells=cells)


def _against(first: Sequence[Verdict], several: Sequence[Verdict], *, in_time: bool) -> str:
    """Describe how the verdicts of a case differ from those of the first column: a sign and a word, not tested.

    A case with an error or without a score did not regress, as in a comparison: it only differs. Targets of one run stand
    side by side: nothing improved or regressed, unless `in_time`.

    >>> [_against(["pass"], now, in_time=True) for now in (["fail"], ["error"], ["pass", "pass"])]
    ['▽ regressed', '≠ differs', '']
    >>> [_against(["pass"], now, in_time=False) for now in (["fail"], ["pass", "fail"])]
    ['▽ first passes', '▽ passes less often']
    """
    if verdict_shares(first) == verdict_shares(several):
        return ""
    judged = [[verdict for verdict in one if verdict in ("pass", "fail")] for one in (first, several)]
    before, now = (one.count("pass") / len(one) if one else None for one in judged)
    if before is None or now is None or before == now:
        return "≠ differs"
    way: CaseOutcome = "better" if now > before else "worse"
    if in_time:
        words = CASE_WORDS[way]
    elif {before, now} == {0.0, 1.0}:
        words = f"first {'passes' if before else 'fails'}"
    else:
        words = f"passes {'more' if now > before else 'less'} often"
    return f"{CASE_SIGNS[way]} {words}"


def _scores(run: Run, result: Result, base: Result | None) -> list[GridScore]:
    metrics = metrics_for(run.metrics, result.trial.dataset)
    values = {} if base is None else {score.name: score.value for score in base.scores}
    return [
        GridScore(score=one, metric=metrics.get(one.name), above=_above(one, values)) for one in shown_scores(result)
    ]


def _above(score: Score, values: Mapping[str, float | None]) -> float | None:
    other = values.get(score.name)
    return None if score.value is None or other is None else score.value - other


def _cost(result: Result, prices: Mapping[str, tuple[str, float | None]]) -> str:
    costs = [prices[key][1] if key in prices else None for key in own_calls(result)]
    known = [cost for cost in costs if cost is not None]
    return money(sum(known)) if known and len(known) == len(costs) else ""


def _change(base: NumberedResult | None, one: NumberedResult) -> OutputChange | None:
    """Compare an output with that of the first column; None if one is too large or is an error."""
    if base is None or one is base or base.is_cut or one.is_cut:
        return None
    outputs = base.result.output, one.result.output
    if any(output.error is not None for output in outputs):
        return None
    return plain_change(*(output.value for output in outputs))
