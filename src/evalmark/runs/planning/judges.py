"""Scorers and the models that judge for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel

from .models import ConfiguredModel, ModelFactory
from .plan import ScorerSpec, scorer_spec

if TYPE_CHECKING:
    from evalmark.prompts.metrics import metric_prompts as prompt_metric_files
    from evalmark.prompts.metrics.metric import PromptMetric
    from evalmark.scoring.judges import metric_files as judge_files
    from evalmark.scoring.judges import rubric
    from evalmark.scoring.judges.rubric import Rubric
else:
    prompt_metric_files = LazyModule("evalmark.prompts.metrics.metric_prompts")
    judge_files = LazyModule("evalmark.scoring.judges.metric_files")
    rubric = LazyModule("evalmark.scoring.judges.rubric")

ScorerLike = str | Mapping[str, Any] | Callable[..., Any]
"""A scorer as Python code names it: a name, `{name: settings}`, or a callable."""
METRIC_FILES = (".json", ".yaml", ".yml", ".prompty")
FILE_SETTINGS = ("name", "threshold", "repeat", "judge")
"""Settings that a suite may give to a metric file; `judge` is read by the suite itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that judges, by name or as an object, and the settings of its requests."""

    model: str | ChatModel
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedMetric:
    """A scorer that was named, by a file or otherwise, with its own judge and notes."""

    spec: ScorerSpec
    judge: str | None = None
    """The model that the file itself names."""
    notes: tuple[str, ...] = ()
    place: str = ""
    """Where it is named: a file and line, or a flag."""


def metric_from_file(path: Path, settings: Mapping[str, Any], place: str, *, named: bool = True) -> ResolvedMetric:
    """Read a metric file; `settings` may set its `name`, `threshold` and `repeat`.

    `named` is false for a file that was only found next to a prompt.

    Raises:
        ConfigError: the file is not a metric, has a fault, or a setting is unknown.
    """
    unknown = [key for key in settings if key not in FILE_SETTINGS]
    if unknown:
        known = ", ".join(FILE_SETTINGS)
        raise ConfigError(f"{place}: a metric file has no setting {unknown[0]!r} in a suite; it knows {known}.")
    scorer: Rubric | PromptMetric
    if path.name.lower().endswith(".prompty"):
        scorer = prompt_metric_files.read_prompt_metric(path, named=named)
    else:
        scorer = rubric.Rubric(metric=judge_files.read_metric(path))
    metric = scorer.metric
    name = str(settings.get("name") or metric.name)
    scorer = replace(scorer, metric=replace(metric, name=name), repeat=settings.get("repeat"))
    spec = ScorerSpec(scorer=scorer, threshold=settings.get("threshold"), file=path)
    return ResolvedMetric(spec=spec, judge=metric.judge, notes=metric.notes, place=place)


def metric_named(name: str, place: str, folders: tuple[Path, ...]) -> ResolvedMetric:
    """Return the scorer that a command line names: by name, `module:attribute`, or a metric file.

    Raises:
        ConfigError: there is no such scorer, or the file is not a metric.
    """
    if Path(name).suffix.lower() in METRIC_FILES:
        return metric_from_file(Path(name), {}, place)
    return ResolvedMetric(spec=scorer_spec(name, place, folders))


def with_judges(spec: ScorerSpec, judges: Sequence[Judge], models: ModelFactory) -> tuple[ScorerSpec, ...]:
    """Return the scorer once for each of its judges; unchanged where there is none.

    With several judges, each one's scores go by the metric's name with the judge's in brackets.

    Raises:
        ConfigError: a name names no model, or two judges are the same.
    """
    if not judges:
        return (spec,)
    opened = [_opened(judge, models) for judge in judges]
    if len(opened) == 1:
        return (replace(spec, judge=opened[0]),)
    names = [judge.name for judge in opened]
    if twice := next((judge for judge, name in zip(judges, names, strict=True) if names.count(name) > 1), None):
        raise ConfigError(f"{twice.place} repeats a judge; remove the duplicate.")
    name = spec.bound(None).name
    return tuple(replace(spec, judge=judge, name=f"{name} [{judge.name}]", base=name) for judge in opened)


def judge_named(name: str, flag: str = "judge") -> Judge:
    """Return a judge by its name; messages repeat the name, unless it is an address that may hold a password.

    >>> judge_named("openai/m", "--judge").place, judge_named("https://me:secret@host/v1").place
    ('--judge openai/m', 'judge')
    """
    return Judge(model=name, place=flag if set("@?#") & set(name) else f"{flag} {name}")


def _opened(judge: Judge, models: ModelFactory) -> ChatModel:
    if not isinstance(judge.model, str):
        return judge.model
    try:
        model = models.chat(judge.model)
    except ConfigError as fault:
        raise ConfigError(f"{judge.place}: {fault}") from fault
    return ConfiguredModel(model=model, settings=judge.settings) if judge.settings else model


def scorer_specs(
    scorers: Sequence[ScorerLike],
    judge: str | ChatModel | Sequence[str | ChatModel] | None,
    models: ModelFactory,
    folders: tuple[Path, ...],
) -> tuple[ScorerSpec, ...]:
    """Return scorers as Python code names them, once for each judge where they need one.

    Raises:
        ConfigError: they are not a list, there is no such scorer, or a judge is not a model.
    """
    if isinstance(scorers, (str, Mapping)) or callable(scorers):
        raise ConfigError(f"scorers is {scorers!r}; put it into a list, also where it is the only one: scorers=[…].")
    judges = _judges(models.settings.judge if judge is None else judge)
    specs: list[ScorerSpec] = []
    for scorer in scorers:
        spec = (
            metric_named(scorer, "scorers", folders).spec
            if isinstance(scorer, str)
            else scorer_spec(scorer, "scorers", folders)
        )
        specs += with_judges(spec, judges if spec.needs_judge else (), models)
    return tuple(specs)


def _judges(judge_option: str | ChatModel | Sequence[str | ChatModel]) -> list[Judge]:
    judges = (
        judge_option if isinstance(judge_option, Sequence) and not isinstance(judge_option, str) else [judge_option]
    )
    for judge in judges:
        if isinstance(judge, type) or not isinstance(judge, (str, ChatModel)):
            raise ConfigError(
                f"judge: {judge!r} is neither the name of a model, such as 'openai/NAME', nor a ChatModel."
            )
    return [judge_named(judge) if isinstance(judge, str) else Judge(model=judge, place="judge") for judge in judges]
