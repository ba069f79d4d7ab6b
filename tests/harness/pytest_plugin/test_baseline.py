"""With a baseline, the table of evals says of each what changed since, and whether that can be luck."""

import pytest

pytestmark = pytest.mark.slow

EVALS = """
import os
from evalmark import describe_eval

def answer(text):
    return "no" if int(text) < int(os.environ.get("BAD", 0)) else text

describe_eval("numbers", data=[{"input": str(n), "expected": str(n)} for n in range(8)], task=answer, scorers=["equals"])
"""


@pytest.mark.parametrize(
    ("bad", "reference", "said"),
    [
        pytest.param(7, "last", "7 regressed, 0 improved, 1 unchanged: worse (p = 0.016)", id="worse"),
        pytest.param(0, "last-green", "0 regressed, 0 improved, 8 unchanged: nothing changed", id="nothing changed"),
        pytest.param(1, "last", "1 regressed, 0 improved, 7 unchanged: cannot tell (p = 0.50)", id="luck"),
    ],
)
def test_an_eval_says_what_changed(suite, bad, reference, said):
    suite.write("test_numbers.py", EVALS)
    first = suite.run()
    assert first.code == 0
    ended = suite.run("--evalmark-baseline", reference, BAD=str(bad))
    assert said in ended.text
    assert ended.code == (1 if bad else 0)


def test_a_missing_green_run_is_said_and_no_fault(suite):
    suite.write("test_numbers.py", EVALS)
    ended = suite.run("--evalmark-baseline", "last-green")
    assert ended.code == 0
    assert "There is no earlier complete run of 'pytest' whose gate passed" in ended.text
    assert "against" not in ended.text


GRADED = """
import os
from evalmark import describe_eval

def close(output):
    return int(output) / 20

describe_eval("numbers", data=[{"input": str(n)} for n in range(20)], task=lambda text: text, scorers=[close], threshold=LIMIT)
"""


def test_another_threshold_is_no_change(suite):
    suite.write("test_numbers.py", GRADED.replace("LIMIT", "0.5"))
    suite.run()
    suite.write("test_numbers.py", GRADED.replace("LIMIT", "0.1"))
    text = " ".join(suite.run("--evalmark-baseline", "last").text.split())
    assert (
        "Under the threshold of the newer run, 18 of 20 scores of the baseline pass; under the baseline's own threshold, 10."
        in text
    )
    assert "0 regressed, 0 improved, 20 unchanged: nothing changed" in text


def test_a_scorer_that_changed_is_not_compared(suite):
    suite.write("test_numbers.py", GRADED.replace("LIMIT", "0.5"))
    suite.run()
    suite.write("test_numbers.py", GRADED.replace("LIMIT", "0.5").replace("/ 20", "/ 10"))
    text = " ".join(suite.run("--evalmark-baseline", "last").text.split())
    assert "close: the scorer's code or settings have changed, so its scores are not compared." in text
    assert "check out that version and run it with the current scorers" in text
    assert "better:" not in text
