"""`evalmark delete` and `prune`: delete runs and recorded sessions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Annotated

import typer

from evalmark.cli.terminal.output import print_error, print_line, print_store_note
from evalmark.core.errors import ConfigError, NotFoundError
from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.runs.execution.baseline import LAST_GREEN, NO_BASELINE, baseline_of, is_green
from evalmark.stats.comparison.baseline_choice import is_complete_run
from evalmark.storage.store.deletion import Deletion, DeletionPlan
from evalmark.storage.store.store import Store, open_store

from . import flags
from .cache import age_limit

_LISTED = 20
"""Runs that are listed one by one."""
_BASELINE = re.compile(r"^[ \t]*[\"']?baseline[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'#,]+)", re.MULTILINE)
"""The baseline that a suite file names."""

Yes = Annotated[bool, typer.Option("--yes", help="Delete; without it, only show what would be deleted.")]
Labelled = Annotated[bool, typer.Option("--labelled", help="Also delete what people have labelled, with the labels.")]
Baselines = Annotated[
    bool,
    typer.Option("--baselines", help="Also delete runs that a suite names as baseline, or that `last-green` means."),
]
SharedReplies = Annotated[
    bool, typer.Option("--shared-replies", help="Also delete recorded replies that other runs use.")
]


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    codes = {0: "deleted, or shown what would be", 1: "something that was named is protected", 2: "usage error"}
    app.command(epilog=flags.exit_codes(codes))(delete)
    app.command()(prune)


def delete(
    which: Annotated[list[str], typer.Argument(metavar="RUN", help="Runs, or sessions:PROJECT for recorded sessions.")],
    yes: Yes = False,
    labelled: Labelled = False,
    baselines: Baselines = False,
    shared_replies: SharedReplies = False,
    store: flags.Store = None,
) -> None:
    """Delete runs or recorded sessions so that they cannot be recovered from the store; without --yes, only show them.

    Recorded replies that no other run uses are deleted too. The store is compacted, and backups of older versions that hold what is
    deleted are removed.
    """
    with _opened(store, yes=yes) as run_store:
        projects = [name.removeprefix(SESSIONS_PREFIX) for name in which if name.startswith(SESSIONS_PREFIX)]
        runs = [run_store.run(name) for name in which if not name.startswith(SESSIONS_PREFIX)]
        kept = _protected(run_store, runs, labelled=labelled, baselines=baselines)
        sessions, kept_sessions = _sessions(run_store, projects, labelled=labelled)
        deletion = Deletion(
            runs=tuple(dict.fromkeys(run.id for run in runs if run.id not in kept)),
            sessions=tuple(sessions),
            with_shared_replies=shared_replies,
        )
        remarks = [*kept.values(), *kept_sessions, *([] if baselines else _missing_suites(run_store, runs))]
        _carry_out(run_store, deletion, remarks, yes=yes)
    raise typer.Exit(1 if kept or kept_sessions else 0)


def prune(  # noqa: PLR0913  each is a flag of the command line
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="AGE", help="Keep runs that are younger than this: 90d, 12h.")
    ] = None,
    keep_last: Annotated[
        int | None,
        typer.Option(
            "--keep-last", metavar="N", min=1, max=flags.MAX_COUNT, help="Keep the newest N runs of each suite."
        ),
    ] = None,
    yes: Yes = False,
    labelled: Labelled = False,
    baselines: Baselines = False,
    shared_replies: SharedReplies = False,
    store: flags.Store = None,
) -> None:
    """Delete old runs, as `delete` does; without --yes, only show them. With both limits, a run within either one is kept."""
    if keep is None and keep_last is None:
        raise ConfigError("Say what to keep: --keep 90d, or --keep-last 20 for the newest runs of each suite, or both.")
    before = None if keep is None else age_limit(keep, "--keep")
    with _opened(store, yes=yes) as run_store:
        old = list(_old(run_store.runs(), before, keep_last))
        kept = _protected(run_store, old, labelled=labelled, baselines=baselines)
        runs = tuple(run.id for run in old if run.id not in kept)
        remarks = [*kept.values(), *([] if baselines else _missing_suites(run_store, old))]
        _carry_out(run_store, Deletion(runs=runs, with_shared_replies=shared_replies), remarks, yes=yes)


def _opened(store: str | None, *, yes: bool) -> Store:
    """Open an existing store, for writing only if something is to be deleted."""
    path = flags.settings(store=store).store
    opened = open_store(path, read_only=True, notes=print_store_note)
    if not yes:
        return opened
    opened.close()
    return open_store(path, notes=print_store_note)


def _old(runs: Sequence[Run], before: datetime | None, keep_last: int | None) -> Iterator[Run]:
    """Yield the runs that neither limit keeps, without runs under way; `runs` are sorted newest first."""
    limit = None if before is None else before.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    seen: dict[tuple[str, str], int] = {}
    for run in runs:
        suite = _series(run)
        seen[suite] = seen.get(suite, 0) + 1
        is_recent = limit is not None and run.created >= limit
        is_among_last = keep_last is not None and seen[suite] <= keep_last
        if not (is_recent or is_among_last or run.status == "running"):
            yield run


def _series(run: Run) -> tuple[str, str]:
    return run.name, PurePath(run.suite).name


def _protected(run_store: Store, runs: Sequence[Run], *, labelled: bool, baselines: bool) -> dict[str, str]:
    """Return the runs that are kept, by id, each with a sentence that says why."""
    kept: dict[str, str] = {}
    if not labelled:
        for run in runs:
            if labels := run_store.labels_of_run(run.id):
                kept[run.id] = f"{run.id} is kept: it has {count(labels, 'label')}. --labelled deletes it too."
    if not baselines:
        for run_id, why in _baselines(run_store, runs).items():
            kept.setdefault(run_id, f"{run_id} is kept: {why}. --baselines deletes it too.")
    return kept


def _baselines(run_store: Store, runs: Sequence[Run]) -> Mapping[str, str]:
    """Return those of the runs that are baselines: named by a suite file, or the newest run of a suite that passed."""
    candidates = {run.id for run in runs}
    reasons: dict[str, str] = {}
    every = run_store.runs() if runs else []
    for suite in dict.fromkeys(run.suite for run in every if run.suite):
        last = next(run for run in every if run.suite == suite)
        for name in _named_baselines(Path(suite)):
            try:  # `last` is the last run of this suite, as when it is run
                named = baseline_of(run_store, name, replace(last, id="")).run
            except NotFoundError:
                continue
            if named is not None and named.id in candidates:
                reasons[named.id] = f"{suite} names it as its baseline"
    for series in dict.fromkeys(map(_series, runs)):
        passed = (run for run in every if _series(run) == series and is_complete_run(run) and is_green(run))
        newest = next(passed, None)
        of_this_commit = newest and baseline_of(run_store, LAST_GREEN, replace(newest, id="")).run
        for green in {
            run.id: run for run in (newest, of_this_commit) if run is not None and run.id in candidates
        }.values():
            reasons.setdefault(green.id, f"it is the last run of {series[0]!r} that passed (`{LAST_GREEN}`)")
    return reasons


def _missing_suites(run_store: Store, runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if suites cannot be read here, so that no run is known to be a baseline that they name."""
    suites = dict.fromkeys(run.suite for run in run_store.runs() if run.suite) if runs else {}
    if missing := [suite for suite in suites if not Path(suite).is_file()]:
        more = f" and {count(len(missing) - 1, 'more suite')}" if len(missing) > 1 else ""
        yield f"{missing[0]}{more} cannot be read from this folder; runs that are named there as `baseline` are not protected."


def _named_baselines(suite: Path) -> list[str]:
    """Return the runs that a suite file names as baseline; none if the file is gone."""
    try:
        text = suite.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [name for name in _BASELINE.findall(text) if name not in (LAST_GREEN, NO_BASELINE)]


def _sessions(run_store: Store, projects: Sequence[str], *, labelled: bool) -> tuple[list[str], list[str]]:
    """Return the ids of the sessions to delete, and a sentence for each project of which some are kept.

    Raises:
        ConfigError: nothing is recorded for a project.
    """
    ids: list[str] = []
    kept: list[str] = []
    for project in projects:
        unlabelled, with_labels = run_store.labelled_sessions(project)
        if not unlabelled and not with_labels:
            raise ConfigError(f"{SESSIONS_PREFIX}{project}: nothing is recorded for this project.")
        ids += unlabelled
        if labelled:
            ids += with_labels
        elif with_labels:
            kept.append(
                f"{count(len(with_labels), 'session')} of {project} with labels are kept. --labelled deletes them too."
            )
    return ids, kept


def _carry_out(run_store: Store, deletion: Deletion, remarks: Sequence[str], *, yes: bool) -> None:
    for sentence in remarks:
        print_line(sentence)
    if not deletion.runs and not deletion.sessions:
        print_line("Nothing to delete.")
        return
    for sentence in _description(run_store, deletion, run_store.plan_deletion(deletion), yes=yes):
        print_line(sentence)
    if not yes:
        print_line("Nothing was deleted yet. Add --yes to delete.")
        return
    if left := run_store.delete(deletion):
        print_error(f"{left}\n")


def _description(run_store: Store, deletion: Deletion, planned: DeletionPlan, *, yes: bool) -> Iterator[str]:
    runs = f"{count(len(deletion.runs), 'run')} with {count(planned.results, 'result')}"
    sessions = f"{count(len(deletion.sessions), 'session')} with {count(planned.spans, 'span')}"
    parts = [runs] if deletion.runs else []
    parts += [sessions] if deletion.sessions else []
    parts += [count(planned.labels, "label")] if planned.labels else []
    parts += [f"{planned.replies:,} recorded {_replies(planned.replies)}"] if planned.replies else []
    yield f"{'Deleting' if yes else 'Would delete'} {', '.join(parts)}:"
    for run_id in deletion.runs[:_LISTED]:
        run = run_store.run(run_id)
        name = f" ({one_line(run.given_name, 20)})" if run.given_name else ""
        yield f"  {run.id}  {one_line(run.name, 30)}{name}, {count(len(run.results), 'result')}"
    if (more := len(deletion.runs) - _LISTED) > 0:
        yield f"  and {more:,} more"
    if (shared := planned.shared_replies) and not deletion.with_shared_replies:
        verb, them = ("is", "it") if shared == 1 else ("are", "them")
        yield (
            f"{shared:,} recorded {_replies(shared)} {verb} kept, because other runs use {them} too. --shared-replies deletes {them}."
        )
    for backup in planned.backups:
        yield f"{backup}: this backup, made by an upgrade, holds some of it and is deleted too."


def _replies(number: int) -> str:
    return "reply" if number == 1 else "replies"
