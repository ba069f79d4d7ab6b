"""What goes out: a run, what its outputs are judged by, and the prompt under test, where files still say so."""

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
    messages: tuple[tuple[str, str], ...] = ()
    """Role and text of each message, where the metric has words of its own: `{{input}}`, `{{output}}` and `{{expected}}`
    stand in them, and the texts of the prompt under test are filled in. Empty: those that a metric file asks by."""

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
class ExportRun:
    """A run on its way to another format."""

    run: Run
    checks: tuple[ExportCheck, ...] = ()
    prompt: Prompt | None = None
    remarks: tuple[str, ...] = ()

    @property
    def by_target(self) -> dict[str, list[Result]]:
        """The results of each target, the targets as they were named for the run."""
        found: dict[str, list[Result]] = {}
        for result in self.run.results:
            found.setdefault(result.trial.target or self.run.target or "given", []).append(result)
        return {target: found[target] for target in self.run.in_order(found)}

    @property
    def shown_inputs(self) -> str:
        """All variables of the cases, as a text shows them."""
        cases = (result.trial.case for results in self.by_target.values() for result in results)
        names = list(dict.fromkeys(name for case in cases for name in inputs_of(case, self.prompt)))
        return f"{{{{{names[0]}}}}}" if len(names) == 1 else "\n".join(f"{name}: {{{{{name}}}}}" for name in names)

    @property
    def side(self) -> dict[str, str]:
        """The file beside an export that says what the formats have no place for."""
        return {SIDE: json_text({"format": "evalmark-export", "version": 1, "run": run_data(self.run)})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """Files of another tool, as texts by their names; names hold `/` where a file lies in a folder."""

    files: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """What the format could not take, one sentence each."""
