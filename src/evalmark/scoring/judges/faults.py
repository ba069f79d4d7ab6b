"""What can be wrong with a judge's reply."""

from typing import Any, Literal, NamedTuple

FaultKind = Literal["judge_parse", "judge_range", "judge_refused", "judge_inconsistent", "judge_truncated"]
MAX_QUOTED_CHARS = 12
"""Characters of a text that are repeated; an order to a judge needs more."""


class ReplyFault(NamedTuple):
    """Why a reply gives no verdict."""

    kind: FaultKind
    sentence: str
    """In words that the judge is told too, so that of a reply's own words no more than a few letters stand in it."""


def describe_reply_value(value: Any) -> str:
    """A value of a reply, as a fault names it.

    >>> worded("7/10"), worded(True), worded(None), worded(0.5), worded("x" * 20), worded([1])
    ("the text '7/10'", 'true', 'null', '0.5', 'a text of 20 characters', 'a list')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return f"{value}" if abs(value) < 1e12 or isinstance(value, float) else "a number of many digits"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= MAX_QUOTED_CHARS else f"a text of {len(value):,} characters"
    return "a list" if isinstance(value, list) else "an object"
