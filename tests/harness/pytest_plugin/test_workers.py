"""The same suite in several processes: one run, one table, the same results, whoever dies."""

import re
from dataclasses import replace

import pytest

from evalmark.core.values.run import metrics_for
from evalmark.testing.scripted import ScriptedServer

from .conftest import lines

pytestmark = pytest.mark.slow

SUITE = """
import os
from pathlib import Path

import pytest

from evalmark import describe_eval, expect

HERE = Path(__file__).parent


def answer(question):
    with open(HERE / "asked.txt", "a") as file:
        file.write(f"{question} {os.environ.get('PYTEST_XDIST_WORKER')}\\n")
    if question == "raise":
        raise ValueError("no answer to that")
    return question * 2


def long(output):
    return {"score": min(1.0, len(output) / 4), "metadata": {"rationale": "counted"}}


def never(output):
    return None


describe_eval("words", data=["a", "ab", "abc", "raise", "abcd"], task=answer, scorers=[long], threshold=0.6, repeat=2)
describe_eval("more", data=[{"id": "u", "input": "x"}], task=answer, scorers=[long, never], threshold={"long": 0.5})
describe_eval("broken", data=[{"id": "ok", "input": "x"}, 7], task=answer, scorers=[long], threshold=0.1)


def test_expecting():
    expect("ab").to_eval(None, answer, long)
    expect("a").to_eval(None, answer, long)


@pytest.mark.evalmark(suite="marked", repeat=2, threshold=0.5)
def test_marked(evalmark_case):
    evalmark_case.log("said", input="asked")
    evalmark_case.score("good", 0.75, reason="so it is")


def test_plain():
    pass
"""


def alike(run):
    """A run without what two runs never share: ids, times, and which of its datasets came first."""
    held = {
        (r.trial.dataset, score.name, metrics_for(run.metrics, r.trial.dataset)[score.name].threshold)
        for r in run.results
        for score in r.scores
    }
    return (
        run.status,
        run.name,
        run.repeat,
        set(run.target.split(", ")),
        set(run.datasets),
        held,
        {metric.name for metric in run.metrics},
        sorted((replace(r, output=replace(r.output, seconds=0.0, waited=None)) for r in run.results), key=repr),
    )


@pytest.fixture(scope="module")
def both(suites):
    """The suite in one process and in two."""
    ends = []
    for words in ((), ("-n", "2")):
        suite = suites()
        suite.write("test_words.py", SUITE)
        ends.append(suite.run(*words))
    return ends


def test_every_field_of_the_run_is_the_same(both):
    alone, shared = (ended.run() for ended in both)
    assert len(alone.results) == 10 + 1 + 2 + 2 + 2
    assert alike(shared) == alike(alone)


def test_every_test_ends_the_same(both):
    alone, shared = both
    assert shared.words == alone.words
    assert shared.properties == alone.properties
    assert {name: why for name, why in shared.why.items() if why != "None"} == {
        name: why for name, why in alone.why.items() if why != "None"
    }
    assert (shared.code, alone.code) == (1, 1)
    assert alone.counts == {"passed": 10, "failed": 3, "unscored": 1, "eval errors": 3}


def test_there_is_one_table(both):
    ends = [ended.text[ended.text.index(" evals ") :] for ended in both]
    tables = [end[: end.index("Show it again with: ")].splitlines()[1:] for end in ends]
    assert sorted(tables[0]) == sorted(tables[1])
    assert len(lines(both[1], "words   5 cases x 2")) == 1


def test_each_case_is_asked_once_and_by_several_workers(both):
    asked = [(ended.folder / "asked.txt").read_text(encoding="utf-8").splitlines() for ended in both]
    questions = [sorted(line.split()[0] for line in several) for several in asked]
    assert questions[0] == questions[1]
    assert len(questions[0]) == 10 + 1 + 1 + 2
    assert {line.split()[1] for line in asked[1]} == {"gw0", "gw1"}


def test_a_worker_that_dies_is_an_error_of_the_case_it_was_at(suite):
    suite.write(
        "test_dying.py",
        """
        import os

        import pytest
        from evalmark import describe_eval

        def answer(text):
            if text == "die":
                os._exit(1)
            return text

        describe_eval(
            "dying", data=["a", "b", "die", "c", "d", "e"], task=answer, scorers=[lambda output: True]
        )

        @pytest.mark.evalmark(suite="marked")
        def test_dying(evalmark_case):
            os._exit(1)
        """,
    )
    ended = suite.run("-n", "2")
    assert ended.counts == {"passed": 5, "failed": 2}
    assert ended.words["test_dying.py::dying[die]"] == "failed"
    assert ended.code == 1
    kept = {r.trial.case.input: r for r in ended.results("dying").values()}
    assert {name: r.verdict for name, r in kept.items()} == {
        **dict.fromkeys("abcde", "pass"),
        "die": "error",
    }
    assert "the process that ran it ended" in (kept["die"].output.error or "")
    assert kept["die"].trial.target == kept["a"].trial.target
    assert len(lines(ended, "dying   6 cases")) == 1
    [other] = ended.results("marked").values()
    assert (other.trial.case.id, other.trial.target, other.verdict) == ("test_dying", "", "error")


def test_a_suite_of_expectations_alone_is_kept_and_counted(suite):
    suite.write(
        "test_expecting.py",
        """
        from evalmark import expect

        def test_unscored():
            expect("a").to_eval(None, lambda text: text, lambda output: None)

        def test_good():
            expect("b").to_eval(None, lambda text: text, lambda output: True)
        """,
    )
    ended = suite.run("-n", "2")
    assert (ended.counts, ended.code) == ({"unscored": 1, "passed": 1}, 1)
    assert {case: r.verdict for case, r in ended.results().items()} == {
        "test_unscored": "unscored",
        "test_good": "pass",
    }
    assert len(lines(ended, "not judged")) == 0
    off = suite.plain("-n", "2")
    assert (off.counts, off.code) == ({"skipped": 2}, 0)
    assert len(lines(off, "2 evals skipped: evals may cost money")) == 1


MISSING_JUDGE = """
import pytest
from evalmark import check_factuality, describe_eval, expect

describe_eval("judged", data=["a", "b"], task=lambda text: text, scorers=[check_factuality, {"length": {"max_words": 1}}])


def test_expecting():
    expect("a").to_eval("a", lambda text: text, check_factuality)


@pytest.mark.evalmark(scorers=[check_factuality])
def test_marked(evalmark_case):
    evalmark_case.log("a", "a", expected="a")


def test_plain():
    pass
"""


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_evals_whose_judge_is_missing_are_unscored_and_the_others_run(suite, words):
    suite.write("test_judged.py", MISSING_JUDGE)
    ended = suite.run(*words)
    assert (ended.code, ended.counts) == (1, {"unscored": 4, "passed": 1})
    how = "no judge is named; use --evalmark-judge PROVIDER/MODEL, EVALMARK_JUDGE or judge="
    assert lines(ended, "4 cases without a score of ") == [f"4 cases without a score of factuality: {how}."]
    assert "not judged" not in ended.text
    results = ended.results("judged").values()
    assert [{score.name: score.value for score in result.scores} for result in results] == [
        {"factuality": None, "length": 1.0}
    ] * 2


def test_a_judge_is_named_by_a_flag_and_a_wrong_one_is_an_error_of_the_collection(suite):
    suite.write("test_judged.py", MISSING_JUDGE)
    with ScriptedServer() as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none", "EVALMARK_JUDGE": "openai/other"}
        ended = suite.run("--evalmark-judge", "openai/model", **env)
    assert ended.words["test_judged.py::test_plain"] == "passed"
    assert "unscored" not in ended.counts
    assert {metric.judge for metric in ended.run().metrics if metric.name == "factuality"} == {"openai/model"}
    wrong = suite.run("--evalmark-judge", "nowhere/model")
    assert (wrong.code, "'nowhere' is not a provider" in wrong.text) == (2, True)


SOFT = """
import pytest
from evalmark import check_factuality, describe_eval

def task(text):
    if text == "broken":
        raise ValueError("no")
    return text

describe_eval(
    "soft",
    data=[{"input": "a", "expected": "a"}, {"input": "b", "expected": "c"}, {"input": "broken", "expected": "x"}, "none"],
    task=task,
    scorers=["equals"],
)


@pytest.mark.evalmark
def test_asserts(evalmark_case):
    assert evalmark_case.log("no") == "yes"
"""


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_soft_evals_are_counted_and_shown_but_leave_the_exit_code(suite, words):
    suite.write("test_soft.py", SOFT)
    ended = suite.run("--evalmark-soft", "-v", "--junitxml=out.xml", *words)
    assert (ended.code, ended.counts) == (0, {"passed": 1, "soft-failed": 4})
    assert "evalmark: --evalmark-soft, evals that do not pass leave the exit code unchanged" in ended.text
    loud = (
        "--evalmark-soft: 4 evals did not pass (2 failed, 1 unscored, 1 with errors); the exit code does not show it."
    )
    assert loud in ended.text
    assert len(re.findall(r"^_+ soft-failed: test_soft.py::\S+ _+$", ended.text, re.MULTILINE)) == 4
    assert "SOFT FAIL (equals 0.000)" in ended.text
    assert 'skipped="4"' in (ended.folder / "out.xml").read_text(encoding="utf-8")
    assert [result.verdict for result in ended.run().results].count("pass") == 1


def test_soft_does_not_excuse_other_tests_and_shows_a_gate_that_fails(suite):
    suite.write("test_soft.py", SOFT)
    gated = suite.run("--evalmark-soft", "--evalmark-min-pass-rate", "0.9")
    assert gated.code == 0
    assert "1 with errors); the gate failed; the exit code does not show it." in gated.text
    suite.write("test_other.py", "def test_plain():\n    assert False\n")
    ended = suite.run("--evalmark-soft")
    assert (ended.code, ended.counts["failed"]) == (1, 1)


def test_verbose_lines_show_the_scores(suite):
    suite.write("test_soft.py", SOFT)
    ended = suite.run("-v", "-k", "soft and not asserts")
    shown = dict(re.findall(r"^test_soft\.py::(\S+\[.+?\]) (.+?) +\[ *\d+%\]$", ended.text, re.MULTILINE))
    assert shown == {
        "soft[a]": "PASSED (equals 1.000)",
        "soft[b]": "FAILED (equals 0.000)",
        "soft[broken]": "EVAL ERROR",
        "soft[none]": "UNSCORED (equals unscored)",
    }
    assert "FAILED test_soft.py::soft[b] - Failed: equals" in ended.text


JUDGED = """
import pytest

from evalmark import check_factuality, describe_eval, expect

rows = [{"input": f"{n} + {n}?", "expected": str(2 * n)} for n in range(6)]

describe_eval("sums", data=rows, task=lambda text: text, scorers=[check_factuality], threshold=0.3)


def test_expecting():
    expect("7 + 7?").to_eval("14", lambda text: text, check_factuality, threshold=0.3)
"""


@pytest.mark.sweep
def test_models_are_replayed_and_their_cost_is_in_the_table(suite):
    suite.write("test_sums.py", JUDGED)
    with ScriptedServer() as server:
        env = {"EVALMARK_JUDGE": "openai/gpt-4o-mini", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        first = suite.run("-n", "2", **env)
        asked = server.count
        assert asked >= 7
        second = suite.run("-n", "2", "--evalmark-replay", "strict", **{**env, "OPENAI_API_KEY": ""})
        third = suite.run("--evalmark-replay", "strict", **env)
        assert server.count == asked
    for ended in (first, second, third):
        assert (ended.counts, ended.code) == ({"passed": 7}, 0)
        assert len(ended.run().results) == 7
    assert [s.calls for s in first.run(first.run("last~2").id).spending] == [asked]
    assert [(s.calls, s.replayed) for s in third.run("last").spending] == [(0, asked)]
    assert [(s.calls, s.replayed) for s in third.run("last~1").spending] == [(0, asked)]
    assert "6 calls" in lines(first, "sums   6 cases")[0]
    assert "$0" in lines(third, "sums   6 cases")[0]
