"""With a gate, its verdict is what the evals do to the exit code; other tests fail a run as ever."""

import pytest

EVALS = """
from evalmark import describe_eval

SCORES = {"a": 1.0, "b": 0.8, "c": 0.2, "d": 0.9}


def known(output):
    return SCORES.get(output)


def answer(text):
    if text == "broken":
        raise ValueError("broken")
    return text


describe_eval("eval", data=["a", "b", "c", "d"], task=answer, scorers=[known], threshold=0.5)
"""
MORE = """
describe_eval("unknown", data=["e"], task=answer, scorers=[known], threshold=0.5)
describe_eval("broken", data=["broken"], task=answer, scorers=[known], threshold=0.5)
"""
FAILING = """
def test_other():
    assert False
"""


@pytest.mark.parametrize(
    ("more", "words", "code", "said"),
    [
        pytest.param("", [], 1, None, id="without a gate, every case has to pass"),
        pytest.param("", ["--evalmark-min-pass-rate", "0.75"], 0, "Gate passed: ", id="a rate that is reached"),
        pytest.param(
            "",
            ["--evalmark-min-pass-rate", "0.8"],
            1,
            "Gate failed: ",
            marks=pytest.mark.sweep,
            id="a rate that is not",
        ),
        pytest.param(
            "",
            ["--evalmark-min-pass-rate", "0", "--evalmark-min-score", "0.7"],
            0,
            "Gate passed",
            marks=pytest.mark.sweep,
            id="a mean",
        ),
        pytest.param(
            "",
            ["--evalmark-min-pass-rate", "0", "--evalmark-min-score", "0.8"],
            1,
            "Gate failed",
            marks=pytest.mark.sweep,
            id="a mean too low",
        ),
        pytest.param(
            FAILING,
            ["--evalmark-min-pass-rate", "0.5"],
            1,
            "Gate passed",
            marks=pytest.mark.sweep,
            id="another test fails",
        ),
        pytest.param(
            MORE,
            ["--evalmark-min-pass-rate", "0"],
            1,
            "Gate ",
            marks=pytest.mark.sweep,
            id="unscored and errors are not allowed",
        ),
        pytest.param(
            MORE,
            ["--evalmark-min-pass-rate", "0", "--evalmark-max-unscored", "1", "--evalmark-max-errors", "1"],
            0,
            "Gate passed",
            id="unscored and errors that are allowed",
        ),
        pytest.param(
            MORE,
            ["--evalmark-min-pass-rate", "0", "--evalmark-max-unscored", "1"],
            1,
            "Gate ",
            marks=pytest.mark.sweep,
            id="unscored is allowed, errors are not",
        ),
        pytest.param(
            "", ["--evalmark-min-pass-rate", "0.5", "-k", "nothing"], 1, None, marks=pytest.mark.sweep, id="nothing ran"
        ),
        pytest.param(
            "",
            ["--evalmark-min-pass-rate", "0.75", "-n", "2"],
            0,
            "Gate passed",
            marks=pytest.mark.sweep,
            id="in two workers",
        ),
    ],
)
def test_the_gate_decides(suite, more, words, code, said):
    suite.write("test_gated.py", EVALS + more)
    ended = suite.run(*words)
    if "nothing" in words:
        assert ended.code in (1, 5)
        assert "Gate cannot tell: No cases ran." in ended.text
        return
    assert ended.code == code
    assert (said is None) == ("Gate " not in ended.text)
    assert said is None or said in ended.text
    assert ended.counts["failed"] == (2 if more == FAILING else 1)
    gate = ended.run().gate
    assert (gate is None) == (not words)
    assert gate is None or gate.max_unscored == ("--evalmark-max-unscored" in words)


@pytest.mark.parametrize(
    "words",
    [pytest.param([], id="in one process"), pytest.param(["-n", "2"], marks=pytest.mark.sweep, id="in two workers")],
)
def test_a_gate_that_nothing_has_passed_through_fails(suite, words):
    suite.write("test_plain.py", "def test_plain(): pass\n")
    ended = suite.run("--evalmark-min-pass-rate", "0.5", *words)
    assert (ended.counts, ended.code) == ({"passed": 1}, 1)
    assert "Gate cannot tell: No cases ran." in ended.text
    assert not ended.store.exists()
    collected = suite.run("--evalmark-min-pass-rate", "0.5", "--collect-only", *words)
    assert collected.code == 0
    assert "Gate" not in collected.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--evalmark-min-pass-rate", "1.5"], "--evalmark-min-pass-rate: '1.5' is not a number from 0 to 1"),
        pytest.param(
            ["--evalmark-min-score=-1"],
            "--evalmark-min-score: '-1' is not a number from 0 to 1",
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            ["--evalmark-min-score", "nan"],
            "--evalmark-min-score: 'nan' is not a number from 0 to 1",
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            ["--evalmark-max-errors", "1.5"],
            "--evalmark-max-errors: '1.5' is not a whole number of at least 0",
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            ["--evalmark-max-unscored=-1"],
            "--evalmark-max-unscored: '-1' is not a whole number of at least 0",
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            ["--evalmark-replay", "sometimes"],
            "--evalmark-replay: invalid choice: 'sometimes'",
            marks=pytest.mark.sweep,
        ),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(suite, words, said):
    suite.write("test_gated.py", EVALS)
    ended = suite.run(*words)
    assert ended.code == 4
    assert said in ended.text
    assert "Traceback" not in ended.text
    assert "INTERNALERROR" not in ended.text
    assert not ended.store.exists()
