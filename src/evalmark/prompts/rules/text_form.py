"""Rules that the output is a number, or in upper or lower case."""

import re
from dataclasses import dataclass
from typing import Literal

from evalmark.scoring.binding.text import preview

from .checks import CheckResult, Requirement, within_bounds
from .phrases import NUMBER, Clause, number_of

_NUMBER_ONLY = re.compile(
    rf"be\s+(?:only\s+|just\s+)*(?:a\s+|an\s+|one\s+)?(?:single\s+)?(?P<kind>(?:whole\s+)?number|integer)"
    rf"(?:\s+(?:(?:between\s+(?P<low>{NUMBER})\s+and|from\s+(?P<from>{NUMBER})\s+to)\s+(?P<high>{NUMBER})))?(?:\s+only|\s+and\s+nothing\s+else)?",
    re.IGNORECASE,
)
_LETTERS = re.compile(
    r"(?:be\s+(?:written\s+)?(?:entirely\s+|only\s+|all\s+)?(?:in\s+)?(?:all\s+)?(?:(?P<case>lower|upper)[- ]?case(?:\s+letters)?|(?P<capital>capital\s+letters))(?:\s+only)?|"
    r"(?:contain|use)\s+only\s+(?P<only>lower|upper)[- ]?case\s+letters)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberText:
    """The output is a number in digits, within bounds; a number in words or with other text is undecided.

    >>> NumberText(low=1, high=10)("11").reason
    "'11' is not from 1 to 10"
    """

    low: float | None = None
    high: float | None = None
    integer: bool = False
    is_whole: bool = True

    @property
    def description(self) -> str:
        kind = "a whole number" if self.integer else "a number"
        low, high = ("…" if bound is None else f"{bound:g}" for bound in (self.low, self.high))
        return kind if self.low is None and self.high is None else f"{kind} from {low} to {high}"

    def __call__(self, text: str) -> CheckResult:
        value = text.strip()
        if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", value) is None:
            many = len(value.split()) > 3 or not value
            return CheckResult(False if many else None, f"{preview(value)} is not only a number in digits")
        number = float(value)
        if self.integer and "." in value:
            return CheckResult(
                None if number.is_integer() else False, f"{preview(value)} is not a whole number in digits"
            )
        inside = within_bounds(number, self.low, self.high)
        return CheckResult(
            inside,
            f"{preview(value)} is {'' if inside else 'not '}{self.description.partition(' number ')[2] or 'a number'}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterCase:
    """All letters of the output are lower case, or all are upper case."""

    case: Literal["lower", "upper"]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return "in small letters" if self.case == "lower" else "in capital letters"

    def __call__(self, text: str) -> CheckResult:
        wrong = next((s for s in text if (s.isupper() if self.case == "lower" else s.islower())), None)
        return CheckResult(
            wrong is None, self.description if wrong is None else f"{preview(wrong)} is not {self.description}"
        )


def text_form_in(clause: Clause) -> Requirement | None:
    """Return what a clause requires of the output as a number, or of its case."""
    if clause.negated:
        return None
    if match := _LETTERS.fullmatch(clause.text):
        case: Literal["lower", "upper"] = (
            "lower" if (match["case"] or match["only"] or "").lower() == "lower" else "upper"
        )
        return Requirement((LetterCase(case=case),), is_whole=match["only"] is None)
    if match := _NUMBER_ONLY.fullmatch(clause.text):
        low = match["low"] or match["from"]
        bounds = (number_of(low), number_of(match["high"])) if low else (None, None)
        if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
            return None
        return Requirement((NumberText(low=bounds[0], high=bounds[1], integer=match["kind"].lower() != "number"),))
    return None
