"""Read the current suite, prompt and metric files of a run, for its export."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import Metric, Run
from evalmark.inputs.suites.reader import read_suite
from evalmark.inputs.suites.suite import MetricSpec, Suite, TargetSpec
from evalmark.prompts.metrics.metric import PromptMetric
from evalmark.prompts.metrics.metric_prompts import METRIC_ENDING, find_metrics, read_prompt_metric
from evalmark.prompts.metrics.metric_question import SPEC_VARIABLES, variable_values
from evalmark.prompts.specs.spec import PromptSpec, read_spec
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.scoring.judges.measure import Measure
from evalmark.scoring.judges.metric import MetricFile
from evalmark.scoring.judges.metric_files import read_metric

from .export_run import ExportCheck, ExportRun

PROMPTS = (".prompty", ".prompt.yml", ".prompt.yaml", ".prompt.md")
_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_OURS = {"input": "input", "output": "output", "groundtruth": "expected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunFiles:
    """The suite, the prompt with its spec, and the metric files of a run."""

    suite: Suite | None = None
    spec: PromptSpec | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    """Metric files by metric name."""


def export_run_of(run: Run, suite: Path | None = None) -> ExportRun:
    """Make the export of a run, with metrics and prompt from its current suite or prompt file.

    Without a file, only the names of the metrics are known, not the questions to judges.

    Raises:
        ConfigError: `suite` was given and is invalid.
    """
    remarks: list[str] = []
    origin = _RunFiles()
    path = suite or (Path(run.suite) if run.suite else None)
    if path is not None:
        try:
            origin = _run_files(path)
        except ConfigError as error:
            if suite is not None:
                raise
            remarks.append(f"The questions of the metrics are unknown, because their file cannot be read: {error}")
    checks = tuple(_check(metric, origin, remarks) for metric in run.metrics)
    prompt = None if origin.spec is None else origin.spec.prompt
    return ExportRun(run=run, checks=checks, prompt=prompt, remarks=tuple(remarks))


def _run_files(path: Path) -> _RunFiles:
    if path.name.lower().endswith(PROMPTS):
        return _RunFiles(spec=read_spec(path), files={_name(file): file for file in find_metrics(path)})
    suite = read_suite(path)
    prompt = suite.target.prompt if isinstance(suite.target, TargetSpec) else None
    named = [spec.path for spec in suite.metrics if spec.path is not None]
    beside = find_metrics(prompt) if prompt is not None and not suite.metrics else []
    files = {_name(file): file for file in named or beside}
    return _RunFiles(suite=suite, spec=None if prompt is None else read_spec(prompt), files=files)


def _name(path: Path) -> str:
    if path.name.lower().endswith(".prompty"):
        return path.name[: -len(METRIC_ENDING)] if path.name.lower().endswith(METRIC_ENDING) else path.stem
    return read_metric(path).name


def _check(metric: Metric, origin: _RunFiles, remarks: list[str]) -> ExportCheck:
    draft = metric.base or metric.name
    check = ExportCheck(name=metric.name, threshold=metric.threshold, direction=metric.direction, judge=metric.judge)
    metrics = origin.suite.metrics if origin.suite else ()
    spec = next((spec for spec in metrics if spec.label == draft), None)
    try:
        source = _check_source(draft, spec, origin)
    except ConfigError as error:
        remarks.append(f"{metric.name}: its question is unknown: {error}")
        return replace(check, scorer=draft)
    scorer = source.scorer or draft
    return replace(check, scorer=scorer, settings=source.settings, metric=source.metric, messages=source.messages)


def _check_source(name: str, spec: MetricSpec | None, origin: _RunFiles) -> ExportCheck:
    path = origin.files.get(name) if spec is None else spec.path
    if path is not None:
        return _of_file(name, path, origin.spec)
    if spec is not None:
        settings = {key: value for key, value in spec.settings.items() if key != "name"}
        return ExportCheck(name=name, scorer=spec.name, settings=settings, metric=metric_of(spec.name, settings))
    if name == "compliance" and origin.spec is not None and origin.spec.rules:
        return ExportCheck(name=name, scorer=name, metric=_compliance(origin.spec))
    return ExportCheck(name=name, scorer=name, metric=metric_of(name, {}) if name == "factuality" else None)


def _of_file(name: str, path: Path, spec: PromptSpec | None) -> ExportCheck:
    if not path.name.lower().endswith(".prompty"):
        return ExportCheck(name=name, metric=read_metric(path))
    found = read_prompt_metric(path)
    measure = replace(found.metric.measure, words=("OK", "ERR")) if found.ok_or_err else found.metric.measure
    metric = replace(found.metric, measure=measure, needs_example_output=found.needs_expected)
    return ExportCheck(name=name, metric=metric, messages=_messages(found, spec))


def _messages(metric: PromptMetric, spec: PromptSpec | None) -> tuple[tuple[str, str], ...]:
    """Return the messages of a metric in a prompt file, with the texts of the prompt under test filled in."""
    texts = variable_values(Case(id=""), Output(), spec)

    def fill(slot: re.Match[str]) -> str:
        name = slot[1]
        if name in SPEC_VARIABLES:
            return texts[name].replace("{{", "{").replace("}}", "}").replace("{%", "{ %")
        return f"{{{{{_OURS.get(name, name)}}}}}"

    return tuple((message.role, _SLOT.sub(fill, message.text)) for message in metric.prompt.messages)


def _compliance(spec: PromptSpec) -> MetricFile:
    """Make one question about all rules, since other tools have one result for each metric, not for each rule."""
    rules = "\n".join(f"- {rule}" for rule in spec.rules)
    return MetricFile(
        name="compliance",
        description=f"Does the output keep to every one of these rules?\n{rules}",
        measure=Measure(kind="boolean", description="whether all rules are kept", words=("OK", "ERR")),
    )


def metric_of(scorer: str, settings: Mapping[str, Any]) -> MetricFile | None:
    """Return the judge metric of a built-in scorer; None for scorers without a judge."""
    if scorer not in ("factuality", "criteria", "closed_qa"):
        return None
    rubric = resolve_scorer(scorer, {key: value for key, value in settings.items() if key != "repeat"}).rubric  # type: ignore[attr-defined]
    metric: MetricFile = rubric.metric
    return metric
