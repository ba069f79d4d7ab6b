"""A plan from a prompt file: its tests, its rules and the metrics in its folder, for every model that is named."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.documents.files import path_kind
from evalmark.inputs.suites.suite import TargetSpec

from .first_rows import NoteHandler
from .judges import ResolvedMetric, judge_named, metric_from_file, with_judges
from .models import ModelFactory
from .overrides import Overrides, model_targets
from .plan import DatasetSource, Loader, Plan, ScorerSpec, embedder_for, load_embedder

if TYPE_CHECKING:
    from evalmark.prompts.metrics import compliance, metric_prompts, rule_checks
    from evalmark.prompts.metrics import metric as prompt_metric
    from evalmark.prompts.specs import detection, prompt_tests
    from evalmark.prompts.specs import spec as spec_module
    from evalmark.prompts.specs.spec import PromptSpec
else:
    compliance = LazyModule("evalmark.prompts.metrics.compliance")
    rule_checks = LazyModule("evalmark.prompts.metrics.rule_checks")
    prompt_metric = LazyModule("evalmark.prompts.metrics.metric")
    metric_prompts = LazyModule("evalmark.prompts.metrics.metric_prompts")
    prompt_tests = LazyModule("evalmark.prompts.specs.prompt_tests")
    detection = LazyModule("evalmark.prompts.specs.detection")
    spec_module = LazyModule("evalmark.prompts.specs.spec")

ENDINGS = (".prompty", ".prompt.yml", ".prompt.yaml", ".prompt.md")
METRIC = ".metric.prompty"


def is_prompt(path: Path) -> bool:
    """Whether a file is a prompt under test, by its name; a metric in the form of a prompt is none.

    >>> is_prompt(Path("classify.prompty")), is_prompt(Path("kind.metric.prompty")), is_prompt(Path("suite.yaml"))
    (True, False, False)
    """
    return path.name.lower().endswith(ENDINGS) and not is_metric(path)


def is_metric(path: Path) -> bool:
    """Whether a file is a metric in the form of a prompt, by its name."""
    return path.name.lower().endswith(METRIC)


def plan_prompt(path: Path, settings: Settings, overrides: Overrides, load: Loader = load_embedder) -> Plan:
    """Plan the run of a prompt: its tests, or else its samples, on each model, scored by its rules and metrics.

    Raises:
        ConfigError: the prompt, a file in its folder, a model or a judge cannot be used, or there are no tests.
    """
    spec = spec_module.read_spec(path)
    models = ModelFactory(settings=settings)
    metrics = list(metrics_of(path, spec))
    specs = [scorer for metric in metrics for scorer in _specs_of(metric, overrides, models, spec)]
    embeddings = overrides.embeddings or settings.embeddings
    return Plan(
        name=spec.prompt.name,
        sources=tests_of(path, spec),
        targets=model_targets(TargetSpec(prompt=path), overrides.models, models),
        scorers=tuple(specs),
        embedder=embedder_for(specs, embeddings, models, (path.parent,), load),
        repeat=overrides.repeat or 1,
        timeout=overrides.timeout,
        suite=str(path),
        notes=(*spec.prompt.notes, *spec.notes, *(note for metric in metrics for note in metric.notes)),
        models=models,
    )


def metrics_of(path: Path, spec: "PromptSpec") -> Iterator[ResolvedMetric]:
    """Yield the metrics of a prompt: its rules, by a judge and by machine checks, and every metric file in its folder."""
    if spec.rules:
        yield ResolvedMetric(spec=ScorerSpec(scorer=compliance.Compliance()), place=str(path))
        if rule_checks.has_checkable_rules(spec):
            yield ResolvedMetric(spec=ScorerSpec(scorer=rule_checks.RuleChecks()), place=str(path))
    for file in metric_prompts.find_metrics(path):
        yield metric_from_file(file, {}, str(file), named=False)


def _specs_of(
    metric: ResolvedMetric, overrides: Overrides, models: ModelFactory, spec: "PromptSpec"
) -> tuple[ScorerSpec, ...]:
    """Return a metric with its prompt once for each judge: of the flag, else of its file, else of the settings."""
    scorer = with_prompt(metric.spec, spec, metric.place)
    if not scorer.needs_judge:
        return with_judges(scorer, (), models)
    if overrides.judges:
        return with_judges(scorer, [judge_named(name, "--judge") for name in overrides.judges], models)
    names = (metric.judge,) if metric.judge else models.settings.judge
    return with_judges(scorer, [judge_named(name) for name in names], models)


def with_prompt(metric_spec: ScorerSpec, spec: "PromptSpec | None", place: str) -> ScorerSpec:
    """Return the scorer with the prompt under test, if it needs one.

    Raises:
        ConfigError: it needs one, and there is none.
    """
    if not getattr(metric_spec.scorer, "needs_spec", False):  # avoids loading the module for those that need it
        return metric_spec
    scorer = prompt_metric.with_spec(metric_spec.scorer, spec, place)
    return metric_spec if scorer is metric_spec.scorer else replace(metric_spec, scorer=scorer)


def tests_of(path: Path, spec: "PromptSpec") -> tuple[DatasetSource, ...]:
    """Return the tests in the folder of the prompt, or the samples in it, and those made without rules as another dataset.

    Raises:
        ConfigError: there are neither tests nor samples.
    """
    files = (spec.folder / name for name in detection.BASELINE_FILES)
    baseline = next((file for file in files if path_kind(file) == "file"), None)
    return (_tests(path, spec), *(() if baseline is None else (tests_in(baseline, spec, "baseline"),)))


def tests_in(file: Path, spec: "PromptSpec", name: str) -> DatasetSource:
    """Return the tests in one file as a dataset; it is found even after a target has changed the working directory."""
    here = Path.cwd()
    reader = prompt_tests.read_baseline if file.suffix.lower() == ".txt" else prompt_tests.read_tests

    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        return reader(file if Path.cwd() == here else here / file, spec, note)

    return DatasetSource(info=DatasetInfo(name=name, path=str(file)), read=read)


def _tests(path: Path, spec: "PromptSpec") -> DatasetSource:
    file = prompt_tests.file_of_tests(spec)
    if file is not None:
        return tests_in(file, spec, "tests")
    if not spec.prompt.samples:
        raise ConfigError(
            f"{path}: there are no tests in {spec.folder} and no samples in the file; "
            f"write some, or have a model make them: evalmark generate {path}"
        )

    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        return prompt_tests.sample_tests(spec, note)

    return DatasetSource(info=DatasetInfo(name="samples", path=str(path)), read=read)
