"""A metric as a value: what a metric file says once it has been checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Direction

from .measure import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFile:
    """What a judge is to look for, and in which unit it is to say what it found."""

    name: str
    description: str
    """What the metric looks at, in the words of its author."""
    measure: Measure
    needs_history: bool = False
    """Whether the judge is shown the conversation before the answer."""
    needs_example_output: bool = False
    """Whether the judge is shown the expected answer; a case without one cannot be judged."""
    threshold: float | None = None
    """The least value of a case that passes, from 0 to 1 (the most, where lower is better)."""
    direction: Direction = "higher"
    repeat: int = 1
    """How often the judge is asked about each output."""
    weighted: bool = False
    """Whether the numbers of a scale are weighted with their probabilities, where the endpoint gives them."""
    template: tuple[str, ...] = ()
    """Sections of the question, with slots; empty: those that are shipped with evalmark."""
    judge: str | None = None
    """The model that judges by this metric; None: the run's."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and the like, for this metric's questions."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What a reader of the run should know about the file, one sentence each."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever a judge would be asked something else, or its words be read another way.

        The threshold does neither: runs hold it by themselves.
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
