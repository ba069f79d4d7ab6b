"""What one process asks with while a run goes on: models behind one set of limits, and whatever they share."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evalmark.core.context.tool_replay import ToolReplay, TrialTools
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.foreign.import_guard import guard_imports
from evalmark.core.protocols import CallLog, Embedder
from evalmark.core.settings import Settings
from evalmark.core.values.case import Output
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending, subtract_spending
from evalmark.runs.engine.pipeline import AnsweredTrial, Limits, Work, run_trials
from evalmark.runs.engine.trial import call_target
from evalmark.runs.planning.chat_models import ModelProvider
from evalmark.runs.planning.check import check, raise_faults
from evalmark.runs.planning.models import ModelGateway, Models
from evalmark.runs.planning.plan import BoundPlan, Plan, load_embedder, unwrapped

from .run_store import RunStore

ResultHandler = Callable[[Sequence[Result]], Awaitable[None]]
"""Takes results; when it returns they are where they should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlan:
    """A plan that is ready to be asked, trial by trial."""

    plan: Plan
    bound: BoundPlan
    timeout: float | None
    """Seconds for one answer, and for one scorer's word on it; None: no limit."""
    info: DatasetInfo
    """What a run says of its cases."""
    metrics: tuple[Metric, ...]
    """What judges its cases, as reports describe it."""

    @property
    def dataset(self) -> str:
        """What its cases go by in the run."""
        return self.info.name

    def part(self, results: Sequence[Result] = (), spending: Sequence[Spending] = ()) -> Run:
        """A piece of a run: what was found for some trials, with all a report has to know of them."""
        return Run(
            id="",
            name="",
            created="",
            status="running",
            target=self.bound.target.name,
            datasets=(self.info,),
            metrics=self.metrics,
            repeat=self.plan.repeat,
            embedder="" if self.bound.embedder is None else self.bound.embedder.fingerprint,
            spending=tuple(spending),
            results=tuple(results),
        )


class RunSession:
    """Asks targets and scorers in one process; its models live on the loop `home` gives, or on the first that asks."""

    def __init__(
        self,
        settings: Settings,
        ledger: Callable[[], RunStore],
        journal: Callable[[], CallLog],
        home: Callable[[], asyncio.AbstractEventLoop] = asyncio.get_running_loop,
    ) -> None:
        guard_imports()
        self.settings = settings
        self.models = Models(settings=settings)
        self.stop = asyncio.Event()
        """Set, on the loop, to begin no further trial."""
        self.tools = ToolReplay(lambda: ledger().tool_log(), settings.replay)
        """What tools of agents under test meet; opens the ledger with the first call of one."""
        self._ledger, self._journal, self._home = ledger, journal, home
        self._embedders: dict[str, Embedder | None] = {}

    @cached_property
    def door(self) -> ModelGateway:
        """What is put around models; opens the journal."""
        return ModelGateway(self.models, self._journal())

    @cached_property
    def lend(self) -> ModelProvider:
        """Lends chat models to targets."""
        return ModelProvider(self.models, lambda: self.door, self._home())

    def uses(self, trial: Trial) -> TrialContext:
        """What the target of a trial meets: its tools, its models, and which of its calls is which."""
        return TrialContext(trial.repeat, TrialTools(self.tools, trial.case.input), self.lend)

    def load_embedder(self, name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
        """The embedding model of a name, loaded once."""
        if name not in self._embedders:
            self._embedders[name] = load_embedder(name, settings, folders)
        return self._embedders[name]

    def seat(self, plan: Plan) -> PreparedPlan:
        """The plan, checked and bound; the store is opened only if a model is asked.

        Raises:
            ConfigError: it has faults, all of them named; nothing was started.
        """
        faults = list(check(plan).faults)
        talking = [asked.bound(None).name for asked in plan.asked if asked.mode == "conversation"] if not faults else []
        faults += [
            f"{name} judges conversations, and here each case is asked by itself; use evaluate()." for name in talking
        ]
        if plan.chat_models:
            faults += self.door.faults(plan.chat_models)
        raise_faults(faults)
        cache = None if plan.embedder is None else self._ledger()
        bound = plan.bound(cache, self.door if plan.chat_models else unwrapped)
        info = plan.sources[0].info
        timeout = plan.timeout or self.settings.timeout
        metrics = tuple(scorer.versioned for scorer in bound.scorers)
        return PreparedPlan(plan=plan, bound=bound, timeout=timeout, info=info, metrics=metrics)

    async def answer(self, seat: PreparedPlan, trial: Trial) -> Output:
        """What the target gives for a trial, on the caller's loop; what it raises is part of the output."""
        with trial_context(self.uses(trial)):
            return await call_target(seat.bound.target, trial.case, seat.timeout)

    async def ask(
        self, seat: PreparedPlan, items: Iterable[Trial | AnsweredTrial], hand: ResultHandler, jobs: int | None = None
    ) -> str:
        """Answer and judge trials, `jobs` at a time, and hand over what is found as soon as it is there.

        Gives why no further call could be made, where that is what left trials out; else nothing.
        """
        sink = _Handing(hand)
        bound = seat.bound
        work = Work(
            trials=items, targets=bound.targets, scorers=bound.single, sink=sink, tools=self.tools, lend=self.lend
        )
        limits = Limits(jobs=jobs or self.settings.jobs, timeout=seat.timeout)
        return (await run_trials(work, limits, stop=self.stop)).reason

    def spending(self) -> tuple[Spending, ...]:
        """What the calls of models have come to so far."""
        return self.door.meter.spending() if "door" in self.__dict__ else ()

    def spent_since(self, before: Sequence[Spending]) -> tuple[Spending, ...]:
        """What they have come to since `spending` said this."""
        earlier = {spent.model: spent for spent in before}
        return tuple(
            subtract_spending(spent, earlier[spent.model]) if spent.model in earlier else spent
            for spent in self.spending()
            if spent != earlier.get(spent.model)
        )

    def notes(self) -> tuple[str, ...]:
        """What a reader of the run should know of its models and tools."""
        return (*(self.door.meter.notes() if "door" in self.__dict__ else ()), *self.tools.notes())

    async def close(self) -> None:
        """Let go of all connections."""
        await self.models.close()


@dataclass(frozen=True, slots=True)
class _Handing:
    """A sink that passes results on."""

    hand: ResultHandler

    async def write(self, results: Sequence[Result]) -> None:
        await self.hand(results)
