"""Builds the scores of checks, and compares values with thresholds."""

from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.score import Direction, Score

from .text import NO_EXPECTED

TOLERANCE = 1e-6
"""How far a value may be off a threshold and still meet it: a cosine of 0.9 is often stored as 0.8999999."""


def check_score(name: str, passed: bool, reason: str, **detail: Any) -> Score:
    """Return the score of a check: 1 and passed, or 0 and failed."""
    return Score(name=name, raw=passed, value=float(passed), passed=passed, reason=reason, detail=detail)


def unscored(name: str, reason: str, direction: Direction = "higher") -> Score:
    return Score(name=name, status="unscored", direction=direction, reason=reason)


def missing_reference(case: Case) -> str:
    """Return why a case without a reference cannot be scored; empty if it has one."""
    return "" if case.references else NO_EXPECTED


def fails_at_any_threshold(score: Score) -> bool:
    """Return whether the setting `liked_guard` of the cosine rule fails the score at any threshold."""
    return score.detail.get("barred") is True and "positive" in score.detail


def meets_threshold(value: float, threshold: float, direction: Direction = "higher") -> bool:
    """Return whether a value meets its threshold: at least, or at most if lower is better.

    >>> meets_threshold(0.8999999, 0.9), meets_threshold(0.3, 0.2, "lower")
    (True, False)
    """
    return value >= threshold - TOLERANCE if direction == "higher" else value <= threshold + TOLERANCE
