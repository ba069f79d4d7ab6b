"""Whatever kind of test asks an agent: its models and tools are those of the run, recorded, replayed and counted."""

import pytest

from evalmark.testing.scripted import ScriptedServer

pytestmark = pytest.mark.slow

AGENT = """
import asyncio

import pytest

from evalmark import chat_model, describe_eval, expect
from evalmark.tools import replayed
from evalmark.core.values.call import Request
from evalmark import Turn

called = []

@replayed(version="1")
def look_up(word):
    called.append(word)
    return f"all about {word}"

async def agent(word):
    async with chat_model("openai/any") as model:
        return (await model(Request(messages=(Turn(role="user", content=look_up(word)),)))).text

def knows(output):
    return "all about" in output

describe_eval("described", data=["tea", "coffee"], task=agent, scorers=[knows])

def test_expected():
    expect("milk").to_eval(None, agent, knows)

def test_awaited():
    asyncio.run(expect("sugar").to_eval_async(None, agent, knows))

@pytest.mark.evalmark(suite="marked", repeat=2)
def test_marked(evalmark_case):
    evalmark_case.log(asyncio.run(agent("lemon")))
    evalmark_case.judge(knows)

def test_strict_calls_nothing():
    assert called == []
"""
STUBBORN = """
import asyncio

import pytest

from test_agents import agent

@pytest.mark.evalmark(suite="marked")
def test_goes_on(evalmark_case):
    try:
        evalmark_case.log(asyncio.run(agent("salt")))
    except Exception:
        evalmark_case.log("all about nothing")
"""


@pytest.fixture
def server():
    with ScriptedServer(lambda said: f"{said.number}: {said.text}") as server:
        yield server


def recorded(suite, server):
    """The suite after a run in which everything was called, and what further runs need."""
    suite.write("test_agents.py", AGENT)
    env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": ""}
    first = suite.run("--deselect", "test_agents.py::test_strict_calls_nothing", **env)
    assert first.counts == {"passed": 6}, first.text
    return first, env


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["in one process", "in two workers"])
def test_every_kind_of_test_is_replayed(suite, server, words):
    first, env = recorded(suite, server)
    assert server.count == 6  # each repeat has a reply of its own
    again = suite.run("--evalmark-replay", "strict", *words, **env)
    assert again.counts == {"passed": 7}, again.text
    assert server.count == 6
    before, now = first.run("last~1"), again.run("last")
    answers = [{(r.trial.case.id, r.trial.repeat): r.output.value for r in run.results} for run in (before, now)]
    assert answers[0] == answers[1]
    assert sum(spent.calls for spent in before.spending) == 6
    assert [(spent.calls, spent.replayed) for spent in now.spending] == [(0, 6)]


MIXED = """
def pytest_collection_modifyitems(items):
    "As a plugin for a random order does it: the first of each kind, then the second."
    first = [item for item in items if "tea" in item.name]
    last = [item for item in items if "coffee" in item.name]
    items[:] = [*first, *(item for item in items if item not in first + last), *last]
"""


def test_a_call_counts_once_in_whatever_order_tests_come(suite, server):
    """The cases of the eval are answered side by side, which must not go on while another test asks."""
    slow = AGENT.replace(
        "    async with chat_model", "    await asyncio.sleep(0.3 * (word == 'coffee'))\n    async with chat_model"
    )
    suite.write("test_agents.py", slow)
    suite.write("conftest.py", MIXED)
    env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": ""}
    ended = suite.run("--deselect", "test_agents.py::test_strict_calls_nothing", **env)
    assert ended.counts == {"passed": 6}, ended.text
    assert server.count == sum(spent.calls for spent in ended.run().spending) == 6


def test_a_marked_test_that_goes_on_without_a_recording_is_an_error(suite, server):
    _, env = recorded(suite, server)
    suite.write("test_more.py", STUBBORN)
    ended = suite.run("--evalmark-replay", "strict", "test_more.py", **env)
    assert ended.words == {"test_more.py::test_goes_on": "eval errors"}
    assert ended.why["test_goes_on"].startswith("Error: NotRecordedError: look_up: not recorded for the arguments")
    assert server.count == 6


ASYNC = """
import pytest

from test_agents import agent

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.{plugin}
@pytest.mark.evalmark(suite="marked")
async def test_async(evalmark_case):
    evalmark_case.log(await agent("{plugin}"))
"""


@pytest.mark.parametrize(("plugin", "module"), [("asyncio", "pytest_asyncio"), ("anyio", "anyio")])
def test_async_tests_are_replayed(suite, server, plugin, module):
    pytest.importorskip(module)
    _, env = recorded(suite, server)
    suite.write("test_async.py", ASYNC.format(plugin=plugin))
    for words in ((), ("--evalmark-replay", "strict")):
        ended = suite.run("test_async.py", *words, **env)
        assert ended.counts == {"passed": 1}, ended.text
    assert server.count == 7
