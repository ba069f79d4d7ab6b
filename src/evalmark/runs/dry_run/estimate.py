"""Estimates a run: each model call is prepared and counted, but not sent."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, cast

from evalmark.core.context.trial_context import TrialContext, current_trial_context
from evalmark.core.errors import ModelCallError
from evalmark.core.protocols import CallLog, ChatModel, Target
from evalmark.core.settings import Replay
from evalmark.core.text import count
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.run import Run
from evalmark.core.values.score import Mode, Result
from evalmark.models.middleware.prices import Prices, read_prices
from evalmark.models.middleware.token_estimate import output_limit
from evalmark.runs.dry_run.forecast import Forecast, MetricForecast, ModelForecast
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import Limits, Work
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.sampling import DrawnSample, draw_sample
from evalmark.runs.execution.shards import shard_assignment
from evalmark.runs.execution.trial_source import TrialSource
from evalmark.runs.planning.check import check, raise_faults
from evalmark.runs.planning.models import ConfiguredModel, replay_mode
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec, model_of
from evalmark.runs.session.run_session import RunSession
from evalmark.runs.targets.given_target import GivenTarget

CHARS_PER_TOKEN = 4
"""Characters per token of English text; other languages and code have fewer."""
DEFAULT_OUTPUT_TOKENS = 150
"""The assumed tokens of a reply of a model without cached replies."""
MAX_SEARCHED_RUNS, MAX_READ_RUNS = 100, 5
"""How many of the newest runs are searched for runs of the same suite and target, and how many of those are read."""
PLACEHOLDER_CHARS = 400
"""Characters of the placeholder for an unknown output."""

KnownOutputs = Mapping[tuple[str, str, int], Output]
"""The outputs of an earlier run, by id and input of the case and by repeat."""


async def estimate(plan: Plan, options: RunOptions) -> Forecast:
    """Count the model calls of a plan, and which replies are cached; no target is called, nothing is sent.

    Raises:
        ConfigError: the plan has faults; all of them are named.
    """
    raise_faults((await asyncio.to_thread(check, plan)).faults)
    estimator = _Estimator(plan, options, await asyncio.to_thread(draw_sample, plan, options))
    for source in plan.sources:
        for mode in plan.modes:
            await estimator.count(source, mode)
    return estimator.forecast()


@dataclass(slots=True)
class _ModelTally:
    """The calls of one model, as counted so far."""

    model: ChatModel
    replay: Replay
    """How recorded replies are used."""
    calls: int = 0
    cached: int = 0
    input_tokens: list[int] = field(default_factory=list)
    """Input tokens of each call to be sent."""
    output_limits: list[int | None] = field(default_factory=list)
    """The limit of output tokens of each of these calls; None if the request sets none."""
    output_tokens: list[int] = field(default_factory=list)
    """Output tokens of recorded replies."""

    def forecast(self, prices: Prices) -> ModelForecast:
        sent = len(self.input_tokens)
        usual_reply = fmean(self.output_tokens) if self.output_tokens else DEFAULT_OUTPUT_TOKENS
        output_tokens = sum(usual_reply if limit is None else min(usual_reply, limit) for limit in self.output_limits)
        each = (
            prices.estimate(self.model, round(fmean(self.input_tokens)), round(output_tokens / sent)) if sent else None
        )
        return ModelForecast(
            model=self.model.name,
            calls=self.calls,
            cached=self.cached,
            input_tokens=sum(self.input_tokens),
            output_tokens=round(output_tokens),
            cost=None if each is None else each * sent,
            unknown_cost=sent if each is None else 0,
        )


class _CountingModel:
    """A model that returns cached replies, and counts the other requests instead of sending them."""

    def __init__(
        self, model: ChatModel, call_log: CallLog, tally: _ModelTally, counted_keys: set[str], questions: int
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self.calls = 0
        """The number of calls in the current part of the plan."""
        self._call_log, self._tally, self._seen, self._questions = call_log, tally, counted_keys, questions
        self._trial: TrialContext | None = None
        self._left = questions

    async def __call__(self, request: Request) -> Reply:
        """Return the cached reply.

        Raises:
            ModelCallError: there is none.
        """
        trial = current_trial_context()
        if trial is not self._trial:
            self._trial, self._left = trial, self._questions
        first = trial.count_use(f"{self.identity} {request.hash}")
        key = request.key(self.identity, trial.repeat, first)
        reply = await self._call_log.find(key)
        self._left -= 1
        self.calls += 1
        self._count(key, request, recorded=reply is not None)
        if reply is None:
            for more in range(max(0, self._left)):  # the scorer sends these only after a reply to this one
                self.calls += 1
                self._count(request.key(self.identity, trial.repeat, first + 1 + more), request, recorded=False)
            raise ModelCallError("a dry run sends nothing", fault="closed")
        if reply.usage.output_tokens is not None:
            self._tally.output_tokens.append(reply.usage.output_tokens)
        return reply

    def _count(self, key: str, request: Request, *, recorded: bool) -> None:
        replay = self._tally.replay
        if key in self._seen and replay != "off":  # the same request is sent once
            return
        self._seen.add(key)
        self._tally.calls += 1
        if recorded and replay in ("auto", "strict"):
            self._tally.cached += 1
            return
        self._tally.input_tokens.append(tokens_of(request))
        self._tally.output_limits.append(output_limit(request))


class _Estimator:
    """Runs a plan without sending any call, one dataset at a time."""

    def __init__(self, plan: Plan, options: RunOptions, drawn: DrawnSample | None) -> None:
        self.plan, self.options, self.drawn = plan, options, drawn
        self.session = RunSession(options.settings, lambda: options.store, models=plan.models)
        self.assignment = shard_assignment(plan, options.shard)
        self.call_log = options.store.call_log()
        self.earlier = self._earlier_runs()
        self.tallies: dict[tuple[str, str], _ModelTally] = {}
        self.seen: set[str] = set()
        self.metrics: list[MetricForecast] = []
        self.trials = 0
        self.notes: dict[str, None] = {}
        """Notes of the readers, each once."""
        self.unknown_outputs = 0
        """The number of outputs that are not known before the run."""

    async def count(self, source: DatasetSource, mode: Mode) -> None:
        """Count the calls for one dataset, as single cases or as conversations."""
        specs = [spec for spec in self.plan.scorers if spec.mode == mode]
        judges = {id(spec): self._counting(spec.judge, _questions(spec)) for spec in specs if spec.judge is not None}
        bound = [spec.bound(None, lambda _, spec=spec: judges[id(spec)]) for spec in specs if id(spec) in judges]  # type: ignore[misc]
        part = replace(self.plan, sources=(source,), scorers=tuple(specs))
        trials = TrialSource(
            plan=part,
            options=self.options,
            notes=self.notes,
            assignment=self.assignment,
            sampled=None if self.drawn is None else self.drawn.ids,
        )
        sink = _Counter()
        work = Work(
            trials=trials.trials(),
            targets=self._targets(source, mode),
            scorers=bound,
            turn_scorers=bound,
            sink=sink,
        )
        await run_trials(work, Limits(jobs=1))
        self.trials += sink.trials
        for spec in specs:
            counting = judges.get(id(spec))
            self.metrics.append(
                MetricForecast(
                    dataset=source.info.name,
                    metric=spec.bound(self.plan.embedder).name,
                    trials=sink.trials,
                    calls=0 if counting is None else _calls_of(counting),
                    judge="" if spec.judge is None else spec.judge.name,
                )
            )

    def forecast(self) -> Forecast:
        """Return the forecast with everything that was counted."""
        prices = Prices(read_prices(self.session.models.settings.models))
        return Forecast(
            name=self.plan.name,
            target=self.plan.target_name,
            trials=self.trials,
            metrics=tuple(self.metrics),
            models=tuple(tally.forecast(prices) for tally in self.tallies.values()),
            notes=(*self.plan.notes, *self.notes, *self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.drawn is not None:
            yield self.drawn.note
        if not self.plan.chat_models:
            return
        if self.earlier:
            where = self.earlier[0].id if len(self.earlier) == 1 else f"{self.earlier[0].id} and runs before it"
            yield f"The outputs are those of {where}; where the target returns another output now, judges are called again."
        if self.unknown_outputs and any(spec.judge is not None for spec in self.plan.scorers):
            yield f"{count(self.unknown_outputs, 'output')} not known yet; their judge calls are counted as sent."
        if self.options.settings.replay == "strict":
            yield "With --replay strict nothing is sent: calls without a cached reply would be errors."

    def _counting(self, model: ChatModel, questions: int = 1) -> ChatModel:
        inner = model.model if isinstance(model, ConfiguredModel) else model
        tally = self.tallies.setdefault(
            (inner.identity, inner.name), _ModelTally(inner, replay_mode(inner, self.options.settings))
        )
        counting = _CountingModel(inner, self.call_log, tally, self.seen, questions)
        return replace(model, model=counting) if isinstance(model, ConfiguredModel) else counting

    def _targets(self, source: DatasetSource, mode: Mode) -> dict[str, Target]:
        return {target.name: self._target(target, source, mode) for target in self.plan.targets}

    def _target(self, target: Target, source: DatasetSource, mode: Mode) -> Target:
        if isinstance(target, GivenTarget) or self.plan.rescored is not None:
            return target
        if (model := model_of(target)) is not None:
            counted = cast(Target, replace(cast(Any, target), model=self._counting(model)))
            return _EstimatedTarget(self, target.name, counted, {})
        return _EstimatedTarget(self, target.name, None, self._known(source.info.name, mode))

    def _earlier_runs(self) -> list[Run]:
        """Return the newest runs of the same suite and target, whose outputs are likely to occur again."""
        plan = self.plan
        if plan.is_answered or plan.asks_models or plan.rescored is not None or not plan.chat_models:
            return []
        same = (plan.suite, plan.target_name)
        return [run for run in self.options.store.runs(MAX_SEARCHED_RUNS) if (run.suite, run.target) == same][
            :MAX_READ_RUNS
        ]

    def _known(self, dataset: str, mode: Mode) -> KnownOutputs:
        """Return the outputs of the earlier runs, for each case the newest."""
        outputs: dict[tuple[str, str, int], Output] = {}
        for run in self.earlier:
            for r in run.results:
                if (r.trial.dataset, r.trial.mode) == (dataset, mode) and r.output.error is None:
                    case = r.trial.case
                    outputs.setdefault((case.id, canonical(case.input), r.trial.repeat), r.output)
        return outputs


@dataclass(frozen=True, slots=True)
class _EstimatedTarget:
    """Returns a model's cached reply, the output of an earlier run, or a placeholder."""

    estimator: _Estimator
    name: str
    model: Target | None
    known: KnownOutputs

    async def __call__(self, case: Case) -> Output:
        if self.model is not None:
            try:
                return await self.model(case)
            except ModelCallError:
                self.estimator.unknown_outputs += 1
                return self._unknown()
        found = self.known.get((case.id, canonical(case.input), current_trial_context().repeat))
        self.estimator.unknown_outputs += found is None
        return found or self._unknown()

    def _unknown(self) -> Output:
        """Return a placeholder; it differs between targets, since a judge scores the output of each."""
        return Output(value=self.name.ljust(PLACEHOLDER_CHARS, "x"))


def _questions(spec: ScorerSpec) -> int:
    """Return how many questions the scorer sends to its judge for one output."""
    return int(getattr(spec.scorer, "questions", 1))


def _calls_of(model: ChatModel) -> int:
    inner = model.model if isinstance(model, ConfiguredModel) else model
    return inner.calls if isinstance(inner, _CountingModel) else 0


def tokens_of(request: Request) -> int:
    """Return the approximate number of tokens of a request.

    >>> from evalmark import Turn
    >>> tokens_of(Request(messages=(Turn(role="user", content="Where is Oslo?"),)))
    3
    """
    content_chars = sum(
        len(turn.content if isinstance(turn.content, str) else canonical(turn.content)) for turn in request.messages
    )
    schema_chars = 0 if request.schema is None else len(canonical(request.schema))
    return (content_chars + schema_chars) // CHARS_PER_TOKEN


class _Counter:
    """Counts results and forgets them."""

    def __init__(self) -> None:
        self.trials = 0

    async def write(self, results: Sequence[Result]) -> None:
        self.trials += len(results)
