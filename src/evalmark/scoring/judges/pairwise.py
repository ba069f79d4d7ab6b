"""A judge scorer that compares two answers in both orders, since judges prefer a position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from .rubric import NO_ANSWER, JudgeScorer, metric_slots, prompt_sections
from .template import common_prompt, load_prompt
from .verdict import Verdict, read_verdict

DEFAULT_CRITERIA = "The better answer is right, answers what was asked, and leaves out what does not belong there."
POSITIONS = ("first", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise(JudgeScorer):
    """Ask the judge whether the output is better than another answer.

    The score is 1 if the output is better, 0 if the other answer is, and 0.5 for a tie: the mean of both orders.

    Args:
        criteria: What makes an answer better.
        against: The metadata field of the row with the other answer; empty uses the expected answer.
        repeat: How often the judge is asked in each order, from 1 to 100; None asks once.
        settings: Request settings such as `temperature`.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1; `unscored` if the row has no other answer.

    Raises:
        ConfigError: A setting is invalid.

    >>> Pairwise(against="old_answer").name
    'pairwise'
    """

    name: ClassVar[str] = "pairwise"

    criteria: str = DEFAULT_CRITERIA
    against: str = ""

    def __post_init__(self) -> None:
        check_criteria(self.name, self.criteria)
        JudgeScorer.__post_init__(self)
        if not isinstance(self.against, str):
            raise ConfigError(f"{self.name}: `against` is {preview(self.against)}; name a field of the rows' metadata.")

    @property
    def questions(self) -> int:
        """Number of requests to the judge for one output if every reply is usable."""
        return 2 * (self.repeat or 1)

    @property
    def fingerprint(self) -> str:
        """A hash of the prompt and the settings."""
        texts = load_prompt(self.name).data
        own = (self.criteria, self.against, self.questions, self.settings)
        return fingerprint("pairwise-1", texts, common_prompt().fingerprint, own)

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        if not is_blank(self._other(case)):
            return ""
        return f"the row's metadata has no {self.against!r}" if self.against else NO_EXPECTED

    def _other(self, case: Case) -> Any:
        return case.metadata.get(self.against) if self.against else next(iter(case.references), None)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` if the row has no other answer."""
        if output.value is None and not output.tool_calls:
            return unscored(self.name, NO_ANSWER)
        if why := self.lacks(case):
            return unscored(self.name, why)
        other = self._other(case)
        replies: list[JudgeReply[Verdict]] = []
        questions = [self.question(case, output, other, position) for position in POSITIONS] * (self.questions // 2)
        for question in questions:
            material = [part.text for part in question.material]
            replies.append(
                await ask_judge(judge, question, partial(read_verdict, measure=_measure(), material=material))
            )
            if replies[-1].fault is not None:
                break
        detail = call_details(replies, judge.name, questions[0])
        if unusable := unusable_reply_score(self.name, replies[-1], detail):
            return unusable
        return _combined_score(self.name, [one.found for one in replies if one.found is not None], detail)

    def question(self, case: Case, output: Output, other: Any, position: str) -> Question:
        """Return the question to the judge, with the output in the first or second position."""
        texts = [text_of(output.value), text_of(other)]
        if position == "second":
            texts.reverse()
        material: dict[str, Sequence[UntrustedText]] = {}
        if case.input is not None:
            material["input"] = (untrusted_text("input", text_of(case.input)),)
        material["answers"] = [
            untrusted_text(f"{name} answer", text) for name, text in zip(POSITIONS, texts, strict=True)
        ]
        template = QuestionTemplate(
            sections=prompt_sections(self.name),
            form=common_prompt().forms["choice"],
            trusted=metric_slots(self.name, self.criteria, _measure()),
            material=material,
        )
        return template.question(_measure().schema(), self.settings)


def _measure() -> Measure:
    texts = load_prompt("pairwise").data["score"]
    options = {name: Option(row["worth"], row["meaning"]) for name, row in texts["choices"].items()}
    return Measure(kind="choice", description=texts["description"], options=options)


def _combined_score(name: str, verdicts: Sequence[Verdict], detail: Mapping[str, Any]) -> Score:
    """Return the mean over both orders; the detail lists the verdicts, the output's first position before the second."""
    options = _measure().options
    worths = [options[verdict.raw].worth or 0.0 for verdict in verdicts]
    values = [worth if position % 2 == 0 else 1 - worth for position, worth in enumerate(worths)]
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
    reason = verdicts[0].reason.strip() or NO_REASON
    if values[0] == values[1]:
        return reason
    words = {1.0: "the better one", 0.5: "as good as the other", 0.0: "the worse one"}
    return f"the order decided: in the first position the answer is {words[values[0]]}, in the second {words[values[1]]}; {reason}"
