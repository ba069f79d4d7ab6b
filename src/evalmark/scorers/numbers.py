"""The answer is the right number, within a tolerance."""

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from evalmark.errors import ConfigError
from evalmark.scoring import NO_EXPECTED, checked, shown, unscored
from evalmark.values import Case, Output, Score, count

_NUMBER = r"[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+\u2212]?\.\d+(?:[eE][-+]?\d+)?"
_WHOLE = re.compile(_NUMBER, re.ASCII)
# Inside a text a number stands alone: digits joined to others by - / : . , are dates, times, ranges, versions.
_INSIDE = re.compile(rf"(?<![\w.])(?<!\d[-\u2212/:.,])(?:{_NUMBER})(?!\d)(?![-\u2212/:.,]\d)", re.ASCII)


def number_of(value: Any) -> float | None:
    """A number, or a text that is a number and nothing else, as a float; None for all others.

    >>> number_of("1,234.5"), number_of(" -3 "), number_of("$20"), number_of(True)
    (1234.5, -3.0, None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        return _finite(text) if _WHOLE.fullmatch(text) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _finite(value)
    return None


def numbers_in(text: str) -> list[float]:
    """The numbers of a text, each taken whole; dates, times, ranges and versions are no numbers.

    >>> numbers_in("It costs $20 (not $200), 1,000 in all, in version 1.2.3 of 2024-05-01, 10-20 km")
    [20.0, 200.0, 1000.0]
    """
    return [number for match in _INSIDE.finditer(text) if (number := _finite(match.group())) is not None]


def _finite(value: Any) -> float | None:
    try:
        number = float(value.replace(",", "").replace("\u2212", "-") if isinstance(value, str) else value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric:
    """The answer is the expected number, give or take; text around it counts as no number unless `anywhere` is set.

    >>> Numeric(rel=0.1)(Case(id="1", expected="100"), Output(value="105")).reason
    'the answer 105 is 5 off 100, and 10 is allowed'
    """

    name: ClassVar[str] = "numeric"
    is_check: ClassVar[bool] = True

    abs: float = 0.0
    """How far the answer may be off."""
    rel: float = 1e-9
    """The same as a share of the expected number; the larger of the two counts."""
    anywhere: bool = False
    """Look for numbers inside the text; one of them has to be right."""

    def __post_init__(self) -> None:
        for setting, value in (("abs", self.abs), ("rel", self.rel)):
            if not 0 <= value < math.inf:
                raise ConfigError(f"numeric: `{setting}` is {value!r}; it has to be a number of at least 0.")

    def __call__(self, case: Case, output: Output) -> Score:
        wanted = [number for value in case.liked if (number := self._one(value)) is not None]
        if not wanted:
            lacks = f"the expected answer {shown(case.liked[0])} is not one number" if case.liked else None
            return unscored(self.name, lacks or NO_EXPECTED)
        found = self._all(output.value)
        if not found:
            hint = "" if self.anywhere else "; set `anywhere` to look for one inside the text"
            return checked(self.name, False, f"the answer {shown(output.value)} is not a number{hint}")
        off, answer, expected = min((math.fabs(a - e) - self._room(e), a, e) for a in found for e in wanted)
        room = self._room(expected)
        reason = f"the answer {answer:.12g} is {math.fabs(answer - expected):.6g} off {expected:.12g}"
        allowed = f", and {room:.6g} is allowed" if room > math.fabs(expected) * 1e-9 else ""
        among = f" (the nearest of {count(len(found), 'number')})" if len(found) > 1 else ""
        return checked(self.name, off <= 0, reason + allowed + among, found=answer, expected=expected)

    def _room(self, expected: float) -> float:
        return max(self.abs, self.rel * math.fabs(expected))

    def _all(self, value: Any) -> list[float]:
        number = number_of(value)
        if number is not None:
            return [number]
        return numbers_in(value) if self.anywhere and isinstance(value, str) else []

    def _one(self, value: Any) -> float | None:
        found = self._all(value)
        return found[0] if len(found) == 1 else None
