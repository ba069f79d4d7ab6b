"""The scoring of openai/evals: its basic classes, and its question to a model with choices."""

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Request
from evalmark.core.values.case import Case, Output, Turn
from evalmark.core.values.plain_data import fingerprint, plain
from evalmark.core.values.score import Score
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.scoring.binding.scores import check_score, unscored
from evalmark.scoring.binding.text import preview, text_of
from evalmark.scoring.judges.verdict import shorten_reason

Data = dict[str, Any]
MatchKind = Literal["match", "includes", "fuzzy_match", "f1_score", "json_match", "json_validator"]
MATCH_KINDS: tuple[MatchKind, ...] = ("match", "includes", "fuzzy_match", "f1_score", "json_match", "json_validator")
_SLOT = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_ANSWER_FORMS = {
    "classify": "Give exactly one of {choices} as the whole of your answer, without quotes, punctuation or other text.",
    "classify_cot": (
        "On the first line, give exactly one of {choices}, without quotes or punctuation. From the next line on, explain "
        "step by step why."
    ),
    "cot_classify": (
        "Think step by step first, and write your reasoning down before you state any answer. Then give exactly one of "
        "{choices}, without quotes or punctuation, on a line of its own, and repeat it alone on a last line.\n\nReasoning:"
    ),
    "cot_classify_jp": (
        "まず推論を一歩ずつ書き、最初に答えを述べないでください。次に、{choices}のうち一つだけを、引用符や句読点なしで"
        "単独の行に書き、最後の行でもその答えだけを繰り返してください。\n\n推論："  # noqa: RUF001  Japanese
    ),
}
"""The form in which the judge has to reply, for each `eval_type`."""
EVAL_TYPES = tuple(_ANSWER_FORMS)
_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "include": lambda line, choice: choice in line,
    "exact": lambda line, choice: line == choice,
    "endswith": lambda line, choice: line.endswith(choice),
    "starts_or_endswith": lambda line, choice: line.startswith(choice) or line.endswith(choice),
}
INVALID = "__invalid__"
_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryMatch:
    """Score as a basic class of openai/evals: an output with the ideal answers of a sample.

    Args:
        kind: `match`: the output begins with an ideal answer; `includes`: it has one; `fuzzy_match`: one has the other,
            without case, punctuation and articles; `f1_score`: the share of common words; `json_match`: it is the same
            JSON; `json_validator`: it is JSON.
        ignore_case: For `includes`: compare without case.

    Returns:
        A score that passes (1) or fails (0); for `f1_score` a number from 0 to 1 that neither passes nor fails.

    Raises:
        ConfigError: There is no such kind.

    >>> RegistryMatch(kind="match")(Case(id="1", expected="Oslo"), Output(value="Oslo, Norway")).passed
    True
    """

    kind: MatchKind
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.kind not in MATCH_KINDS:
            raise ConfigError(f"RegistryMatch: `kind` is {self.kind!r:.40}; it is one of {', '.join(MATCH_KINDS)}.")

    @property
    def name(self) -> str:
        return self.kind

    def __call__(self, case: Case, output: Output) -> Score:
        """Score one output."""
        text, ideals = text_of(output.value), [text_of(value) for value in case.liked]
        if self.kind == "json_validator":
            return check_score(self.name, _json(text) is not _NO_JSON, f"the output is {preview(text)}")
        if not ideals:
            return unscored(self.name, "the sample has no ideal answer")
        if self.kind == "f1_score":
            value = max(_f1(text, ideal) for ideal in ideals)
            return Score(name=self.name, raw=value, value=value, reason=f"F1 of words is {value:.3f}")
        matched = next((ideal for ideal in ideals if self._matches(text, ideal)), None)
        reason = f"the output is {preview(text)}, and " + (
            f"{preview(matched)} matches" if matched is not None else f"no ideal answer matches: {preview(ideals[0])}"
        )
        return check_score(self.name, matched is not None, reason)

    def _matches(self, text: str, ideal: str) -> bool:
        if self.kind == "match":
            return text.startswith(ideal)
        if self.kind == "includes":
            return ideal.lower() in text.lower() if self.ignore_case else ideal in text
        if self.kind == "fuzzy_match":
            one, other = " ".join(_words(text)), " ".join(_words(ideal))
            return one == other if not one or not other else one in other or other in one
        return _same_json(_json(text), _json(ideal))


_NO_JSON = object()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _same_json(found: Any, ideal: Any) -> bool:
    """Tell whether two values are equal part by part; a missing value and null equal nothing."""
    if found is None or ideal is None or found is _NO_JSON or ideal is _NO_JSON:
        return False
    if isinstance(found, dict) and isinstance(ideal, dict):
        return all(_same_json(found.get(key), ideal.get(key)) for key in found.keys() | ideal.keys())
    if isinstance(found, list) and isinstance(ideal, list):
        return len(found) == len(ideal) and all(map(_same_json, found, ideal))
    return bool(found == ideal)


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation and English articles."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def _f1(text: str, ideal: str) -> float:
    found, expected = Counter(_words(text)), Counter(_words(ideal))
    common = (found & expected).total()
    return 2 * common / (found.total() + expected.total()) if common else 0.0


@dataclass(frozen=True, kw_only=True)
class RegistryClassify:
    """Ask a judge the question of a model-graded eval of openai/evals, and read its choice as openai/evals does.

    Args:
        spec: The model-graded question: `prompt`, `choice_strings`, `choice_scores`.
        eval_type: The form in which the judge has to reply: `cot_classify`, `classify_cot`, `classify` or `cot_classify_jp`;
            empty if the prompt itself says it.
        args: Values for slots of the prompt that samples do not have.
        match_fn: How a line of the reply is compared with a choice: `include`, `exact`, `endswith`, `starts_or_endswith`.
        settings: Request settings such as `temperature`.
        name: The name of the score.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score whose `raw` is that of the choice, and `value` the share of the way from the lowest to the highest score;
        it passes at the highest score if the only scores are 0 and 1. Without `choice_scores`, `raw` is the choice. A
        reply without a choice has the lowest score.

    Raises:
        ConfigError: The question cannot be asked.
    """

    unit: ClassVar[str] = "choice"

    spec: Mapping[str, Any]
    eval_type: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    match_fn: str = "starts_or_endswith"
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "classify"
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            worths = worths_of(self.spec)
        except ValueError as error:
            raise ConfigError(f"RegistryClassify: {error}.") from None
        if not isinstance(self.spec.get("prompt"), (str, list)) or not worths:
            raise ConfigError("RegistryClassify: the question has no prompt or no choices.")
        for value, known in ((self.eval_type, ("", *EVAL_TYPES)), (self.match_fn, tuple(_MATCHES))):
            if value not in known:
                raise ConfigError(f"RegistryClassify: {value!r:.40} is not one of {', '.join(filter(None, known))}.")

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides a score."""
        parts = (self.spec, self.eval_type, self.args, self.match_fn, self.settings)
        return fingerprint("registry-classify-1", *parts)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output."""
        try:
            messages = self._messages(case, output)
        except KeyError as missing:
            return unscored(self.name, f"the sample has no {missing.args[0]}, which the question shows")
        reply = await judge(Request(messages=messages, settings=self.settings))
        worths = worths_of(self.spec)
        choice = read_choice(reply.text, [*worths], str(self.spec.get("eval_type") or self.eval_type), self.match_fn)
        return _score(
            self.name, choice, worths, reply.text, {"judge": judge.name, "calls": [reply.key] if reply.key else []}
        )

    def _messages(self, case: Case, output: Output) -> tuple[Turn, ...]:
        prompt = self.spec["prompt"]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        values = sample_values(case, output) | dict(self.args)
        texts = [fill_question(str(message.get("content", "")), values) for message in messages]
        if self.eval_type:
            choices = " or ".join(f'"{choice}"' for choice in worths_of(self.spec))
            texts[-1] += "\n\n" + _ANSWER_FORMS[self.eval_type].replace("{choices}", choices)
        return tuple(
            Turn(role=str(message.get("role", "user")), content=text)
            for message, text in zip(messages, texts, strict=True)
        )


def _score(name: str, choice: str, worths: Mapping[str, float | None], text: str, detail: Data) -> Score:
    """Return the score of a choice; one that could not be read has the lowest score."""
    known = [worth for worth in worths.values() if worth is not None]
    found = {"choice": choice, "said": text[:4_096], **detail}
    reason = shorten_reason(text.strip()) if choice != INVALID else "the reply has none of the choices"
    if len(known) < len(worths):
        return Score(name=name, raw=choice, reason=reason, detail=found)
    low, high = min(known), max(known)
    raw = low if choice == INVALID else worths[choice]
    value = 0.0 if raw is None or low == high else (raw - low) / (high - low)
    return Score(
        name=name,
        raw=raw,
        value=value,
        passed=raw == 1.0 if set(known) == {0.0, 1.0} else None,
        reason=reason,
        detail=found,
    )


def worths_of(spec: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the score of each choice; None for all of them if the question gives no scores.

    Raises:
        ValueError: a choice has no score, or the choices depend on the number of outputs.
    """
    words, scores = spec.get("choice_strings"), spec.get("choice_scores")
    if isinstance(words, str) and words.startswith("from_n"):
        raise ValueError("its choices are outputs of several models")
    choices = [str(word) for word in (words if isinstance(words, str) else list_or_empty(words))]
    if scores == "from_strings":
        if not all(choice.replace(".", "", 1).isdigit() for choice in choices):
            raise ValueError("its choices are scores, and one is not a number")
        return {choice: float(choice) for choice in choices}
    if scores is None:
        return dict.fromkeys(choices)
    given = {str(key): value for key, value in dict_or_empty(scores).items()}
    found: dict[str, float | None] = {choice: float(v) for choice in choices if is_number(v := given.get(choice))}
    if len(found) < len(choices):
        raise ValueError("one of its choices has no score")
    return found


def read_choice(text: str, choices: Sequence[str], eval_type: str, match_fn: str) -> str:
    r"""Return the choice in a reply: the first line with one, the last one if the reasoning comes first.

    >>> read_choice("It is fine.\nYes.", ["Yes", "No"], "cot_classify", "starts_or_endswith")
    'Yes'
    """
    lines = text.strip().split("\n")
    for line in reversed(lines) if eval_type.startswith("cot_classify") else lines:
        bare = "".join(letter for letter in line.strip() if letter not in string.punctuation)
        for choice in choices if bare else ():
            if _MATCHES[match_fn](bare, choice):
                return choice
    return INVALID


def fill_question(template: str, values: Mapping[str, Any]) -> str:
    """Fill the `{slots}` of a question; double braces are single ones.

    Raises:
        KeyError: a slot has no value.
    """

    def text(slot: re.Match[str]) -> str:
        if slot[1] is None:
            return slot[0][0]
        value = values[slot[1]]
        return value if isinstance(value, str) else str(value)

    return _SLOT.sub(text, template)


def slots_of(prompt: Any) -> set[str]:
    """Return the names of the slots of a question, which is a text or a list of messages."""
    texts = (
        [prompt]
        if isinstance(prompt, str)
        else [str(dict_or_empty(one).get("content")) for one in list_or_empty(prompt)]
    )
    return {slot[1] for text in texts for slot in _SLOT.finditer(text) if slot[1] is not None}


def sample_values(case: Case, output: Output) -> Data:
    """Return the values of a question's slots: the keys of the sample, and the output as `completion`."""
    liked = [plain(value) for value in case.liked]
    values: Data = {"id": case.id, **plain(case.metadata)}
    if liked:
        values["ideal"] = liked[0] if len(liked) == 1 else liked
    turns = [(turn.role, text_of(turn.content)) for turn in case.history]
    if case.input is not None:
        turns.append(("user", text_of(case.input)))
    return values | {"input": chat_text(turns), "completion": text_of(output.value)}


def chat_text(turns: Sequence[tuple[str, str]]) -> str:
    """Return messages as one text, each but a system message with its role; a single one without."""
    if len(turns) == 1:
        return turns[0][1]
    return "".join(f"{'' if role == 'system' else f'{role.capitalize()}: '}{text}\n" for role, text in turns).lstrip()
