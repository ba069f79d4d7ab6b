"""Evals that are not to run: they load nothing of what would run them, and it is said once that they were left out."""

import pytest

EVAL = """
from evalmark import describe_eval

describe_eval("numbers", data=["1", "2"], task=lambda text: text, scorers=["equals"])
describe_eval("others", data=["3"], task=lambda text: text, scorers=["equals"])
"""
MARKED = """
import pytest

@pytest.mark.evalmark(repeat=3)
def test_marked(evalmark_case):
    assert False
"""
PLAIN = """
def test_plain():
    pass
"""
LOADED = """
import sys

def pytest_unconfigure():
    print("loaded:", *sorted(name.removeprefix("evalmark.") for name in sys.modules if name.startswith("evalmark.")))
"""
NOTE = "skipped: evals may cost money"


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        pytest.param(PLAIN, 0, id="a suite without evals"),
        pytest.param(EVAL, 2, id="a suite that describes some"),
        pytest.param(MARKED, 1, id="a suite that marks some"),
    ],
)
def test_what_is_left_out_is_not_loaded(suite, text, skipped):
    suite.write("test_it.py", text)
    suite.write("conftest.py", LOADED)
    ended = suite.plain("-s")
    assert ended.code == 0
    assert ended.counts.get("skipped", 0) == skipped
    (loaded,) = [line.split()[1:] for line in ended.text.splitlines() if line.startswith("loaded:")]
    assert {name.partition(".")[0] for name in loaded} <= {"core", "harness"}
    assert not any(name.startswith("harness.unit_tests") for name in loaded)
    assert len(loaded) < 30, loaded


@pytest.mark.parametrize(
    "words", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["in one process", "in two workers"]
)
def test_it_is_said_once_how_they_are_run(suite, words):
    suite.write("test_described.py", EVAL)
    suite.write("test_marked.py", MARKED)
    ended = suite.plain(*words)
    assert ended.text.count(NOTE) == 1
    assert "3 evals skipped" in ended.text


def test_two_evals_of_one_name_are_refused_also_where_they_are_left_out(suite):
    suite.write("test_it.py", EVAL.replace("others", "numbers"))
    ended = suite.plain()
    assert ended.code != 0
    assert "2 evals of this file have the name 'numbers'" in ended.text
