"""A metric file as a scorer: it asks a judge the file's question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Direction, Score
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import NO_EXPECTED

from .judge_scores import score_output
from .measure import Measure
from .metric import MAX_REPEATS, MetricFile
from .question import Question, QuestionTemplate, material_of
from .template import common_prompt, load_prompt, one_line
from .verdict import read_verdict
from .weighting import TOP_LOGPROBS

NO_ANSWER = "the target returned None; is a `return` missing?"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeScorer:
    """The base of scorers that ask a judge a fixed question."""

    name: ClassVar[str]

    repeat: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_repeat(self.name, self.repeat)

    @property
    def questions(self) -> int:
        """Number of requests to the judge for one output if every reply is usable."""
        return self.repeat or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScorer:
    """The base of scorers that ask a judge the question of a metric."""

    metric: MetricFile
    repeat: int | None = None
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_repeat(self.metric.name, self.repeat)

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def unit(self) -> str:
        return self.metric.measure.unit

    @property
    def direction(self) -> Direction:
        """Whether higher or lower values are better."""
        return self.metric.direction

    @property
    def default_threshold(self) -> float | None:
        return self.metric.threshold

    @property
    def questions(self) -> int:
        """Number of requests to the judge for one output if every reply is usable."""
        return self.metric.repeat if self.repeat is None else self.repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric(MetricScorer):
    """Ask a judge the question of a metric file.

    Args:
        metric: The metric.
        repeat: How often the judge is asked about each output, from 1 to 100; None uses the metric's number.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1; `unscored` if the metric needs an expected answer that the case lacks, or no reply can be used.

    Raises:
        ConfigError: `repeat` is not a whole number from 1 to 100.

    >>> from evalmark.scoring.judges.measure import Measure
    >>> from evalmark.judges import MetricFile
    >>> polite = MetricFile(name="polite", description="Is it polite?", measure=Measure(kind="scale", low=1, high=5))
    >>> Rubric(metric=polite).unit
    '1..5'
    """

    @property
    def needs_history(self) -> bool:
        """Whether each row is judged as a turn of a conversation."""
        return self.metric.needs_history

    @property
    def needs_example_output(self) -> bool:
        """Whether a case needs an expected answer."""
        return self.metric.needs_example_output

    @property
    def fingerprint(self) -> str:
        """A hash of the metric, the prompt texts and the number of questions."""
        shipped = "" if self.metric.template else fingerprint(load_prompt("rubric").data)
        return fingerprint("rubric-1", self.metric.fingerprint, common_prompt().fingerprint, shipped, self.questions)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` without the expected answer that the metric needs."""
        metric = self.metric
        if output.value is None and not output.tool_calls:
            return unscored(metric.name, NO_ANSWER, metric.direction)
        if metric.needs_example_output and not case.references:
            return unscored(metric.name, NO_EXPECTED, metric.direction)
        question = self.question(case, output)
        material = [part.text for part in question.material]
        lower = metric.direction == "lower"
        read = partial(read_verdict, measure=metric.measure, material=material, lower=lower)
        return await score_output(judge, question, read, metric, self.questions)

    def question(self, case: Case, output: Output) -> Question:
        """Return the question to the judge about an output."""
        metric = self.metric
        template = QuestionTemplate(
            sections=metric.template or prompt_sections("rubric"),
            form=common_prompt().forms[form_name(metric.measure)],
            trusted=metric_slots(metric.name, metric.description, metric.measure),
            material=material_of(case, output, expected=metric.needs_example_output, history=metric.needs_history),
        )
        logprobs = TOP_LOGPROBS if metric.weighted else 0
        return template.question(metric.measure.schema(), metric.settings, logprobs)


def prompt_sections(name: str) -> Sequence[str]:
    sections: Sequence[str] = load_prompt(name).data["sections"]
    return sections


def form_name(measure: Measure) -> str:
    """Return which reply form asks for a verdict of this measure."""
    return measure.kind if measure.words is None else "words"


def metric_slots(name: str, description: str, measure: Measure) -> Mapping[str, str]:
    """Return the values of the slots that evalmark and the metric's author fill."""
    yes, no = measure.words or ("", "")
    return {
        "name": one_line(name),
        "description": description.strip(),
        "score": measure.description.strip(),
        "low": str(measure.low),
        "high": str(measure.high),
        "yes": yes,
        "no": no,
        "options": "\n".join(f"{n}: {one_line(o.meaning)}".rstrip(": ") for n, o in measure.options.items()),
    }


def check_repeat(name: str, repeat: Any) -> None:
    """Raise an error for an invalid number of repeats.

    Raises:
        ConfigError: It is not a whole number from 1 to 100.
    """
    if repeat is not None and (
        isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= MAX_REPEATS
    ):
        raise ConfigError(f"{name}: `repeat` is {repeat!r}; it has to be a whole number from 1 to {MAX_REPEATS}.")
