"""`RunSession`: everything the trials of a run share in one process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evalmark.core.context.tool_replay import ToolReplay, TrialTools
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import RunStoppedError
from evalmark.core.foreign.import_guard import guard_imports
from evalmark.core.protocols import CallLog, Embedder, EmbeddingCache, Sink
from evalmark.core.settings import Settings
from evalmark.core.values.case import Output
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Trial, VerdictListener
from evalmark.core.values.spending import Spending, subtract_spending
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.trial import call_target
from evalmark.runs.engine.work import AnsweredTrial, EngineItem, Limits, Work
from evalmark.runs.planning.check import PlanCheck, check, raise_faults
from evalmark.runs.planning.models import ModelFactory, ModelGateway
from evalmark.runs.planning.plan import BoundPlan, Plan, load_embedder, unwrapped
from evalmark.runs.planning.target_models import TargetModels

from .run_store import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlan:
    """A plan whose target and scorers are bound to the models of a session."""

    plan: Plan
    bound: BoundPlan
    timeout: float | None
    """Seconds that the target and each scorer get for one trial; None: no limit."""
    info: DatasetInfo
    """The first dataset of the plan, for the header of the run."""
    metrics: tuple[Metric, ...]
    """The metrics of the scorers, for the header of the run."""

    @property
    def dataset(self) -> str:
        """The name of its first dataset."""
        return self.info.name

    def part(self, results: Sequence[Result] = (), spending: Sequence[Spending] = ()) -> Run:
        """Return results as a part of a run: with the dataset, the metrics and the embedding model they belong to."""
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
    """The models, their gateway, tool replay, store, spending and notes of one run in one process.

    `evaluate`, the CLI, the pytest plugin, unit tests, the dry run and the workers of a cluster all use it. Nothing is
    opened before it is needed. A cluster worker replaces `gateway` and `tools` by ones that send requests to the coordinator.

    Args:
        settings: The settings of the run.
        store: Returns the store of the run; called when something is read or written for the first time.
        call_log: Returns the call log; None: the call log of the store, for the attached run.
        loop: Returns the event loop on which models are called; by default the loop of the first caller.
        models: Opens models by name; None: by `settings`.
    """

    def __init__(
        self,
        settings: Settings,
        store: Callable[[], RunStore],
        call_log: Callable[[], CallLog] | None = None,
        *,
        loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.get_running_loop,
        models: ModelFactory | None = None,
    ) -> None:
        guard_imports()
        self.settings = settings
        self.models = models or ModelFactory(settings=settings)
        self.stop = asyncio.Event()
        """Set on the loop to start no further trial."""
        self.tools = ToolReplay(lambda: store().tool_log(self._run_id), settings.replay)
        """Records and replays the tool calls of agents under test; opens the store with the first call."""
        self._store, self._call_log, self._loop = store, call_log, loop
        self._run_id: str | None = None
        self._is_resumed = False
        self._embedders: dict[str, Embedder | None] = {}

    def attach(self, run: Run, *, is_resumed: bool = False) -> None:
        """Log the following calls of models and tools as calls of a run. Call this before the first of them.

        Args:
            run: The run, which has begun in the store.
            is_resumed: Whether the earlier spending of the run counts against its limits.
        """
        self._run_id, self._is_resumed = run.id, is_resumed

    @cached_property
    def interrupted_calls(self) -> int | None:
        """How many calls were in flight when an earlier pass of the run was interrupted; None: unknown."""
        return self._store().interrupted_calls(self._run_id) if self._run_id and self._is_resumed else 0

    @cached_property
    def gateway(self) -> ModelGateway:
        """Calls every model through the middleware; opens the call log."""
        if self._call_log is not None or self._run_id is None:
            return ModelGateway(self.models, self._store().call_log() if self._call_log is None else self._call_log())
        store, run_id = self._store(), self._run_id
        return ModelGateway(self.models, store.call_log(run_id), store.spending(run_id), self.interrupted_calls or 0)

    @cached_property
    def provider(self) -> TargetModels:
        """Provides targets with the chat models that they name."""
        return TargetModels(self.models, lambda: self.gateway, self._loop())

    def context(self, trial: Trial) -> TrialContext:
        """Return the context of a trial for the code under test: tools, models, and the count of its calls."""
        return TrialContext(trial.repeat, TrialTools(self.tools, trial.case.input), self.provider)

    def load_embedder(self, name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
        """Return the embedding model of a name; it is loaded once."""
        if name not in self._embedders:
            self._embedders[name] = load_embedder(name, settings, folders)
        return self._embedders[name]

    def check(self, plan: Plan) -> PlanCheck:
        """Check a plan and whether its models can be called; nothing is sent or written.

        Raises:
            ConfigError: the plan has faults; all of them are named.
        """
        return check_plan(plan, self.models)

    def bind(self, plan: Plan, cache: Callable[[], EmbeddingCache | None] | None = None) -> PreparedPlan:
        """Bind a checked plan to the models of the session; the store is opened only if a model is called.

        Args:
            plan: The plan.
            cache: Returns where vectors are kept; None: in the store.
        """
        vectors = None if plan.embedder is None else (cache or self._store)()
        bound = plan.bound(vectors, self.gateway if plan.chat_models else unwrapped)
        return PreparedPlan(
            plan=plan,
            bound=bound,
            timeout=plan.timeout or self.settings.timeout,
            info=plan.sources[0].info if plan.sources else DatasetInfo(name=plan.name),
            metrics=tuple(scorer.versioned for scorer in bound.scorers),
        )

    def prepare(self, plan: Plan) -> PreparedPlan:
        """Check a plan whose cases run one by one, and bind it.

        Raises:
            ConfigError: the plan has faults, or a metric judges conversations; all of them are named.
        """
        faults = list(check(plan).faults)
        names = [] if faults else [spec.bound(None).name for spec in plan.scorers if spec.mode == "conversation"]
        faults += [f"{name} scores conversations, but cases run separately here; use evaluate()." for name in names]
        if not plan.scorers:
            faults.append("no scorer is named; name at least one.")
        if plan.chat_models:
            faults += self.gateway.faults(plan.chat_models)
        raise_faults(faults)
        return self.bind(plan)

    def work(
        self,
        prepared: PreparedPlan,
        trials: Iterable[EngineItem] | AsyncIterator[EngineItem],
        sink: Sink,
        on_verdicts: VerdictListener | None = None,
    ) -> Work:
        """Return the trials of a prepared plan as work for an engine."""
        bound = prepared.bound
        return Work(
            trials=trials,
            targets=bound.targets,
            scorers=bound.single,
            turn_scorers=bound.turns,
            sink=sink,
            on_verdicts=on_verdicts,
            tools=self.tools,
            get_model=self.provider,
        )

    async def call_target(self, prepared: PreparedPlan, trial: Trial) -> Output:
        """Return the target's output for a trial, on the caller's loop; an exception becomes an output with an error."""
        with trial_context(self.context(trial)):
            return await call_target(prepared.bound.target, trial.case, prepared.timeout)

    async def run(
        self, prepared: PreparedPlan, trials: Iterable[Trial | AnsweredTrial], sink: Sink, jobs: int | None = None
    ) -> str:
        """Run trials, and pass each result to a sink as soon as it is available.

        Args:
            prepared: The plan the trials belong to.
            trials: Trials to run, or outputs to score.
            sink: Takes the results.
            jobs: The number of parallel trials; None: that of the settings.

        Returns:
            Why trials were left out: the reason why no further model call could be made; empty if none was left out.
        """
        limits = Limits(jobs=jobs or self.settings.jobs, timeout=prepared.timeout)
        stop = asyncio.Event()  # an endpoint that ends this run may be none of the next one's
        following = asyncio.ensure_future(_follow(self.stop, stop))
        if self.stop.is_set():
            stop.set()
        try:
            return (await run_trials(self.work(prepared, trials, sink), limits, stop=stop)).reason
        finally:
            following.cancel()

    async def run_one(self, prepared: PreparedPlan, trial: Trial | AnsweredTrial) -> Result:
        """Run one trial.

        Raises:
            RunStoppedError: a budget is used up, or an endpoint takes no more requests.
        """
        found = ResultList()
        if reason := await self.run(prepared, [trial], found, jobs=1):
            raise RunStoppedError(reason)
        if not found.results:
            raise RunStoppedError("The run was stopped before this case was run.")
        return found.results[0]

    def spending(self) -> tuple[Spending, ...]:
        """Return the spending on model calls so far."""
        return self.gateway.meter.spending() if "gateway" in self.__dict__ else ()

    def spent_since(self, before: Sequence[Spending]) -> tuple[Spending, ...]:
        """Return the spending on model calls since `spending` returned `before`."""
        earlier = {spent.model: spent for spent in before}
        return tuple(
            subtract_spending(spent, earlier[spent.model]) if spent.model in earlier else spent
            for spent in self.spending()
            if spent != earlier.get(spent.model)
        )

    def notes(self) -> tuple[str, ...]:
        """Return remarks on models and tools for readers of the run."""
        return (*(self.gateway.meter.notes() if "gateway" in self.__dict__ else ()), *self.tools.notes())

    async def close(self) -> None:
        """Close all connections."""
        await self.models.close()


def check_plan(plan: Plan, models: ModelFactory) -> PlanCheck:
    """Check a plan and whether its models can be called; nothing is sent or written.

    Raises:
        ConfigError: the plan has faults; all of them are named.
    """
    checked = check(plan)
    raise_faults([*checked.faults, *ModelGateway(models, None).faults(plan.chat_models)])
    return checked


async def _follow(first: asyncio.Event, then: asyncio.Event) -> None:
    """Set the second event when the first is set."""
    await first.wait()
    then.set()


@dataclass(frozen=True, slots=True)
class ResultList:
    """A sink that keeps results in a list."""

    results: list[Result] = field(default_factory=list)

    async def write(self, results: Sequence[Result]) -> None:
        """Keep the results."""
        self.results.extend(results)
