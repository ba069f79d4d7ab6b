"""Filter of results by their labels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from evalmark.core.errors import StoreError
from evalmark.core.values.label import Label
from evalmark.core.values.run import Run
from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.agreement import Thumbs, thumbs_of
from evalmark.tracing.annotations.labels import result_subject

from .store_view import StoreView


def only_labelled(view: StoreView, run: Run, query: CaseQuery, author: str) -> CaseQuery:
    """Restrict a query to results with the requested labels; `author` is the current user."""
    in_search = {one.removeprefix("label:") for one in query.search.lookups if one.startswith("label:")}
    labels = in_search | ({query.label} if query.label else set())
    if not labels:
        return query
    thumbs_by_subject = thumbs_of(_of_current_outputs(view, run, view.store.sessions.labels_of_run(run.id)))
    found = {label: _filter_by_label(view, run, label, thumbs_by_subject, author) for label in labels}
    if query.label:
        also = (*query.conditions.also, found[query.label])
        query = replace(query, conditions=replace(query.conditions, also=also))
    return query.look_up({f"label:{label}": found[label] for label in in_search})


def _filter_by_label(
    view: StoreView, run: Run, label: str, thumbs_by_subject: Mapping[str, Thumbs], author: str
) -> ResultFilter:
    subjects = {about for about, thumbs in thumbs_by_subject.items() if _has_label(label, thumbs, author)}
    numbers = frozenset(_numbers(view, run, subjects))
    return ResultFilter(without=numbers) if label in ("none", "not-mine") else ResultFilter(numbers=numbers)


def _of_current_outputs(view: StoreView, run: Run, labels: Sequence[Label]) -> Sequence[Label]:
    """Keep labels of current outputs; a resumed run may have replaced some."""
    if not labels or view.store.run_progress(run.id).passes == 1:
        return labels
    browsing, contents = view.browsing(run), dict[str, str]()
    for number in _numbers(view, run, {label.about for label in labels}):
        with suppress(StoreError):  # it is damaged: its own page shows the error
            if (result := browsing.result(number)) is not None:
                subject = result_subject(run.id, result)
                contents[subject.about] = subject.content
    return [label for label in labels if label.content == contents.get(label.about)]


def _numbers(view: StoreView, run: Run, abouts: set[str]) -> Iterator[int]:
    trials = {about.rpartition("/")[2] for about in abouts}
    return (number for number, _ in view.browsing(run).trials().numbered(trials)) if trials else iter(())


def _has_label(label: str, thumbs: Thumbs, author: str) -> bool:
    """Return whether an output has this label; for `none`, whether it has any."""
    up = sum(thumbs.values())
    down = len(thumbs) - up
    return {"up": up > down, "down": down > up, "disputed": up == down, "none": True, "not-mine": author in thumbs}[
        label
    ]
