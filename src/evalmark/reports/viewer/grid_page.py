"""The grid of cases and targets: prompts, models and runs side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import without_shared_words
from evalmark.core.values.run import Run
from evalmark.reports.text.best_target import BestTargetText, best_target_text
from evalmark.reports.viewer.urls.case_query import parse_case_query
from evalmark.reports.viewer.urls.grid_query import (
    GRID_DENSITIES,
    GRID_ORDERS,
    GRID_ROWS,
    GRID_WIDTHS,
    GridQuery,
    parse_grid_query,
)
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.search_query import SearchQuery, parse_search_query
from evalmark.stats.comparison.trade_offs import TradeOff, TradeOffs
from evalmark.stats.inference.differences import Difference
from evalmark.stats.inference.intervals import Share
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.labels import result_subject

from .comparisons import EarlierComparison, nearest_comparison, only_flipped, prepared_trade_offs
from .grid import (
    MOST_RESULTS,
    Grid,
    GridColumn,
    GridRow,
    is_of_one_set,
    prepared_grid,
    runs_of_folder,
    set_name,
)
from .grid_budget import PageBudget
from .grid_cells import ShownRow, shown_rows
from .label_filter import only_labelled
from .labels import LabelView, form_fields, label_views
from .page_context import PageContext
from .pattern_filter import pattern_filters
from .store_view import StoreView

MOST_RUNS = 12
MOST_COLUMNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """The head of a column: its quality, cost and time, and its difference from the first column."""

    column: GridColumn
    passed: Share | None
    """The pass rate of the only column; None for one of several, which `trade_off` describes."""
    trade_off: TradeOff | None
    difference: Difference | None
    is_first: bool


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    params = request.query_params
    query = parse_grid_query(params, [*params.getlist("run"), *params.getlist("pick")])
    with context.view.figures.give_way():
        runs = [context.view.store.run(name) for name in query.runs[:MOST_RUNS]]
    runs = list({run.id: run for run in runs}.values())
    if not params.getlist("run"):  # ticked in the list: the oldest is what the others are compared with
        runs.sort(key=lambda run: run.created)
    if not runs:
        return context.page(request, "grid.html", {**_NOTHING, "query": query})
    folder: list[Run] = []
    if len(runs) == 1:
        with context.view.figures.give_way():
            folder = runs_of_folder(context.view, runs[0])
        others = [one for one in folder if is_of_one_set(one, runs[0])]
        if others and not query.alone:
            runs, folder = sorted([runs[0], *others], key=lambda run: run.name), []
    values = {**_NOTHING, **page_values(context.view, runs, query, context.author(request)), "beside": folder}
    labels = _labels(context.view, values["rows"], context.author(request))
    return context.page(request, "grid.html", {**values, "labels": labels})


_NOTHING: Mapping[str, Any] = {
    "runs": (),
    "set_name": "",
    "rows": (),
    "columns": (),
    "trade_offs": None,
    "best": None,
    "trouble": "",
    "is_pending": False,
    "is_unknown": False,
    "is_searching": False,
    "search": SearchQuery(),
    "every_metric": (),
    "beside": (),
    "names": GRID_ROWS,
    "densities": GRID_DENSITIES,
    "orders": GRID_ORDERS,
    "widths": GRID_WIDTHS,
    "labels": {},
}


def page_values(view: StoreView, runs: Sequence[Run], query: GridQuery, author: str = "") -> dict[str, Any]:
    """Values of the template; `author` is the current user, for filters on labels."""
    metrics = list(dict.fromkeys(metric.name for run in runs for metric in run.metrics))
    search = parse_search_query(query.text, metrics)
    values: dict[str, Any] = {"query": query, "runs": runs, "set_name": set_name(runs), "search": search}
    values["every_metric"] = metrics
    results = sum(view.trials(runs))
    if results > MOST_RESULTS:
        return values | {
            "trouble": f"These runs have {results:,} results, and a grid shows at most {MOST_RESULTS:,}. "
            + (
                "Choose fewer runs, or open one of them: its page filters any number of results."
                if len(runs) > 1
                else "Open the run page, which filters any number of results, or compare two of its targets."
            )
        }
    try:
        grid = prepared_grid(view, runs)
        if grid is None:
            return values | {"is_pending": True}
        figures = prepared_trade_offs(view, runs) if len(grid.columns) > 1 else None
    except EvalmarkError as error:
        return values | {"trouble": str(error)}
    matching, problem = _matching(view, runs, search)
    if problem:
        values["search"] = search = SearchQuery(text=search.text, problem=problem)
    is_searching = len(matching) < len(runs) and not problem
    earlier = _earlier(view, runs, search)
    awaited = any(one.prepared is None and one.is_requested and not one.trouble for one in earlier.values())
    with view.figures.give_way():
        table = _table(view, grid, figures, query, _found_by(view, runs, search, author, earlier, matching))
    is_pending = awaited or is_searching or (figures is None and len(grid.columns) > 1)
    is_unknown = bool(earlier) and not any(one.prepared for one in earlier.values())
    return values | table | {"is_pending": is_pending, "is_unknown": is_unknown, "is_searching": is_searching}


def _labels(view: StoreView, rows: Sequence[ShownRow], author: str) -> Mapping[tuple[str, int], LabelView]:
    """Return the labels of each output by its run and number."""
    cells = [cell for row in rows for cell in row.cells if cell is not None and not cell.kept.is_cut]
    places = [(cell.column.run.id, cell.kept) for cell in cells]
    subjects = {(run, kept.number): result_subject(run, kept.result) for run, kept in places}
    views = label_views(view.store, [(one, form_fields(*place)) for place, one in subjects.items()], author)
    return {place: views[one.about] for place, one in subjects.items()}


def _matching(
    view: StoreView, runs: Sequence[Run], search: SearchQuery
) -> tuple[Mapping[str, Mapping[str, ResultFilter]], str]:
    """Return the filters of the patterns by run, without the runs that are still searched; and why there are none, else empty."""
    found = {run.id: pattern_filters(view, run, search) for run in runs}
    known = {run: filters for run, (filters, _) in found.items() if filters is not None}
    return known, next((problem for _, problem in found.values() if problem), "")


def _earlier(view: StoreView, runs: Sequence[Run], search: SearchQuery) -> Mapping[str, EarlierComparison]:
    """Compare each run with the one before it, if a condition needs this."""
    is_needed = any(one.startswith("flipped:") for one in search.lookups)
    return {run.id: nearest_comparison(view, run) for run in runs} if is_needed else {}


def _found_by(
    view: StoreView,
    runs: Sequence[Run],
    search: SearchQuery,
    author: str,
    earlier: Mapping[str, EarlierComparison],
    matching: Mapping[str, Mapping[str, ResultFilter]],
) -> Mapping[str, frozenset[int]] | None:
    """Return the numbers of the results that fulfil all conditions, by run; None without conditions."""
    if not search.terms and not search.problem:
        return None
    metrics = [metric.name for run in runs for metric in run.metrics]
    cases = parse_case_query({"q": search.text}, [], metrics)
    found = {}
    for run in runs:
        if search.problem or run.id not in matching:
            found[run.id] = frozenset[int]()
            continue
        labelled = only_labelled(view, run, cases, author)
        own = only_flipped(labelled, earlier[run.id].prepared) if run.id in earlier else labelled
        own = own.look_up(matching[run.id])
        found[run.id] = frozenset(view.browsing(run).matching_numbers(own.conditions))
    return found


def _table(
    view: StoreView,
    grid: Grid,
    trade_offs: TradeOffs | None,
    query: GridQuery,
    found: Mapping[str, frozenset[int]] | None,
) -> dict[str, Any]:
    order = _column_order(len(grid.columns), query.first)[:MOST_COLUMNS]
    matching = [row for row in grid.sorted_rows(query.order) if found is None or _is_found(row, grid, found)]
    rows = [row for row in matching if _is_shown(row, query.show)]
    columns = [grid.columns[number] for number in order]
    budget = PageBudget(
        columns=len(columns),
        scores=max((len(column.run.metrics) for column in columns), default=0),
        density=query.density,
    )
    paging = Paging(total=len(rows), size=budget.rows, requested=query.page)
    cells = [[row.cells[n] for n in order] for row in paging.part(rows)]
    shown = shown_rows(view, columns, cells, differences=query.differences)
    whole = [
        (cell.place, cell.kept.result.output.value)
        for row in shown
        for cell in row.cells
        if cell is not None and cell.is_whole
    ]
    return {
        "columns": _figures(view, columns, trade_offs),
        "short_names": without_shared_words([column.title for column in columns]),
        "hidden_columns": len(grid.columns) - len(order),
        "trade_offs": trade_offs,
        "best": _best(grid, trade_offs),
        "rows": shown,
        "texts": budget.texts(whole, len(shown)),
        "counts": {name: sum(_is_shown(row, name) for row in matching) for name in GRID_ROWS},
        "total": len(rows),
        "page": paging.page,
        "pages": paging.pages,
        "start": paging.start,
        "chosen": min(query.column, len(order) - 1),
        "several_datasets": any(len(run.datasets) > 1 for run in {c.run.id: c.run for c in columns}.values()),
    }


def _best(grid: Grid, found: TradeOffs | None) -> BestTargetText | None:
    """Say which column is the best, once all runs have ended."""
    if found is None or any(column.run.status == "running" for column in grid.columns):
        return None
    names = {(column.run.id, column.target): name for column, name in zip(grid.columns, grid.names, strict=True)}
    return best_target_text(found, [names.get((row.run, row.target), row.name) for row in found.rows])


def _column_order(columns: int, first: int) -> list[int]:
    """Return the numbers of all columns, the chosen one first.

    >>> _column_order(3, 2), _column_order(3, 9)
    ([2, 0, 1], [0, 1, 2])
    """
    chosen = first if first < columns else 0
    return [chosen, *(number for number in range(columns) if number != chosen)] if columns else []


def _is_found(row: GridRow, grid: Grid, found: Mapping[str, frozenset[int]]) -> bool:
    """Return whether an output of any column is among the found ones."""
    cells = zip(grid.columns, row.cells, strict=True)
    return any(number in found[column.run.id] for column, cell in cells for number, _ in cell)


def _is_shown(row: GridRow, show: str) -> bool:
    return row.differs if show == "differ" else row.fails > 0 if show == "fails" else True


def _figures(view: StoreView, columns: Sequence[GridColumn], found: TradeOffs | None) -> list[ColumnFigures]:
    places = {} if found is None else {(row.run, row.target): number for number, row in enumerate(found.rows)}
    rows = [places.get((column.run.id, column.target)) for column in columns]
    return [
        ColumnFigures(
            column=column,
            passed=view.line(column.run).passed if len(columns) == 1 else None,
            trade_off=None if found is None or row is None else found.rows[row],
            difference=None if found is None or row is None or rows[0] is None else found.difference(row, rows[0]),
            is_first=column is columns[0],
        )
        for column, row in zip(columns, rows, strict=True)
    ]
