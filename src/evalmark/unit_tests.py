"""Unit tests from recorded and labelled answers: compare each new answer with answers that people liked and disliked."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy, EvaluationStrategyBase
    from evalmark.harness.unit_tests.labeled import LabeledOutput, TestCase
    from evalmark.harness.unit_tests.memory import TestMemory
    from evalmark.harness.unit_tests.results import TestCaseResult
    from evalmark.harness.unit_tests.session import CaseUnderTest, UnitTestSession
    from evalmark.harness.unit_tests.summary import UnitTestFailedError
    from evalmark.harness.unit_tests.unit_test import UnitTest

__all__ = [
    "CaseUnderTest",
    "CosineScoreEvaluationStrategy",
    "EvaluationStrategyBase",
    "LabeledOutput",
    "TestCase",
    "TestCaseResult",
    "TestMemory",
    "UnitTest",
    "UnitTestFailedError",
    "UnitTestSession",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "CaseUnderTest": "evalmark.harness.unit_tests.session",
        "CosineScoreEvaluationStrategy": "evalmark.harness.unit_tests.evaluation",
        "EvaluationStrategyBase": "evalmark.harness.unit_tests.evaluation",
        "LabeledOutput": "evalmark.harness.unit_tests.labeled",
        "TestCase": "evalmark.harness.unit_tests.labeled",
        "TestCaseResult": "evalmark.harness.unit_tests.results",
        "TestMemory": "evalmark.harness.unit_tests.memory",
        "UnitTest": "evalmark.harness.unit_tests.unit_test",
        "UnitTestFailedError": "evalmark.harness.unit_tests.summary",
        "UnitTestSession": "evalmark.harness.unit_tests.session",
    },
)
