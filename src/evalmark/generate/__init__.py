"""Tests made of a prompt, stage by stage: what it is for, what may be put in, what has to come out, and what tempts it."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .chain import Account, Job, Step, generate
    from .counting import CallCount, calls_of
    from .coverage import Broken, Coverage, RuleCoverage, broken_in, coverage_of
    from .effort import EFFORTS, Effort, effort_named
    from .stages import STAGES, stage_named
    from .telling import broken_text, count_text, coverage_text, notes_text, spending_text, step_text

__all__ = [
    "EFFORTS",
    "STAGES",
    "Account",
    "Broken",
    "CallCount",
    "Coverage",
    "Effort",
    "Job",
    "RuleCoverage",
    "Step",
    "broken_in",
    "broken_text",
    "calls_of",
    "count_text",
    "coverage_of",
    "coverage_text",
    "effort_named",
    "generate",
    "notes_text",
    "spending_text",
    "stage_named",
    "step_text",
]

__getattr__ = deferred(
    __name__,
    {
        "EFFORTS": "effort",
        "STAGES": "stages",
        "Account": "chain",
        "Broken": "coverage",
        "CallCount": "counting",
        "Coverage": "coverage",
        "Effort": "effort",
        "Job": "chain",
        "RuleCoverage": "coverage",
        "Step": "chain",
        "broken_in": "coverage",
        "broken_text": "telling",
        "calls_of": "counting",
        "count_text": "telling",
        "coverage_of": "coverage",
        "coverage_text": "telling",
        "effort_named": "effort",
        "generate": "chain",
        "notes_text": "telling",
        "spending_text": "telling",
        "stage_named": "stages",
        "step_text": "telling",
    },
)
