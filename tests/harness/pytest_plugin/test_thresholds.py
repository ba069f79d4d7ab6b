"""What scores are held to, and what is said of those that are too low."""

import pytest

THRESHOLDS = """
import pytest

from evalmark import describe_eval, expect
from evalmark import Score

ROW = [{"id": "row", "input": "What is the capital of France?", "expected": "Paris"}]


def answer(question):
    return "Lyon"


def low(output):
    return {"score": 0.25, "metadata": {"rationale": "Lyon is a city of France, but not its capital."}}


def half(output):
    return 0.5


def high(output):
    return 0.9


def right(output, expected):
    return output == expected


def decides(output):
    return Score(name="decides", raw=3, value=0.4, passed=True)


def evals(name, scorers, **options):
    describe_eval(name, data=ROW, task=answer, scorers=scorers, **options)


evals("default", [half])
evals("number", [low, half, high], threshold=0.5)
evals("reached", [half, high], threshold=0.5)
evals("none", [low, right], threshold=None)
evals("each its own", [low, half, high], threshold={"low": 0.2, "half": 0.6, "high": None})
evals("not all named", [half, high], threshold={"half": 0.5})
evals("a truth value", [right])
evals("the scorer decides", [decides])
evals("held by itself", [{"edit_similarity": {"threshold": 0.1}}], threshold=0.9)
evals("zero", [low], threshold=0)


def test_expecting():
    expect("question").to_eval("Paris", answer, half, low)


def test_expecting_little():
    expect("question").to_eval("Paris", answer, half, low, threshold={"half": 0.5, "low": None})


@pytest.mark.evalmark(threshold=0.4)
def test_expecting_as_marked():
    expect("question").to_eval("Paris", answer, half)
    expect("question").to_eval("Paris", answer, low)
"""
NUMBER = """\
Score: 0.250 below the threshold 0.500
  input:    What is the capital of France?
  output:   Lyon
  expected: Paris
  low: 0.250 below the threshold 0.500, failed
    Lyon is a city of France, but not its capital.
  half: 0.500 not below the threshold 0.500, passed
  high: 0.900 not below the threshold 0.500, passed

test_thresholds.py:39: EvalFailedError"""


@pytest.fixture(scope="module")
def held(suites):
    suite = suites()
    suite.write("test_thresholds.py", THRESHOLDS)
    return suite.run()


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        pytest.param("default[row]", "failed", "half: 0.500 below the threshold 1.000, the default, failed", id="none"),
        pytest.param("number[row]", "failed", NUMBER, id="one for all, the worst score first"),
        pytest.param("reached[row]", "passed", "", id="reached exactly"),
        pytest.param("none[row]", "passed", "", id="None never fails"),
        pytest.param(
            "each its own[row]",
            "failed",
            "  half: 0.500 below the threshold 0.600, failed\n"
            "  low: 0.250 not below the threshold 0.200, passed\n"
            "    Lyon is a city of France, but not its capital.\n"
            "  high: 0.900 (no threshold), recorded\n",
            id="each its own, and an average hides none",
        ),
        pytest.param(
            "not all named[row]",
            "failed",
            "high: 0.900 below the threshold 1.000, the default, failed",
            id="one left out",
        ),
        pytest.param("a truth value[row]", "failed", "Failed: right\n", id="a truth value"),
        pytest.param("the scorer decides[row]", "passed", "", id="a scorer that decides itself"),
        pytest.param("held by itself[row]", "failed", "below the threshold 0.100", id="a scorer's own threshold"),
        pytest.param("zero[row]", "passed", "", id="zero"),
        pytest.param("test_expecting", "failed", "Score: 0.250 below the threshold 1.000, the default", id="expect"),
        pytest.param("test_expecting_little", "passed", "", id="expect with thresholds"),
        pytest.param(
            "test_expecting_as_marked", "failed", "Score: 0.250 below the threshold 0.400", id="expect, marked"
        ),
    ],
)
def test_each_score_has_to_reach_its_own_threshold(held, name, word, said):
    assert held.words[f"test_thresholds.py::{name}"] == word
    assert said in held.why[name]


def test_the_words_of_a_failure_are_all_there_is(held):
    assert held.why["number[row]"] == NUMBER
    assert "evalmark/" not in held.why["test_expecting"]


def test_the_run_knows_what_each_score_was_held_to(held):
    metrics = {(m.dataset, m.name): m.threshold for m in held.run().metrics}
    assert metrics["", "half"] is None
    assert metrics["number", "half"] == 0.5
    assert metrics["each its own", "low"] == 0.2
    assert metrics["zero", "low"] == 0.0
    assert held.code == 1


BAD = {
    "{'hlaf': 0.5}": "there is a threshold for 'hlaf', which is not a scorer of this eval; did you mean 'half'?",
    "{'x': 0.5}": "there is a threshold for 'x', which is not a scorer of this eval; the scorers are half.",
    "1.5": "the threshold 1.5 is not a number from 0 to 1; None means that nothing can fail.",
    "True": "the threshold True is not a number from 0 to 1",
    "'0.5'": "the threshold '0.5' is not a number from 0 to 1",
    "float('nan')": "the threshold nan is not a number from 0 to 1",
}


def test_thresholds_that_cannot_be_held_are_refused_before_any_test(suite):
    for number, threshold in enumerate(BAD):
        suite.write(
            f"test_bad_{number}.py",
            f"""
            from evalmark import describe_eval

            def half(output): return 0.5

            describe_eval("bad", data=lambda: print("READ"), task=print, scorers=[half], threshold={threshold})

            def test_other(): pass
            """,
        )
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"error": len(BAD)}, 2)
    for number, said in enumerate(BAD.values()):
        assert f"test_bad_{number}.py:6: {said}" in ended.text
    assert "READ" not in ended.text
    assert not ended.store.exists()


JUST_BELOW = """
import pytest

from evalmark import describe_eval

describe_eval("close", data=[{"input": "?"}], task=str.upper, scorers=[lambda output: 0.69996], threshold=0.7)
"""


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_missed_threshold_does_not_look_reached(suite, words):
    suite.write("test_close.py", JUST_BELOW)
    ended = suite.run("-v", "--evalmark-min-score", "0.7", *words)
    assert "0.69996)" in ended.text
    assert "0.700" not in ended.text.replace("threshold 0.700", "")
