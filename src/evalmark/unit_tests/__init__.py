"""Unit tests for what a team has recorded and labelled: each new answer beside those that people liked and disliked."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .door import UnitTest
    from .labeled import LabeledOutput, TestCase
    from .memory import TestMemory
    from .pending import CaseUnderTest
    from .results import TestCaseResult
    from .session import UnitTestSession
    from .summary import UnitTestFailedError

__all__ = [
    "CaseUnderTest",
    "LabeledOutput",
    "TestCase",
    "TestCaseResult",
    "TestMemory",
    "UnitTest",
    "UnitTestFailedError",
    "UnitTestSession",
]

__getattr__ = deferred(
    __name__,
    {
        "CaseUnderTest": "pending",
        "LabeledOutput": "labeled",
        "TestCase": "labeled",
        "TestCaseResult": "results",
        "TestMemory": "memory",
        "UnitTest": "door",
        "UnitTestFailedError": "summary",
        "UnitTestSession": "session",
    },
)
