"""Which of two answers is the better one, asked in both orders, since judges lean towards one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview, text_of

from .builtin import check_criteria
from .delimiters import UntrustedText, untrusted_text
from .judge_calls import JudgeReply, ask_judge
from .judge_scores import NO_REASON, call_details, unusable_reply_score
from .measure import Measure, Option
from .question import Question, QuestionTemplate
from .rubric import NO_ANSWER, check_repeat, metric_slots, prompt_sections
from .template import common_prompt, load_prompt
from .verdict import Verdict, read_verdict

DEFAULT_CRITERIA = "The better answer is right, answers what was asked, and leaves out what does not belong there."
POSITIONS = ("first", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise:
    """Whether the answer is better than the expected one, or than another that the row brings along.

    1 where it is better, 0 where the other one is, 0.5 for a tie; the mean of both orders.

    >>> Pairwise(against="old_answer").name
    'pairwise'
    """

    name: ClassVar[str] = "pairwise"

    criteria: str = DEFAULT_CRITERIA
    """What makes an answer the better one, in your words."""
    against: str = ""
    """The field of the row's metadata that holds the other answer; empty: the expected answer."""
    repeat: int | None = None
    """How often the judge is asked in each order."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and the like, for the questions of this scorer."""
    judge: Any = field(default=None, repr=False)
    """A chat model that judges in place of the run's."""

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        check_repeat(self.name, self.repeat)
        if not isinstance(self.against, str):
            raise ConfigError(f"{self.name}: `against` is {preview(self.against)}; name a field of the rows' metadata.")

    @property
    def questions(self) -> int:
        """How many questions the judge is asked about one output, where each reply can be used."""
        return 2 * (self.repeat or 1)

    @property
    def fingerprint(self) -> str:
        """Changes with every word that a judge is told, and with the settings."""
        said = load_prompt(self.name).data
        own = (self.criteria, self.against, self.questions, self.settings)
        return fingerprint("pairwise-1", said, common_prompt().fingerprint, own)

    def lacks(self, case: Case) -> str:
        """Why no output of the case can be judged; empty where one can."""
        if not is_blank(self._other(case)):
            return ""
        return f"the row's metadata has no {self.against!r}" if self.against else NO_EXPECTED

    def _other(self, case: Case) -> Any:
        """The answer to compare with."""
        return case.metadata.get(self.against) if self.against else next(iter(case.references), None)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Which of the two the judge prefers; `unscored` where the row has no other answer."""
        if output.value is None and not output.tool_calls:
            return unscored(self.name, NO_ANSWER)
        if why := self.lacks(case):
            return unscored(self.name, why)
        other = self._other(case)
        heard: list[JudgeReply[Verdict]] = []
        questions = [self.question(case, output, other, place) for place in POSITIONS] * (self.questions // 2)
        for question in questions:
            material = [part.text for part in question.material]
            heard.append(await ask_judge(judge, question, partial(read_verdict, measure=_measure(), material=material)))
            if heard[-1].fault is not None:
                break
        detail = call_details(heard, judge.name, questions[0])
        if heard[-1].fault is not None:
            return unusable_reply_score(self.name, heard[-1], detail)
        return _combined_score(self.name, [one.found for one in heard if one.found is not None], detail)

    def question(self, case: Case, output: Output, other: Any, place: str) -> Question:
        """What the judge is asked, with the output in the first or in the second place."""
        texts = [text_of(output.value), text_of(other)]
        if place == "second":
            texts.reverse()
        material: dict[str, Sequence[UntrustedText]] = {}
        if case.input is not None:
            material["input"] = (untrusted_text("input", text_of(case.input)),)
        material["answers"] = [
            untrusted_text(f"{name} answer", text) for name, text in zip(POSITIONS, texts, strict=True)
        ]
        sheet = QuestionTemplate(
            sections=prompt_sections(self.name),
            form=common_prompt().forms["choice"],
            ours=metric_slots(self.name, self.criteria, _measure()),
            material=material,
        )
        return sheet.question(_measure().schema(), self.settings)


def _measure() -> Measure:
    said = load_prompt("pairwise").data["score"]
    options = {name: Option(row["worth"], row["meaning"]) for name, row in said["choices"].items()}
    return Measure(kind="choice", description=said["description"], options=options)


def _combined_score(name: str, verdicts: Sequence[Verdict], detail: Mapping[str, Any]) -> Score:
    """The mean of all orders; what the judge said stands in the detail, the output's place first, then second."""
    options = _measure().options
    worths = [options[verdict.raw].worth or 0.0 for verdict in verdicts]
    values = [worth if place % 2 == 0 else 1 - worth for place, worth in enumerate(worths)]
    first, second = values[::2], values[1::2]
    value = sum(values) / len(values)
    found: dict[str, Any] = {
        "verdict": [verdict.raw for verdict in verdicts],
        "order_consistent": first == second,
        **detail,
    }
    if len(first) > 1:
        found["flipped"] = len(set(first)) > 1 or len(set(second)) > 1
    return Score(name=name, raw=value, value=value, reason=_reason(verdicts, values), detail=found)


def _reason(verdicts: Sequence[Verdict], values: Sequence[float]) -> str:
    said = verdicts[0].reason.strip() or NO_REASON
    if values[0] == values[1]:
        return said
    words = {1.0: "the better one", 0.5: "as good as the other", 0.0: "the worse one"}
    return f"by the order: put first, the answer is {words[values[0]]}; put second, {words[values[1]]}; {said}"
