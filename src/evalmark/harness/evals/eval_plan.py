"""Plans of evals: the rows as a dataset, the task as a target, the scorers with their thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Target
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Score
from evalmark.inputs.datasets.options import BadRow
from evalmark.runs.planning.judges import scorer_specs
from evalmark.runs.planning.plan import DatasetSource, Loader, Plan, ScorerSpec, embedder_for, model_of
from evalmark.runs.session.run_session import PreparedPlan, RunSession
from evalmark.runs.targets.function import as_target

from .eval_spec import EvalSpec
from .thresholds import with_thresholds

if TYPE_CHECKING:
    from evalmark.runs.planning import service_targets
else:
    service_targets = LazyModule("evalmark.runs.planning.service_targets")

NO_OUTPUT = "the task returned None; return a text, JSON or an Output (is a `return` missing?)"

NO_JUDGE = "no judge is named; use --evalmark-judge PROVIDER/MODEL, EVALMARK_JUDGE or judge="
"""The reason of a score that a judge was to give, where pytest runs without one."""


@dataclass(frozen=True, slots=True)
class MissingJudge:
    """A scorer whose judge is missing: every output is unscored."""

    name: str

    def __call__(self) -> Score:
        """Return no score, and say how to name a judge."""
        return Score(name=self.name, status="unscored", reason=NO_JUDGE)


@dataclass(frozen=True, slots=True)
class OutputRequired:
    """A target that has to return a value: None is an error, since a `return` was probably forgotten."""

    target: Target

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.target.name

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the target."""
        return str(getattr(self.target, "fingerprint", self.name))

    async def __call__(self, case: Case) -> Output:
        """Return the target's output; an Output with an error where that is None."""
        output = await self.target(case)
        if output.value is None and output.error is None and not output.tool_calls and not output.transcript:
            return replace(output, error=NO_OUTPUT)
        return output


def plan_eval(
    eval_spec: EvalSpec,
    rows: Sequence[Case | BadRow],
    run_session: RunSession,
    score_name: str = "",
    load: Loader | None = None,
    *,
    refuse_missing_judge: bool = True,
) -> Plan:
    """Return the eval as a plan over these rows; `score_name` renames its only scorer.

    Without `refuse_missing_judge`, a scorer whose judge is missing returns no score instead of being refused.

    Raises:
        ConfigError: the task, a scorer, the judge or a threshold cannot be used; the message begins with its place.
    """
    __tracebackhide__ = True
    folders = _import_folders(eval_spec)
    try:
        specs = scorer_specs(eval_spec.scorers, eval_spec.judge, run_session.models, folders)
        target = _target(eval_spec, run_session)
    except ConfigError as error:
        raise ConfigError(f"{eval_spec.place}: {error}") from None
    if score_name:
        specs = tuple(replace(one, name=score_name) for one in specs)
    specs = with_thresholds(specs, eval_spec.threshold, eval_spec.place)
    without_judge = [one.bound(None).name for one in specs if one.needs_judge and one.judge is None]
    if without_judge and not refuse_missing_judge:
        specs = tuple(_unjudged(one) if one.needs_judge and one.judge is None else one for one in specs)
    elif without_judge:
        verb = "needs" if len(without_judge) == 1 else "need"
        raise ConfigError(
            f"{eval_spec.place}: {', '.join(without_judge)} {verb} a judge; set EVALMARK_JUDGE=provider/model, or pass judge=."
        )
    rows = tuple(rows)
    embeddings = run_session.settings.embeddings if eval_spec.embeddings is None else eval_spec.embeddings
    return Plan(
        name=eval_spec.name,
        sources=(
            DatasetSource(info=DatasetInfo(name=eval_spec.name, path=eval_spec.place), read=lambda note: iter(rows)),
        ),
        targets=(target,),
        scorers=specs,
        models=run_session.models,
        embedder=embedder_for(specs, embeddings, run_session.models, folders, load or run_session.load_embedder),
        repeat=eval_spec.repeat,
        timeout=eval_spec.timeout,
    )


def _target(eval_spec: EvalSpec, run_session: RunSession) -> Target:
    """Return the task as a target; a service or a command runs in the folder of the file that defines the eval."""
    folders = _import_folders(eval_spec)
    if isinstance(eval_spec.task, Mapping):
        return service_targets.mapping_target(eval_spec.task, run_session.models, *folders)
    target = as_target(eval_spec.task, folders=folders)
    return target if model_of(target) is not None else OutputRequired(target)


def _unjudged(spec: ScorerSpec) -> ScorerSpec:
    """Replace a scorer whose judge is missing by one that says so."""
    name = spec.bound(None).name
    return ScorerSpec(scorer=MissingJudge(name), name=name, threshold=spec.threshold, decides=spec.decides)


def check_eval(eval_spec: EvalSpec, run_session: RunSession) -> str:
    """Check an eval without reading data or loading a model, and return the name of its task.

    Raises:
        ConfigError: a part of it cannot be used; the message begins with its place.
    """
    plan = plan_eval(eval_spec, (), run_session, load=_load_nothing, refuse_missing_judge=False)
    try:
        run_session.check(plan)
    except ConfigError as error:
        raise ConfigError(f"{eval_spec.place}: {error}") from error
    return plan.target_name


def _import_folders(eval_spec: EvalSpec) -> tuple[Path]:
    return (Path(eval_spec.file).parent if eval_spec.file else Path.cwd(),)


def _load_nothing(name: str, settings: Settings, folders: tuple[Path, ...]) -> None:
    """Load no embedding model: loading takes long, and a check does not need it."""


def prepare_eval(
    eval_spec: EvalSpec,
    rows: Sequence[Case | BadRow],
    run_session: RunSession,
    score_name: str = "",
    *,
    refuse_missing_judge: bool = False,
) -> PreparedPlan:
    """Check an eval and bind it, for those of its rows that are cases.

    Without `refuse_missing_judge`, a scorer whose judge is missing returns no score instead of being refused.

    Raises:
        ConfigError: a part of it cannot be used; the message begins with its place.
    """
    __tracebackhide__ = True
    plan = plan_eval(
        eval_spec,
        [row for row in rows if isinstance(row, Case)],
        run_session,
        score_name,
        refuse_missing_judge=refuse_missing_judge,
    )
    try:
        return run_session.prepare(plan)
    except ConfigError as error:
        raise ConfigError(f"{eval_spec.place}: {error}") from None
