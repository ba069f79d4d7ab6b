"""Marked tests: what they log and score is kept, and what they expect is held to their threshold."""

import pytest

MARKED = """
import pytest

from evalmark import describe_eval, expect
from evalmark import Output

def right(output, expected):
    return output == expected

def half(output):
    return 0.5

def broken(output):
    raise ValueError("no scorer")

ROWS = [{"id": "one", "input": "1", "expected": "1"}, {"id": "two", "input": "2", "expected": "3"}]


@pytest.mark.evalmark(suite="support", repeat=3, threshold=0.8)
def test_refund(evalmark_case):
    assert evalmark_case.input is None
    evalmark_case.log("money back", input="refund?", expected="money")
    evalmark_case.score("polite", 0.9, reason="it says please")
    evalmark_case.score("short", True)


@pytest.mark.evalmark(suite="data", data=ROWS, scorers=[right])
def test_rows(evalmark_case):
    evalmark_case.log(evalmark_case.input)


@pytest.mark.evalmark(suite="data twice", data=lambda: ROWS[:1], repeat=2)
def test_rows_twice(evalmark_case):
    assert evalmark_case.case.expected == "1"
    evalmark_case.log({"repeat": evalmark_case.repeat})


@pytest.mark.evalmark(suite="low", threshold=0.6)
def test_low(evalmark_case):
    evalmark_case.log("answer")
    evalmark_case.score("first", 0.7)
    (second,) = evalmark_case.judge(half)
    assert second.value == 0.5  # the test goes on
    evalmark_case.score("third", 0.8)


@pytest.mark.evalmark(suite="asserts")
def test_asserting(evalmark_case):
    evalmark_case.log("answer", input="question")
    assert "answer" == "another answer"


@pytest.mark.evalmark(suite="asserts")
def test_asserting_well(evalmark_case):
    assert evalmark_case.log("answer") == "answer"


@pytest.mark.evalmark(suite="breaks")
def test_raising(evalmark_case):
    evalmark_case.log("answer")
    raise RuntimeError("the system is down")


@pytest.mark.evalmark(suite="asserts")
def test_failing(evalmark_case):
    pytest.fail("not good enough")


@pytest.mark.evalmark(suite="breaks", scorers=["no_such_scorer"])
def test_scorer_that_is_not_there(evalmark_case):
    evalmark_case.log("answer")


@pytest.mark.evalmark(suite="breaks")
def test_broken_scorer(evalmark_case):
    evalmark_case.log("answer")
    evalmark_case.judge(broken)


@pytest.mark.evalmark(suite="unscored")
def test_unscored(evalmark_case):
    evalmark_case.log("answer")
    evalmark_case.score("nothing", None)


@pytest.mark.evalmark(suite="recorded", threshold=None)
def test_recorded(evalmark_case):
    evalmark_case.log("answer")
    evalmark_case.score("low", 0.1)


@pytest.mark.evalmark(suite="expecting")
def test_expecting_only():
    expect("1").to_eval("1", lambda text: text, right)
    expect("2").to_eval("2", lambda text: text, right)


@pytest.mark.evalmark
def test_without_a_fixture():
    pass


@pytest.mark.parametrize("city", ["Rome", "Oslo"])
@pytest.mark.evalmark(suite="cities", repeat=2)
def test_cities(city, evalmark_case):
    evalmark_case.log(city)
    evalmark_case.score("letters", len(city) / 4)


@pytest.mark.evalmark(suite="twice")
def test_logs_twice(evalmark_case):
    evalmark_case.log("one")
    evalmark_case.log("two")


@pytest.mark.evalmark(suite="twice")
def test_scores_twice(evalmark_case):
    evalmark_case.log("one")
    evalmark_case.score("same", 1)
    evalmark_case.score("same", 1)


@pytest.mark.evalmark(suite="twice")
def test_judges_nothing(evalmark_case):
    evalmark_case.judge(half)


@pytest.mark.evalmark(suite="class")
class TestClass:
    def test_method(self, evalmark_case):
        evalmark_case.score("good", 1.0)


@pytest.mark.evalmark(suite="skipped")
def test_skipping(evalmark_case):
    pytest.skip("not today")


def test_plain():
    pass
"""


@pytest.fixture(scope="module")
def marked(suites):
    suite = suites()
    suite.write("test_marked.py", MARKED)
    return suite.run()


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        *((f"test_refund[{number}]", "passed", "") for number in (1, 2, 3)),
        ("test_rows[one]", "passed", ""),
        ("test_rows[two]", "failed", "Failed: right\n  input:    2\n  output:   2\n  expected: 3\n  right: failed"),
        ("test_rows_twice[one-1]", "passed", ""),
        ("test_rows_twice[one-2]", "passed", ""),
        (
            "test_low",
            "failed",
            """\
  half: 0.500 below the threshold 0.600, failed
  first: 0.700 not below the threshold 0.600, passed
  third: 0.800 not below the threshold 0.600, passed""",
        ),
        ("test_asserting", "failed", "- another answer"),
        ("test_asserting_well", "passed", ""),
        ("test_raising", "eval errors", "RuntimeError: the system is down"),
        ("test_failing", "failed", "not good enough"),
        ("test_scorer_that_is_not_there", "eval errors", "no_such_scorer"),
        ("test_broken_scorer", "eval errors", "Error: the scorer broken failed with an error."),
        ("test_unscored", "unscored", "Unscored: nothing returned no score"),
        ("test_recorded", "passed", ""),
        ("test_expecting_only", "passed", ""),
        ("test_without_a_fixture", "passed", ""),
        ("test_cities[Rome-1]", "passed", ""),
        ("test_cities[Oslo-2]", "passed", ""),
        ("test_logs_twice", "eval errors", "an output was logged before; a case has one output. Make another case."),
        ("test_scores_twice", "eval errors", "two scores have the name 'same'; rename one."),
        (
            "test_judges_nothing",
            "eval errors",
            "there is no output to judge; log one first: evalmark_case.log(output).",
        ),
        ("TestClass::test_method", "passed", ""),
        ("test_skipping", "skipped", "not today"),
        ("test_plain", "passed", ""),
    ],
)
def test_a_marked_test_ends_as_its_scores_say(marked, name, word, said):
    assert marked.words[f"test_marked.py::{name}"] == word
    assert said in marked.why[name]


@pytest.mark.parametrize(
    ("suite", "kept"),
    [
        ("support", [("test_refund", n, "pass", {"polite": 0.9, "short": 1.0}) for n in range(3)]),
        ("data", [("one", 0, "pass", {"right": 1.0}), ("two", 0, "fail", {"right": 0.0})]),
        ("data twice", [("one", n, "pass", {"test": 1.0}) for n in range(2)]),
        ("low", [("test_low", 0, "fail", {"first": 0.7, "half": 0.5, "third": 0.8})]),
        (
            "asserts",
            [
                ("test_asserting", 0, "fail", {"test": 0.0}),
                ("test_asserting_well", 0, "pass", {"test": 1.0}),
                ("test_failing", 0, "fail", {"test": 0.0}),
            ],
        ),
        (
            "breaks",
            [
                ("test_raising", 0, "error", {}),
                ("test_scorer_that_is_not_there", 0, "error", {}),
                ("test_broken_scorer", 0, "error", {"broken": None}),
            ],
        ),
        ("unscored", [("test_unscored", 0, "unscored", {"nothing": None})]),
        ("recorded", [("test_recorded", 0, "ungated", {"low": 0.1})]),
        (
            "expecting",
            [
                ("test_expecting_only", 0, "pass", {"right": 1.0}),
                ("test_expecting_only (2)", 0, "pass", {"right": 1.0}),
            ],
        ),
        ("test_marked.py", [("test_without_a_fixture", 0, "pass", {"test": 1.0})]),
        (
            "cities",
            [(f"test_cities[{city}]", n, "pass", {"letters": 1.0}) for city in ("Rome", "Oslo") for n in (0, 1)],
        ),
        ("class", [("TestClass::test_method", 0, "pass", {"good": 1.0})]),
        ("skipped", []),
    ],
)
def test_the_run_has_what_was_found(marked, suite, kept):
    found = [
        (r.trial.case.id, r.trial.repeat, r.verdict, {score.name: score.value for score in r.scores})
        for r in marked.run().results
        if r.trial.dataset == suite
    ]
    assert sorted(found, key=repr) == sorted(kept, key=repr)


def test_what_was_logged_is_kept(marked):
    refund = marked.results("support")["test_refund"]
    case, output = refund.trial.case, refund.output
    assert (case.input, case.expected, output.value) == ("refund?", "money", "money back")
    assert refund.scores[0].reason == "it says please"


@pytest.mark.slow
def test_tests_of_one_name_and_one_suite_stay_apart(suite):
    text = """
        import pytest

        @pytest.mark.evalmark(suite="shared")
        class TestA:
            def test_it(self, evalmark_case):
                evalmark_case.log("same")

        @pytest.mark.evalmark(suite="shared")
        @pytest.mark.parametrize("kind", ["x", "y"])
        @pytest.mark.evalmark(suite="shared", data=[{"id": "row", "input": "1"}, {"id": "row?", "input": "2"}], repeat=2)
        def test_rows(evalmark_case, kind):
            evalmark_case.log("same")
    """
    for name in ("test_a.py", "test_b.py"):
        suite.write(name, text)
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"passed": 18}, 0)
    results = ended.run().results
    assert len(results) == 18
    assert {r.trial.case.id for r in results} == {
        "TestA::test_it",
        "row[x]",
        "row[y]",
        "row?[x]",
        "row?[y]",
        "TestA::test_it (test_b.py::TestA::test_it)",
        *(f"{row}[{kind}] (test_b.py::test_rows)" for row in ("row", "row?") for kind in "xy"),
    }


BAD = {
    "repeat=0": "repeat has to be a whole number of at least 1; found 0.",
    "repeat='2'": "repeat has to be a whole number of at least 1; found '2'.",
    "repeats=2": "@pytest.mark.evalmark has no argument 'repeats'; its arguments are suite, data, scorers, repeat, threshold, judge.",
    "'support'": "@pytest.mark.evalmark takes its arguments by name: suite, data, scorers, repeat, threshold, judge.",
}


def test_a_marker_that_nobody_understands_is_refused(suite):
    for number, said in enumerate(BAD):
        suite.write(
            f"test_bad_{number}.py",
            f"""
            import pytest

            @pytest.mark.evalmark({said})
            def test_it(evalmark_case):
                print("RAN")
            """,
        )
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"error": len(BAD)}, 2)
    for number, said in enumerate(BAD.values()):
        assert f"test_bad_{number}.py::test_it: {said}" in ended.text
    assert "RAN" not in ended.text


@pytest.mark.slow
def test_data_of_a_marker_that_breaks_is_an_error_of_its_own(suite):
    suite.write(
        "test_rows.py",
        """
        import pytest

        def halfway():
            yield {"id": "one", "input": "1"}
            raise OSError("the line went dead")

        @pytest.mark.evalmark(suite="rows", data=halfway)
        def test_rows(evalmark_case):
            evalmark_case.log("x")
        """,
    )
    ended = suite.run()
    assert ended.words["test_rows.py::test_rows[one]"] == "passed"
    assert ended.words["test_rows.py::test_rows[data]"] == "eval errors"
    assert "its data ended with an error after 1 case: OSError: the line went dead" in ended.why["test_rows[data]"]
    assert ended.code == 1
    assert {r.verdict for r in ended.run().results} == {"pass", "error"}
