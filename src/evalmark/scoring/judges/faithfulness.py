"""A judge scorer: which claims of an output its contexts support."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Reply
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import preview, text_of

from .judge_calls import ask_repeatedly
from .judge_scores import call_details, unusable_reply_score
from .measure import REASON, object_schema
from .question import Question, QuestionTemplate, material_of
from .replies import ReplyFault, describe_reply_value, list_under, reply_object
from .rubric import JudgeScorer, prompt_sections
from .template import common_prompt, load_prompt
from .verdict import shorten_reason

CLAIM = object_schema(
    {
        "claim": {"type": "string"},
        REASON: {"type": "string"},
        "context": {"type": "integer"},
        "supported": {"type": "boolean"},
    }
)
SCHEMA = object_schema({"claims": {"type": "array", "items": CLAIM}})


class Claim(NamedTuple):
    """One statement of an output."""

    text: str
    supported: bool
    context: int
    """The number of the context that decides, from 1; 0 if none does."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness(JudgeScorer):
    """Measure the share of the output's claims that its contexts support. The judge lists and judges the claims.

    Args:
        repeat: How often the judge is asked about each output, from 1 to 100; None asks once.
        settings: Request settings such as `temperature`.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1 with the claims in its detail; `unscored` without contexts, output or claims.

    Raises:
        ConfigError: `repeat` is not a whole number from 1 to 100.

    >>> Faithfulness().name
    'faithfulness'
    """

    name: ClassVar[str] = "faithfulness"
    needs_contexts: ClassVar[bool] = True

    @property
    def fingerprint(self) -> str:
        """A hash of the prompt and the settings."""
        texts = load_prompt(self.name).data
        return fingerprint("faithfulness-1", texts, common_prompt().fingerprint, self.questions, self.settings)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` without contexts, output or claims."""
        contexts = case.contexts_of(output) or ()
        if all(map(is_blank, contexts)):
            return unscored(self.name, "there are no contexts")
        if is_blank(text_of(output.value)):
            return unscored(self.name, "the answer is empty")
        question = self.question(case, output)
        material = [part.text for part in question.material]
        read = partial(read_claims, contexts=len(contexts), material=material)
        replies = await ask_repeatedly(judge, question, read, self.questions)
        detail = call_details(replies, judge.name, question)
        if unusable := unusable_reply_score(self.name, replies[-1], detail):
            return unusable
        return _claims_score(self.name, [one.found or () for one in replies], detail)

    def question(self, case: Case, output: Output) -> Question:
        """Return the question to the judge about an output."""
        material = material_of(case, output, expected=False, history=False)
        template = QuestionTemplate(
            sections=prompt_sections(self.name), form=load_prompt(self.name).data["form"], trusted={}, material=material
        )
        return template.question(SCHEMA, self.settings)


def read_claims(reply: Reply, contexts: int, material: Sequence[str] = ()) -> tuple[Claim, ...] | ReplyFault:
    """Return the claims in a reply, or what is wrong with them; `contexts` is the number of contexts shown.

    A supported claim must name an existing context.
    """
    found = reply_object(reply, "claims", material)
    if isinstance(found, ReplyFault):
        return found
    rows = list_under(found, "claims")
    if isinstance(rows, ReplyFault):
        return rows
    claims = [_claim(row, number, contexts) for number, row in enumerate(rows, 1)]
    return next((c for c in claims if isinstance(c, ReplyFault)), None) or tuple(
        c for c in claims if isinstance(c, Claim)
    )


def _claim(row: Any, number: int, contexts: int) -> Claim | ReplyFault:
    if not isinstance(row, Mapping):
        return ReplyFault(f"claim {number} is {describe_reply_value(row)}, not an object")
    text, supported, context = row.get("claim"), row.get("supported"), row.get("context")
    if not (isinstance(text, str) and text.strip()):
        return ReplyFault(f"claim {number} has no text under `claim`")
    if not isinstance(supported, bool):
        return ReplyFault(f"`supported` of claim {number} is {describe_reply_value(supported)}, not true or false")
    if isinstance(context, bool) or not isinstance(context, int):
        return ReplyFault(
            f"`context` of claim {number} is {describe_reply_value(context)}, not the number of a passage"
        )
    if not 0 <= context <= contexts:
        wrong = f"claim {number} names passage {describe_reply_value(context)}, and there are {contexts}"
        return ReplyFault(wrong, "judge_inconsistent")
    if supported and not context:
        return ReplyFault(f"claim {number} is supported, and by no passage", "judge_inconsistent")
    reason = row.get(REASON)
    return Claim(text.strip(), supported, context, shorten_reason(reason) if isinstance(reason, str) else "")


def _claims_score(name: str, answers: Sequence[Sequence[Claim]], detail: Mapping[str, Any]) -> Score:
    claims = answers[0]
    if not all(answers):
        reason = "the judge found no claim in the answer"
        return Score(name=name, status="unscored", reason=reason, detail={**detail, "unscored": "judge_abstained"})
    shares = [sum(claim.supported for claim in claims) / len(claims) for claims in answers]
    value = sum(shares) / len(shares)
    several = {"verdicts": shares, "flipped": len(set(shares)) > 1} if len(shares) > 1 else {}
    listed = [
        {"claim": shorten_reason(c.text), "supported": c.supported, "context": c.context, "reason": c.reason}
        for c in claims
    ]
    return Score(
        name=name,
        raw=value,
        value=value,
        reason=_reason(claims, len(answers)),
        detail={"verdict": shares[0], **several, **detail, "claims": listed},
    )


def _reason(claims: Sequence[Claim], times: int) -> str:
    missing = [claim for claim in claims if not claim.supported]
    fact = f"{len(claims) - len(missing)} of {count(len(claims), 'claim')} supported"
    first = f"asked {count(times, 'time')}; the first time " if times > 1 else ""
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"{first}{fact}" + (f"; not {preview(missing[0].text)}{more}" if missing else "")
