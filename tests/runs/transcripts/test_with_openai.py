"""Objects of OpenAI's own SDK; skipped where it is not installed."""

import pytest

from evalmark import ToolCall, Turn, evaluate
from evalmark.core.values.case import Usage
from evalmark.runs.transcripts.openai import from_openai

openai = pytest.importorskip("openai", reason="openai is not installed")
chat = pytest.importorskip("openai.types.chat")
responses = pytest.importorskip("openai.types.responses")

ASKED = {"role": "user", "content": "How cold is Oslo?"}


def completion(message, **usage):
    return chat.ChatCompletion.model_validate(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, **usage},
        }
    )


LOOKS = completion(
    {
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
            {"id": "b", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        ],
    },
    prompt_tokens_details={"cached_tokens": 8},
)


def test_a_loop_over_objects_of_the_sdk_gives_calls_results_and_tokens():
    end = completion({"content": "3 degrees."}, completion_tokens_details={"reasoning_tokens": 2})
    reply = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "3"}]}
    output = from_openai([ASKED, LOOKS, reply, end])
    calls = (
        ToolCall(name="weather", arguments={"city": "Oslo"}, result="3", id="a"),
        ToolCall(name="shell", arguments={"input": "ls"}, id="b"),
    )
    assert output.transcript == (Turn(**ASKED), *calls, Turn(role="assistant", content="3 degrees."))
    assert output.value == "3 degrees."
    assert output.usage == Usage(input_tokens=40, output_tokens=10, cached_tokens=8, reasoning_tokens=2)
    assert from_openai([ASKED, LOOKS.choices[0].message, reply, end]).transcript == output.transcript


@pytest.mark.parametrize("whole", [pytest.param(True, id="the response"), pytest.param(False, id="its message")])
def test_what_the_sdk_gives_is_known_when_a_task_returns_it(whole):
    answer = completion({"content": "3 degrees."})

    def task(question):
        return answer if whole else answer.choices[0].message

    result = evaluate([{"input": "Oslo?", "expected": "3 degrees."}], task, ["equals"], store=None).results[0]
    assert result.verdict == "pass"
    assert result.output.usage == (Usage(input_tokens=20, output_tokens=5) if whole else None)


def response(*items, **more):
    return responses.Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "output": [*items],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 9,
                "output_tokens": 3,
                "total_tokens": 12,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
                "output_tokens_details": {"reasoning_tokens": 2},
            },
            **more,
        }
    )


def test_a_response_gives_messages_calls_hosted_tools_and_reasoning():
    said = {"type": "output_text", "text": "It is cold.", "annotations": []}
    output = from_openai(
        response(
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Look it up."}]},
            {"type": "function_call", "call_id": "a", "id": "f1", "name": "weather", "arguments": '{"city": "Oslo"}'},
            {
                "type": "web_search_call",
                "id": "w",
                "status": "completed",
                "action": {"type": "search", "query": "Oslo"},
            },
            {"type": "mcp_call", "id": "m", "name": "look", "server_label": "s", "arguments": "{}", "output": "far"},
            {"type": "message", "id": "t", "role": "assistant", "status": "completed", "content": [said]},
        )
    )
    weather, search, look = output.tool_calls
    assert weather == ToolCall(name="weather", arguments={"city": "Oslo"}, id="a")
    assert (search.name, search.result) == ("web_search", None)
    assert search.arguments["action"]["query"] == "Oslo"
    assert look == ToolCall(name="look", id="m", result="far")
    assert output.value == "It is cold."
    assert output.metadata == {"reasoning": "Look it up."}
    assert output.usage == Usage(
        input_tokens=9, output_tokens=3, cached_tokens=4, cache_write_tokens=1, reasoning_tokens=2
    )


def test_a_response_that_failed_is_an_error():
    output = from_openai(response(status="failed", error={"code": "server_error", "message": "Try\nlater."}))
    assert output.error == "Try later."
    assert output.value is None


def test_a_parsed_answer_is_the_value():
    parsed = pytest.importorskip("openai.types.chat.parsed_chat_completion")
    message = {"role": "assistant", "content": '{"degrees": 3}', "parsed": {"degrees": 3}}
    whole = completion({}).model_dump() | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    assert from_openai(parsed.ParsedChatCompletion[dict].model_validate(whole)).value == {"degrees": 3}
