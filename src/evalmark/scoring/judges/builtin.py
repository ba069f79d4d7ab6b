"""The judge scorers that are shipped with evalmark: a packaged metric file plus settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import missing_reference
from evalmark.scoring.binding.text import preview

from .metric_files import packaged_metric
from .rubric import Rubric, check_repeat


@dataclass(frozen=True, kw_only=True)
class Factuality:
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

    repeat: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric as a `Rubric`."""
        return Rubric(metric=replace(packaged_metric(self.name), settings=self.settings), repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output if each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the rubric."""
        return self.rubric.fingerprint

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` if the case has no expected answer."""
        return await self.rubric(case, output, judge)


@dataclass(frozen=True, kw_only=True)
class Criteria:
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

    criteria: str
    history: bool = False
    repeat: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric as a `Rubric`."""
        metric = packaged_metric(self.name)
        changed = replace(metric, description=self.criteria, needs_history=self.history, settings=self.settings)
        return Rubric(metric=changed, repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output if each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the rubric."""
        return self.rubric.fingerprint

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output."""
        return await self.rubric(case, output, judge)


@dataclass(frozen=True, kw_only=True)
class ClosedQA:
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

    criteria: str
    repeat: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric as a `Rubric`."""
        metric = packaged_metric(self.name)
        return Rubric(metric=replace(metric, description=self.criteria, settings=self.settings), repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output if each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the rubric."""
        return self.rubric.fingerprint

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; it passes or fails."""
        return await self.rubric(case, output, judge)


def check_criteria(name: str, criteria: Any) -> None:
    """Raise an error for blank criteria.

    Raises:
        ConfigError: The criteria are not a text, or blank.
    """
    if not (isinstance(criteria, str) and criteria.strip()):
        raise ConfigError(f"{name}: `criteria` is {preview(criteria)}; say in a sentence what a good answer does.")
