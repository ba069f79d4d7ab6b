"""The plan that scores the outputs of an earlier run again; its target is not called."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import DatasetInfo, Run
from evalmark.core.values.score import Mode
from evalmark.runs.planning.first_rows import NoteHandler
from evalmark.runs.planning.judges import ResolvedMetric, judge_named, metric_named, with_judges
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import (
    DatasetSource,
    Loader,
    Plan,
    ScorerSpec,
    embedder_for,
    load_embedder,
)
from evalmark.runs.planning.suite import plan_suite
from evalmark.scoring.binding.bound_scorer import scorer_name
from evalmark.scoring.binding.registry import scorer_names

from .recorded_cases import recorded_cases

NO_OVERRIDES = Overrides()


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoreRequest:
    """The options of `evalmark rescore`."""

    run: Run
    metrics: tuple[str, ...] = ()
    """Scorers as names, files or `module:attribute`; empty: those of the suite."""
    suite: Path | None = None
    """The suite with the metrics, judges and gate to use; None: the suite of the run."""
    overrides: Overrides = NO_OVERRIDES


def plan_rescore(request: RescoreRequest, settings: Settings, load: Loader = load_embedder) -> Plan:
    """Plan new scores for the outputs of an earlier run.

    Raises:
        ConfigError: metrics are named neither by --metric nor by a suite, or by both; a metric or the suite cannot be
            used; or a metric scores conversations and the run has none.
    """
    run = request.run
    if not settings.judge:  # the same judges score again unless another is named
        settings = replace(settings, judge=tuple(dict.fromkeys(m.judge for m in run.metrics if m.judge)))
    if request.metrics and request.suite is not None:
        raise ConfigError("--metric and --suite are mutually exclusive; use one of them.")
    if request.metrics:
        plan = _plan_named_metrics(request, settings, load)
    else:
        suite = request.suite or (Path(run.suite) if run.suite else None)
        if suite is None:
            raise ConfigError(f"run {run.id} was made without a suite; specify the metrics with --metric or --suite.")
        plan = plan_suite(suite, settings, replace(request.overrides, target=UNCALLED_TARGET), load, recorded_cases)
    plan = replace(
        plan,
        name=run.name,
        rescored=run,
        repeat=run.repeat,
        targets=(_RescoredTarget(run.target),),
        sources=_sources(run),
    )
    missing = set(plan.modes) - _modes(run)
    if missing and run.results:
        names = ", ".join(spec.name or scorer_name(spec.scorer) for spec in plan.scorers if spec.mode in missing)
        needed, ran = ("conversations", "each row separately")
        if "conversation" not in missing:
            needed, ran = "separate rows", "its rows only as conversations"
        raise ConfigError(f"{names}: needs {needed}, but run {run.id} ran {ran}; run the suite again.")
    return plan


UNCALLED_TARGET = "evalmark.runs.execution.rescore:uncalled_target"
"""Replaces the target of a suite whose metrics alone are used, so that the target is not imported."""


def uncalled_target(case: Case) -> None:
    """Do nothing; never called."""


@dataclass(frozen=True, slots=True)
class _RescoredTarget:
    """Has the name of the target of an earlier run; it is never called."""

    name: str

    async def __call__(self, case: Case) -> Output:
        return Output(error="the target is not called again")


def _plan_named_metrics(request: RescoreRequest, settings: Settings, load: Loader) -> Plan:
    plan = plan_metrics(request.metrics, settings, request.overrides, load)
    return replace(plan, name=request.run.name, suite=request.run.suite)


def plan_metrics(names: Sequence[str], settings: Settings, overrides: Overrides, load: Loader) -> Plan:
    """Return a plan with the scorers that a command line names, and without cases.

    Raises:
        ConfigError: there is no such scorer, it needs settings, or a metric file or a judge cannot be used.
    """
    here = Path.cwd()
    models = ModelFactory(settings=settings)
    specs: list[ScorerSpec] = []
    for name in names:
        one = _flag_metric(name, (here,))
        judge_names = overrides.judges or ((one.judge,) if one.judge else settings.judge)
        judges = [judge_named(judge, "--judge") for judge in judge_names]
        specs += with_judges(one.spec, judges if one.spec.needs_judge else (), models)
    return Plan(
        name="",
        sources=(),
        scorers=tuple(specs),
        embedder=embedder_for(specs, overrides.embeddings or settings.embeddings, models, (here,), load),
        models=models,
    )


def _flag_metric(name: str, folders: tuple[Path, ...]) -> ResolvedMetric:
    """Return the metric that --metric names; a flag cannot set settings."""
    try:
        return metric_named(name, f"--metric {name}", folders)
    except ConfigError as fault:
        if name.removeprefix("not-") not in scorer_names():
            raise
        raise ConfigError(f"{fault} Settings belong in a suite; name one with --suite.") from fault


def _sources(run: Run) -> tuple[DatasetSource, ...]:
    return tuple(DatasetSource(info=replace(info, rows=None), read=_reader(run, info)) for info in run.datasets)


def _reader(run: Run, info: DatasetInfo) -> Callable[[NoteHandler], Iterator[Case]]:
    def read(note: NoteHandler) -> Iterator[Case]:
        return (r.trial.case for r in run.results if r.trial.dataset == info.name and r.trial.repeat == 0)

    return read


def _modes(run: Run) -> set[Mode]:
    return {result.trial.mode for result in run.results}
