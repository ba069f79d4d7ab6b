"""Tools that are recorded, in the hands of the frameworks that call them; each test skips where its framework is absent."""

import json

import pytest

from evalmark import evaluate
from evalmark.tools import replayed

made: list[str] = []
STORE = "tools.db"


@pytest.fixture(autouse=True)
def nothing_called(world):
    made.clear()


def look_up(word: str, n: int = 2) -> list[str]:
    """Look a word up."""
    made.append(word)
    return [word] * n


async def fetch(url: str) -> str:
    """Fetch a page."""
    made.append(url)
    return url


def answered(output) -> bool:
    return bool(output)


TOOLS = [replayed(version="1")(look_up), replayed(version="1")(fetch)]


def runs_of(agent) -> list[str]:
    """What an agent answers in a run that records, in one that must not call, and for a case that is not recorded."""
    answers = []
    for given, replay in (("tea", "auto"), ("tea", "strict"), ("mint", "strict")):
        (result,) = evaluate([{"id": "1", "input": given}], agent, [answered], store=STORE, replay=replay).results
        answers.append(result.output.error or result.output.value)
    return answers


def assert_replayed(answers: list[str], calls: int) -> None:
    assert len(made) == calls
    assert answers[0] == answers[1]
    assert answers[2].startswith("NotRecordedError: ")
    assert "Run once with --replay auto" in answers[2]


def test_pydantic_ai_makes_the_same_schema_and_its_tools_are_replayed():
    framework = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    testing = pytest.importorskip("pydantic_ai.models.test")

    @replayed(version="1", key=lambda arguments: arguments["word"])
    async def with_context(context: framework.RunContext[int], word: str) -> str:
        made.append(word)
        return word

    with_context.__annotations__["context"] = framework.RunContext[int]
    agent = framework.Agent(testing.TestModel(), tools=[*TOOLS, with_context], deps_type=int)
    bare = framework.Tool(look_up).function_schema.json_schema
    assert framework.Tool(TOOLS[0]).function_schema.json_schema == bare

    async def answers(question):
        return (await agent.run(question, deps=3)).output

    assert_replayed(runs_of(answers), calls=3)


def test_langchain_makes_the_same_schema_and_its_tools_are_replayed():
    tools = pytest.importorskip("langchain_core.tools", reason="langchain-core is not installed")
    plain, soon = map(tools.tool, TOOLS)
    assert plain.args == tools.tool(look_up).args

    async def answers(question):
        in_a_thread = await plain.ainvoke({"word": question})
        return json.dumps([in_a_thread, await soon.ainvoke({"url": question}), plain.invoke({"word": question})])

    assert_replayed(runs_of(answers), calls=2)


def test_openai_agents_makes_the_same_schema_and_its_tools_are_replayed(monkeypatch):
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    framework = pytest.importorskip("agents", reason="openai-agents is not installed")
    contexts = pytest.importorskip("agents.tool_context")
    tool = framework.function_tool(TOOLS[0])
    assert tool.params_json_schema == framework.function_tool(look_up).params_json_schema

    async def answers(question):
        given = json.dumps({"word": question})
        context = contexts.ToolContext(context=None, tool_name="look_up", tool_call_id="1", tool_arguments=given)
        return str(await tool.on_invoke_tool(context, given))  # what a tool raises comes back as a text

    assert_replayed(runs_of(answers), calls=1)
