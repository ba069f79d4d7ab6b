"""The result of a rule check, and the combination of several checks."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class CheckResult(NamedTuple):
    """Whether an output passes a check."""

    holds: bool | None
    """None if it cannot be decided."""
    reason: str


class RuleCheck(Protocol):
    """A rule, or a part of one, that can be checked by machine; equal rules give equal checks."""

    @property
    def description(self) -> str:
        """What is checked, in a few words."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether passing the check means following the rule; otherwise the rule asks for more."""
        ...

    def __call__(self, text: str) -> CheckResult:
        """Check an output."""
        ...


class Requirement(NamedTuple):
    """The checks derived from a part of a rule."""

    checks: tuple[RuleCheck, ...] = ()
    is_whole: bool = True
    """Whether the part asks for nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Several checks of one rule: it is broken if one fails, and followed if all pass."""

    checks: tuple[RuleCheck, ...]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return ", ".join(check.description for check in self.checks)

    def __call__(self, text: str) -> CheckResult:
        """Apply all checks; a failed one decides, then an undecided one."""
        found = [check(text) for check in self.checks]
        for holds in (False, None):
            if reasons := [finding.reason for finding in found if finding.holds is holds]:
                return CheckResult(holds, "; ".join(reasons))
        return CheckResult(True, "; ".join(finding.reason for finding in found))


def within_bounds(number: float, low: float | None, high: float | None) -> bool:
    """Return whether a number is within bounds; None: no bound on that side."""
    return (low is None or number >= low) and (high is None or number <= high)


def describe_bounds(low: int | None, high: int | None) -> str:
    """Describe bounds; at least one must be given.

    >>> describe_bounds(2, None), describe_bounds(0, 80), describe_bounds(3, 3), describe_bounds(0, 0)
    ('at least 2', 'at most 80', 'exactly 3', 'no')
    >>> describe_bounds(1_000, 2_000)
    '1,000 to 2,000'
    """
    if high is None:
        return f"at least {low:,}"
    if high == 0:
        return "no"
    if low == high:
        return f"exactly {high:,}"
    return f"{low:,} to {high:,}" if low else f"at most {high:,}"
