"""Six checks of an answer without a model: emptiness, contexts, citations, fallback phrases, relevance and lists."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import mean
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import check_score, unscored
from evalmark.scoring.binding.text import preview, text_of

from .rag import NO_CONTEXTS

FALLBACK_PHRASES = (
    "Unable to generate",
    "AI was unable to synthesize",
    "could not find relevant information",
    "No context retrieved",
    "No sufficient context",
)
"""Phrases of systems that found no answer."""
# fmt: off
LIST_TRIGGERS = (
    "list", "releases", "releasing", "release", "lineup", "schedule", "standings", "ranking", "table",
    "top", "currently", "current", "today", "upcoming", "fall", "spring", "summer", "winter",
)
# fmt: on
"""Words of a question that asks for a list."""
MIN_RELEVANCE = 0.25
"""The smallest mean of the retrieval scores."""
SCORES_KEY = "retrieval_scores"
"""The metadata key of an output or a row with the scores of its contexts."""

CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
CITATION = re.compile(r"\[\s*+\^?+\d++(?:\s*+[-–,;，、]\s*+\d++)*+\s*+\]")  # noqa: RUF001  commas of Chinese and Japanese
LIST_ITEM = re.compile(r"-(?![-\d])|\*(?=\s|[^*]+$)|•|\d+[.)](?!\d)|\|")
MAX_CITATION_DIGITS = 9
"""Digits of a citation that is read as a number; no answer has more contexts."""
MAX_LISTED_CITATIONS = 5


def _number(value: Any) -> float | None:
    """Return a finite Python or numpy number as a float; None for other values."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return None
    return number if math.isfinite(number) else None


def describe_type(value: Any) -> str:
    """Describe a value of the wrong type for a message, without running code of the value.

    >>> describe_type(None), describe_type(7), describe_type({"a": 1}), describe_type(10**400)
    ('None', '7', 'of type dict', 'a whole number that no float holds')
    """
    if type(value) is int and value.bit_length() > 1024:
        return "a whole number that no float holds"
    if value is None or type(value) in (bool, int, float):
        return repr(value)
    return preview(value) if type(value) is str else f"of type {type(value).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRules:
    """The settings of the answer quality checks.

    Args:
        min_relevance: The smallest mean of the retrieval scores.
        fallback_phrases: Phrases that mark an answer as a fallback; case is ignored.
        list_triggers: Words of a question that asks for a list; whole words count.

    Raises:
        ConfigError: A setting is invalid; the message names each fault.

    >>> QualityRules(min_relevance=0.4).min_relevance
    0.4
    """

    min_relevance: float = MIN_RELEVANCE
    fallback_phrases: Sequence[str] = FALLBACK_PHRASES
    list_triggers: Sequence[str] = LIST_TRIGGERS

    def __post_init__(self) -> None:
        faults = []
        limit = self.min_relevance
        if _number(limit) is None:
            faults.append(f"quality: `min_relevance` is {describe_type(limit)}; it has to be a finite number.")
        for setting, texts in (("fallback_phrases", self.fallback_phrases), ("list_triggers", self.list_triggers)):
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text.strip() for text in texts):
                faults.append(
                    f"quality: `{setting}` is {describe_type(texts)}; it has to be a list of texts, none of them empty."
                )
        if faults:
            raise ConfigError.of(faults)


DEFAULT_RULES = QualityRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityInput:
    """An answer with its question, its contexts and their retrieval scores."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    scores: tuple[float, ...] = ()
    """The retriever's relevance scores of the contexts."""

    @property
    def relevance(self) -> float | None:
        """The mean of the retrieval scores; None without any."""
        total = sum(self.scores)
        if not math.isfinite(total):
            return mean(self.scores)  # slow, and exact where the sum is beyond a float
        return total / len(self.scores) if self.scores else None


def find_issues(
    answered: QualityInput, rules: QualityRules = DEFAULT_RULES, *, strict_compat: bool = False
) -> list[str]:
    """Return the issues of an answer, in the order of the checks; empty if there are none.

    `strict_compat` gives the results of Auto-Analyst.

    >>> find_issues(QualityInput(question="Who?", answer="Ida Holm [2].", contexts=("Ida Holm built it.",)))
    ['Citation out of range: [2] (contexts: 1)']
    """
    low, phrase = answered.relevance, _fallback_phrase(answered.answer, rules.fallback_phrases)
    supported = answered.contexts if strict_compat else any(text.strip() for text in answered.contexts)
    wants_list, has_list = (_asks_for_list_compat, _has_list_compat) if strict_compat else (_asks_for_list, _has_list)
    limit = rules.min_relevance
    found = (
        (not answered.answer.strip(), "Answer is empty."),
        (not supported, "No supporting context retrieved."),
        *(_citation_issues_compat if strict_compat else _citation_issues)(answered),
        (phrase, f"Answer contains fallback phrase: '{phrase}'"),
        (low is not None and low < limit, f"Low retrieval relevance (avg: {low or 0:z.3f} < {limit})"),
        (
            wants_list(answered.question, rules.list_triggers) and not has_list(answered.answer),
            "Missing structured list format for a list-style question.",
        ),
    )
    return [issue for applies, issue in found if applies]


def _citation_issues(answered: QualityInput) -> list[tuple[bool, str]]:
    """Check for missing citations and citations without a context; text in code blocks is ignored."""
    groups = CITATION.findall(CODE.sub(" ", answered.answer))
    numbers = dict.fromkeys(number for group in groups for number in re.findall(r"\d+", group))
    beyond = [number for number in numbers if not _is_valid_citation(number, len(answered.contexts))]
    named = ", ".join(f"[{_short_number(number)}]" for number in beyond[:MAX_LISTED_CITATIONS])
    more = f" and {len(beyond) - MAX_LISTED_CITATIONS} more" if len(beyond) > MAX_LISTED_CITATIONS else ""
    plural = "s" if len(beyond) > 1 else ""
    return [
        (not groups, "Missing citations."),
        (bool(beyond), f"Citation{plural} out of range: {named}{more} (contexts: {len(answered.contexts)})"),
    ]


def _is_valid_citation(number: str, contexts: int) -> bool:
    """Return whether there is a context with this number, counted from 1."""
    return len(number) <= MAX_CITATION_DIGITS and 1 <= int(number) <= contexts


def _short_number(number: str) -> str:
    return number if len(number) <= MAX_CITATION_DIGITS else f"{number[:MAX_CITATION_DIGITS]}…"


def _citation_issues_compat(answered: QualityInput) -> list[tuple[bool, str]]:
    return [("[" not in answered.answer, "Missing citations.")]


def _fallback_phrase(answer: str, phrases: Iterable[str]) -> str | None:
    raw = answer.lower()
    return next((phrase for phrase in phrases if phrase.lower() in raw), None)


def _asks_for_list(question: str, triggers: Sequence[str]) -> bool:
    """Return whether a trigger is a whole word of the question; `top-level` does not match `top`, `top-10` does."""
    words = "|".join(map(re.escape, triggers))
    whole = rf"(?<!\w)(?<!\w-)(?:{words})(?!\w)(?!-[^\W\d])"
    return bool(triggers) and re.search(whole, question, re.IGNORECASE) is not None


def _asks_for_list_compat(question: str, triggers: Sequence[str]) -> bool:
    text = question.lower()
    return any(trigger.lower() in text for trigger in triggers)


def _has_list(answer: str) -> bool:
    """Return whether a line starts like a list item or a table row."""
    return any(LIST_ITEM.match(line.strip()) for line in answer.splitlines())


def _has_list_compat(answer: str) -> bool:
    return "-" in answer or "1." in answer


def parse_scores(scores: Any) -> tuple[tuple[float, ...], list[str]]:
    """Return retrieval scores as numbers, and what is wrong with them.

    >>> parse_scores([0.5, None])[1]
    ['retrieval_scores[1] is None; it has to be a finite number.']
    """
    if scores is None:
        return (), []
    if isinstance(scores, str | bytes | Mapping) or not isinstance(scores, Iterable):
        return (), [f"{SCORES_KEY} is {describe_type(scores)}; pass a list of numbers."]
    values = list(scores)
    read = [_number(value) for value in values]
    faults = [
        f"{SCORES_KEY}[{place}] is {describe_type(value)}; it has to be a finite number."
        for place, (value, number) in enumerate(zip(values, read, strict=True))
        if number is None
    ]
    return tuple(number for number in read if number is not None), faults


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerQuality(QualityRules):
    """Check an answer in six ways that need no model; the reason names the checks that failed.

    Retrieval scores are read from `retrieval_scores` in the metadata of the output, else of the row.

    Args:
        min_relevance: The smallest mean of the retrieval scores.
        fallback_phrases: Phrases that mark an answer as a fallback; case is ignored.
        list_triggers: Words of a question that asks for a list; whole words count.
        strict_compat: Give the results of Auto-Analyst instead.

    Returns:
        A score that passes (1) or fails (0); `unscored` without contexts.

    Raises:
        ConfigError: A setting is invalid; the message names each fault.

    >>> AnswerQuality()(Case(id="1", input="Who?", contexts=("Ida Holm",)), Output(value="Ida Holm.")).reason
    'Missing citations.'
    """

    name: ClassVar[str] = "quality"
    is_check: ClassVar[bool] = True

    strict_compat: bool = False

    def __call__(self, case: Case, output: Output) -> Score:
        contexts = case.contexts_of(output)
        if contexts is None:
            return unscored(self.name, NO_CONTEXTS)
        if output.value is not None and not isinstance(output.value, str):
            return unscored(self.name, f"the answer {preview(output.value)} is not a text")
        scores, faults = parse_scores(output.metadata.get(SCORES_KEY, case.metadata.get(SCORES_KEY)))
        if faults:
            return unscored(self.name, f"metadata: {faults[0].removesuffix('.')}")
        answered = QualityInput(
            question=text_of(case.input), answer=output.value or "", contexts=contexts, scores=scores
        )
        issues = find_issues(answered, self, strict_compat=self.strict_compat)
        fact = f"no issue with the answer {preview(answered.answer)}, {count(len(contexts), 'context')}"
        return check_score(
            self.name, not issues, "; ".join(issues) or fact, issues=issues, relevance=answered.relevance
        )
