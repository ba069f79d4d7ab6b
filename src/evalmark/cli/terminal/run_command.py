"""Carry out a plan in front of a person: progress, Ctrl-C, the table, the reports, the exit code."""

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core import text as core_text
from evalmark.core.errors import ConfigError, EvalmarkError, RunAbortedError
from evalmark.core.lazy import LazyModule, need
from evalmark.core.values.run import Run, Shard
from evalmark.inputs.datasets.case_filter import parse_filter
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.terminal.run_report import run_screen
from evalmark.runs.execution.baseline import baseline_of
from evalmark.runs.execution.shards import rows_asked
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.store.location import display_location

from . import supervised
from .command_line import NEWEST, store_flag
from .output import output_look, print_error, print_line, print_text
from .process_state import ProcessState
from .progress import Progress
from .run_references import with_store_flag

if TYPE_CHECKING:
    import asyncio

    from evalmark.core.settings import Settings
    from evalmark.reports.files import writers
    from evalmark.reports.terminal import comparison as compared_module
    from evalmark.runs.execution import execute as execution
    from evalmark.runs.execution import options as run_options
    from evalmark.runs.planning.check import PlanCheck
    from evalmark.runs.planning.plan import Plan
    from evalmark.stats.comparison import compare
    from evalmark.stats.comparison.change import Comparison
    from evalmark.stats.summary.summary import Summary
    from evalmark.storage.store import store
    from evalmark.storage.store.store import Store
else:
    execution = LazyModule("evalmark.runs.execution.execute")
    run_options = LazyModule("evalmark.runs.execution.options")
    store = LazyModule("evalmark.storage.store.store")
    writers = LazyModule("evalmark.reports.files.writers")
    compared_module = LazyModule("evalmark.reports.terminal.comparison")
    compare = LazyModule("evalmark.stats.comparison.compare")

INTERRUPTED = 130
SAME_SIGNAL_SECONDS = 0.2
"""Seconds: a signal that is sent to a group of processes comes twice, directly and passed on by the parent."""
_BUDGET = re.compile(r"(--max-(?:calls|cost|tokens))[ =]\S+")
STOPPED = 3
_WORST_FIRST = (1, 3, 0)
"""A gate that fails and a run that is worse come before what cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDisplay:
    """What the person wants of a run besides its exit code."""

    reports: Sequence[Path] = ()
    quiet: bool = False
    worst: int = 5
    """How many of the worst cases to show."""
    again: str = ""
    """The command that takes the run up again, should it be interrupted."""
    limit: int | None = None
    only: Sequence[str] = ()
    """Which cases: all of these have to hold."""
    shard: "Shard | None" = None
    """Which share of these cases; None: all of them."""
    resume: str | None = None
    """A run's id, `newest`, or None for a new run."""
    retry_errors: bool = False
    """Whether what ended in an error is run again in the run that is taken up."""
    baseline: str | None = None
    """The run to compare with: an id, `last`, `last-green`, `none`; None: the one that the suite names."""
    allow_undecided: bool = False
    """Whether a comparison that cannot tell is no reason for another exit code."""
    remarks: "Callable[[Run, Summary, Store], Sequence[str]] | None" = None
    """Further lines to print under the table."""


def run_plan(plan: "Plan", settings: "Settings", show: RunDisplay) -> int:
    """Run the plan, print what was found, write the reports, and give the exit code.

    Raises:
        EvalmarkError: a fault of the plan, of the store or of a report's path, as a sentence.
    """
    refuse_reports(plan, show.reports)
    state = ProcessState()
    try:
        return _run_and_report(plan, settings, show, state)
    except (EvalmarkError, OSError, RuntimeError, ValueError, SystemExit, need("asyncio").CancelledError) as error:
        if why := state.why(error):
            raise RunAbortedError(f"{why} What was recorded is kept. Go on with: {show.again} --resume") from error
        raise
    finally:
        state.close()


def _run_and_report(plan: "Plan", settings: "Settings", show: RunDisplay, state: ProcessState) -> int:
    named = store_flag(settings.store)
    reports = [path.absolute() for path in show.reports]  # a target may change the working directory
    with store.open_store(settings.store) as ledger:
        against = _baseline(plan, ledger, show)  # found now, when `last` still is the one before this
        run: Run = need("asyncio").run(_run(plan, settings, ledger, show, against))
        lost = state.restore()
        compared = _compare(run, against)
        compared = None if compared is None else with_store_flag(compared, settings.store)
        summary = summarise(run)
        verdict = apply_gate(summary, run.gate)
        if not show.quiet:
            seen = replace(
                output_look(display_location(settings.store), show.worst, named),
                remarks=tuple(show.remarks(run, summary, ledger)) if show.remarks else (),
            )
            text = run_screen(run, seen, summary=summary, verdict=verdict)
            text += compared_module.comparison_screen(compared, seen) if compared is not None else ""
        try:
            for path in reports:
                writers.save(run, path, summary, ReportOptions(comparison=compared, baseline=against))
            supervised.send("reported")
        finally:  # a report that cannot be written is no reason to keep the verdict back
            if not show.quiet:
                print_text(text)
    if show.reports and not show.quiet:
        print_line(f"  {'Report' if len(show.reports) == 1 else 'Reports'} in {', '.join(map(str, show.reports))}")
    if run.status == "interrupted":
        print_error(f"Interrupted; nothing that was found is lost. Go on with: {show.again} --resume {run.id}\n")
        return INTERRUPTED
    if run.status == "stopped":
        again = _BUDGET.sub(r"\1 MORE", show.again)  # with the same budget it would stop at once
        print_error(f"Stopped; nothing that was found is lost. Go on with: {again} --resume {run.id}\n")
        return verdict.exit_code if verdict.exit_code == 1 else STOPPED
    return min(
        verdict.exit_code,
        _comparison_code(compared, show),
        _report_lost_streams(lost, run, named),
        key=_WORST_FIRST.index,
    )


def _report_lost_streams(lost: str, run: "Run", named: str) -> int:
    """Say what users' code has taken away from the process, where it has; gives the exit code."""
    if not lost:
        return 0
    said = f"{lost} The results are kept: evalmark show {run.id}{named}"
    if not supervised.print_by_supervisor(said):
        print_error(f"{said}\n")
    return STOPPED


def _baseline(plan: "Plan", ledger: "Store", show: RunDisplay) -> "Run | None":
    """The run to compare with; says why, where the one that is wanted is not there yet.

    Raises:
        StoreError: there is no such run.
    """
    wanted = show.baseline or (plan.baseline if plan.kept is None and show.shard is None else None)
    of = Run(id="", name=plan.name, created="", suite=plan.suite)
    found = baseline_of(ledger, wanted, of)
    if found.said:
        print_error(f"{found.said}\n")
    return found.run


def _compare(run: "Run", against: "Run | None") -> "Comparison | None":
    """How a run that came to its end compares with the baseline; in one that stopped once decided, the verdict says so."""
    early = run.until_decided is not None and run.until_decided.outcome is not None
    if against is None or early or run.status != "complete":
        return None
    if against.id == run.id:
        print_error(f"The baseline {run.id} is the run that was taken up, so there is nothing to compare it with.\n")
        return None
    return compare.compare(run, against)


def _comparison_code(compared: "Comparison | None", show: RunDisplay) -> int:
    if compared is None:
        return 0
    return 0 if compared.exit_code == STOPPED and show.allow_undecided else compared.exit_code


def refuse_reports(plan: "Plan", reports: Sequence[Path]) -> None:
    """Say before anything runs what is wrong with the reports that were asked for.

    Raises:
        ConfigError: an ending that nobody knows, or a file that the run reads.
    """
    datasets = (source.info.path for source in plan.sources)
    refuse_overwriting([plan.suite, *datasets, *(scorer.file for scorer in plan.scorers)], reports)
    for path in reports:
        writers.writer_for(path)
        if path.is_dir():
            raise ConfigError(f"{path}: this is a folder; name a file in it with -o.")


def refuse_overwriting(read: Iterable[Path | str | None], reports: Sequence[Path]) -> None:
    """Say which report would take the place of a file that the run has `read`.

    Raises:
        ConfigError: one would.
    """
    kept = {os.path.realpath(name) for name in read if name}
    for path in reports:
        if os.path.realpath(path) in kept:
            raise ConfigError(
                f"{path}: the run reads this file, so no report is written over it; name another with -o."
            )


async def _run(plan: "Plan", settings: "Settings", ledger: "Store", show: RunDisplay, against: "Run | None") -> "Run":
    stop: asyncio.Event = need("asyncio").Event()
    with Progress(quiet=show.quiet) as progress:

        def begun(run: "Run", checked: "PlanCheck") -> None:
            _report_to_supervisor(run, settings, show)
            print_error(taken_up)  # not before: a run that cannot be taken up is refused
            rows = rows_asked(plan, conduct, checked)
            known = [count for count in rows if count is not None]
            total = sum(known) * plan.repeat * len(plan.modes) if len(known) == len(rows) else None
            progress.begin(plan.name, total)

        resume, taken_up = _resumed(plan, ledger, show)
        conduct = run_options.RunOptions(
            store=ledger,
            settings=settings,
            resume=resume,
            retry_errors=show.retry_errors,
            limit=show.limit,
            only=parse_filter(show.only) if show.only else None,
            shard=show.shard and replace(show.shard, limit=show.limit, only=tuple(show.only)),
            stop=stop,
            baseline=against,
            on_start=begun,
            on_results=progress.recorded,
        )
        with _interrupts(stop, show.again):
            return await execution.execute(plan, conduct)


def _resumed(plan: "Plan", ledger: "Store", show: RunDisplay) -> tuple[str | None, str]:
    """The run to go on with, and what to say of it once it is taken up; says that a new one begins."""
    if show.resume is None:
        _mention_unfinished(plan, ledger, show)
        return None, ""
    if show.resume != NEWEST:
        found: Run | None = ledger.run(show.resume)
    else:
        found = ledger.unfinished(plan.fingerprint, plan.suite, show.shard, retry_errors=show.retry_errors)
    if found is None and show.retry_errors:
        raise ConfigError(
            "--retry-errors: no run of this suite with the same target and scorers has errors or is unfinished. "
            "Leave the flag out to start a new one."
        )
    if found is None:
        shard = "" if show.shard is None else f" that is shard {show.shard}"
        print_error(f"No unfinished run of this suite with the same target and scorers{shard}; starting a new one.\n")
        return None, ""
    return found.id, f"Going on with {found.id} of {found.created}: {len(found.results)} results are there.\n"


def _mention_unfinished(plan: "Plan", ledger: "Store", show: RunDisplay) -> None:
    """Say how to go on with the run before this one, should it have broken off; another process may be writing it."""
    newest = ledger.runs(1)
    if not newest or newest[0].status == "complete":  # a fingerprint takes longer: it reads source code
        return
    found = ledger.unfinished(plan.fingerprint, plan.suite, show.shard)
    if found is not None and found.status != "running" and found.id == newest[0].id:
        there = core_text.count(len(found.results), "result")
        print_error(
            f"The run {found.id} before this one was interrupted with {there}. To go on with it: {show.again} --resume {found.id}\n"
        )


def _report_to_supervisor(run: "Run", settings: "Settings", show: RunDisplay) -> None:
    """Say which run has begun, so that it can be found should this process not come to its end."""
    supervised.send("store", settings.store)
    supervised.send("again", f"{show.again} --resume {run.id}")
    supervised.send("run", run.id)


@contextmanager
def _interrupts(stop: "asyncio.Event", again: str) -> Iterator[None]:
    """Ctrl-C once: finish what is under way and save; twice: leave now, the store is whole either way."""
    loop: asyncio.AbstractEventLoop = need("asyncio").get_running_loop()
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # What `nohup`, or a shell in the background, has this process ignore stays ignored.
    names = [name for name in names if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN]
    since = 0.0

    def interrupt() -> None:
        nonlocal since
        if since and loop.time() - since < SAME_SIGNAL_SECONDS:
            return
        if since:
            print_error(f"\nLeft at once; go on with: {again} --resume\n")
            os._exit(INTERRUPTED)
        since = loop.time()
        stop.set()
        print_error("\nFinishing the trials under way; Ctrl-C again leaves at once.\n")

    try:
        for name in names:
            loop.add_signal_handler(getattr(signal, name), interrupt)
    except NotImplementedError:  # Windows has no such handlers: the first Ctrl-C ends the program, the store is whole
        names = []
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))
