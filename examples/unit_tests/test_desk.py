"""The same as a test of pytest."""

from check import CASES, EVALUATOR
from desk import answer

from evalmark.unit_tests import UnitTest


def test_the_desk_answers_as_people_liked():
    with UnitTest("help desk", evaluator=EVALUATOR).for_test_cases_in_file(CASES) as test:
        for test_case in test.test_cases():
            test_case.evaluate(answer)
