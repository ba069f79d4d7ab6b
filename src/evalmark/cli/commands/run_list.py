"""`evalmark list`: stored runs and recorded sessions."""

from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalmark.cli.terminal.output import print_store_note, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule

from . import flags

if TYPE_CHECKING:
    from evalmark.cli.commands import sessions as session_commands
    from evalmark.core.values import run as run_values
    from evalmark.core.values import spending as spendings
    from evalmark.core.values.run import Run, RunTotals
    from evalmark.core.values.spending import Spending
    from evalmark.reports.terminal import run_list, sessions
    from evalmark.reports.terminal.run_list import ListedRun
    from evalmark.stats.summary import totals as run_totals
    from evalmark.storage.queries.verdict_counts import VerdictCounts
    from evalmark.storage.results import run_ids
    from evalmark.storage.store import store as stored
    from evalmark.storage.store.store import Store
else:
    session_commands = LazyModule("evalmark.cli.commands.sessions")
    run_values = LazyModule("evalmark.core.values.run")
    spendings = LazyModule("evalmark.core.values.spending")
    run_list = LazyModule("evalmark.reports.terminal.run_list")
    sessions = LazyModule("evalmark.reports.terminal.sessions")
    run_totals = LazyModule("evalmark.stats.summary.totals")
    run_ids = LazyModule("evalmark.storage.results.run_ids")
    stored = LazyModule("evalmark.storage.store.store")

TAG = "tag:"
"""The beginning of a condition on the tags of runs."""
_MOST_READ = 50_000
"""Results that one list reads to calculate totals; those of further runs are calculated by the next list."""
_MOST_SUMMED = 200
"""Runs whose totals one list calculates."""


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("list")(list_runs)


def list_runs(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHICH",
            help="Only runs of a suite file, with a name, or with a tag as `tag:TAG`; or `sessions [PROJECT]` for recorded sessions.",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Only runs with this tag. Repeatable: a run has to have all."),
    ] = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, max=flags.MAX_COUNT, help="Number of entries.")
    ] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False,
    store: flags.Store = None,
) -> None:
    """List the runs or the recorded sessions in the store, newest first.

    A run is shown with its verdict, its pass rate and 95 % interval, its cost and its commit; wide terminals show more.
    """
    which = [*(what or []), *(f"{TAG}{one}" for one in tag or [])]
    with stored.open_store(flags.settings(store=store).store, read_only=True, notes=print_store_note) as run_store:
        if which[:1] == ["sessions"]:
            _list_sessions(run_store, which[1:], limit, as_json=json)
            return
        listed = _with_totals(run_store, _matching(run_store, which, limit))
        if json:
            print_text(dumps([_values(one) for one in listed], ensure_ascii=False, indent=1) + "\n")
        else:
            more = 0 if which else run_store.progress().runs - len(listed)
            print_text(run_list.run_list_screen(listed, terminal_style(), more=more))


def _list_sessions(run_store: "Store", projects: Sequence[str], limit: int, *, as_json: bool) -> None:
    if len(projects) > 1 or as_json:
        raise ConfigError("evalmark list sessions takes one PROJECT at most, and no --json.")
    found = session_commands.sessions_of(run_store, next(iter(projects), None), limit)
    print_text(sessions.session_list_screen(found, terminal_style()))


def _matching(run_store: "Store", which: Sequence[str], limit: int) -> "list[Run]":
    """Return the newest runs that match every condition.

    Raises:
        ConfigError: no run matches one of them.
    """
    if not which:
        return run_store.runs(limit)
    runs = run_store.runs()
    for condition in which:
        runs = [run for run in runs if _is_of(run, condition)]
        if not runs:
            raise ConfigError(
                f"no run matches {condition!r}; name a suite file, the name of runs or suites, {TAG}TAG, or `sessions`."
            )
    return runs[:limit]


def _is_of(run: "Run", condition: str) -> bool:
    if condition.startswith(TAG):
        tag = condition.removeprefix(TAG)
        return tag in run.tags or any(name.partition("=")[0] == tag for name in run.tags)
    if run_ids.is_suite_reference(condition):
        return PurePath(run.suite).name == PurePath(condition).name
    return condition in (run.given_name, run.name)


def _with_totals(run_store: "Store", runs: "Sequence[Run]") -> "list[ListedRun]":
    """Add the totals of runs; those that are not stored are calculated, as long as that reads few results.

    Runs under way, killed runs and runs beyond that limit get the pass rate that counting gives, without verdict and interval.
    """
    known = dict(run_store.totals(runs))
    missing = [run for run in runs if run.id not in known]
    new: list[tuple[Run, RunTotals]] = []
    left, runs_left = _MOST_READ, _MOST_SUMMED
    for run, counts in zip(missing, run_store.all_verdict_counts(missing) if missing else (), strict=True):
        known[run.id] = _counted(counts)
        if run.finished is None or run.status == "running" or known[run.id].trials > left or not runs_left:
            continue
        known[run.id] = run_totals.run_totals(run)
        new.append((run, known[run.id]))
        left, runs_left = left - known[run.id].trials, runs_left - 1
    if new:
        run_store.save_totals(new)
    return [
        run_list.ListedRun(
            run=run,
            totals=known[run.id],
            # A killed run has no spending in its header, but the call log has it.
            spending=run.spending if run.finished else run_store.spending(run.id),
        )
        for run in runs
    ]


def _counted(counts: "VerdictCounts") -> "RunTotals":
    trials = sum(counts.verdicts.values())
    if counts.counted is None:
        return run_values.RunTotals(trials=trials)
    passed, judged = counts.counted.get("pass", 0), sum(counts.counted.get(verdict, 0) for verdict in ("pass", "fail"))
    rate = passed / judged if judged else None
    return run_values.RunTotals(trials=trials, passed=passed, judged=judged, rate=rate)


def _values(listed: "ListedRun") -> Mapping[str, Any]:
    run, totals = listed.run, listed.totals
    fields = ("verdict", "trials", "passed", "judged", "rate", "low", "high")
    return {
        "id": run.id,
        "name": run.given_name or None,
        "tags": list(run.tags),
        "suite": run.suite or None,
        "suite_name": run.name,
        "status": run.status,
        "created": run.created,
        "finished": run.finished,
        "target": run.target,
        "commit": run.revision or None,
        "is_part": run.is_part or run.shard is not None or run.sample is not None,
        **{field: getattr(totals, field) for field in fields},
        **_cost(listed.spending),
    }


def _cost(spending: "Sequence[Spending]") -> Mapping[str, Any]:
    """Return the known cost, None for a run that called no model through evalmark, and how many calls it leaves out."""
    priced = spendings.priced_spending(spending)
    spent = spendings.total_spending(priced)
    return {"cost": spendings.known_cost(spent) if priced else None, "calls_of_unknown_cost": spent.unknown_cost}
