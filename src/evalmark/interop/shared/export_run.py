"""A run to export, with its checks and the prompt under test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.run import Run
from evalmark.core.values.score import Direction, Result
from evalmark.inputs.documents.serialization import json_text
from evalmark.prompts.templates.prompt import Prompt
from evalmark.scoring.judges.metric import MetricFile

from .items import inputs_of
from .results import SIDE, run_data


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCheck:
    """One metric of the run, with everything that is known for exporting it."""

    name: str
    """The name of its scores."""
    scorer: str = ""
    """The built-in scorer, with the prefix `not-` if it is negated; empty if unknown."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    direction: Direction = "higher"
    judge: str = ""
    """The judge model; empty if none is named."""
    metric: MetricFile | None = None
    """The judge's question; None for checks without a judge."""
    messages: tuple[tuple[str, str], ...] = ()
    """Role and text of each message, if the metric has its own, with `{{input}}`, `{{output}}` and `{{expected}}`; the texts
    of the prompt under test are filled in. Empty: the standard messages of metric files."""

    @property
    def expects(self) -> bool:
        """Whether it needs the expected answer."""
        if self.metric is not None:
            return self.metric.needs_example_output
        plain = self.scorer.removeprefix("not-")
        return plain in ("equals", "similarity", "edit_similarity") or (plain == "contains" and not self.listed)

    @property
    def listed(self) -> bool:
        """Whether the settings list the texts to search."""
        return bool(self.settings.get("any") or self.settings.get("all"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRun:
    """A run with its checks and prompt: the input of every exporter."""

    run: Run
    checks: tuple[ExportCheck, ...] = ()
    prompt: Prompt | None = None
    remarks: tuple[str, ...] = ()

    @property
    def by_target(self) -> dict[str, list[Result]]:
        """The results of each target, in the run's order of targets."""
        found: dict[str, list[Result]] = {}
        for result in self.run.results:
            found.setdefault(result.trial.target or self.run.target or "given", []).append(result)
        return {target: found[target] for target in self.run.in_order(found)}

    @property
    def shown_inputs(self) -> str:
        """A template text with all input variables of the cases."""
        cases = (result.trial.case for results in self.by_target.values() for result in results)
        names = list(dict.fromkeys(name for case in cases for name in inputs_of(case, self.prompt)))
        return f"{{{{{names[0]}}}}}" if len(names) == 1 else "\n".join(f"{name}: {{{{{name}}}}}" for name in names)

    @property
    def side(self) -> dict[str, str]:
        """The side file with what the other format cannot express."""
        return {SIDE: json_text({"format": "evalmark-export", "version": 1, "run": run_data(self.run)})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """The files of an export: texts by file name, with `/` for folders."""

    files: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """What the format cannot express, one sentence each."""
