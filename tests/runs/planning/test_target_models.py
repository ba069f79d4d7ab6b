"""Chat models that a task asks are asked as the run asks its own: journaled, replayed, limited, counted."""

import asyncio
from contextvars import Context

import pytest

from evalmark import ConfigError, EvalmarkError, Turn, chat_model, evaluate, expect
from evalmark.core.settings import Settings
from evalmark.core.values.call import Request
from evalmark.testing.scripted import ScriptedServer

ANSWER = [lambda output: output.startswith("said ")]


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(lambda said: f"said {said.number}: {said.text}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def request(text):
    return Request(messages=(Turn(role="user", content=text),))


async def agent(question):
    async with chat_model("openai/any") as model:
        first = await model(request(question))
        return (await model(request(f"{first.text}, {question}"))).text


def blocking_agent(question):
    return asyncio.run(agent(question))


def answers(run):
    return [result.output.value for result in run.results]


@pytest.mark.parametrize("task", [agent, blocking_agent], ids=["on the loop of the run", "on a loop of its own"])
def test_what_a_task_asks_is_recorded_and_used_again(server, task):
    first = evaluate(["a", "b"], task, ANSWER)
    again = evaluate(["a", "b"], task, ANSWER, replay="strict")
    assert server.count == 4
    assert answers(again) == answers(first)
    assert [(spent.model, spent.calls, spent.replayed) for spent in first.spending] == [("openai/any", 4, 0)]
    assert [(spent.model, spent.calls, spent.replayed) for spent in again.spending] == [("openai/any", 0, 4)]
    assert [len(result.output.metadata["calls"]) for result in again.results] == [2, 2]


@pytest.mark.parametrize("task", [agent, blocking_agent], ids=["on the loop of the run", "on a loop of its own"])
def test_repeats_have_replies_of_their_own(server, task):
    run = evaluate(["a"], task, ANSWER, repeat=3)
    assert server.count == 6
    assert len(set(answers(run))) == 3
    assert answers(evaluate(["a"], task, ANSWER, repeat=3, replay="strict")) == answers(run)


def test_the_same_question_twice_in_a_trial_is_two_calls(server):
    async def undecided(question):
        async with chat_model("openai/any") as model:
            said = [(await model(request(question))).text for _ in range(2)]
        async with chat_model("openai/any") as model:
            return ", ".join([*said, (await model(request(question))).text])

    run = evaluate(["a"], undecided, ANSWER)
    assert answers(run) == ["said 0: a, said 1: a, said 2: a"]
    assert answers(evaluate(["a"], undecided, ANSWER, replay="strict")) == answers(run)


async def stubborn(question):
    try:
        return await agent(question)
    except EvalmarkError:
        return "said nothing"


def test_an_agent_that_carries_on_does_not_pass_where_nothing_is_recorded(server):
    (result,) = evaluate(["a"], stubborn, ANSWER, replay="strict").results
    assert result.verdict == "error"
    assert result.output.error.startswith("NotRecordedError: openai/any: not recorded at openai/any@http://127")
    assert server.count == 0


def test_a_budget_ends_the_run_though_the_agent_carries_on(server):
    run = evaluate(["a", "b", "c"], stubborn, ANSWER, max_calls=3, jobs=1)
    assert (run.status, server.count, len(run.results)) == ("stopped", 3, 1)


def test_a_model_that_cannot_be_asked_is_an_error_of_the_case(server, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    (result,) = evaluate(["a"], agent, ANSWER).results
    assert "OPENAI_API_KEY is not set" in result.output.error
    (result,) = evaluate(["a"], blocking_agent, ANSWER, replay="strict").results
    assert result.output.error.startswith("NotRecordedError")  # without a key


def test_a_budget_of_money_refuses_a_model_without_a_price(server):
    (result,) = evaluate(["a"], agent, ANSWER, max_cost=1).results
    assert result.output.error.startswith("ConfigError: --max-cost: the price of openai/any is not known.")
    assert server.count == 0


def test_an_expectation_lends_its_models_too(server):
    async def awaited():
        await expect("a").to_eval_async(None, agent, *ANSWER)

    alone = Context()  # without the pytest that runs this very test
    alone.run(expect("a").to_eval, None, agent, *ANSWER)
    alone.run(asyncio.run, awaited())
    assert server.count == 2


def test_elsewhere_a_model_is_just_asked(server):
    assert asyncio.run(agent("a")) == "said 1: said 0: a, a"
    assert asyncio.run(agent("a")) == "said 3: said 2: a, a"
    with pytest.raises(ConfigError, match="nowhere"):
        asyncio.run(opened("nowhere/any"))


async def opened(name):
    async with chat_model(name):
        raise AssertionError(name)


def test_settings_of_ones_own_keep_a_model_apart_from_the_run(server):
    async def apart(question):
        async with chat_model("openai/any", Settings()) as model:
            return (await model(request(question))).text

    runs = [evaluate(["a"], apart, ANSWER) for _ in range(2)]
    assert server.count == 2
    assert [run.spending for run in runs] == [(), ()]
