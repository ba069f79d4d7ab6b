"""Ask the desk everything that people have labelled; fails where an answer is no longer like those they liked."""

import sys
from pathlib import Path

from desk import answer, changed_answer

from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy
from evalmark.unit_tests import UnitTest

CASES = Path(__file__).with_name("cases.jsonl")
EVALUATOR = CosineScoreEvaluationStrategy(positive_score_threshold=0.7, negative_score_threshold=0.5)

if __name__ == "__main__":
    asked = changed_answer if "--changed" in sys.argv[1:] else answer
    with UnitTest("help desk", evaluator=EVALUATOR).for_test_cases_in_file(CASES) as test:
        for test_case in test.test_cases():
            test_case.evaluate(asked)
