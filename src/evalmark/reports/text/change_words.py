"""Signs and words for changes, the same in all reports.

Only what a test has decided is called better or worse, with a filled sign and a colour. How a single case changed is no such
finding: it has a hollow sign, words of its own and no colour. Files for machines keep the values of the comparison.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalmark.stats.comparison.change import Outcome
    from evalmark.stats.comparison.compared_cases import CaseOutcome

OUTCOME_SIGNS: Mapping["Outcome", str] = {"better": "▲", "worse": "▼", "same": "=", "cannot tell": "?"}
OUTCOME_WORDS: Mapping["Outcome", str] = {
    "better": "better",
    "worse": "worse",
    "same": "the same",
    "cannot tell": "cannot tell",
}
OUTCOME_KINDS: Mapping["Outcome", str] = {
    "better": "pass",
    "worse": "fail",
    "same": "ungated",
    "cannot tell": "unscored",
}
"""The kind of verdict whose colour an outcome has; `ungated` has none."""
CASE_SIGNS: Mapping["CaseOutcome | None", str] = {"worse": "▽", "better": "△", "same": "=", None: "?"}
"""Signs of a single case; None if it could not be compared."""
CASE_WORDS: Mapping["CaseOutcome | None", str] = {
    "worse": "regressed",
    "better": "improved",
    "same": "unchanged",
    None: "not compared",
}


def outcome_mark(outcome: "Outcome") -> str:
    """Return the sign and the word of a tested outcome.

    >>> outcome_mark("worse"), outcome_mark("same")
    ('▼ worse', '= the same')
    """
    return f"{OUTCOME_SIGNS[outcome]} {OUTCOME_WORDS[outcome]}"
