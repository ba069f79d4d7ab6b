"""Metrics that are shipped with evalmark, as scorers with settings: the metric file says the rest."""

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
    """Whether the facts in the answer agree with the expected answer: one of five cases, worth 0.4, 0.6, 1, 0 and 1.

    >>> Factuality().default_threshold
    1.0
    """

    name: ClassVar[str] = "factuality"
    unit: ClassVar[str] = "choice"
    default_threshold: ClassVar[float] = 1.0

    repeat: int | None = None
    """How often the judge is asked about each output."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and the like, for the questions of this scorer."""
    judge: Any = field(default=None, repr=False)
    """A chat model that judges in place of the run's."""

    def __post_init__(self) -> None:
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric that the judge is asked by."""
        return Rubric(metric=replace(packaged_metric(self.name), settings=self.settings), repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output, where each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """That of the rubric."""
        return self.rubric.fingerprint

    def lacks(self, case: Case) -> str:
        """Why no output of the case can be judged; empty where one can."""
        return missing_reference(case)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """How the facts in the output relate to those in the expected answer; `unscored` without one."""
        return await self.rubric(case, output, judge)


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """How far the answer meets criteria in free text: one of five grades, worth 1, 0.75, 0.5, 0.25 and 0.

    >>> Criteria(criteria="It names a city.").name
    'criteria'
    """

    name: ClassVar[str] = "criteria"
    unit: ClassVar[str] = "choice"

    criteria: str
    """What a good answer does, in your words."""
    history: bool = False
    """Whether the judge is shown the history that a row brings along."""
    repeat: int | None = None
    """How often the judge is asked about each output."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and the like, for the questions of this scorer."""
    judge: Any = field(default=None, repr=False)
    """A chat model that judges in place of the run's."""

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric that the judge is asked by."""
        metric = packaged_metric(self.name)
        said = replace(metric, description=self.criteria, needs_history=self.history, settings=self.settings)
        return Rubric(metric=said, repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output, where each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """That of the rubric."""
        return self.rubric.fingerprint

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """How far the output meets the criteria."""
        return await self.rubric(case, output, judge)


@dataclass(frozen=True, kw_only=True)
class ClosedQA:
    """Whether the answer to a question meets a criterion, yes or no.

    >>> ClosedQA(criteria="It names a city.").name
    'closed_qa'
    """

    name: ClassVar[str] = "closed_qa"

    criteria: str
    """What an answer must do to pass, in your words."""
    repeat: int | None = None
    """How often the judge is asked about each output."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and the like, for the questions of this scorer."""
    judge: Any = field(default=None, repr=False)
    """A chat model that judges in place of the run's."""

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        check_repeat(self.name, self.repeat)

    @cached_property
    def rubric(self) -> Rubric:
        """The metric that the judge is asked by."""
        metric = packaged_metric(self.name)
        return Rubric(metric=replace(metric, description=self.criteria, settings=self.settings), repeat=self.repeat)

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output, where each reply can be used."""
        return self.repeat or 1

    @property
    def fingerprint(self) -> str:
        """That of the rubric."""
        return self.rubric.fingerprint

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Whether the output meets the criterion; it passes or fails by that."""
        return await self.rubric(case, output, judge)


def check_criteria(name: str, criteria: Any) -> None:
    """Refuse criteria that say nothing.

    Raises:
        ConfigError: they are no text, or a blank one.
    """
    if not (isinstance(criteria, str) and criteria.strip()):
        raise ConfigError(f"{name}: `criteria` is {preview(criteria)}; say in a sentence what a good answer does.")
