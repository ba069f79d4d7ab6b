"""`expect(...).to_eval(...)` in scripts: in plain code, in a running loop, inside a task."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark import EvalFailedError, describe_eval, expect
from evalmark.errors import ConfigError
from evalmark.testing.scripted import ScriptedServer


def answer(question):
    return {"France?": "Paris"}.get(question, "unknown")


async def answer_later(question):
    await asyncio.sleep(0)
    return answer(question)


def right(output, expected):
    return output == expected


def half(output):
    return 0.5


@pytest.mark.parametrize("task", [answer, answer_later], ids=["a function", "a coroutine"])
@pytest.mark.parametrize("how", ["plain", "in a loop", "awaited"])
def test_an_expectation_runs_its_task_once_and_gives_what_it_found(task, how, script):
    asked = []

    def asking(question):
        asked.append(question)
        return task(question)

    async def inside():
        if how == "awaited":
            return await expect("France?").to_eval_async("Paris", asking, right)
        return expect("France?").to_eval("Paris", asking, right)

    result = expect("France?").to_eval("Paris", asking, right) if how == "plain" else asyncio.run(inside())
    assert asked == ["France?"]
    assert (result.verdict, result.output.value) == ("pass", "Paris")
    assert (result.trial.case.input, result.trial.case.expected) == ("France?", "Paris")
    assert list(script.iterdir()) == []


def test_an_awaited_task_runs_on_the_loop_of_its_caller():
    async def inside():
        async def where(text):
            return asyncio.get_running_loop() is here

        here = asyncio.get_running_loop()
        return await expect("x").to_eval_async(None, where, lambda output: output is True)

    assert asyncio.run(inside()).verdict == "pass"


@pytest.mark.parametrize(
    ("task", "scorers", "options", "said"),
    [
        pytest.param(answer, [half], {}, "Score: 0.500 below the threshold 1.000, the default", id="the default"),
        pytest.param(answer, [half], {"threshold": 0.6}, "Score: 0.500 below the threshold 0.600", id="a threshold"),
        pytest.param(answer, [half, right], {"threshold": {"half": 0.5}}, "Failed: right", id="one of two"),
        pytest.param(answer, [lambda output: None], {}, "Unscored: lambda returned no score", id="no judgement"),
        pytest.param(lambda text: 1 / 0, [right], {}, "Error: ZeroDivisionError: division by zero", id="a broken task"),
        pytest.param(
            answer, [lambda output: 1 / 0], {}, "Error: the scorer lambda failed with an error.", id="a broken scorer"
        ),
        pytest.param(lambda text: None, [right], {}, "Error: the task returned None; return a text", id="no answer"),
        pytest.param(lambda text: sys.exit(1), [right], {}, "Error: SystemExit: 1", id="a task that exits"),
    ],
)
def test_what_does_not_pass_is_an_assertion_that_fails(task, scorers, options, said):
    with pytest.raises(AssertionError) as failed:
        expect("Spain?").to_eval("Madrid", task, *scorers, **options)
    assert isinstance(failed.value, EvalFailedError)
    assert str(failed.value).startswith(said)
    assert failed.value.result.verdict != "pass"


def test_a_task_that_hangs_is_left_behind():
    async def hanging(text):
        await asyncio.sleep(60)

    with pytest.raises(EvalFailedError, match=r"no answer within 0\.05 s"):
        expect("x").to_eval(None, hanging, right, timeout=0.05)


def test_a_threshold_of_none_never_fails():
    assert expect("x").to_eval(None, answer, half, threshold=None).verdict == "ungated"


@pytest.mark.parametrize(
    ("scorers", "options", "said"),
    [
        pytest.param([], {}, "to_eval() has no scorers; name at least one", id="no scorer"),
        pytest.param([right, 0.6], {}, "to_eval() got the number 0.6 as a scorer; write threshold=0.6.", id="a number"),
        pytest.param(
            [right], {"treshold": 0.6}, "to_eval() has no option 'treshold'; its options are threshold", id="unknown"
        ),
        pytest.param(["factuality"], {}, "factuality needs a judge; set EVALMARK_JUDGE=provider/model", id="no judge"),
        pytest.param(["equal"], {}, "equal", id="no such scorer"),
        pytest.param(
            [right], {"threshold": 2}, "the threshold 2 is not a number from 0 to 1", id="a threshold out of range"
        ),
    ],
)
@pytest.mark.parametrize("how", ["plain", "awaited"])
def test_what_cannot_be_is_refused_before_the_task_runs(scorers, options, said, how):
    asked = []

    def expecting():
        if how == "plain":
            return expect("x").to_eval(None, asked.append, *scorers, **options)
        return asyncio.run(expect("x").to_eval_async(None, asked.append, *scorers, **options))

    with pytest.raises(ConfigError) as refused:
        expecting()
    place, _, text = str(refused.value).partition(": ")
    assert Path(place.rpartition(":")[0]).name == Path(__file__).name
    assert said in text
    assert asked == []


def test_expectations_stand_inside_tasks_of_others():
    def inner(text):
        return expect(text).to_eval("PARIS", lambda inner: inner.upper(), right).output.value

    async def outer(text):
        first = expect(text).to_eval("PARIS", inner, right).output.value
        second = await expect(text).to_eval_async("PARIS", inner, right)
        return f"{first} {second.output.value}"

    assert expect("Paris").to_eval("PARIS PARIS", outer, right).verdict == "pass"
    with pytest.raises(EvalFailedError, match="Error: EvalFailedError: Failed: right"):
        expect("Rome").to_eval(None, inner, right)


def test_a_script_runs_an_expectation_and_leaves_nothing_behind(script):
    (script / "script.py").write_text(
        "from evalmark import expect\n"
        "expect('a').to_eval('A', str.upper, 'equals')\n"
        "print('fine')\n"
        "expect('a').to_eval('B', str.upper, 'equals')\n",
        encoding="utf-8",
    )
    ended = subprocess.run([sys.executable, "script.py"], cwd=script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "fine\n")
    assert "EvalFailedError: " in ended.stderr
    assert [path.name for path in script.iterdir()] == ["script.py"]


def test_a_judge_is_asked_once_and_its_reply_is_found_again(script, monkeypatch):
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for _ in range(2):
            result = expect("1 + 1?").to_eval("2", lambda text: "2", "factuality", judge="openai/any", threshold=None)
            assert result.scores[0].status == "scored"
        assert server.count == 1


def test_an_eval_runs_inside_a_running_loop_and_gives_its_run():
    described = describe_eval("inner", data=["a", "b"], task=str.upper, scorers=[lambda output: output == "A"])

    async def inside():
        return described.run(store=None)

    run = asyncio.run(inside())
    assert [r.verdict for r in run.results] == ["pass", "fail"]
    assert described.run(store="kept.db").results[0].verdict == "pass"
