"""A metric as a value: the checked content of a metric file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Direction

from .measure import Measure

MAX_REPEATS = 100
"""The largest number of times a judge may be asked about one output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFile:
    """What a judge looks for, and the unit of its verdict.

    Args:
        name: The name in reports.
        description: What the metric measures, in the words of its author.
        measure: The allowed verdicts.
        needs_history: Whether the judge is shown the conversation before the output.
        needs_example_output: Whether the judge is shown the expected answer; a case without one cannot be scored.
        threshold: The smallest value that passes, from 0 to 1; the largest if lower is better.
        direction: Whether higher or lower values are better.
        repeat: How often the judge is asked about each output.
        weighted: Whether the numbers of a scale are weighted with their probabilities, if the endpoint reports them.
        template: Sections of the question, with slots; empty uses the packaged ones.
        judge: The model that judges this metric; None uses the run's judge.
        settings: Request settings such as `temperature`.
        notes: Remarks on the file for the user, one sentence each.

    >>> from evalmark.scoring.judges.measure import Measure
    >>> MetricFile(name="polite", description="Is it polite?", measure=Measure(kind="boolean")).repeat
    1
    """

    name: str
    description: str
    measure: Measure
    needs_history: bool = False
    needs_example_output: bool = False
    threshold: float | None = None
    direction: Direction = "higher"
    repeat: int = 1
    weighted: bool = False
    template: tuple[str, ...] = ()
    judge: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def fingerprint(self) -> str:
        """A hash of all that can change the question or how the reply is read.

        The threshold is not part of it: runs store it separately.
        """
        return fingerprint(
            "metric-2",
            self.name,
            self.description,
            self.measure,
            [self.needs_history, self.needs_example_output, self.weighted],
            [self.direction, self.repeat],
            self.template,
            self.settings,
        )
