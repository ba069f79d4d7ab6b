"""GenAI spans of OpenTelemetry become answers and steps, as the conventions have them."""

import json

import pytest

from evalmark.core.values.case import Usage
from evalmark.tracing.recorder.otel import EndedSpan, spans_of_trace

ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}]
SAID = [
    {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "Rainy."}],
        "finish_reason": "stop",
    }
]
AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "weather",
    "gen_ai.conversation.id": "c1",
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": SAID,
}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-x",
    "gen_ai.response.model": "gpt-x-2026",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 50,
    "gen_ai.input.messages": json.dumps([{"role": "system", "parts": []}, *ASKED, *SAID]),
    "gen_ai.output.messages": json.dumps(SAID),
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "get_weather",
    "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
    "gen_ai.tool.call.result": "rainy",
}
FOUND = {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.retrieval.query.text": "Oslo",
    "gen_ai.retrieval.documents": json.dumps([{"id": "d", "content": "It rains in Oslo."}]),
}


def ended(id_, attributes, parent="", started=0, seconds=1, **more):
    start = (1_700_000_000 + started) * 10**9
    return EndedSpan(
        trace="f" * 32,
        id=id_,
        parent=parent,
        started=start,
        ended=start + seconds * 10**9,
        attributes=attributes,
        **more,
    )


def read(*spans):
    return {span.name: span for span in spans_of_trace(list(spans), "demo", {"sample": 0})}


def test_each_operation_is_read_by_the_conventions():
    found = read(
        ended("1" * 16, AGENT, seconds=9),
        ended("2" * 16, {"http.method": "GET"}, "1" * 16, 1, 5),
        ended("3" * 16, CHAT, "2" * 16, 2, name="chat gpt-x"),
        ended("4" * 16, TOOL, "1" * 16, 4),
        ended("5" * 16, FOUND, "1" * 16, 5, name="retrieval"),
    )
    agent, chat, tool, search = found["weather"], found["chat gpt-x"], found["get_weather"], found["retrieval"]
    assert (agent.kind, agent.input, agent.output, agent.parent) == ("run", "Weather in Oslo?", "Rainy.", "")
    assert [agent.seconds, agent.started] == [9, 1_700_000_000]
    assert (chat.kind, chat.model, chat.parent, chat.output) == ("model", "gpt-x-2026", agent.id, "Rainy.")
    assert chat.usage == Usage(input_tokens=100, output_tokens=20, cached_tokens=50)
    assert [turn["role"] for turn in chat.input] == ["system", "user", "assistant"]
    assert (tool.kind, tool.input, tool.output) == ("tool", {"city": "Oslo"}, "rainy")
    assert (search.kind, search.input) == ("retrieval", "Oslo")
    assert agent.retrieved == [[{"id": "d", "content": "It rains in Oslo."}]]


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"gen_ai.operation.name": "chat"}, id="no content is captured"),
        pytest.param({"gen_ai.input.messages": "[broken", "gen_ai.output.messages": 7}, id="no messages"),
        pytest.param({"gen_ai.input.messages": '[1, {"role": 3}]', "gen_ai.usage.input_tokens": -1}, id="odd messages"),
        pytest.param({"gen_ai.output.messages": '[{"role": "a", "parts": [{"type": "tool_call"}]}]'}, id="no text"),
        pytest.param({"gen_ai.tool.call.arguments": "[" * 100_000}, id="nested without end"),
    ],
)
def test_any_attribute_is_read(attributes):
    (span,) = spans_of_trace([ended("1" * 16, attributes)], "demo", {"sample": 0})
    assert span.usage is None


def test_a_trace_without_genai_is_nothing():
    assert list(spans_of_trace([ended("1" * 16, {"http.method": "GET"})], "demo", {})) == []


def test_spans_that_are_each_others_parents_end():
    found = read(
        ended("1" * 16, {"a": 1}, "2" * 16), ended("2" * 16, {"a": 1}, "1" * 16), ended("3" * 16, CHAT, "1" * 16)
    )
    assert [span.parent for span in found.values()] == [""]
