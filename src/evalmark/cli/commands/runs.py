"""`evalmark show` and `validate`: stored runs and sessions, and errors in input files."""

from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import print_line, print_store_note, print_text, run_style, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule

from . import flags

if TYPE_CHECKING:
    from evalmark.cli.commands import file_checks, suite_files
    from evalmark.cli.commands import sessions as session_commands
    from evalmark.core import case_titles
    from evalmark.core.values import run as runs
    from evalmark.core.values.run import Run
    from evalmark.reports.terminal import call as call_module
    from evalmark.reports.terminal import cases, run_report, sessions, target_overview
    from evalmark.stats.summary import gate, summarise
    from evalmark.stats.summary import target_overview as stats_overview
    from evalmark.storage.store import store as stored
    from evalmark.storage.store.store import Store
    from evalmark.tracing.annotations import labels
else:
    file_checks = LazyModule("evalmark.cli.commands.file_checks")
    suite_files = LazyModule("evalmark.cli.commands.suite_files")
    session_commands = LazyModule("evalmark.cli.commands.sessions")
    case_titles = LazyModule("evalmark.core.case_titles")
    runs = LazyModule("evalmark.core.values.run")
    gate = LazyModule("evalmark.stats.summary.gate")
    summarise = LazyModule("evalmark.stats.summary.summarise")
    stored = LazyModule("evalmark.storage.store.store")
    labels = LazyModule("evalmark.tracing.annotations.labels")
    call_module = LazyModule("evalmark.reports.terminal.call")
    cases = LazyModule("evalmark.reports.terminal.cases")
    run_report = LazyModule("evalmark.reports.terminal.run_report")
    sessions = LazyModule("evalmark.reports.terminal.sessions")
    target_overview = LazyModule("evalmark.reports.terminal.target_overview")
    stats_overview = LazyModule("evalmark.stats.summary.target_overview")


NOT_PASSED = ("fail", "error", "unscored")

RunReference = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: its id or name, a suite file (its newest run), `last` or `last~1`.")
]


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command()(show)
    app.command(epilog=flags.exit_codes({0: "no error", 2: "a file has an error, or cannot be read"}))(validate)


def show(  # noqa: PLR0913  each is a flag of the command line
    run: RunReference = "last",
    failed: Annotated[bool, typer.Option("--failed", help="Show every case that did not pass.")] = False,
    case: Annotated[
        str | None,
        typer.Option("--case", metavar="CASE", help="Show one case, by its id, its name or the start of one."),
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="Show the model and tool calls of each case.")] = False,
    overview: Annotated[bool, typer.Option("--overview", help="Compare the targets of the run side by side.")] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, max=flags.MAX_COUNT, help="Number of cases to show.")
    ] = 50,
    worst: flags.Worst = 5,
    store: flags.Store = None,
) -> None:
    """Show the results and the worst cases of a run, or single cases with --failed, --case or --calls.

    The id may also name a recorded session, or one output or step in it.
    """
    settings = flags.settings(store=store)
    with stored.open_store(settings.store, read_only=True, notes=print_store_note) as run_store:
        item = labels.find_labelled(run_store, run)
        if not isinstance(item, runs.Run):
            if overview or failed or calls or case is not None:
                raise ConfigError(f"{item.id} is not a run; leave out --failed, --case, --calls and --overview.")
            print_text(session_commands.describe(run_store, item))
            return
        shown_run = _with_spending(item, run_store)
        if overview:
            _show_overview(shown_run, with_cases=failed or calls or case is not None)
            return
        if not (failed or calls) and case is None:
            summary = summarise.summarise(shown_run)
            verdict = gate.apply_gate(summary, shown_run.gate)
            print_text(
                run_report.run_screen(
                    shown_run, run_style(shown_run, settings.store, worst), summary=summary, verdict=verdict
                )
            )
            return
        _show_cases(run_store, shown_run, case, limit, failed=failed, calls=calls)


def _show_cases(run_store: "Store", run: "Run", case: str | None, limit: int, *, failed: bool, calls: bool) -> None:
    chosen = None if case is None else _case_id(run, case)
    matching = (
        r
        for r in run.results
        if (chosen is None or r.trial.case.id == chosen) and (not failed or r.verdict in NOT_PASSED)
    )
    count = 0
    for count, result in enumerate(islice(matching, limit), start=1):  # noqa: B007  counts to the end
        print_text(cases.case_screen(result, terminal_style(), run=run))
        print_text(sessions.labels_screen(session_commands.labels_of(run_store, run, result), terminal_style()))
        for key in result.calls if calls else ():
            print_text(_one_call(run_store, key))
    if count == limit:
        print_line(
            f"Showing the first {limit}. Show more with -n, or write all with: evalmark report {run.id} -o cases.jsonl"
        )
    elif count == 0 and chosen is not None:
        raise ConfigError(f"{run.id} has no case {chosen!r} that did not pass; {_all_cases(run)}")
    elif count == 0:
        has_cases = any(True for _ in run.results)
        print_line(f"No case of {run.id} failed." if has_cases else f"{run.id} has no case.")


def _show_overview(run: "Run", *, with_cases: bool) -> None:
    if with_cases:
        raise ConfigError("--overview shows no cases; leave out --failed, --case and --calls.")
    print_text(target_overview.overview_screen(run, stats_overview.overview(run), terminal_style()))


def _one_call(run_store: "Store", key: str) -> str:
    if (call := run_store.recordings.call(key)) is not None:
        return call_module.call_screen(call, terminal_style())
    if (recording := run_store.recordings.tool_call(key)) is not None:
        return call_module.tool_call_screen(recording, terminal_style())
    return f"  The call {key} is no longer recorded.\n"


def _case_id(run: "Run", prefix: str) -> str:
    """Resolve the id or the title of a case, or the unique start of one."""
    titles = case_titles.CaseTitles()
    named = {r.trial.case.id: titles(r.trial.case.id, r.trial.case.input, r.trial.position) for r in run.results}
    if prefix in named:
        return prefix
    if title := [key for key, name in named.items() if name == prefix]:
        return title[0]
    starting = [key for key, name in named.items() if prefix and (key.startswith(prefix) or name.startswith(prefix))]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise ConfigError(
            f"{run.id} has {len(starting):,} cases that start with {prefix!r}, such as "
            f"{', '.join(repr(named[key]) for key in starting[:3])}; write more of the name."
        )
    close = get_close_matches(prefix, named.values(), n=3)
    advice = f"did you mean {' or '.join(map(repr, close))}?" if close else _all_cases(run)
    raise ConfigError(f"{run.id} has no case {prefix!r}; {advice}")


def _all_cases(run: "Run") -> str:
    return f"list all cases with: evalmark report {run.id} -o cases.csv"


def _with_spending(run: "Run", run_store: "Store") -> "Run":
    """A killed run has no spending in its header, but the call log has it."""
    return run if run.spending else replace(run, spending=run_store.spending(run.id))


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Suites, folders of suites, prompts, metrics and datasets [default: the suites that `evalmark run` finds].",
            show_default=False,
        ),
    ] = None,
    allow_code: flags.AllowCode = None,
) -> None:
    """Check suites, prompts, metrics and datasets completely, and list every error.

    Imports the Python modules that a suite names for its target, metrics or embeddings; calls no target.
    """
    settings = flags.settings(allow_code=allow_code or None)
    faulty = 0
    for path in suite_files.find_suites(files or (), settings):
        notes: dict[str, None] = {}
        faults = file_checks.validate(path, settings, notes.setdefault)
        faulty += bool(faults)
        print_line("\n".join([*(faults or [f"{path}: no errors"]), *(f"note: {note}" for note in notes)]))
    raise typer.Exit(2 if faulty else 0)
