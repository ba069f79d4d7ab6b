"""Real agents of LangChain and LangGraph, with models that say what a script says; skipped where they are not installed."""

import pytest
from pydantic import BaseModel

from evalmark import ToolCall, Turn, evaluate
from evalmark.core.values.case import Usage
from evalmark.runs.transcripts.langchain import from_langchain

messages = pytest.importorskip("langchain_core.messages", reason="langchain-core is not installed")
fakes = pytest.importorskip("langchain_core.language_models.fake_chat_models")


class Scripted(fakes.GenericFakeChatModel):
    """A model that may be given tools, and says what its script says."""

    def bind_tools(self, tools, **named):
        return self


def weather(city: str) -> dict:
    """The weather in a city."""
    return {"degrees": 3}


def call(name, id_, **args):
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


def used(into, out, **details):
    return {"input_tokens": into, "output_tokens": out, "total_tokens": into + out, **details}


def agent(*replies, **settings):
    made = pytest.importorskip("langchain.agents", reason="langchain is not installed")
    if not hasattr(made, "create_agent"):
        pytest.skip("langchain is older than 1.0")
    return made.create_agent(Scripted(messages=iter(replies)), [weather], **settings)


ASKED = {"messages": [{"role": "user", "content": "How cold is Oslo?"}]}
LOOKS = messages.AIMessage(
    content="Let me look.",
    tool_calls=[call("weather", "a", city="Oslo"), call("nothing", "b")],
    usage_metadata=used(10, 4, input_token_details={"cache_read": 3}),
)


def says(text):
    return messages.AIMessage(content=text, usage_metadata=used(30, 2, output_token_details={"reasoning": 1}))


def test_the_state_of_an_agent_gives_what_was_said_what_was_called_and_what_it_took():
    output = from_langchain(agent(LOOKS, says("3 degrees."), system_prompt="Be brief.").invoke(ASKED))
    assert output.value == "3 degrees."
    found, missing = output.tool_calls
    assert found == ToolCall(name="weather", arguments={"city": "Oslo"}, result='{"degrees": 3}', id="a")
    assert (missing.id, missing.result) == ("b", None)
    assert missing.error.startswith("Error: nothing is not a valid tool")
    assert output.transcript == (
        Turn(role="user", content="How cold is Oslo?"),
        Turn(role="assistant", content="Let me look."),
        found,
        missing,
        Turn(role="assistant", content="3 degrees."),
    )
    assert output.usage == Usage(input_tokens=40, output_tokens=6, cached_tokens=3, reasoning_tokens=1)


def test_a_structured_answer_is_the_value_and_the_call_that_gives_it_no_tool_call():
    class City(BaseModel):
        degrees: int

    strategy = pytest.importorskip("langchain.agents.structured_output").ToolStrategy(City)
    answers = messages.AIMessage(content="", tool_calls=[call("City", "c", degrees=3)])
    state = agent(LOOKS, answers, response_format=strategy).invoke(ASKED)
    output = from_langchain(state)
    assert output.value == {"degrees": 3}
    assert [made.name for made in output.tool_calls] == ["weather", "nothing"]
    assert output.transcript[-1] == Turn(role="assistant", content={"degrees": 3})


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_state_that_a_task_returns_is_known(version):
    helper = agent(LOOKS, says("3 degrees."))

    def task(question):
        return helper.invoke({"messages": [{"role": "user", "content": question}]}, version=version)

    result = evaluate([{"input": "Oslo?", "expected": "3 degrees."}], task, ["equals"], store=None).results[0]
    assert result.verdict == "pass"
    assert [made.id for made in result.output.tool_calls] == ["a", "b"]


def test_a_compiled_graph_is_a_target_by_its_invoke():
    row = {"input": ASKED, "expected": "3 degrees."}
    result = evaluate([row], agent(LOOKS, says("3 degrees.")), ["equals"], store=None).results[0]
    assert result.verdict == "pass"
    assert result.output.tool_calls[0].result == '{"degrees": 3}'


def test_the_agent_of_langgraph_itself_gives_the_same():
    prebuilt = pytest.importorskip("langgraph.prebuilt", reason="langgraph is not installed")
    graph = pytest.importorskip("langgraph.graph")

    model = Scripted(messages=iter([LOOKS, says("3 degrees.")]))
    built = graph.StateGraph(graph.MessagesState)
    built.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    built.add_node("tools", prebuilt.ToolNode([weather]))
    built.set_entry_point("model")
    built.add_conditional_edges("model", prebuilt.tools_condition)
    built.add_edge("tools", "model")
    output = from_langchain(built.compile().invoke(ASKED))
    assert output.value == "3 degrees."
    assert [made.name for made in output.tool_calls] == ["weather", "nothing"]


def test_blocks_of_content_are_one_text_and_arguments_that_cannot_be_read_are_kept():
    message = messages.AIMessage(
        content=[
            {"type": "reasoning", "reasoning": "Hm."},
            {"type": "text", "text": "It "},
            {"type": "text", "text": "is."},
        ],
        invalid_tool_calls=[
            {"name": "weather", "args": '{"city": ', "id": "x", "error": "no\nJSON", "type": "invalid_tool_call"}
        ],
    )
    output = from_langchain(message)
    assert output.value == "It is."
    assert output.metadata == {"reasoning": "Hm."}
    assert output.tool_calls == (
        ToolCall(name="weather", arguments={"unparsed": '{"city": '}, id="x", error="no JSON"),
    )


def test_what_an_executor_of_agents_gives_is_known():
    actions = pytest.importorskip("langchain_core.agents")
    steps = [
        (actions.AgentAction(tool="weather", tool_input={"city": "Oslo"}, log=""), "3 degrees"),
        (actions.AgentAction(tool="search", tool_input="Oslo", log=""), ["a", "b"]),
    ]

    def task(question):
        return {"input": question, "output": "3 degrees.", "intermediate_steps": steps}

    output = evaluate([{"input": "Oslo?", "expected": ""}], task, ["equals"], store=None).results[0].output
    assert output.value == "3 degrees."
    assert output.transcript == (
        Turn(role="user", content="Oslo?"),
        ToolCall(name="weather", arguments={"city": "Oslo"}, result="3 degrees"),
        ToolCall(name="search", arguments={"input": "Oslo"}, result=["a", "b"]),
        Turn(role="assistant", content="3 degrees."),
    )
