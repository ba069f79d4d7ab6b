"""`execute`: runs a plan; trials go through the engine, results into the store."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evalmark.core.errors import StoreError
from evalmark.core.foreign.entry_points import own_version
from evalmark.core.lazy import LazyModule
from evalmark.core.settings import Settings
from evalmark.core.text import count
from evalmark.core.values.run import OUTSIDE_LIMITS, SCORES_MOVED, DatasetInfo, Run, UntilDecided
from evalmark.core.values.score import Result, Trial
from evalmark.runs.engine.work import Engine, EngineItem, EngineOutcome, Limits, Work
from evalmark.runs.planning.check import PlanCheck, raise_faults
from evalmark.runs.planning.plan import BoundPlan, Plan
from evalmark.runs.planning.resume import check_resumable
from evalmark.runs.session.run_session import PreparedPlan, RunSession
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.merging.missing import MISSING_PREFIX
from evalmark.storage.results.run_ids import new_run_id
from evalmark.storage.store.store import Store

from .engines import open_engine
from .options import RunOptions
from .revision import revision_in_background
from .sampling import SAMPLED, DrawnSample, draw_sample, resumed_sample, sample_faults, sample_note
from .shards import planned_row_counts, shard_assignment, shard_faults
from .stop_on_request import stop_on_request
from .threshold_notes import score_notes, with_label_notes
from .trial_source import TrialSource

if TYPE_CHECKING:
    from evalmark.runs.execution import sequential_stop
    from evalmark.runs.execution.sequential_stop import SequentialStop
    from evalmark.stats.comparison import baseline_choice, metric_series
else:
    baseline_choice = LazyModule("evalmark.stats.comparison.baseline_choice")
    metric_series = LazyModule("evalmark.stats.comparison.metric_series")
    sequential_stop = LazyModule("evalmark.runs.execution.sequential_stop")

OWN_FILES = 32
"""The number of open files reserved for evalmark itself: the store, the models, the reports."""
WRITE_INTERVAL = 0.25
"""Seconds between two writes of results, if a kill loses nothing by it: the call log has the replies of lost results."""
STOPPED = "Stopped: "
"""The beginning of the note on why a run stopped early; a resumed run drops the note."""
GAPS = "--filter excluded some turns of conversations; later turns ran without them in their history."
UNMATCHED = "No case matches the conditions"
"""The beginning of the note on a filter by which no case ran."""
_CONDITIONS = "each is tag=NAME, id=PATTERN, input=PATTERN, metadata.KEY=PATTERN, or part of an id."
UNCHECKED_LIMITS = "Control limits were not checked: "
"""The beginning of the note on a run that was not compared with the limits of its series."""
MOST_READ = 10_000
"""The largest number of results, those of the run and of earlier runs, that are read at its end to check its control limits."""
FILES_EACH = 2
"""The number of open files assumed for each trial: a connection, and one more."""


async def execute(plan: Plan, options: RunOptions) -> Run:
    """Check a plan, run every trial that is not recorded yet, and return the whole run.

    Raises:
        ConfigError: the plan has faults; all of them are named and nothing was started.
        StoreError: the store cannot be used, or is full; results that were acknowledged are kept.
    """
    if options.resume is not None:
        options = replace(options, sample=resumed_sample(options.store.run(options.resume), options.sample))
    session = RunSession(options.settings, lambda: options.store, models=plan.models)
    plan = with_label_notes(plan, options.store)
    revision = revision_in_background()
    checked = await asyncio.to_thread(session.check, plan)
    raise_faults([*_limit_faults(options.limit), *shard_faults(plan, options.shard), *sample_faults(plan, options)])
    drawn = await asyncio.to_thread(draw_sample, plan, options)
    notes: dict[str, None] = {}  # in order, each once
    jobs = _affordable_jobs(options.settings.jobs, notes)
    limits = Limits(
        jobs=_parallel_trials(plan, jobs),
        timeout=plan.timeout or options.settings.timeout,
        write_interval=_write_interval(plan, options.settings),
    )
    async with open_engine(plan, options.settings, limits) as engine:
        run = _start(plan, options, await asyncio.to_thread(revision), checked, drawn)
        session.attach(run, is_resumed=options.resume is not None)
        if session.interrupted_calls != 0:
            notes[_interrupted_note(session.interrupted_calls)] = None
        gateway = session.gateway
        if options.on_start is not None:
            options.on_start(run, checked)
        prepared = session.bind(plan)
        source = TrialSource(
            plan=plan,
            recorded=None
            if options.resume is None
            else options.store.recorded(run.id, retry_errors=options.retry_errors),
            options=options,
            notes=notes,
            assignment=shard_assignment(plan, options.shard),
            sampled=None if drawn is None else drawn.ids,
        )
        trials = source.trials() if options.on_trial is None else _with_callback(source.trials(), options.on_trial)
        work = session.work(prepared, trials, options.store.sink(run.id), options.on_verdicts)
        outcome: EngineOutcome | None = None
        options = replace(options, stop=options.stop or asyncio.Event())
        stopper: SequentialStop | None = None
        try:
            if run.until_decided is not None:
                stopper = sequential_stop.sequential_stop(source, run, run.until_decided, options.stop)
            running = engine(gateway, prepared.bound, options.store)
            outcome = await _until_stopped(_run_engine(running, work, limits, options, stopper), options, run.id)
        finally:
            run = _with_notes(_with_spending(run, session, options.store, plan), source, session, prepared, outcome)
            if stopper is not None:
                run = replace(run, notes=run.notes + stopper.notes(run.spending))
            try:
                ended = _with_score_notes(plan, _ended(run, outcome, source, stopper), options.store)
                options.store.finish(_with_limit_notes(ended, options.store))
            finally:  # last, since the SDK of a provider may break on it
                await session.close()
    return options.store.run(run.id)


def _with_score_notes(plan: Plan, run: Run, store: RunStore) -> Run:
    """Add a warning for each learned threshold whose metric now has other scores than when it was learned."""
    if not plan.locked or run.status != "complete":
        return run
    notes = score_notes(plan, replace(run, results=store.run(run.id).results))
    return replace(run, notes=run.notes + notes)


def _with_callback(items: Iterable[EngineItem], on_trial: Callable[[Trial], None]) -> Iterator[EngineItem]:
    """Yield the items; the callback is called with each trial before it."""
    for item in items:
        if isinstance(item, (Trial, Result)):
            on_trial(item if isinstance(item, Trial) else item.trial)
        yield item


def _with_limit_notes(run: Run, store: RunStore) -> Run:
    """Add a note for each metric that is outside of the control limits of its series."""
    if run.status != "complete" or not isinstance(store, Store):
        return run
    earlier = baseline_choice.runs_of_series(run, (one for one in store.runs() if one.id != run.id))
    if not earlier or not baseline_choice.runs_of_series(run, [run]):
        return run
    results = sum((info.rows or 0) * one.repeat for one in (run, *earlier) for info in one.datasets)
    if results > MOST_READ:
        note = f"{UNCHECKED_LIMITS}{count(results, 'result')} would be read; evalmark trend {run.id} shows the limits."
        return replace(run, notes=(*run.notes, note))
    try:
        current = replace(run, results=store.run(run.id).results)
        series = metric_series.metric_series([metric_series.run_values(one) for one in (*earlier, current)])
    except StoreError as error:  # an earlier result is damaged, or its run was deleted
        return replace(run, notes=(*run.notes, f"{UNCHECKED_LIMITS}{error}"))
    return replace(run, notes=(*run.notes, *metric_series.outside_notes(run, series)))


async def _run_engine(
    engine: Engine, work: Work, limits: Limits, options: RunOptions, stopper: "SequentialStop | None"
) -> EngineOutcome:
    """Run all trials, or as many as it takes to decide the gate."""
    if stopper is None:
        return await engine(work, limits, stop=options.stop, watch=options.on_results)
    drawn = replace(work, trials=stopper.trials())
    return await engine(drawn, limits, stop=stopper.stop, watch=stopper.watch_and(options.on_results))


async def _until_stopped(running: Awaitable[EngineOutcome], options: RunOptions, run_id: str) -> EngineOutcome:
    """Run until the end, or until somebody requests in the store that the run stops; the outcome then says who."""
    async with stop_on_request(options.store, run_id, options.stop or asyncio.Event()) as request:
        outcome = await running
    if request.by and outcome.stopped and not outcome.reason:
        return replace(outcome, reason=f"{request.by} stopped the run in the viewer.")
    return outcome


def _with_notes(
    run: Run, source: TrialSource, session: RunSession, prepared: PreparedPlan, outcome: EngineOutcome | None
) -> Run:
    bound = prepared.bound
    vectors = bound.embedder.notes() if bound.embedder is not None else ()
    added = (*source.notes, *vectors, *session.notes(), *_filter_notes(source), *_outcome_notes(outcome, bound))
    return replace(run, notes=run.notes + added)


def _filter_notes(source: TrialSource) -> tuple[str, ...]:
    """Return notes on a filter that no case matches, or that leaves out turns of a conversation."""
    if source.options.only is None:
        return ()
    if not source.rows.total():
        return (f"{UNMATCHED}: {_CONDITIONS}",) if source.assignment is None else ()  # another shard may have some
    return (GAPS,) if "conversation" in source.plan.modes and source.plan.rescored is None else ()


def _interrupted_note(calls: int | None) -> str:
    """Return the note on calls that a resumed run sends again, since their replies were lost."""
    if calls is None:
        return "The run was interrupted on another machine; an unknown number of in-flight model calls are sent again."
    was, is_sent = ("was", "it is") if calls == 1 else ("were", "they are")
    return f"{count(calls, 'model call')} {was} in flight when the run was interrupted; {is_sent} sent again."


def _with_spending(run: Run, session: RunSession, store: RunStore, plan: Plan) -> Run:
    """Add the spending of all passes; only the store knows which calls were sent a second time.

    Models are in the order of the plan; those that only targets name come after.
    """
    order = {model.name: place for place, model in enumerate(plan.chat_models)}
    repeated = {spent.model: spent.repeated for spent in store.spending(run.id)}
    before = {spent.model: spent.replayed for spent in run.spending}
    spending = tuple(
        replace(spent, repeated=repeated.get(spent.model, 0), replayed=spent.replayed + before.get(spent.model, 0))
        for spent in sorted(session.spending(), key=lambda spent: order.get(spent.model, len(order)))
    )
    return replace(run, spending=spending)


def _affordable_jobs(jobs: int, notes: dict[str, None]) -> int:
    """Return how many trials the system's limit on open files allows at once; add a note if that is less than `jobs`."""
    allowed = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1
    room = max(1, (allowed - OWN_FILES) // FILES_EACH)
    if allowed < 0 or jobs <= room:
        return jobs
    notes[
        f"The system allows {allowed:,} open files, so {count(room, 'trial')} at a time instead of {jobs:,}; "
        "`ulimit -n` raises it."
    ] = None
    return room


def _parallel_trials(plan: Plan, jobs: int) -> int:
    """Return how many trials run at once, so that `jobs` calls can be in flight at an endpoint.

    The throttle limits concurrent calls to `jobs`; the extra tasks process replies meanwhile.
    """
    return jobs * 5 // 4 if plan.asks_models else jobs


def _write_interval(plan: Plan, settings: Settings) -> float:
    """Return the seconds between two writes of results; 0 unless a result that a kill loses is made again without a call."""
    is_here = settings.on == "local" and not settings.isolate
    is_replayed = plan.asks_models and settings.replay in ("auto", "strict")
    if plan.until_decided or not (is_here and is_replayed):  # the next result may decide the gate
        return 0.0
    return WRITE_INTERVAL if all(scorer.is_builtin for scorer in plan.bound().scorers) else 0.0


def _limit_faults(limit: int | None) -> list[str]:
    fine = limit is None or (isinstance(limit, int) and 1 <= limit <= sys.maxsize)
    return [] if fine else [f"limit has to be a whole number of at least 1, or be left out; found {limit!r}."]


def _start(plan: Plan, options: RunOptions, revision: str, checked: PlanCheck, drawn: DrawnSample | None) -> Run:
    """Start a run in the store, or resume one; return its header."""
    sample, sample_notes = (None, ()) if drawn is None else (drawn.sample, (drawn.note,))
    if plan.rescored is not None and plan.rescored.sample is not None:
        sample, sample_notes = plan.rescored.sample, (sample_note(plan.rescored.sample),)
    if options.resume is not None:
        earlier = options.store.run(options.resume)
        check_resumable(earlier, plan, options.shard, limit=options.limit, is_filtered=options.only is not None)
        order = _order(plan, earlier.until_decided)
        # Recorded outputs are kept; gate, thresholds and repeats are those of the suite as it is now.
        taken = options.store.resume(earlier.id, retry_errors=options.retry_errors)
        dropped = (
            STOPPED,
            UNMATCHED,
            UNCHECKED_LIMITS,
            sequential_stop.DRAWN,
            sequential_stop.SAVED,
            MISSING_PREFIX,
            SAMPLED,
        )
        outdated = (SCORES_MOVED, *OUTSIDE_LIMITS.values())
        notes = tuple(
            note for note in taken.notes if not note.startswith(dropped) and not any(text in note for text in outdated)
        )
        resumed = replace(taken, notes=(*notes, *sample_notes), until_decided=order, sample=sample)
        resumed = replace(resumed, given_name=options.given_name or taken.given_name, tags=options.tags or taken.tags)
        resumed = replace(resumed, is_part=_is_part(plan, options), shard=options.shard)
        return replace(resumed, gate=plan.gate, repeat=plan.repeat, datasets=_known_datasets(earlier, plan))
    run = Run(
        id=new_run_id(),
        name=plan.name,
        created=timestamp(),
        status="running",
        target=plan.target_name,
        datasets=_with_rows(plan, options, checked),
        metrics=tuple(scorer.versioned for scorer in plan.bound().scorers),
        repeat=plan.repeat,
        gate=plan.gate,
        suite=plan.suite,
        plan=plan.fingerprint,
        embedder=plan.embedder.fingerprint if plan.embedder is not None else "",
        revision=revision,
        is_part=_is_part(plan, options),
        shard=options.shard,
        until_decided=_order(plan),
        sample=sample,
        given_name=options.given_name,
        tags=options.tags,
        versions=versions(),
        notes=(*plan.notes, *sample_notes, *([] if options.shard is None else [options.shard.note])),
    )
    options.store.start(run)
    return run


def _order(plan: Plan, earlier: UntilDecided | None = None) -> UntilDecided | None:
    """Return the random order of a run that stops early; None for all other runs."""
    return sequential_stop.case_order(plan, earlier) if plan.until_decided else None


def _is_part(plan: Plan, options: RunOptions) -> bool:
    """Return whether cases may be left out, here or in the run that is scored again."""
    return options.is_part or (plan.rescored is not None and plan.rescored.is_part)


def _with_rows(plan: Plan, options: RunOptions, checked: PlanCheck) -> tuple[DatasetInfo, ...]:
    """Return the datasets with their number of rows, for progress displays."""
    rows = planned_row_counts(plan, options, checked)
    return tuple(replace(source.info, rows=of) for source, of in zip(plan.sources, rows, strict=True))


def _known_datasets(earlier: Run, plan: Plan) -> tuple[DatasetInfo, ...]:
    """Return the datasets of the plan; those of a resumed run come first, in their order."""
    names = {info.name for info in earlier.datasets}
    return earlier.datasets + tuple(s.info for s in plan.sources if s.info.name not in names)


def _ended(run: Run, outcome: EngineOutcome | None, source: TrialSource, stopper: "SequentialStop | None") -> Run:
    """Return the final header of a run: complete, interrupted, or stopped by an error."""
    whole = outcome is not None and (not outcome.stopped or (stopper is not None and stopper.is_over))
    return replace(
        run,
        status="complete" if whole else "stopped" if outcome is None or outcome.reason else "interrupted",
        finished=timestamp(),
        datasets=tuple(replace(info, rows=source.rows[info.name]) for info in run.datasets) if whole else run.datasets,
        shard=run.shard
        and replace(run.shard, dealt=source.assignment.seen if whole and source.assignment is not None else {}),
        until_decided=stopper.final_state if stopper is not None and whole else run.until_decided,
    )


def _outcome_notes(outcome: EngineOutcome | None, bound: BoundPlan) -> tuple[str, ...]:
    if outcome is None:
        return ()
    stopped = (*outcome.notes, f"{STOPPED}{outcome.reason}") if outcome.reason else outcome.notes
    on_the_loop = any(getattr(target, "is_async", False) for target in bound.targets.values())
    on_the_loop = on_the_loop or any(getattr(one, "is_foreign_async", False) for one in (*bound.single, *bound.turns))
    if outcome.longest_block < 1 or not on_the_loop:  # a busy machine delays the loop too, and no code is at fault
        return stopped
    note = (
        f"Something blocked the event loop for {outcome.longest_block:z.1f} s, and every other trial waited; "
        "move blocking work of an `async` target or scorer to a plain function, which runs in a thread of its own."
    )
    return (*stopped, note)


def versions() -> dict[str, str]:
    """Return the versions of evalmark and Python."""
    return {"evalmark": own_version(), "python": sys.version.split()[0]}


def timestamp() -> str:
    """Return the time now, to the second, in ISO 8601 and UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
