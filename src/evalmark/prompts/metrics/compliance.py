"""A judge scorer: whether an output follows the rules of its prompt. One question, one verdict per rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Reply
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.texts import load_texts
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import preview, text_of
from evalmark.scoring.judges.delimiters import untrusted_text
from evalmark.scoring.judges.judge_calls import ask_repeatedly
from evalmark.scoring.judges.judge_scores import NO_REASON, call_details, unusable_reply_score
from evalmark.scoring.judges.measure import REASON, object_schema
from evalmark.scoring.judges.question import Question, QuestionTemplate
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value, list_under, reply_object
from evalmark.scoring.judges.rubric import NO_ANSWER, JudgeScorer
from evalmark.scoring.judges.template import common_prompt
from evalmark.scoring.judges.verdict import shorten_reason

from .metric_question import input_text

RuleOutcome = Literal["ok", "err", "unscored"]
VERDICTS_KEY = "verdicts"
WORDS: Mapping[str, RuleOutcome] = {"OK": "ok", "ERR": "err", "UNSURE": "unscored"}
"""The judge's verdicts on a rule, and their names in a score's detail."""
ROW = object_schema({"rule": {"type": "integer"}, "verdict": {"type": "string", "enum": list(WORDS)}})
SCHEMA = object_schema({REASON: {"type": "string"}, VERDICTS_KEY: {"type": "array", "items": ROW}})


class RuleVerdict(NamedTuple):
    """The verdicts of a judge on all rules."""

    outcomes: tuple[RuleOutcome, ...]
    """One verdict per rule, in the order of the rules."""
    reason: str = ""

    @property
    def whole(self) -> RuleOutcome:
        """`err` if a rule is broken, `ok` if all are followed, else `unscored`."""
        return next((word for word in ("err", "unscored") if word in self.outcomes), "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance(JudgeScorer):
    """Ask the judge, rule by rule, whether the output follows the rules of the prompt under test.

    The judge is shown the prompt, its input specification, the rules, the input and the output. Without rules, the prompt
    itself is the only rule.

    >>> Compliance().name
    'compliance'
    """

    name: ClassVar[str] = "compliance"
    needs_spec: ClassVar[bool] = True

    spec: PromptSpec | None = None
    """The prompt under test with its rules; set by a run of a prompt."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules to check."""
        return (self.spec.rules if self.spec is not None else ()) or (load_texts("metrics", self.name)["whole"],)

    @property
    def fingerprint(self) -> str:
        """A hash of the prompt texts, the prompt under test with its rules, and the settings."""
        spec = "" if self.spec is None else self.spec.fingerprint
        return fingerprint(
            "compliance-1",
            load_texts("metrics", self.name),
            common_prompt().fingerprint,
            spec,
            self.questions,
            self.settings,
        )

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `unscored` without an output, or if the judge is unsure about a rule.

        Raises:
            ConfigError: There is no prompt under test.
        """
        if output.value is None and not output.tool_calls:
            return unscored(self.name, NO_ANSWER)
        question = self.question(case, output)
        read = partial(read_rule_verdicts, rules=len(self.rules), material=[part.text for part in question.material])
        replies = await ask_repeatedly(judge, question, read, self.questions)
        detail = call_details(replies, judge.name, question)
        if unusable := unusable_reply_score(self.name, replies[-1], detail):
            return unusable
        return _combined_score(self.rules, [one.found for one in replies if one.found is not None], detail)

    def question(self, case: Case, output: Output) -> Question:
        """Return the question to the judge about an output.

        Raises:
            ConfigError: There is no prompt under test.
        """
        if self.spec is None:
            raise ConfigError(f"{self.name} needs a prompt under test; name one as the target.")
        listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(self.rules, 1))
        found = {
            "prompt": untrusted_text("prompt", self.spec.body),
            "input_spec": untrusted_text("input specification", "\n".join(self.spec.input_spec)),
            "rules": untrusted_text("rules", listed),
            "input": untrusted_text("input", input_text(case.input)),
            "output": untrusted_text("output", text_of(output.value)),
        }
        material = {slot: (part,) for slot, part in found.items() if part.text or slot == "output"}
        texts = load_texts("metrics", self.name)
        return QuestionTemplate(sections=texts["sections"], form=texts["form"], trusted={}, material=material).question(
            SCHEMA, self.settings
        )


def read_rule_verdicts(reply: Reply, rules: int, material: Sequence[str] = ()) -> RuleVerdict | ReplyFault:
    """Return the verdicts in a reply, or what is wrong with them; each rule must occur exactly once.

    >>> read_rule_verdicts(Reply(text='{"reason": "long", "verdicts": [{"rule": 1, "verdict": "ERR"}]}'), 1)
    RuleVerdict(outcomes=('err',), reason='long')
    """
    found = reply_object(reply, VERDICTS_KEY, material)
    if isinstance(found, ReplyFault):
        return found
    rows, reason = list_under(found, VERDICTS_KEY), found.get(REASON)
    if isinstance(rows, ReplyFault):
        return rows
    if not (reason is None or isinstance(reason, str)):
        return ReplyFault(f"`{REASON}` is {describe_reply_value(reason)}, not a text")
    by_rule: dict[int, RuleOutcome] = {}
    for place, row in enumerate(rows, 1):
        if fault := _add_verdict(by_rule, row, place, rules):
            return fault
    if missing := [number for number in range(1, rules + 1) if number not in by_rule]:
        return ReplyFault(f"there is no verdict on rule {missing[0]}")
    return RuleVerdict(tuple(by_rule[number] for number in range(1, rules + 1)), shorten_reason(reason or ""))


def _add_verdict(by_rule: dict[int, RuleOutcome], row: Any, place: int, rules: int) -> ReplyFault | None:
    if not isinstance(row, Mapping):
        return ReplyFault(f"verdict {place} is {describe_reply_value(row)}, not an object")
    number, word = row.get("rule"), row.get("verdict")
    if isinstance(number, bool) or not isinstance(number, int):
        return ReplyFault(f"`rule` of verdict {place} is {describe_reply_value(number)}, not the number of a rule")
    if not 1 <= number <= rules:
        return ReplyFault(
            f"verdict {place} is on rule {describe_reply_value(number)}, and there are {rules}", "judge_range"
        )
    if not (isinstance(word, str) and word in WORDS):
        return ReplyFault(f"`verdict` on rule {number} is {describe_reply_value(word)}, not one of {', '.join(WORDS)}")
    if by_rule.setdefault(number, WORDS[word]) != WORDS[word]:
        return ReplyFault(f"there are two different verdicts on rule {number}", "judge_inconsistent")
    return None


def _combined_score(rules: Sequence[str], verdicts: Sequence[RuleVerdict], detail: Mapping[str, Any]) -> Score:
    whole = [verdict.whole for verdict in verdicts]
    value = whole.count("ok") / len(whole)
    usual: RuleOutcome = "unscored" if "unscored" in whole else "ok" if value > 0.5 else "err"
    chosen = verdicts[whole.index(usual)]
    listed = [
        {"rule": number, "text": rule, "verdict": outcome}
        for number, (rule, outcome) in enumerate(zip(rules, chosen.outcomes, strict=True), 1)
    ]
    found: dict[str, Any] = {"verdict": usual, **detail, "rules": listed}
    if len(whole) > 1:
        found |= {"verdicts": whole, "flipped": len(set(whole)) > 1}
    reason = _reason(rules, chosen)
    if found.get("flipped"):
        reason = f"asked {count(len(whole), 'time')}, the judge said {', '.join(whole)}; {reason}"
    name = Compliance.name
    if "unscored" in whole:  # a mean over the decided verdicts only would be biased
        return Score(name=name, status="unscored", reason=reason, detail={**found, "unscored": "judge_abstained"})
    return Score(name=name, raw=value > 0.5, value=value, passed=value > 0.5, reason=reason, detail=found)


def _reason(rules: Sequence[str], verdict: RuleVerdict) -> str:
    """Return which rules are broken, and the judge's reason."""
    judge_reason = verdict.reason.strip() or NO_REASON
    for word, opening in (("err", "breaks"), ("unscored", "cannot be judged by")):
        numbers = [number for number, outcome in enumerate(verdict.outcomes, 1) if outcome == word]
        if numbers:
            named = ", ".join(f"rule {number} ({preview(rules[number - 1])})" for number in numbers)
            return f"{opening} {named}: {judge_reason}"
    all_of_them = "its rule" if len(rules) == 1 else f"all {len(rules)} rules"
    return f"follows {all_of_them}: {judge_reason}"
