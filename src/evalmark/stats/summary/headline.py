"""Decides which trials count for the headline figure and the gate."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from evalmark.core.values.case import Case
from evalmark.stats.inference.argument_checks import check_arguments

LeftOut = Literal["baseline", "invalid", "ungrounded"]
"""Why a trial does not count for the headline figure."""
REASONS: Mapping[LeftOut, str] = MappingProxyType(
    {"baseline": "baseline", "invalid": "not valid", "ungrounded": "of ungrounded rules"}
)
"""The reasons as they follow a number of tests."""
_ABOUT_A_RULE = ("ruleid", "rule")
"""Metadata fields that every prompt test has, possibly as None."""


def left_out(case: Case) -> LeftOut | None:
    """Return why the trials of a test do not count for the headline figure; None if they count.

    Excluded are baseline tests, tests with an invalid input, and tests of a rule that the prompt does not
    contain. Only prompt tests, whose metadata have a `rule` or a `ruleid`, can be excluded: in other datasets a
    column `valid` can mean anything.

    >>> left_out(Case(id="1", metadata={"ruleid": 2, "valid": False})), left_out(Case(id="2", metadata={"valid": False}))
    ('invalid', None)
    """
    said = case.metadata
    if not any(name in said for name in _ABOUT_A_RULE):
        return None
    if said.get("baseline") is True or "baseline" in case.tags:
        return "baseline"
    if said.get("valid") is False:
        return "invalid"
    return "ungrounded" if said.get("grounded") is False else None


@check_arguments
def describe_left_out(counts: Mapping[LeftOut, int]) -> str:
    """Describe how many trials are left out, and why.

    >>> describe_left_out({"invalid": 3, "baseline": 1_000})
    '1,000 baseline, 3 not valid'
    """
    return ", ".join(f"{counts[why]:,} {said}" for why, said in REASONS.items() if counts.get(why))
