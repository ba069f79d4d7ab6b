"""What is known when a task returns it, by classes that only look like those of the frameworks."""

from types import SimpleNamespace

import pytest

from evalmark import Output, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.runs.transcripts.frameworks import recognize_output
from evalmark.runs.transcripts.langchain import from_langchain
from evalmark.runs.transcripts.openai_agents import from_openai_agents
from evalmark.runs.transcripts.pydantic_ai import from_pydantic_ai


def made(module, kind, /, **fields):
    """An object of a class of that name in that module."""
    thing = type(kind, (), {"__module__": module})()
    vars(thing).update(fields)
    return thing


def message(kind, content, /, **more):
    return made("langchain_core.messages", "BaseMessage", type=kind, content=content, response_metadata={}, **more)


CALL = {"name": "f", "args": {"x": 1}, "id": "1"}
STATE = {
    "messages": [
        message("human", "q"),
        message("ai", "", tool_calls=[CALL], usage_metadata={"input_tokens": 3, "output_tokens": 1}),
        message("tool", "no\nluck", tool_call_id="1", status="error", name="f"),
        message("ai", "a", usage_metadata={"input_tokens": 5, "output_tokens": 2}),
    ]
}
RUN = {
    "input": "q",
    "new_items": [
        {
            "type": "tool_call_item",
            "raw_item": {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        },
        {"type": "tool_call_output_item", "raw_item": {"call_id": "1", "output": "2"}, "output": 2},
    ],
    "raw_responses": [SimpleNamespace(usage=SimpleNamespace(input_tokens=0, output_tokens=0))],
    "final_output": "a",
}


def in_parts(*parts, **more):
    return {"parts": [*parts], **more}


RESULT = {
    "output": "a",
    "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_tokens": 0},
    "new_messages": lambda: [
        in_parts({"part_kind": "user-prompt", "content": "q"}),
        in_parts(
            {"part_kind": "tool-call", "tool_name": "f", "args": '{"x": 1}', "tool_call_id": "1"},
            timestamp="2026-05-01T10:00:00Z",
        ),
        in_parts(
            {
                "part_kind": "tool-return",
                "tool_name": "f",
                "tool_call_id": "1",
                "content": 2,
                "timestamp": "2026-05-01T10:00:01.5Z",
            }
        ),
        in_parts({"part_kind": "text", "content": "a"}),
    ],
}
ASKED, ANSWERED = Turn(role="user", content="q"), Turn(role="assistant", content="a")


@pytest.mark.parametrize(
    ("thing", "output"),
    [
        pytest.param(
            STATE,
            Output(
                value="a",
                transcript=(ASKED, ToolCall(name="f", arguments={"x": 1}, id="1", error="no luck"), ANSWERED),
                usage=Usage(input_tokens=8, output_tokens=3),
            ),
            id="the state of an agent of LangGraph",
        ),
        pytest.param(
            STATE | {"messages": STATE["messages"][-1:], "steps": 2},
            Output(
                value="a",
                transcript=(ANSWERED,),
                usage=Usage(input_tokens=5, output_tokens=2),
                metadata={"state": {"steps": 2}},
            ),
            id="a state with more in it",
        ),
        pytest.param(
            made("langgraph.types", "GraphOutput", value=STATE | {"messages": STATE["messages"][:1]}),
            Output(transcript=(ASKED,)),
            id="a state in the wrapper of a newer LangGraph",
        ),
        pytest.param(
            made("langgraph.types", "GraphOutput", value={"answer": "a"}),
            Output(value={"answer": "a"}),
            id="a state without messages in that wrapper",
        ),
        pytest.param(
            {"input": "q", "output": "a", "intermediate_steps": []},
            Output(value="a", transcript=(ASKED, ANSWERED)),
            id="an executor that took no step",
        ),
        pytest.param(
            made("agents.result", "RunResultBase", **RUN),
            Output(value="a", transcript=(ASKED, ToolCall(name="f", result=2, id="1"))),
            id="a run of OpenAI Agents",
        ),
        pytest.param(
            made("pydantic_ai.run", "AgentRunResult", **RESULT),
            Output(
                value="a",
                transcript=(
                    ASKED,
                    ToolCall(
                        name="f",
                        arguments={"x": 1},
                        result=2,
                        id="1",
                        started="2026-05-01T10:00:00+00:00",
                        seconds=1.5,
                    ),
                    ANSWERED,
                ),
                usage=Usage(input_tokens=3, output_tokens=1),
            ),
            id="a result of pydantic-ai",
        ),
        pytest.param(
            made("openai.types.chat", "ChatCompletion", choices=[SimpleNamespace(message={"role": "assistant", "content": "a"})]),
            Output(value="a", transcript=(ANSWERED,)),
            id="a chat completion",
        ),
    ],
)  # fmt: skip
def test_what_frameworks_give_is_known_by_the_modules_of_its_classes(thing, output):
    assert recognize_output(thing) == output


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param("text", id="a text"),
        pytest.param([{"role": "assistant", "content": "a"}], id="a list of messages"),
        pytest.param({"messages": [{"role": "assistant", "content": "a"}]}, id="messages that are nobody's"),
        pytest.param({"messages": []}, id="no messages"),
        pytest.param({"output": "a", "intermediate_steps": [({}, "b")]}, id="steps that are nobody's"),
        pytest.param({"role": "assistant", "content": "a"}, id="a message that is nobody's"),
        pytest.param(made("agents.result", "RunResultBase"), id="a class of the user's own package `agents`"),
        pytest.param(made("mine", "ChatCompletion", choices=[]), id="a class that is only called like one"),
        pytest.param(SimpleNamespace(content="a"), id="an object with content"),
    ],
)
def test_anything_else_is_not_guessed_at(thing):
    assert recognize_output(thing) is None


@pytest.mark.parametrize(
    ("part", "call"),
    [
        pytest.param({"outcome": "success"}, {"result": "x"}, id="it came back"),
        pytest.param({}, {"result": "x"}, id="an older release does not say how"),
        pytest.param({"outcome": "failed"}, {"error": "x"}, id="it failed"),
        pytest.param({"outcome": "denied"}, {"error": "x"}, id="it was denied"),
        pytest.param({"outcome": "failed", "content": ""}, {"error": "failed"}, id="it failed without a word"),
        pytest.param({"part_kind": "retry-prompt"}, {"error": "x"}, id="it was asked for again"),
        pytest.param(
            {"part_kind": "retry-prompt", "content": [{"loc": ["a", 0], "msg": "missing"}, {"loc": [], "msg": "odd"}]},
            {"error": "a.0: missing; odd"},
            id="its arguments were refused",
        ),
        pytest.param({"timestamp": "2026-05-01T09:00:00Z"}, {"result": "x"}, id="a clock that went back"),
        pytest.param({"timestamp": "soon"}, {"result": "x"}, id="a time that is none"),
    ],
)
def test_how_a_tool_of_pydantic_ai_came_back(part, call):
    asked = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "1"}
    back = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "1", "content": "x"} | part
    output = from_pydantic_ai([in_parts(asked, timestamp="2026-05-01T10:00:00"), in_parts(back)])
    assert output.tool_calls == (ToolCall(name="f", id="1", started="2026-05-01T10:00:00+00:00", **call),)


def test_an_answer_that_was_not_taken_is_told_to_the_model_as_by_the_user():
    refused = in_parts({"part_kind": "retry-feedback", "content": "Shorter!"})
    again = in_parts({"part_kind": "retry-prompt", "content": "Shorter still!"})
    assert from_pydantic_ai([refused, again]).transcript == (
        Turn(role="user", content="Shorter!"),
        Turn(role="user", content="Shorter still!"),
    )


def test_a_stream_that_was_not_read_to_its_end_is_an_error():
    output = from_openai_agents(RUN | {"is_complete": False, "final_output": None})
    assert output.error.startswith("the stream of the run was not read to its end")
    assert output.value is None
    assert [call.name for call in output.tool_calls] == ["f"]


@pytest.mark.parametrize(
    ("given", "turn"),
    [
        pytest.param(("user", "a"), Turn(role="user", content="a"), id="a pair"),
        pytest.param({"role": "assistant", "content": "a"}, ANSWERED, id="a mapping with a role"),
        pytest.param({"type": "AIMessageChunk", "content": "a"}, ANSWERED, id="a chunk"),
        pytest.param({"type": "chat", "role": "critic", "content": "a"}, Turn(role="critic", content="a"), id="a role"),
        pytest.param({"type": "remove", "id": "1", "content": ""}, None, id="one that removes another"),
        pytest.param({"type": "tool", "content": "a"}, Turn(role="tool", content="a"), id="a tool that nobody called"),
    ],
)
def test_messages_of_langchain_come_in_many_forms(given, turn):
    assert from_langchain([given]).transcript == (() if turn is None else (turn,))
