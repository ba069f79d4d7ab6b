"""The judge scorers that are shipped with evalmark: a packaged metric file plus settings."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import missing_reference
from evalmark.scoring.binding.text import preview

from .metric_files import packaged_metric
from .rubric import JudgeScorer, Rubric


@dataclass(frozen=True, kw_only=True)
class PackagedMetricScorer(JudgeScorer):
    """The base of the scorers below."""

    @cached_property
    def rubric(self) -> Rubric:
        return Rubric(metric=replace(packaged_metric(self.name), **self._changes()), repeat=self.repeat)

    @property
    def fingerprint(self) -> str:
        return self.rubric.fingerprint

    def _changes(self) -> dict[str, Any]:
        """Return the fields of the metric that the settings of the scorer replace."""
        return {"settings": self.settings}

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` if the metric needs an expected answer and the case has none."""
        return await self.rubric(case, output, judge)


@dataclass(frozen=True, kw_only=True)
class CriteriaScorer(PackagedMetricScorer):
    """The base of the scorers with criteria in free text."""

    criteria: str

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        JudgeScorer.__post_init__(self)

    def _changes(self) -> dict[str, Any]:
        return {"description": self.criteria, "settings": self.settings}


@dataclass(frozen=True, kw_only=True)
class Factuality(PackagedMetricScorer):
    """Ask the judge whether the facts in the output agree with the expected answer.

    The judge chooses one of five relations, worth 0.4, 0.6, 1, 0 and 1.

    Args:
        repeat: How often the judge is asked about each output, from 1 to 100; None asks once.
        settings: Request settings such as `temperature`.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1; `unscored` if the case has no expected answer or no reply can be used.

    Raises:
        ConfigError: `repeat` is not a whole number from 1 to 100.

    >>> Factuality().default_threshold
    1.0
    """

    name: ClassVar[str] = "factuality"
    unit: ClassVar[str] = "choice"
    default_threshold: ClassVar[float] = 1.0

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)


@dataclass(frozen=True, kw_only=True)
class Criteria(CriteriaScorer):
    """Ask the judge how far the output meets criteria in free text.

    The judge chooses one of five grades, worth 1, 0.75, 0.5, 0.25 and 0.

    Args:
        criteria: What a good output does, in a sentence or more.
        history: Show the judge the conversation before the output.
        repeat: How often the judge is asked about each output, from 1 to 100; None asks once.
        settings: Request settings such as `temperature`.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1; `unscored` if no reply can be used.

    Raises:
        ConfigError: `criteria` is blank, or `repeat` is not a whole number from 1 to 100.

    >>> Criteria(criteria="It names a city.").name
    'criteria'
    """

    name: ClassVar[str] = "criteria"
    unit: ClassVar[str] = "choice"

    history: bool = False

    def _changes(self) -> dict[str, Any]:
        return {**CriteriaScorer._changes(self), "needs_history": self.history}


@dataclass(frozen=True, kw_only=True)
class ClosedQA(CriteriaScorer):
    """Ask the judge whether the output meets a criterion, yes or no.

    Args:
        criteria: What an output must do to pass, in a sentence or more.
        repeat: How often the judge is asked about each output, from 1 to 100; None asks once.
        settings: Request settings such as `temperature`.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score that passes or fails; `unscored` if no reply can be used.

    Raises:
        ConfigError: `criteria` is blank, or `repeat` is not a whole number from 1 to 100.

    >>> ClosedQA(criteria="It names a city.").name
    'closed_qa'
    """

    name: ClassVar[str] = "closed_qa"


def check_criteria(name: str, criteria: Any) -> None:
    """Raise an error for blank criteria.

    Raises:
        ConfigError: The criteria are not a text, or blank.
    """
    if not (isinstance(criteria, str) and criteria.strip()):
        raise ConfigError(f"{name}: `criteria` is {preview(criteria)}; describe a good answer in a sentence or more.")


check_factuality = Factuality()
"""Whether the facts in the output agree with the expected output, as a model judges.

Worth 0.4 (a consistent part of it), 0.6 (more than it, and consistent), 1 (the same), 0 (a contradiction) or 1 (a difference
that does not matter). Only 1 passes, unless a threshold says otherwise. The judge is named with `judge=` or EVALMARK_JUDGE.
The question and the scale are those of OpenAI's evals, as `autoevals` has them.
"""
