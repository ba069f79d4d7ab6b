"""A run out of a plan: trials through the engine, results into the store."""

import asyncio
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.foreign.import_guard import guard_imports
from evalmark.core.protocols import CompletedTrials
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo, Run, Shard
from evalmark.core.values.spending import Spending
from evalmark.core.values.words import count
from evalmark.runs.engine.pipeline import Engine, EngineOutcome, Limits, Work
from evalmark.runs.engine.result_writer import ResultCallback
from evalmark.runs.planning.chat_models import ModelProvider
from evalmark.runs.planning.check import CheckResult, check, raise_faults
from evalmark.runs.planning.models import ModelGateway, Models
from evalmark.runs.planning.plan import BoundPlan, Plan
from evalmark.runs.planning.resume import check_resumable
from evalmark.storage.merging.missing import MISSING_PREFIX
from evalmark.storage.results.run_ids import new_run_id

from .engines import EngineFactory, open_engine
from .revision import revision_in_background as asked_revision
from .run_store import RunStore
from .sequential_stop import DRAWN, SAVED, SequentialStop, order_of, sequential_stop
from .shards import deal_of, rows_asked, shard_faults
from .threshold_notes import with_label_notes
from .trial_source import TrialSource, trials

DEFAULTS = Settings()
OWN_FILES = 32
"""Open files left to evalmark itself: the store, the model, the reports."""
STOPPED = "Stopped: "
"""How the note begins that says why no further call could be made; a run that goes on drops it."""
GAPS = "Turns of a conversation that the conditions leave out were not asked, so later turns were asked without them."
UNMATCHED = "No case fits the conditions that were given."
FILES_EACH = 2
"""Open files left to every trial: a connection, and one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a plan is carried out; none of it changes what is found."""

    ledger: RunStore
    """Where results go: a store, or `MemoryRunStore()`."""
    settings: Settings = DEFAULTS
    resume: str | None = None
    """The id of the run to go on with; None starts a new one."""
    retry_errors: bool = False
    """Whether trials that ended in an error are run again when the run is resumed."""
    limit: int | None = None
    """The most cases of each dataset; None: all."""
    only: Callable[[Case, str], bool] | None = None
    """Which cases of which dataset; None: all."""
    shard: Shard | None = None
    """Which share of these cases; None: all of them."""
    stop: asyncio.Event | None = None
    """Set from outside to finish early."""
    baseline: Run | None = None
    """An earlier run that a run which stops once it is decided must not be worse than."""
    begun: Callable[[Run, CheckResult], None] | None = None
    """Told once, when the checks are over and the run has its id."""
    watch: ResultCallback | None = None
    """Told of results as soon as they are durable."""

    @property
    def is_part(self) -> bool:
        """Whether cases may be left out."""
        return self.limit is not None or self.only is not None or self.shard is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much goes on at once, and where."""

    limits: Limits
    engine: EngineFactory
    said: dict[str, None]
    """Notes, filled as the run goes on."""


async def execute(plan: Plan, conduct: RunOptions) -> Run:
    """Check the plan, run what is not yet recorded, and give the whole run.

    Raises:
        ConfigError: the plan has faults; all of them are named and nothing was started.
        StoreError: the store cannot be used, or is full; what was acknowledged is kept.
    """
    guard_imports()
    plan = with_label_notes(plan, conduct.ledger)
    commit = asked_revision()
    checked = await asyncio.to_thread(check_usable, plan, conduct.settings)
    raise_faults([*_limit_faults(conduct.limit), *shard_faults(plan, conduct.shard)])
    said: dict[str, None] = {}  # in order, each once
    jobs = _affordable(conduct.settings.jobs, said)
    limits = Limits(jobs=_hands(plan, jobs), timeout=plan.timeout or conduct.settings.timeout)
    async with open_engine(plan, conduct.settings, limits) as made:
        run = _begin(plan, conduct, await asyncio.to_thread(commit), checked)
        return await _carried_out(plan, conduct, run, checked, Pace(limits=limits, engine=made, said=said))


async def _carried_out(plan: Plan, conduct: RunOptions, run: Run, checked: CheckResult, pace: Pace) -> Run:
    """The whole run, once it has begun."""
    ledger, said = conduct.ledger, pace.said
    models = plan.models or Models(settings=conduct.settings)
    lost = ledger.interrupted_calls(run.id) if conduct.resume is not None else 0
    said |= dict.fromkeys(_sent_again(lost))
    door = ModelGateway(models, ledger.call_log(run.id), ledger.spending(run.id), lost or 0)
    if conduct.begun is not None:
        conduct.begun(run, checked)
    bound = plan.bound(ledger, door)
    reading = TrialSource(
        plan=plan, recorded=_recorded(conduct, run), conduct=conduct, said=said, deal=deal_of(plan, conduct.shard)
    )
    tools = ToolReplay(partial(ledger.tool_log, run.id), conduct.settings.replay)
    work = Work(
        trials=trials(reading),
        targets=bound.targets,
        scorers=bound.single,
        turn_scorers=bound.turns,
        sink=ledger.sink(run.id),
        tools=tools,
        lend=ModelProvider(models, lambda: door, asyncio.get_running_loop()),
    )
    outcome: EngineOutcome | None = None
    looks: SequentialStop | None = None
    try:
        looks = sequential_stop(reading, run, conduct.stop)
        engine = pace.engine(door, bound, ledger)
        outcome = await _until_the_end(engine, work, pace.limits, conduct, looks)
    finally:
        more = bound.embedder.notes() if bound.embedder is not None else ()
        spent = _spent(door, ledger, run, plan)
        notes = (*said, *more, *door.meter.notes(), *tools.notes(), *_unmatched(reading), *_notes(outcome, bound))
        notes += () if looks is None else looks.notes(spent)
        run = replace(run, spending=spent, notes=run.notes + notes)
        try:
            ledger.finish(_ended(run, outcome, reading, looks))
        finally:  # last, since the SDK of a provider may break on it
            await door.close()
    return ledger.run(run.id)


async def _until_the_end(
    engine: Engine, work: Work, limits: Limits, conduct: RunOptions, looks: SequentialStop | None
) -> EngineOutcome:
    """Run all of it, or what it takes to decide the gate."""
    if looks is None:
        return await engine(work, limits, stop=conduct.stop, watch=conduct.watch)
    drawn = replace(work, trials=looks.trials())
    return await engine(drawn, limits, stop=looks.stop, watch=looks.and_then(conduct.watch))


def _unmatched(reading: TrialSource) -> tuple[str, ...]:
    """What to say of conditions that no case fits, or that leave out turns of a conversation."""
    if reading.conduct.only is None:
        return ()
    if not reading.rows.total():
        return (UNMATCHED,) if reading.deal is None else ()  # another shard may have some
    return (GAPS,) if "conversation" in reading.plan.modes and reading.plan.kept is None else ()


def check_usable(plan: Plan, settings: Settings) -> CheckResult:
    """What a look at the plan has found, before anything is asked or written.

    Raises:
        ConfigError: it has faults, or a model of it cannot be asked; all of them are named.
    """
    checked = check(plan)
    models = plan.models or Models(settings=settings)
    raise_faults([*checked.faults, *ModelGateway(models, None).faults(plan.chat_models)])
    return checked


def _sent_again(lost: int | None) -> tuple[str, ...]:
    """What a resumed run has to repeat because nobody knows what came of it."""
    if lost is None:
        return (
            "The run broke off elsewhere; how many model calls were under way there is unknown here, and they are sent again.",
        )
    if not lost:
        return ()
    return (
        f"{count(lost, 'model call')} {'was' if lost == 1 else 'were'} under way when the run broke off, and sent again.",
    )


def _spent(door: ModelGateway, ledger: RunStore, run: Run, plan: Plan) -> tuple[Spending, ...]:
    """What the model calls came to in all passes; which of them were sent a second time only the ledger knows.

    Models stand as the plan names them, whichever happened to be asked first; those that targets ask come after.
    """
    order = {model.name: place for place, model in enumerate(plan.chat_models)}
    repeated = {spent.model: spent.repeated for spent in ledger.spending(run.id)}
    before = {spent.model: spent.replayed for spent in run.spending}
    return tuple(
        replace(spent, repeated=repeated.get(spent.model, 0), replayed=spent.replayed + before.get(spent.model, 0))
        for spent in sorted(door.meter.spending(), key=lambda spent: order.get(spent.model, len(order)))
    )


def _recorded(conduct: RunOptions, run: Run) -> CompletedTrials:
    return conduct.ledger.recorded(run.id, retry_errors=conduct.retry_errors)


def _affordable(jobs: int, said: dict[str, None]) -> int:
    """As many trials at once as the system's limit on open files leaves room for; says so where that is fewer."""
    allowed = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1
    room = max(1, (allowed - OWN_FILES) // FILES_EACH)
    if allowed < 0 or jobs <= room:
        return jobs
    said[
        f"The system allows {allowed:,} open files, so {count(room, 'trial')} at a time instead of {jobs:,}; "
        "`ulimit -n` raises it."
    ] = None
    return room


def _hands(plan: Plan, jobs: int) -> int:
    """How many trials are in hand, so that `jobs` calls can be under way at an endpoint.

    The gate of the endpoint holds calls to `jobs`; a few more hands write down the replies that have come meanwhile.
    """
    return jobs * 5 // 4 if plan.asks_models else jobs


def _limit_faults(limit: int | None) -> list[str]:
    fine = limit is None or (isinstance(limit, int) and 1 <= limit <= sys.maxsize)
    return [] if fine else [f"limit has to be a whole number of at least 1, or be left out; found {limit!r}."]


def _begin(plan: Plan, conduct: RunOptions, revision: str, checked: CheckResult) -> Run:
    """A new run's header in the ledger, or the header of the run that is taken up again."""
    if conduct.resume is not None:
        kept = conduct.ledger.run(conduct.resume)
        check_resumable(kept, plan, conduct.shard, limit=conduct.limit, is_filtered=conduct.only is not None)
        order = order_of(plan, kept.until_decided)
        # The answers stay; what they are held to, and how many are wanted, is what the suite says now.
        taken = conduct.ledger.resume(kept.id, retry_errors=conduct.retry_errors)
        notes = tuple(
            note for note in taken.notes if not note.startswith((STOPPED, UNMATCHED, DRAWN, SAVED, MISSING_PREFIX))
        )
        known = replace(taken, notes=notes, until_decided=order, is_part=_is_part(plan, conduct), shard=conduct.shard)
        return replace(known, gate=plan.gate, repeat=plan.repeat, datasets=_met(kept, plan))
    run = Run(
        id=new_run_id(),
        name=plan.name,
        created=timestamp(),
        status="running",
        target=plan.target_name,
        datasets=_with_rows(plan, conduct, checked),
        metrics=tuple(scorer.versioned for scorer in plan.bound().scorers),
        repeat=plan.repeat,
        gate=plan.gate,
        suite=plan.suite,
        plan=plan.fingerprint,
        embedder=plan.embedder.fingerprint if plan.embedder is not None else "",
        revision=revision,
        is_part=_is_part(plan, conduct),
        shard=conduct.shard,
        until_decided=order_of(plan),
        versions=versions(),
        notes=plan.notes if conduct.shard is None else (*plan.notes, conduct.shard.note),
    )
    conduct.ledger.start(run)
    return run


def _is_part(plan: Plan, conduct: RunOptions) -> bool:
    """Whether cases may be left out, here or in the run that is judged anew."""
    return conduct.is_part or (plan.kept is not None and plan.kept.is_part)


def _with_rows(plan: Plan, conduct: RunOptions, checked: CheckResult) -> tuple[DatasetInfo, ...]:
    """The datasets with how many rows will be asked, so that whoever follows the run knows how far it is."""
    rows = rows_asked(plan, conduct, checked)
    return tuple(replace(source.info, rows=of) for source, of in zip(plan.sources, rows, strict=True))


def _met(kept: Run, plan: Plan) -> tuple[DatasetInfo, ...]:
    """The datasets of the plan; a run that is taken up again has met those it names already, in their order."""
    known = {info.name for info in kept.datasets}
    return kept.datasets + tuple(s.info for s in plan.sources if s.info.name not in known)


def _ended(run: Run, outcome: EngineOutcome | None, reading: TrialSource, looks: SequentialStop | None) -> Run:
    """The header of a run that is over: complete, interrupted, or stopped by an error."""
    whole = outcome is not None and (not outcome.stopped or (looks is not None and looks.is_over))
    return replace(
        run,
        status="complete" if whole else "stopped" if outcome is None or outcome.reason else "interrupted",
        finished=timestamp(),
        datasets=tuple(replace(info, rows=reading.rows[info.name] if whole else None) for info in run.datasets),
        shard=run.shard and replace(run.shard, dealt=reading.deal.seen if whole and reading.deal is not None else {}),
        until_decided=looks.ended if looks is not None and whole else run.until_decided,
    )


def _notes(outcome: EngineOutcome | None, bound: BoundPlan) -> tuple[str, ...]:
    if outcome is None:
        return ()
    stopped = (*outcome.notes, f"{STOPPED}{outcome.reason}") if outcome.reason else outcome.notes
    on_the_loop = any(getattr(target, "is_async", False) for target in bound.targets.values())
    on_the_loop = on_the_loop or any(getattr(one, "is_foreign_async", False) for one in (*bound.single, *bound.turns))
    if (
        outcome.longest_block < 1 or not on_the_loop
    ):  # a busy machine delays the loop too, and nobody's code is at fault
        return stopped
    said = (
        f"Something blocked the event loop for {outcome.longest_block:z.1f} s, and every other trial waited; "
        "is there blocking work in an `async` target or scorer? Without `async` it would get a thread of its own."
    )
    return (*stopped, said)


def versions() -> dict[str, str]:
    """What a run was made with."""
    return {"evalmark": version("evalmark"), "python": platform.python_version()}


def timestamp() -> str:
    """The time now, to the second, in ISO 8601 and UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
