"""Downloads of the cases that a filter selects: a table, all data, or a dataset of exactly these cases."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.inputs.documents.serialization import file_name
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.reports.files.case_dataset import dataset_lines
from evalmark.reports.files.run_csv import as_csv
from evalmark.reports.files.run_json import result_lines
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.queries.pages import FIRST_PAGE, PagePosition, ResultBrowser

from .comparisons import nearest_comparison, only_flipped
from .page_context import PageContext
from .run_page import query_of

_ROWS = 500
"""Rows read at a time."""

EXPORTS: Mapping[str, tuple[str, Callable[[Run], Iterable[str]]]] = {
    "cases.csv": ("text/csv; charset=utf-8", as_csv),
    "cases.jsonl": ("application/jsonl", lambda run: result_lines(run.results)),
    "dataset.jsonl": ("application/jsonl", lambda run: dataset_lines(run.results)),
}
"""Media types and writers by file name."""


@dataclass(frozen=True, slots=True)
class FilteredResults(Collection[Result]):
    """The results of the rows that a filter selects, read from the store whenever they are iterated."""

    browsing: ResultBrowser
    filters: ResultFilter

    def __iter__(self) -> Iterator[Result]:
        at = FIRST_PAGE
        while True:
            page = self.browsing.page(self.filters, at, _ROWS)
            for kept in (kept for row in page.rows for kept in row.results):
                whole = self.browsing.result(kept.number) if kept.is_cut else kept.result
                if whole is not None:
                    yield whole
            if page.stopped_at is not None:
                at = page.stopped_at
            elif page.is_last:
                return
            else:
                at = PagePosition(after=page.rows[-1].leader)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, value: object) -> bool:
        return any(value == result for result in self)


def show(context: PageContext, request: Request) -> Response:
    """Send the cases that the address selects as a file."""
    name = request.path_params["file"]
    if name not in EXPORTS:
        raise HTTPException(404, f"There is no such export; it is one of {', '.join(EXPORTS)}.")
    run = context.run(request)
    query = query_of(context, request, run)
    if query.search.problem:
        raise HTTPException(400, query.search.problem)
    if query.is_searching:
        raise HTTPException(503, "The texts of the run are still being searched; try again in a moment.")
    if query.changes:
        against = nearest_comparison(context.view, run)
        if against.prepared is None:
            raise HTTPException(503, "The comparison with the previous run is not computed yet; try again in a moment.")
        query = only_flipped(query, against.prepared)
    kind, write = EXPORTS[name]
    selected = replace(run, results=FilteredResults(context.view.browsing(run), query.conditions))
    headers = {"content-disposition": f'attachment; filename="{file_name(run.id)}-{name}"'}
    return StreamingResponse(map(mask_known_secrets, write(selected)), media_type=kind, headers=headers)
