"""The message of an eval that failed."""

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.harness.evals.failure import failure_message


@pytest.mark.parametrize(
    ("value", "threshold", "text"),
    [
        pytest.param(0.69996, 0.7, "Score: 0.69996 below the threshold 0.700", id="just missed"),
        pytest.param(0.62742, 0.62743, "Score: 0.627 below the threshold 0.62743", id="a learned threshold"),
        pytest.param(0.25, 0.5, "Score: 0.250 below the threshold 0.500", id="not near"),
    ],
)
def test_a_failed_score_is_shown_below_its_threshold(value, threshold, text):
    score = Score(name="near", raw=value, value=value, passed=False)
    trial = Trial(case=Case(id="1", input="x"), dataset="d", position=0)
    message = failure_message(
        Result(trial=trial, output=Output(value="y"), scores=(score,)), [Metric(name="near", threshold=threshold)]
    )
    assert message.splitlines()[0] == text
