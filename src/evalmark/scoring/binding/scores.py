"""The scores that checks give, and when a value meets a threshold."""

from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.score import Direction, Score

from .text import NO_EXPECTED

TOLERANCE = 1e-6
"""How far a value may miss a threshold and still meet it: a cosine of 0.9 is often stored as 0.8999999."""


def check_score(name: str, passed: bool, reason: str, **detail: Any) -> Score:
    """The score of a check: 1 or 0, and passed or not."""
    return Score(name=name, raw=passed, value=float(passed), passed=passed, reason=reason, detail=detail)


def unscored(name: str, reason: str, direction: Direction = "higher") -> Score:
    """The score of what cannot be judged, with the reason why."""
    return Score(name=name, status="unscored", direction=direction, reason=reason)


def missing_reference(case: Case) -> str:
    """That a case has nothing to compare with; empty where it has."""
    return "" if case.references else NO_EXPECTED


def is_barred(score: Score) -> bool:
    """Whether a liked example bars the output from passing, whatever the threshold, as the cosine rule has it."""
    return score.detail.get("barred") is True and "positive" in score.detail


def meets_threshold(value: float, threshold: float, direction: Direction = "higher") -> bool:
    """Whether a value reaches its threshold, or keeps to it where lower is better.

    >>> meets(0.8999999, 0.9), meets(0.3, 0.2, "lower")
    (True, False)
    """
    return value >= threshold - TOLERANCE if direction == "higher" else value <= threshold + TOLERANCE
