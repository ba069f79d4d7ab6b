"""What goes out: a run, what its outputs are judged by, and the prompt under test, where files still say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalmark.errors import ConfigError
from evalmark.judges import MetricFile, read_metric
from evalmark.prompts import Prompt, read_prompt
from evalmark.scoring import resolve
from evalmark.suites import MetricSpec, Suite, read_suite
from evalmark.values import Direction, Metric, Result, Run

from .results import SIDE, run_data
from .writing import json_text

FORMATS = ("openai-evals", "openai-registry", "github-models", "promptfoo", "jsonl")
PROMPTS = (".prompty", ".prompt.yml", ".prompt.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that outputs are judged by."""

    name: str
    """What its scores are called."""
    scorer: str = ""
    """The built-in scorer, with `not-` before it where it is turned round; empty where nobody knows any more."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    direction: Direction = "higher"
    judge: str = ""
    """The model that judges; empty where none is named."""
    metric: MetricFile | None = None
    """What the judge is asked; None for checks that ask none."""

    @property
    def expects(self) -> bool:
        """Whether it looks at the expected answer."""
        if self.metric is not None:
            return self.metric.needs_example_output
        plain = self.scorer.removeprefix("not-")
        return plain in ("equals", "similarity", "edit_similarity") or (plain == "contains" and not self.listed)

    @property
    def listed(self) -> bool:
        """Whether the settings say which texts are looked for."""
        return bool(self.settings.get("any") or self.settings.get("all"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Portable:
    """A run on its way to another format."""

    run: Run
    checks: tuple[Check, ...] = ()
    prompt: Prompt | None = None
    remarks: tuple[str, ...] = ()

    @property
    def by_target(self) -> dict[str, list[Result]]:
        """The results of each target, in their order."""
        found: dict[str, list[Result]] = {}
        for result in self.run.results:
            found.setdefault(result.trial.target or self.run.target or "given", []).append(result)
        return found

    @property
    def side(self) -> dict[str, str]:
        """The file beside an export that says what the formats have no place for."""
        return {SIDE: json_text({"format": "evalmark-export", "version": 1, "run": run_data(self.run)})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Files of another tool, as texts by their names; names hold `/` where a file lies in a folder."""

    files: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """What the format could not take, one sentence each."""


def portable_run(run: Run, suite: Path | None = None) -> Portable:
    """A run with what its suite, or its prompt file, says of metrics and prompt now.

    Without a file, checks go by their names, and a judge's question is not known.

    Raises:
        ConfigError: `suite` was named, and it cannot be used.
    """
    remarks: list[str] = []
    said, prompt = None, None
    path = suite or (Path(run.suite) if run.suite else None)
    if path is not None:
        try:
            said, prompt = _said(path)
        except ConfigError as error:
            if suite is not None:
                raise
            remarks.append(f"What the metrics ask is not known, since their file cannot be read: {error}")
    checks = tuple(_check(metric, said, remarks) for metric in run.metrics)
    return Portable(run=run, checks=checks, prompt=prompt, remarks=tuple(remarks))


def _said(path: Path) -> tuple[Suite | None, Prompt | None]:
    if path.name.lower().endswith(PROMPTS):
        return None, read_prompt(path)
    suite = read_suite(path)
    file = getattr(suite.target, "prompt", None)
    return suite, None if file is None else read_prompt(file)


def _check(metric: Metric, suite: Suite | None, remarks: list[str]) -> Check:
    wanted = metric.base or metric.name
    spec = next((spec for spec in suite.metrics if spec.label == wanted), None) if suite else None
    check = Check(name=metric.name, threshold=metric.threshold, direction=metric.direction, judge=metric.judge)
    try:
        found = _file(wanted, suite) if spec is None else _of(spec)
    except ConfigError as error:
        remarks.append(f"{metric.name}: what it asks is not known: {error}")
        return replace(check, scorer=wanted)
    return replace(check, scorer=found.scorer or wanted, settings=found.settings, metric=found.metric)


def _of(spec: MetricSpec) -> Check:
    if spec.path is not None:
        return Check(name=spec.label, metric=read_metric(spec.path))
    settings = {key: value for key, value in spec.settings.items() if key != "name"}
    return Check(name=spec.label, scorer=spec.name, settings=settings, metric=metric_of(spec.name, settings))


def _file(name: str, suite: Suite | None) -> Check:
    """A metric that goes by the name in its file; else the built-in scorer of the name, as it is by itself."""
    files: Sequence[MetricSpec] = [spec for spec in suite.metrics if spec.path is not None] if suite else []
    for spec in files:
        metric = read_metric(Path(str(spec.path)))
        if metric.name == name:
            return Check(name=name, metric=metric)
    return Check(name=name, scorer=name, metric=metric_of(name, {}) if name == "factuality" else None)


def metric_of(scorer: str, settings: Mapping[str, Any]) -> MetricFile | None:
    """What a judge is asked by a built-in scorer; None for one that asks none."""
    if scorer not in ("factuality", "criteria", "closed_qa"):
        return None
    rubric = resolve(scorer, {key: value for key, value in settings.items() if key != "repeat"}).rubric  # type: ignore[attr-defined]
    metric: MetricFile = rubric.metric
    return metric
