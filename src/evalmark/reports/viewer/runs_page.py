"""The page of all runs, newest first, filtered by the address."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run, RunStatus
from evalmark.core.values.session import seconds_between
from evalmark.core.values.spending import Spending, priced_spending, total_spending
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.run_query import RUN_COLUMNS, RUN_GROUPS, RunQuery, parse_run_query
from evalmark.stats.comparison.baseline_choice import suite_of

from .live_updates import LiveUpdate, not_modified
from .page_context import PageContext
from .store_view import RunLine, StoreView

SIZE = 25
_SUITES = 6
"""Suites named above the list."""
_DRAWN = 12
"""Most runs of a suite in its small chart above the list."""
GATED = 20_000
"""Most trials of a run whose gate is shown in the list."""


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    moment = context.view.store.progress()
    if (same := not_modified(request, moment.mark)) is not None:
        return same
    live = None
    if moment.running:
        text = f"{count(len(moment.running), 'run')} in progress"
        live = LiveUpdate(mark=moment.mark, text=text, ended="All runs have ended.")
    params = request.query_params
    values = page_values(context.view, parse_run_query(params, params.getlist("columns")), moment.runs)
    lines = values["lines"]
    metrics = context.metrics.of([line for line in lines if line.trials <= GATED])
    gates = {run: None if known is None else known.outcome for run, known in metrics.items()}
    changes = context.changes.of(lines, moment.runs)
    return context.page(request, "runs.html", {**values, "changes": changes, "gates": gates, "live": live})


def page_values(view: StoreView, query: RunQuery, total: int) -> Mapping[str, Any]:
    """Values of the template; only a search and groups read all runs."""
    groups: Sequence[RunGroup] = ()
    with view.figures.give_way():
        matching = None
        if query.text or query.status or query.group:
            matching = [run for run in view.store.runs() if _is_wanted(run, query)]
        if matching is not None and query.group:
            groups = run_groups(matching, query.group)
            matching = [run for group in groups for run in group.runs]
        paging = Paging(total=total if matching is None else len(matching), size=SIZE, requested=query.page)
        shown = view.store.runs(SIZE, paging.start) if matching is None else paging.part(matching)
        lines = view.lines(shown)
        headings = _headings(view, groups, shown)
    suites = _by_suite(lines)
    return {
        "store": view.store.path.name,
        "query": query,
        "lines": lines,
        "suites": suites,
        "headings": headings,
        "groups": RUN_GROUPS,
        "all_columns": RUN_COLUMNS,
        "repeats": _repeats(lines, headings),
        "shared_names": _shared_names(suites),
        "statuses": get_args(RunStatus),
        "matching": paging.total,
        "total": total,
        "page": paging.page,
        "pages": paging.pages,
        "models_of": models_of,
        "judges_of": judges_of,
        "cost_of": cost_of,
        "seconds_of": seconds_of,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs of one suite, target or model, or with the same tags, the newest first."""

    name: str
    """Empty if they have none."""
    file: str = ""
    """The suite file of another group of the same name."""
    runs: Sequence[Run]

    @property
    def newest(self) -> Run:
        """The newest complete run, else the newest one."""
        return next((run for run in self.runs if run.status == "complete"), self.runs[0])


def run_groups(runs: Sequence[Run], by: str) -> list[RunGroup]:
    """Group runs, which are the newest first: the group of the newest run comes first."""
    keys: Mapping[str, Callable[[Run], str]] = {
        "suite": suite_of,
        "target": lambda run: run.target,
        "model": lambda run: ", ".join(models_of(run, run.spending)),
        "tags": lambda run: ", ".join(run.tags),
    }
    by_key: dict[str, list[Run]] = {}
    for run in runs:
        by_key.setdefault(keys[by](run), []).append(run)
    if by != "suite":
        return [RunGroup(name=key, runs=several) for key, several in by_key.items()]
    names = Counter(several[0].name for several in by_key.values())
    return [
        RunGroup(name=several[0].name, file=several[0].suite if names[several[0].name] > 1 else "", runs=several)
        for several in by_key.values()
    ]


def _headings(
    view: StoreView, groups: Sequence[RunGroup], shown: Sequence[Run]
) -> Mapping[str, tuple[RunGroup, RunLine]]:
    """Return the groups of a page with their newest run, by the id of the first run that the page shows of each."""
    ids = {run.id for run in shown}
    first = [next((run.id for run in group.runs if run.id in ids), "") for group in groups]
    on_page = {run: group for run, group in zip(first, groups, strict=True) if run}
    newest = view.lines([group.newest for group in on_page.values()])
    return {run: (group, line) for (run, group), line in zip(on_page.items(), newest, strict=True)}


def _repeats(lines: Sequence[RunLine], headings: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Return by run id what a row need not repeat: what the row above it of the same suite, in its group, says already."""
    above: dict[str, set[tuple[str, object]]] = {}
    repeats = {}
    for run in (line.run for line in lines):
        if run.id in headings:
            above.clear()
        facts: set[tuple[str, object]] = {
            ("datasets", tuple(info.name for info in run.datasets)),
            ("target", run.target),
            ("judges", tuple(judges_of(run))),
        }
        repeats[run.id] = frozenset(name for name, _ in facts & above.get(suite_of(run), set()))
        above[suite_of(run)] = facts
    return repeats


def _by_suite(lines: Sequence[RunLine]) -> Mapping[str, Sequence[RunLine]]:
    """Return the listed complete runs of each suite, the newest first; of a suite without one, those that stopped."""
    by_suite: dict[str, list[RunLine]] = {}
    for line in lines:
        if line.run.status != "running":
            by_suite.setdefault(suite_of(line.run), []).append(line)
    complete = {
        suite: [line for line in several if line.run.status == "complete"] or several
        for suite, several in by_suite.items()
    }
    return {suite: several[:_DRAWN] for suite, several in list(complete.items())[:_SUITES]}


def _shared_names(suites: Mapping[str, Sequence[RunLine]]) -> frozenset[str]:
    """Return the names that more than one suite has."""
    names = Counter(several[0].run.name for several in suites.values())
    return frozenset(name for name, number in names.items() if number > 1)


def judges_of(run: Run) -> list[str]:
    """List the models that judge a run."""
    return list(dict.fromkeys(one_line(metric.judge) for metric in run.metrics if metric.judge))


def models_of(run: Run, spending: Sequence[Spending]) -> list[str]:
    """List the models that a run called, without those that only judge: a target on a model ends with its name."""
    judges, targets = judges_of(run), run.target.split(", ")
    called = dict.fromkeys(one_line(one.model) for one in spending if one.is_model)
    return [name for name in called if name not in judges or any(one.endswith(name) for one in targets)]


def cost_of(line: RunLine) -> str:
    """Format the cost of a run's calls; empty without calls."""
    spending = priced_spending(line.spending)
    if not spending:
        return ""
    spent = total_spending(spending)
    known = "" if spent.cost is None else money(spent.cost)
    return f"{known} + unknown" if known and spent.unknown_cost else known or "unknown"


def seconds_of(run: Run) -> float | None:
    """Return a run's duration in seconds; None if unknown."""
    return seconds_between(run.created, run.finished or "")


def _is_wanted(run: Run, query: RunQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    models = [spent.model for spent in run.spending]
    fields = [run.id, run.name, run.given_name, *run.tags, run.target, run.suite, run.revision, *models]
    fields += [info.name for info in run.datasets] + [metric.judge for metric in run.metrics]
    words = query.text.casefold().split()
    text = "\n".join(fields).casefold()
    return all(word in text for word in words)
