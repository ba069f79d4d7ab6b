"""Run a plan from the command line: progress, Ctrl-C, results, reports and the exit code."""

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core import text as core_text
from evalmark.core.errors import ConfigError, EvalmarkError, RunAbortedError
from evalmark.core.lazy import LazyModule, need
from evalmark.core.values.run import Run, Sample, Shard
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.reports.terminal.run_report import run_screen, suites_screen
from evalmark.runs.execution.baseline import LAST_GREEN, NO_BASELINE, baseline_of
from evalmark.runs.execution.recorded_cases import recorded_cases
from evalmark.runs.execution.shards import planned_row_counts, shard_faults
from evalmark.runs.planning.check import raise_faults
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import Plan
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.session.run_session import check_plan
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.live_collection import LiveCollection
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.totals import run_totals, summary_text
from evalmark.storage.store.location import display_location

from . import supervised
from .command_line import NEWEST, refuse_overwriting, repeat_command, store_flag
from .exit_codes import FAILED, INCONCLUSIVE, INTERRUPTED, comparison_code, worst_code
from .interrupts import graceful_interrupts
from .output import print_error, print_line, print_store_note, print_text, terminal_style
from .process_state import ProcessState
from .progress import Progress
from .run_references import run_location, with_store_flag

if TYPE_CHECKING:
    import asyncio

    from evalmark.core.settings import Settings
    from evalmark.inputs.datasets import case_filter
    from evalmark.reports.files import options as report_options
    from evalmark.reports.files import writers
    from evalmark.reports.terminal import comparison as compared_module
    from evalmark.runs.execution import execute as execution
    from evalmark.runs.execution import options as run_options
    from evalmark.runs.planning.check import PlanCheck
    from evalmark.stats.comparison import compare
    from evalmark.stats.comparison.change import Comparison
    from evalmark.stats.summary.summary import Summary
    from evalmark.storage.store import store
    from evalmark.storage.store.store import Store
else:
    execution = LazyModule("evalmark.runs.execution.execute")
    run_options = LazyModule("evalmark.runs.execution.options")
    store = LazyModule("evalmark.storage.store.store")
    case_filter = LazyModule("evalmark.inputs.datasets.case_filter")
    report_options = LazyModule("evalmark.reports.files.options")
    writers = LazyModule("evalmark.reports.files.writers")
    compared_module = LazyModule("evalmark.reports.terminal.comparison")
    compare = LazyModule("evalmark.stats.comparison.compare")

_BUDGET = re.compile(r"(--max-(?:calls|cost|tokens))[ =]\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDisplay:
    """Options of a run that concern its selection of cases, its output and its reports."""

    reports: Sequence[Path] = ()
    quiet: bool = False
    worst: int = 5
    """The number of worst cases to show."""
    again: str = ""
    """The command that resumes the run."""
    limit: int | None = None
    sample: "Sample | None" = None
    """The random sample of these cases to run, or None for all."""
    name: str = ""
    """The user's name for the run."""
    tags: tuple[str, ...] = ()
    """The user's tags for the run."""
    only: Sequence[str] = ()
    """Conditions that every case has to match."""
    shard: "Shard | None" = None
    """The shard of these cases, or None for all."""
    resume: str | None = None
    """The run to resume: an id, `newest`, or None for a new run."""
    retry_errors: bool = False
    """Whether to repeat the failed trials of the resumed run."""
    baseline: str | None = None
    """The run to compare with: an id, `last`, `last-green`, `none`, or None for the one of the suite."""
    allow_undecided: bool = False
    """Whether a comparison that cannot tell leaves the exit code unchanged."""
    remarks: "Callable[[Run, Summary, Store], Sequence[str]] | None" = None
    """Returns further lines to print under the results."""


def plan_suites(
    files: Sequence[Path],
    settings: "Settings",
    changes: Overrides,
    share: "Shard | None",
    *,
    quiet: bool,
) -> list[Plan]:
    """Plan all suites before the first one starts, so that no error shows up after money was spent.

    Raises:
        ConfigError: a suite cannot be used.
    """
    gc.freeze()  # the modules loaded so far: the search for cycles at the exit would take 50 ms
    with Progress(quiet=quiet) as progress:
        plans = [plan_suite(path, settings, changes, progress.loading, recorded_cases) for path in files]
    raise_faults([fault for plan in plans for fault in shard_faults(plan, share)])
    for plan in plans if len(plans) > 1 else ():
        check_plan(plan, plan.models or ModelFactory(settings=settings))
    return plans


def run_plans(
    arguments: Sequence[str], plans: Sequence[tuple[Path, "Plan"]], settings: "Settings", show: RunDisplay
) -> int:
    """Run one suite after the other, list several of them at the end, and return the worst exit code."""
    codes: list[int] = []
    ended: list[tuple[Run, Summary]] = []
    for path, plan in plans:
        again = repeat_command(arguments, [str(other) for other, _ in plans if other != path])
        codes.append(run_plan(plan, settings, replace(show, again=again), lambda *run: ended.append(run)))
        if codes[-1] == INTERRUPTED:
            break
    if len(ended) > 1 and not show.quiet:
        lines = [(run, summary, code) for (run, summary), code in zip(ended, codes, strict=True)]
        print_text(suites_screen(lines, terminal_style(flags=store_flag(settings.store))))
    return worst_code(codes)


def overrides(flags: Mapping[str, Any]) -> Overrides:
    """Return the flags that override the suite."""
    return Overrides(
        target=flags["target"],
        models=tuple(flags["model"] or ()),
        repeat=flags["repeat"],
        embeddings=flags["embeddings"],
        timeout=flags["timeout"],
        judges=tuple(flags["judge"] or ()),
        lock=flags["lock"],
        until_decided=flags["until_decided"],
        seed=flags["seed"],
    )


def parse_shard_flag(shard: str | None, baseline: str | None) -> "Shard | None":
    """Parse `--shard`. Raises ConfigError if it is malformed, or if a shard is to be compared with a whole run."""
    if shard is None:
        return None
    if baseline not in (None, NO_BASELINE):
        raise ConfigError(
            f"--baseline {baseline} needs a whole run; merge the shards, then compare the merged run with evalmark compare."
        )
    return parse_shard(shard)


def refuse_one_baseline(files: list[Path], baseline: str | None) -> None:
    """Raise ConfigError if one run is named as the baseline of several suites."""
    if len(files) > 1 and baseline not in (None, LAST_GREEN, NO_BASELINE) and not baseline.endswith(f"@{LAST_GREEN}"):
        raise ConfigError(
            f"--baseline {baseline} is one run; with several suites, name {LAST_GREEN} or run them one at a time."
        )


def run_plan(
    plan: "Plan",
    settings: "Settings",
    show: RunDisplay,
    on_end: "Callable[[Run, Summary], None]" = lambda *_: None,
) -> int:
    """Run the plan, print the results, write the reports, and return the exit code.

    `on_end` gets the run and its summary before they are printed.

    Raises:
        EvalmarkError: an error of the plan, of the store or of a report's path.
    """
    refuse_reports(plan, show.reports)
    state = ProcessState()
    try:
        return _run_and_report(plan, settings, show, state, on_end)
    except (EvalmarkError, OSError, RuntimeError, ValueError, SystemExit, need("asyncio").CancelledError) as error:
        if why := state.why(error):
            raise RunAbortedError(f"{why} Finished results are stored. Resume with: {show.again} --resume") from error
        raise
    finally:
        state.close()


def _run_and_report(
    plan: "Plan",
    settings: "Settings",
    show: RunDisplay,
    state: ProcessState,
    on_end: "Callable[[Run, Summary], None]",
) -> int:
    store_option = store_flag(settings.store)
    reports = [path.absolute() for path in show.reports]  # absolute, since a target may change the working directory
    with ExitStack() as stores:
        run_store = stores.enter_context(store.open_store(settings.store, notes=print_store_note))
        # Before this run starts and becomes `last`.
        against, from_store = _baseline(plan, run_store, show, settings.store, stores)
        live = LiveCollection() if _has_simple_order(plan) and show.resume is None else None
        run: Run = need("asyncio").run(_run(plan, settings, run_store, show, against, live))
        lost = state.restore()
        compared = _compare(run, against)
        compared = None if compared is None else with_store_flag(compared, from_store)
        summary = summarise(run, collected=None if live is None else live.finish())
        verdict = apply_gate(summary, run.gate)
        on_end(run, summary)
        if run.finished:
            # a list and a page would read all results for them
            run_store.save_totals([(run, run_totals(run, summary))])
            run_store.save_summary(run, summary_text(summary))
        if not show.quiet:
            look = replace(
                terminal_style(display_location(settings.store), show.worst, store_option),
                remarks=tuple(show.remarks(run, summary, run_store)) if show.remarks else (),
            )
            text = run_screen(run, look, summary=summary, verdict=verdict)
            text += compared_module.comparison_screen(compared, look) if compared is not None else ""
        try:
            for path in reports:
                writers.save(run, path, summary, report_options.ReportOptions(comparison=compared, baseline=against))
            supervised.send("reported")
        finally:  # print the verdict even if a report cannot be written
            if not show.quiet:
                print_text(text)
    if show.reports and not show.quiet:
        print_line(f"  {'Report' if len(show.reports) == 1 else 'Reports'} in {', '.join(map(str, show.reports))}")
    if run.status == "interrupted":
        print_error(f"Interrupted. Finished results are stored. Resume with: {show.again} --resume {run.id}\n")
        return INTERRUPTED
    if run.status == "stopped":
        again = _BUDGET.sub(r"\1 MORE", show.again)  # the same budget would stop it at once
        print_error(f"Stopped. Finished results are stored. Resume with: {again} --resume {run.id}\n")
        return verdict.exit_code if verdict.exit_code == FAILED else INCONCLUSIVE
    change = 0 if compared is None else comparison_code(compared.exit_code, allow_undecided=show.allow_undecided)
    return worst_code([verdict.exit_code, change, _report_lost_streams(lost, run, store_option)])


def _report_lost_streams(lost: str, run: "Run", store_option: str) -> int:
    """Report what the user's code has closed in this process; return the exit code."""
    if not lost:
        return 0
    message = f"{lost} The results are stored: evalmark show {run.id}{store_option}"
    if not supervised.print_by_supervisor(message):
        print_error(f"{message}\n")
    return INCONCLUSIVE


def _baseline(
    plan: "Plan", run_store: "Store", show: RunDisplay, location: str, stores: ExitStack
) -> tuple["Run | None", str]:
    """Return the run to compare with, or report why there is none yet; and the store that has it.

    The flag may name a run of another store. A suite may come from another project, so its baseline is a run of this store.
    """
    reference = show.baseline or (plan.baseline if plan.rescored is None and show.shard is None else None)
    path = location
    if show.baseline:
        path, reference = run_location(show.baseline, location)
    if path != location:
        run_store = stores.enter_context(store.open_store(path, read_only=True, notes=print_store_note))
    chosen = baseline_of(run_store, reference, Run(id="", name=plan.name, created="", suite=plan.suite))
    if chosen.reason:
        print_error(f"{chosen.reason}\n")
    return chosen.run, path


def _compare(run: "Run", against: "Run | None") -> "Comparison | None":
    """Compare a complete run with the baseline, unless the run stopped early on a decided gate."""
    early = run.until_decided is not None and run.until_decided.outcome is not None
    if against is None or early or run.status != "complete":
        return None
    if against.id == run.id:
        print_error(f"The baseline {run.id} is the resumed run itself, so there is nothing to compare.\n")
        return None
    return compare.compare(run, against)


def refuse_reports(plan: "Plan", reports: Sequence[Path]) -> None:
    """Check the requested reports before the run starts.

    Raises:
        ConfigError: a file extension is unknown, or the run reads the file.
    """
    datasets = (source.info.path for source in plan.sources)
    refuse_overwriting([plan.suite, *datasets, *(scorer.file for scorer in plan.scorers)], reports)
    for path in reports:
        writers.writer_for(path)
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a file in it with -o.")


def _has_simple_order(plan: "Plan") -> bool:
    """Return whether the trials start in the order in which the store returns their results."""
    return plan.modes == ("single",) and not plan.until_decided and plan.rescored is None


async def _run(
    plan: "Plan",
    settings: "Settings",
    run_store: "Store",
    show: RunDisplay,
    against: "Run | None",
    live: LiveCollection | None,
) -> "Run":
    stop: asyncio.Event = need("asyncio").Event()
    with Progress(quiet=show.quiet) as progress:

        def begun(run: "Run", checked: "PlanCheck") -> None:
            _report_to_supervisor(run, settings, show)
            if live is not None:
                live.start(run)
            print_error(taken_up)  # after the check that the run can be resumed
            rows = planned_row_counts(plan, options, checked)
            known_rows = [count for count in rows if count is not None]
            total = sum(known_rows) * plan.repeat * len(plan.modes) if len(known_rows) == len(rows) else None
            progress.begin(plan.name, total)

        resume, taken_up = _resumed(plan, run_store, show)
        options = run_options.RunOptions(
            store=run_store,
            settings=settings,
            resume=resume,
            retry_errors=show.retry_errors,
            limit=show.limit,
            sample=show.sample,
            given_name=show.name,
            tags=show.tags,
            only=case_filter.parse_filter(show.only) if show.only else None,
            shard=show.shard and replace(show.shard, limit=show.limit, only=tuple(show.only)),
            stop=stop,
            baseline=against,
            on_start=begun,
            on_trial=None if live is None else live.expect,
            on_results=None if live is None else live.add,
            on_verdicts=progress.recorded,
        )
        with graceful_interrupts(stop, show.again):
            return await execution.execute(plan, options)


def _resumed(plan: "Plan", run_store: "Store", show: RunDisplay) -> tuple[str | None, str]:
    """Return the run to resume and a message for when it starts; report if a new run starts instead."""
    if show.resume is None:
        _mention_unfinished(plan, run_store, show)
        return None, ""
    if show.resume != NEWEST:
        run: Run | None = run_store.run(show.resume)
    else:
        run = run_store.unfinished(plan.fingerprint, plan.suite, show.shard, retry_errors=show.retry_errors)
    if run is None and show.retry_errors:
        raise ConfigError(
            "--retry-errors: no run of this suite with the same target and scorers has errors or is unfinished. "
            "Leave the flag out to start a new one."
        )
    if run is None:
        shard = "" if show.shard is None else f" that is shard {show.shard}"
        print_error(f"No unfinished run of this suite with the same target and scorers{shard}; starting a new one.\n")
        return None, ""
    return run.id, f"Resuming {run.id} of {run.created}: {len(run.results)} results are stored.\n"


def _mention_unfinished(plan: "Plan", run_store: "Store", show: RunDisplay) -> None:
    """Print how to resume the previous run if it was interrupted and no other process is writing it."""
    newest = run_store.runs(1)
    if not newest or newest[0].status == "complete":  # checked first, since a fingerprint reads source code
        return
    unfinished = run_store.unfinished(plan.fingerprint, plan.suite, show.shard)
    if unfinished is not None and unfinished.status != "running" and unfinished.id == newest[0].id:
        results = core_text.count(len(unfinished.results), "result")
        print_error(
            f"The run {unfinished.id} before this one was interrupted with {results}. Resume it with: {show.again} --resume {unfinished.id}\n"
        )


def _report_to_supervisor(run: "Run", settings: "Settings", show: RunDisplay) -> None:
    """Report the id of the run to the supervisor, which needs it if this process crashes."""
    supervised.send("store", settings.store)
    supervised.send("again", f"{show.again} --resume {run.id}")
    supervised.send("run", run.id)
