"""Which trials count towards the headline figure and the gate, and which stand beside it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from evalmark.core.values.case import Case
from evalmark.stats.inference.argument_checks import check_arguments

LeftOut = Literal["baseline", "invalid", "ungrounded"]
"""Why a trial is left out of the headline."""
REASONS: Mapping[LeftOut, str] = MappingProxyType(
    {"baseline": "baseline", "invalid": "not valid", "ungrounded": "of ungrounded rules"}
)
"""The same as it stands behind a number of tests."""
_ABOUT_A_RULE = ("ruleid", "rule")
"""Fields that the metadata of every test of a prompt have, if only as None."""


def left_out(case: Case) -> LeftOut | None:
    """Why the trials of a test stand beside the headline figure; None for all that count.

    That are baseline tests, tests whose input was found not to keep to the input specification, and tests of a rule that
    the prompt does not ground. Only tests of a prompt, whose metadata have a `rule` or a `ruleid`, can be marked so: a
    column `valid` of any other dataset means whatever its author wants.

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
    """How many trials are left out, and why.

    >>> describe_left_out({"invalid": 3, "baseline": 1_000})
    '1,000 baseline, 3 not valid'
    """
    return ", ".join(f"{counts[why]:,} {said}" for why, said in REASONS.items() if counts.get(why))
