"""What a check finds out about an output, and what is read out of a rule."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class CheckResult(NamedTuple):
    """Whether a check holds for an output."""

    holds: bool | None
    """None where that cannot be told."""
    reason: str


class RuleCheck(Protocol):
    """A rule, or a part of one, that a machine can check; equal rules give equal checks."""

    @property
    def says(self) -> str:
        """What is checked, in a few words."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether an output for which the check holds keeps to the rule; otherwise the rule asks for more than that."""
        ...

    def __call__(self, text: str) -> CheckResult:
        """Hold an output against it."""
        ...


class Requirement(NamedTuple):
    """What is read out of a part of a rule."""

    checks: tuple[RuleCheck, ...] = ()
    is_whole: bool = True
    """Whether the part asks for nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Several checks of one rule: broken where one is, and kept where all are."""

    checks: tuple[RuleCheck, ...]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """All of them."""
        return ", ".join(check.says for check in self.checks)

    def __call__(self, text: str) -> CheckResult:
        """Hold the output against each; what is broken decides, then what cannot be told."""
        found = [check(text) for check in self.checks]
        for holds in (False, None):
            if reasons := [finding.reason for finding in found if finding.holds is holds]:
                return CheckResult(holds, "; ".join(reasons))
        return CheckResult(True, "; ".join(finding.reason for finding in found))


def within_bounds(number: int, low: int | None, high: int | None) -> bool:
    """Whether a number is within bounds; None: there is none on that side."""
    return (low is None or number >= low) and (high is None or number <= high)


def describe_bounds(low: int | None, high: int | None) -> str:
    """The bounds in words; one of them is given.

    >>> describe_bounds(2, None), describe_bounds(0, 80), describe_bounds(3, 3), describe_bounds(1_000, 2_000), describe_bounds(0, 0)
    ('at least 2', 'at most 80', 'exactly 3', '1,000 to 2,000', 'no')
    """
    if high is None:
        return f"at least {low:,}"
    if high == 0:
        return "no"
    if low == high:
        return f"exactly {high:,}"
    return f"{low:,} to {high:,}" if low else f"at most {high:,}"
