"""What is read out of OpenAI's forms, as plain data."""

import pytest

from evalmark import Output, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.runs.transcripts.openai import from_openai


def said(text, role="assistant"):
    return Turn(role=role, content=text)


@pytest.mark.parametrize(
    ("message", "turns"),
    [
        pytest.param({"role": "user", "content": "Hi"}, [said("Hi", "user")], id="a text"),
        pytest.param({"role": "developer", "content": "Be"}, [said("Be", "system")], id="a developer is the system"),
        pytest.param({"role": "assistant", "content": " \n"}, [], id="an assistant that says nothing"),
        pytest.param({"role": "user", "content": ""}, [said("", "user")], id="a user who says nothing"),
        pytest.param({"role": "critic", "content": "No"}, [said("No", "critic")], id="a role of its own"),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            [said("ab", "user")],
            id="parts of text",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]},
            [said("[image_url]\nb", "user")],
            id="a picture is named",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_file", "file_id": "x"}]},
            [said("a\n[input_file]", "user")],
            id="a file of the Responses API is named",
        ),
        pytest.param({"role": "user", "content": ["a", "b"]}, [said("ab", "user")], id="parts that are bare texts"),
        pytest.param({"role": "user", "content": {"a": 1}}, [said({"a": 1}, "user")], id="content that is data"),
        pytest.param({"role": "user", "content": 7}, [said(7, "user")], id="content that is a number"),
        pytest.param(
            {"role": "assistant", "content": [{"type": "novel", "x": 1}, 7, None]}, [], id="parts that nobody knows"
        ),
        pytest.param({"role": "assistant", "refusal": "I may not."}, [said("I may not.")], id="a refusal"),
        pytest.param(
            {"type": "message", "content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}]},
            [said("ab")],
            id="an item without a role is the assistant's",
        ),
        pytest.param("Hi", [said("Hi", "user")], id="a bare text is the user's"),
        pytest.param({"type": "item_reference", "id": "x"}, [], id="an item that only points elsewhere"),
        pytest.param({"type": "compaction", "encrypted_content": "x"}, [], id="an item that cannot be read"),
        pytest.param({"type": "note", "text": "a"}, [said("a", "note")], id="an unknown item with a text"),
        pytest.param(None, [], id="nothing"),
        pytest.param(7, [], id="a number"),
    ],
)
def test_messages_become_turns(message, turns):
    assert from_openai([message]).transcript == tuple(turns)


@pytest.mark.parametrize(
    ("item", "call"),
    [
        pytest.param(
            {"type": "function_call", "call_id": "a", "id": "f", "name": "g", "arguments": '{"x": 1}'},
            {"name": "g", "id": "a", "arguments": {"x": 1}},
            id="a function",
        ),
        pytest.param(
            {"type": "custom_tool_call", "call_id": "a", "name": "sh", "input": "ls"},
            {"name": "sh", "id": "a", "arguments": {"input": "ls"}},
            id="a custom tool",
        ),
        pytest.param(
            {"type": "file_search_call", "id": "a", "status": "completed", "queries": ["x"], "results": None},
            {"name": "file_search", "id": "a", "arguments": {"queries": ["x"]}},
            id="a hosted tool whose results were not asked for",
        ),
        pytest.param(
            {"type": "code_interpreter_call", "id": "a", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]},
            {
                "name": "code_interpreter",
                "id": "a",
                "arguments": {"code": "1"},
                "result": [{"type": "logs", "logs": "1"}],
            },
            id="a hosted tool with its results",
        ),
        pytest.param(
            {"type": "image_generation_call", "id": "a", "result": "iVBORw0KGgo"},
            {"name": "image_generation", "id": "a", "result": "[image]"},
            id="a picture is not kept",
        ),
        pytest.param(
            {"type": "mcp_call", "id": "a", "name": "g", "arguments": "{}", "output": "yes", "error": None},
            {"name": "g", "id": "a", "result": "yes"},
            id="a tool of a server",
        ),
        pytest.param(
            {
                "type": "mcp_call",
                "id": "a",
                "name": "g",
                "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "not\nnow"}]},
            },
            {"name": "g", "id": "a", "error": "not now"},
            id="a tool of a server that failed",
        ),
        pytest.param(
            {"type": "web_search_call", "id": "a", "status": "failed", "action": {"query": "x"}},
            {"name": "web_search", "id": "a", "arguments": {"action": {"query": "x"}}, "error": "failed"},
            id="a hosted tool that failed",
        ),
        pytest.param(
            {"role": "assistant", "function_call": {"name": "g", "arguments": '{"x": 1}'}},
            {"name": "g", "arguments": {"x": 1}},
            id="a function of the first chat models",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "g", "arguments": {"x": 1}}}]},
            {"name": "g", "id": "a", "arguments": {"x": 1}},
            id="arguments that are an object already",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "g", "arguments": "[1]"}}]},
            {"name": "g", "id": "a", "arguments": {"unparsed": "[1]"}},
            id="arguments that are a list",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "g", "arguments": '{"x": 1, "x": 2}'}}]},
            {"name": "g", "arguments": {"unparsed": '{"x": 1, "x": 2}'}},
            id="arguments that say a thing twice",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "g", "arguments": "[" * 9_999}}]},
            {"name": "g", "arguments": {"unparsed": "[" * 9_999}},
            id="arguments nested without end",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": {"id": "a", "name": "g", "args": {"x": 1}}},
            {"name": "g", "id": "a", "arguments": {"x": 1}},
            id="one call that is no list",
        ),
    ],
)
def test_calls_of_every_kind_are_read(item, call):
    assert from_openai([item]).tool_calls == (ToolCall(**call),)


@pytest.mark.parametrize(
    ("content", "result"),
    [
        pytest.param("3", "3", id="a text stays a text"),
        pytest.param([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab", id="parts of text are one"),
        pytest.param([{"type": "paper", "text": "a", "url": "u"}] * 2, "as it is", id="data that looks like parts"),
        pytest.param({"type": "text", "text": "a"}, "as it is", id="a mapping is data"),
        pytest.param([], "as it is", id="an empty list"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_results_are_kept_as_they_are(content, result):
    item = {"type": "function_call_output", "call_id": "a", "output": content}
    (call,) = from_openai([{"type": "function_call", "call_id": "a", "name": "g"}, item]).tool_calls
    assert call.result == (content if result == "as it is" else result)


@pytest.mark.parametrize(
    ("messages", "value"),
    [
        pytest.param(
            [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": " "}], "a", id="no blank"
        ),
        pytest.param([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}], "a", id="no question"),
        pytest.param([{"role": "user", "content": "b"}], None, id="nothing that was said"),
        pytest.param([], None, id="no message at all"),
        pytest.param({"role": "assistant", "content": "a"}, "a", id="one message by itself"),
        pytest.param(({"role": "assistant", "content": c} for c in "ab"), "b", id="a stream of messages"),
        pytest.param(
            [{"role": "assistant", "content": '{"a": 1}', "parsed": {"a": 1}}], {"a": 1}, id="a structured answer"
        ),
    ],
)
def test_the_value_is_the_last_text_of_the_assistant_or_the_structured_answer(messages, value):
    assert from_openai(messages).value == value


def test_reasoning_is_metadata_and_no_part_of_what_was_said():
    thinking = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "One."}], "content": None}
    message = {"role": "assistant", "content": "Two.", "reasoning_content": "Three."}
    block = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Four."}, {"type": "text", "text": "5"}]}
    output = from_openai([thinking, message, block])
    assert output.metadata == {"reasoning": "One.\n\nThree.\n\nFour."}
    assert output.transcript == (said("Two."), said("5"))


@pytest.mark.parametrize(
    ("usages", "usage"),
    [
        pytest.param([], None, id="no response"),
        pytest.param([None, {}], None, id="responses that say nothing"),
        pytest.param(
            [{"prompt_tokens": 3, "completion_tokens": 1}, {"input_tokens": 4, "output_tokens": 2}],
            Usage(input_tokens=7, output_tokens=3),
            id="both ways of saying it",
        ),
        pytest.param([{"prompt_tokens": 3}, None], Usage(input_tokens=3), id="what is known is added up"),
        pytest.param(
            [{"prompt_tokens": -1, "completion_tokens": "7"}, {"prompt_tokens": True}], None, id="what cannot be"
        ),
        pytest.param(
            [{"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}}],
            Usage(input_tokens=3, cached_tokens=0),
            id="a provider's own 0 counts",
        ),
    ],
)
def test_tokens_of_whole_responses_are_added_up(usages, usage):
    responses = [{"choices": [{"message": {"role": "assistant", "content": "a"}}], "usage": u} for u in usages]
    assert from_openai(responses).usage == usage


def test_a_response_that_failed_says_why():
    failed = {"output": [], "status": "failed", "error": {"code": "x", "message": "Try\nlater."}}
    assert from_openai(failed) == Output(error="Try later.")
    assert from_openai({"output": [], "status": "failed"}).error == "the response failed"
