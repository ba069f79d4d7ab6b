"""What pytest prints of evals is short: a line for each test to look at, and nothing of evalmark's own code."""

import pytest

pytestmark = pytest.mark.slow

MIXED = """
import pytest

from evalmark import describe_eval, expect


def answer(question):
    return question


def nothing(output):
    return None


describe_eval("broken", data=["a"], task=lambda question: 1 / 0, scorers=["is_json"])
describe_eval("unknown", data=["b"], task=answer, scorers=[nothing])
describe_eval("long", data=["one two three four five six seven eight nine ten eleven twelve"], task=answer, scorers=[nothing])


def test_low():
    expect("a").to_eval("abcd", answer, "edit_similarity", threshold=0.9)


def test_list():
    expect("a").to_eval("a", answer, ["equals"])


def test_no_scorer():
    expect("a").to_eval("a", answer, "no_such_scorer")


def test_threshold():
    expect("a").to_eval("a", answer, "equals", threshold={"equal": 1})


@pytest.mark.evalmark
def test_raising(evalmark_case):
    raise RuntimeError("the system is down")


@pytest.mark.evalmark
def test_judge_list(evalmark_case):
    evalmark_case.log("a")
    evalmark_case.judge(["equals"])
"""


@pytest.fixture(scope="module")
def mixed(suites):
    suite = suites()
    suite.write("test_mixed.py", MIXED)
    return suite


@pytest.fixture(scope="module")
def ended(mixed):
    return mixed.run()


@pytest.mark.parametrize(
    "line",
    [
        "EVAL ERROR test_mixed.py::broken[a] - Error: ZeroDivisionError: division by zero",
        "UNSCORED test_mixed.py::unknown[b] - Unscored: nothing returned no score, so the trial does not pass.",
        "EVAL ERROR test_mixed.py::test_raising - RuntimeError: the system is down",
        "FAILED test_mixed.py::test_low - Score: 0.250 below the threshold 0.900",
    ],
)
def test_each_test_that_did_not_pass_has_a_line_at_the_end(ended, line):
    told = ended.text.splitlines()
    assert any(
        found.startswith(line) for found in told[told.index("Show it again with: evalmark show " + ended.run().id) :]
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "test_list",
            "to_eval() takes scorers as separate arguments: to_eval(expected, task, first, second).",
        ),
        ("test_no_scorer", "there is no scorer 'no_such_scorer'"),
        (
            "test_threshold",
            "there is a threshold for 'equal', which is not a scorer of this eval; did you mean 'equals'?",
        ),
        ("test_judge_list", "judge() takes scorers as separate arguments: judge(first, second)."),
    ],
)
def test_what_cannot_be_used_is_told_at_the_line_of_the_test_alone(ended, name, said):
    told = ended.why[name]
    assert said in told
    assert "evalmark/evals/" not in told
    assert "direct cause" not in told
    assert len(told.splitlines()) < 10


def test_a_name_that_is_cut_has_no_escapes(ended):
    [name] = [name for name in ended.words if name.startswith("test_mixed.py::long[one two three")]
    assert name.endswith("...]")


def test_without_tracebacks_and_summary_neither_is_shown(mixed):
    bare = mixed.run("--tb=no", "-rN")
    assert bare.counts == {"failed": 4, "eval errors": 3, "unscored": 2}
    assert "not judged" not in bare.text
    assert "EVAL ERROR" not in bare.text


def test_a_marker_that_cannot_be_used_is_told_once(suite):
    suite.write(
        "test_mark.py", "import pytest\n\n\n@pytest.mark.evalmark(repeats=3)\ndef test_it(evalmark_case):\n    pass\n"
    )
    ended = suite.run("-rN")
    assert ended.text.count("has no argument 'repeats'") == 1
    assert "During handling" not in ended.text


MARKED = """
import pytest

from evalmark import expect


def test_first():
    expect("1").to_eval("1", lambda text: text, "equals")


@pytest.mark.evalmark
def test_second(evalmark_case):
    evalmark_case.score("good", True)


@pytest.mark.evalmark(repeat=2)
def test_third():
    assert True


def test_fourth(evalmark_case):
    evalmark_case.score("good", True)


def test_fifth(evalmark_case):
    evalmark_case.score("good", True)
"""


@pytest.mark.parametrize("more", [(), ("-n", "2"), ("-k", "first or third or fifth")], ids=["alone", "workers", "some"])
def test_tests_of_one_file_are_cases_of_their_own(suite, more):
    suite.write("test_marked.py", MARKED)
    run = suite.run(*more).run()
    places = {result.trial.case.id: result.trial.position for result in run.results}
    some = ("test_first", "test_third", "test_fifth")
    assert set(places) == set(some if "-k" in more else (*some, "test_second", "test_fourth"))
    assert len(set(places.values())) == len(places)
    assert len(run.results) == len(places) + 1  # one is asked twice


def test_a_test_that_asks_for_a_case_is_an_eval_also_without_a_marker(suite):
    suite.write("test_marked.py", MARKED)
    ended = suite.plain()
    assert (ended.counts, ended.code) == ({"skipped": 5}, 0)
    assert not ended.store.parent.exists()
