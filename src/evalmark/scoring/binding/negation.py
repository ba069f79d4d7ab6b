"""A negated check: `not-contains` passes if `contains` fails."""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score


class PassFailScorer(Protocol):
    """A scorer whose scores pass or fail."""

    @property
    def name(self) -> str: ...

    is_check: ClassVar[bool]

    def __call__(self, case: Case, output: Output) -> Score: ...


@dataclass(frozen=True, slots=True)
class Not:
    """Pass if the check fails, and fail if it passes; an unscored result stays unscored.

    >>> from evalmark.scorers import Contains
    >>> Not(Contains(any="sorry"))(Case(id="1"), Output(value="Oslo")).passed
    True
    """

    is_check: ClassVar[bool] = True

    check: PassFailScorer

    @property
    def name(self) -> str:
        """`not-` and the name of the check."""
        return f"not-{self.check.name}"

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored, as the check says."""
        why = getattr(self.check, "lacks", None)
        return str(why(case)) if callable(why) else ""

    def __call__(self, case: Case, output: Output) -> Score:
        score = self.check(case, output)
        if score.passed is None or score.value is None:
            return replace(score, name=self.name)
        return replace(score, name=self.name, raw=not score.passed, value=1 - score.value, passed=not score.passed)
