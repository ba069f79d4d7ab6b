"""Filter of results by regular expressions, which are searched in the background and have a time limit."""

import time
from collections.abc import Mapping
from dataclasses import replace

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.reports.viewer.urls.search_query import SearchQuery
from evalmark.reports.viewer.urls.search_terms import compile_pattern
from evalmark.storage.queries.filter import ResultFilter

from .background import Task, figures_state
from .store_view import StoreView

MOST_SEARCHED = 200_000
"""Most results of a run that a pattern is searched in."""
_PATTERN_SECONDS = 1.0
"""The limit for one text."""
_RUN_SECONDS = 20.0
"""The limit for all texts of a run together, without the time that it takes to read them."""


def only_matching(view: StoreView, run: Run, query: CaseQuery) -> CaseQuery:
    """Restrict a query to results that match its patterns; it selects none while they are searched, or if they cannot be."""
    found, problem = pattern_filters(view, run, query.search)
    nothing = replace(query.conditions, numbers=frozenset())
    if problem:
        return replace(query, search=SearchQuery(text=query.search.text, problem=problem), conditions=nothing)
    return replace(query, is_searching=True, conditions=nothing) if found is None else query.look_up(found)


def pattern_filters(view: StoreView, run: Run, search: SearchQuery) -> tuple[Mapping[str, ResultFilter] | None, str]:
    """Return the filter of each pattern by its lookup, None while one is searched; and why one cannot be searched, else empty."""
    if not search.patterns:
        return {}, ""
    (trials,) = view.trials([run])
    if trials > MOST_SEARCHED:
        return None, (
            f"A pattern is searched in runs with up to {MOST_SEARCHED:,} results, and this one has {trials:,}; "
            "search for words instead."
        )
    found: dict[str, ResultFilter] = {}
    for pattern in sorted(search.patterns):
        try:
            numbers = _numbers(view, run, pattern, trials)
        except EvalmarkError as error:  # the pattern takes too long, or the run was deleted
            return None, str(error)
        if numbers is not None:
            found[f"pattern:{pattern}"] = ResultFilter(numbers=numbers)
    return (found if len(found) == len(search.patterns) else None), ""


def _numbers(view: StoreView, run: Run, pattern: str, trials: int) -> frozenset[int] | None:
    """Return the numbers of the results that match; None while they are searched.

    Raises:
        EvalmarkError: the pattern takes too long, or the run was deleted.
    """
    goes_on = run.status == "running"
    state = figures_state(run, trials)
    task = Task(kind="pattern", names=(run.id, pattern), state=state, trials=trials, or_earlier=goes_on)
    return view.figures.result(task, lambda _: _search(view, run, pattern))


def _search(view: StoreView, run: Run, pattern: str) -> frozenset[int]:
    compiled, spent = compile_pattern(pattern), 0.0

    def matches(text: str) -> bool:
        nonlocal spent
        began = time.perf_counter()
        try:
            is_match = (
                compiled.search(text, timeout=max(0.001, min(_PATTERN_SECONDS, _RUN_SECONDS - spent))) is not None
            )
        except TimeoutError:  # an OSError, which the store would take for one of its own
            raise EvalmarkError(
                f"The pattern /{one_line(pattern, 60)}/ takes longer than {_PATTERN_SECONDS:g} s on one text, or "
                f"{_RUN_SECONDS:g} s on all of them; write it without a repeat inside of a repeat."
            ) from None
        spent += time.perf_counter() - began
        return is_match

    return frozenset(view.store.search_texts(run.id, matches, view.figures.wait_for_pages))
