"""The same suite in several processes: one run, one table, the same results, whoever dies."""

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


def test_a_judge_that_is_missing_is_said_once_before_any_task_runs(suite):
    suite.write(
        "test_judged.py",
        """
        from evalmark import check_factuality, describe_eval

        describe_eval("judged", data=["a", "b"], task=lambda text: open("asked.txt", "w"), scorers=[check_factuality])

        def test_plain():
            open("asked.txt", "w")
        """,
    )
    for words in ((), ("-n", "2")):
        ended = suite.run(*words)
        said = "test_judged.py:4: factuality needs a judge; set EVALMARK_JUDGE=provider/model, or pass judge=."
        assert said in ended.text
        assert ended.counts == {"error": 1}
        assert ended.code in (1, 2)
        assert not (ended.folder / "asked.txt").exists()
        assert not ended.store.exists()


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
