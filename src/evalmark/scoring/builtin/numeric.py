"""A check that the output is the expected number, within a tolerance."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import check_score, missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview
from evalmark.scoring.matching.numbers import number_of, numbers_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric:
    """Check that the output is the expected number, within a tolerance.

    Args:
        abs: The largest allowed absolute difference, 0 or more.
        rel: The largest allowed difference as a share of the expected number, 0 or more. The larger tolerance counts.
        anywhere: Look for numbers inside the text; one of them must match. Otherwise the output must be only a number.

    Returns:
        A score that passes (1) or fails (0); `unscored` if the case has no expected number.

    Raises:
        ConfigError: `abs` or `rel` is not a number of at least 0.

    >>> Numeric(rel=0.1)(Case(id="1", expected="100"), Output(value="105")).reason
    'the output 105 is 5 off 100, and 10 is allowed'
    """

    name: ClassVar[str] = "numeric"
    is_check: ClassVar[bool] = True

    abs: float = 0.0
    rel: float = 1e-9
    anywhere: bool = False

    def __post_init__(self) -> None:
        for setting, value in (("abs", self.abs), ("rel", self.rel)):
            if not 0 <= value < math.inf:
                raise ConfigError(f"numeric: `{setting}` is {value!r}; it has to be a number of at least 0.")

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    def __call__(self, case: Case, output: Output) -> Score:
        expected_numbers = [number for value in case.references if (number := self._one(value)) is not None]
        if not expected_numbers:
            lacks = f"the expected answer {preview(case.references[0])} is not one number" if case.references else None
            return unscored(self.name, lacks or NO_EXPECTED)
        found = self._all(output.value)
        if not found:
            hint = "" if self.anywhere else "; set `anywhere` to look for one inside the text"
            return check_score(self.name, False, f"the output {preview(output.value)} is not a number{hint}")
        off, answer, expected = min((math.fabs(a - e) - self._room(e), a, e) for a in found for e in expected_numbers)
        room = self._room(expected)
        reason = f"the output {answer:z.12g} is {math.fabs(answer - expected):z.6g} off {expected:z.12g}"
        allowed = f", and {room:z.6g} is allowed" if room > math.fabs(expected) * 1e-9 else ""
        among = f" (the nearest of {count(len(found), 'number')})" if len(found) > 1 else ""
        return check_score(self.name, off <= 0, reason + allowed + among, found=answer, expected=expected)

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
