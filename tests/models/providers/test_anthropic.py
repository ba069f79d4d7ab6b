"""Claude models over the Messages API, against a server that checks each request."""

import asyncio
import json

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.values.call import Request
from evalmark.core.values.case import Usage
from evalmark.errors import ModelCallError
from evalmark.models.providers.anthropic import MAX_TOKENS, AnthropicChat, grammar_schema, read_usage
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.http import HttpClient
from evalmark.testing.scripted import (
    Cut,
    FinishWith,
    HeadersOnly,
    ModelRefusal,
    NoUsage,
    OddUsage,
    Raw,
    Reset,
    ScriptedReply,
    ScriptedServer,
    Status,
)

KEY = "sk-ant-0123456789-secret"
HELLO = Request(messages=(Turn(role="user", content="hello you"),))
CLOSED = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 4}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
}
WANTED = Request(messages=HELLO.messages, schema=CLOSED)


def endpoint(server, **more):
    fields = {"name": "anthropic/claude-x", "provider": "anthropic", "model": "claude-x", "base_url": server.url}
    return Endpoint(**(fields | {"key_variable": "ANTHROPIC_API_KEY", "key": KEY, "needs_key": True} | more))


def ask(server, *requests, within=5.0, **more):
    async def work():
        http = HttpClient()
        model = AnthropicChat(endpoint(server, **more), http, within)
        try:
            return [await model(request) for request in requests]
        finally:
            await http.close()

    replies = asyncio.run(work())
    return replies[0] if len(replies) == 1 else replies


def failure(server, request=HELLO, **more):
    with pytest.raises(ModelCallError) as caught:
        ask(server, request, **more)
    return caught.value


@pytest.fixture
def server():
    with ScriptedServer(key=KEY) as server:
        yield server


def test_a_plain_request_is_one_the_api_takes_and_the_reply_says_what_it_took(server):
    reply = ask(server, HELLO)
    assert (reply.text, reply.status, reply.model) == ("hello you", "ok", "claude-x")
    assert reply.usage == Usage(input_tokens=2, output_tokens=2, cached_tokens=0, cache_write_tokens=0)
    assert reply.seconds > 0
    assert not reply.attempts
    assert not reply.tokens
    (said,) = server.requests
    assert (said.provider, said.path, said.messages) == ("anthropic", "/v1/messages", (("user", "hello you"),))
    assert said.headers["anthropic-version"] == "2023-06-01"
    assert said.settings == {"max_tokens": MAX_TOKENS}


def test_settings_go_under_the_names_of_the_api_and_unset_ones_are_left_out(server):
    settings = {"temperature": 0.5, "top_p": None, "max_tokens": 100, "stop": "END", "seed": 7, "top_k": 3}
    ask(server, Request(messages=HELLO.messages, settings=settings, logprobs=5))
    (said,) = server.requests
    assert said.settings == {"temperature": 0.5, "max_tokens": 100, "stop_sequences": ["END"], "top_k": 3}


@pytest.mark.parametrize(
    ("turns", "arrived"),
    [
        pytest.param(
            [("system", "be brief"), ("user", "hi"), ("assistant", "yes?"), ("user", "go"), ("system", "be kind")],
            [("system", "be brief\n\nbe kind"), ("user", "hi"), ("assistant", "yes?"), ("user", "go")],
            id="system texts stand apart, in order",
        ),
        pytest.param(
            [("system", "judge this")], [("user", "judge this")], id="system texts alone are what the user says"
        ),
        pytest.param([("developer", "a"), ("tool", "b")], [("system", "a"), ("user", "b")], id="developers and tools"),
        pytest.param([("user", {"a": 1})], [("user", '{"a":1}')], id="what is no text goes as JSON"),
        pytest.param([("user", [{"type": "text", "text": "a"}])], [("user", "a")], id="parts go as parts"),
    ],
)
def test_messages_arrive_as_the_api_wants_them(server, turns, arrived):
    ask(server, Request(messages=tuple(Turn(role=role, content=content) for role, content in turns)))
    assert list(server.requests[0].messages) == arrived


def test_an_unknown_role_is_never_sent(server):
    error = failure(server, Request(messages=(Turn(role="critic", content="x"),)))
    assert (error.fault, server.count) == ("rejected", 0)
    assert "'critic' is not a role" in str(error)


def test_an_object_is_asked_for_in_the_native_form_with_limits_told_in_words(server):
    reply = ask(server, WANTED)
    assert (reply.form, reply.data) == ("schema", {"score": 0, "reason": "text"})
    schema = server.requests[0].schema
    assert schema["additionalProperties"] is False
    assert schema["properties"]["score"] == {"type": "integer", "description": "minimum: 0, maximum: 4"}


def test_a_model_without_the_native_form_is_asked_for_a_tool_call_and_then_in_words(server):
    server.unsupported = ["response_format"]
    first, second = ask(server, WANTED, WANTED)
    assert (first.form, first.data, first.tool_calls) == ("tool", {"score": 0, "reason": "text"}, ())
    assert [attempt.status for attempt in first.attempts] == [400]
    assert (second.form, second.attempts, server.count) == ("tool", (), 3)
    server.unsupported = ["response_format", "tools"]
    server.answer = lambda said: '{"score": 2, "reason": "fine"}'
    assert ask(server, WANTED).data == {"score": 2, "reason": "fine"}


def test_effort_set_by_the_user_stands_beside_the_schema(server):
    settings = {"output_config": {"effort": "low"}}
    assert ask(server, Request(messages=HELLO.messages, schema=CLOSED, settings=settings)).form == "schema"
    assert server.problems == []


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        pytest.param("", "empty", "", id="nothing said"),
        pytest.param(FinishWith("stop_sequence", "a"), "ok", "a", id="a stop sequence is a full end"),
        pytest.param(FinishWith("max_tokens", "a"), "truncated", "a", id="the limit of the request"),
        pytest.param(FinishWith("model_context_window_exceeded", "a"), "truncated", "a", id="the limit of the model"),
        pytest.param(FinishWith("pause_turn", "a"), "truncated", "a", id="a turn that is not over"),
        pytest.param(FinishWith("something_new", "a"), "truncated", "a", id="a reason not known yet"),
        pytest.param(ModelRefusal("No."), "refused", "No.", id="a refusal in words"),
        pytest.param(FinishWith("refusal"), "refused", "", id="a refusal without words"),
        pytest.param(FinishWith("max_tokens"), "truncated", "", id="all went into thoughts"),
    ],
)
def test_how_a_reply_ended_is_its_status(server, answer, status, text):
    server.answer = [answer]
    reply = ask(server, HELLO)
    assert (reply.status, reply.text) == (status, text)


def test_why_a_model_refused_is_told_where_it_says_nothing_else(server):
    body = {"content": [], "stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "Harm."}}
    server.answer = [Raw(json.dumps(body).encode())]
    reply = ask(server, HELLO)
    assert (reply.status, reply.text, reply.usage) == ("refused", "Harm.", Usage())


def test_thoughts_and_tool_calls_are_kept_apart_from_the_text(server):
    server.answer = [
        ScriptedReply(text="It is 4.", reasoning="2 + 2", tool_calls=[("add", '{"a": 2}'), ("odd", "no object")])
    ]
    reply = ask(server, HELLO)
    assert (reply.text, reply.reasoning, reply.status) == ("It is 4.", "2 + 2", "ok")
    add, odd = reply.tool_calls
    assert add == ToolCall(name="add", arguments={"a": 2})
    assert odd.arguments == {}
    assert "no object" in odd.error


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        pytest.param(
            {"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 5},
            Usage(input_tokens=100, output_tokens=5, cached_tokens=90, cache_write_tokens=7),
            id="what went through the cache counts as input",
        ),
        pytest.param({"input_tokens": 3, "output_tokens": 5}, Usage(input_tokens=3, output_tokens=5), id="no cache"),
        pytest.param(
            {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 5},
            Usage(input_tokens=3, output_tokens=5),
            id="a cache that is null",
        ),
        pytest.param(
            {"input_tokens": 3, "cache_read_input_tokens": -1, "output_tokens": True},
            Usage(),
            id="one impossible part makes the sum unknown",
        ),
        pytest.param({"input_tokens": "3"}, Usage(), id="texts are no counts"),
        pytest.param(
            {"input_tokens": 3, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 8}},
            Usage(input_tokens=3, output_tokens=9, reasoning_tokens=8),
            id="thoughts",
        ),
        pytest.param([], Usage(), id="no mapping"),
        pytest.param(None, Usage(), id="nothing"),
    ],
)
def test_usage_is_what_can_be_and_else_unknown(given, usage):
    assert read_usage(given) == usage


def test_a_reply_without_usage_is_a_reply(server):
    server.answer = [NoUsage("a"), OddUsage({"input_tokens": -5, "output_tokens": 10**15}, "b")]
    assert [(reply.text, reply.usage) for reply in ask(server, HELLO, HELLO)] == [("a", Usage()), ("b", Usage())]


@pytest.mark.parametrize(
    ("answer", "fault", "status", "wait"),
    [
        pytest.param(Status(429, {"retry-after": "2"}), "transient", 429, 2.0, id="too many requests"),
        pytest.param(Status(529), "transient", 529, None, id="overloaded"),
        pytest.param(Status(500), "transient", 500, None, id="a fault of the server"),
        pytest.param(Status(400), "rejected", 400, None, id="a request it does not take"),
        pytest.param(Status(413), "rejected", 413, None, id="too large"),
        pytest.param(Status(401), "closed", 401, None, id="a wrong key"),
        pytest.param(Status(403), "closed", 403, None, id="not allowed"),
        pytest.param(Status(404), "closed", 404, None, id="no such model"),
        pytest.param(Raw(b"<html>hm</html>", "text/html"), "transient", 200, None, id="a web page"),
        pytest.param(Raw(b'{"content": "text"}'), "transient", 200, None, id="content that is no list"),
        pytest.param(Raw(b'{"content": ["text"]}'), "transient", 200, None, id="blocks that are no objects"),
        pytest.param(Raw(b"{}"), "transient", 200, None, id="no content"),
        pytest.param(Raw(b'{"content": [}'), "transient", 200, None, id="broken JSON"),
        pytest.param(
            Raw(b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}'),
            "transient",
            200,
            None,
            id="an error that calls itself a success",
        ),
        pytest.param(Cut(20), "transient", None, None, id="a connection that breaks"),
        pytest.param(Reset(), "transient", None, None, id="a connection that is reset"),
    ],
)
def test_what_is_no_reply_is_an_error_with_one_attempt(server, answer, fault, status, wait):
    server.answer = [answer]
    error = failure(server)
    assert (error.fault, error.retry_after) == (fault, wait)
    (attempt,) = error.attempts
    assert attempt.status == status
    assert server.count == 1
    assert "\n" not in str(error)


def test_an_answer_that_never_comes_is_given_up(server):
    server.answer = [HeadersOnly()]
    assert "no complete response within 0.05 s" in str(failure(server, within=0.05))


def test_without_a_key_nothing_is_sent(server):
    error = failure(server, key="")
    assert (error.fault, server.count) == ("closed", 0)
    assert "ANTHROPIC_API_KEY" in str(error)


def test_a_server_of_ones_own_may_want_no_key(server):
    # This server wants one, and says so in the words of the API.
    error = failure(server, key="", needs_key=False)
    assert (error.fault, server.count) == ("closed", 1)


@pytest.mark.parametrize("code", [400, 401, 429, 500])
def test_the_key_is_in_no_error_no_body_and_no_repr(server, code):
    server.answer = [Status(code, {"x-echo": KEY}, {"error": {"type": "x", "message": f"key {KEY} is wrong"}})]
    error = failure(server)
    model = AnthropicChat(endpoint(server), HttpClient(), 1.0)
    shown = [str(error), repr(error), repr(error.attempts), repr(endpoint(server)), repr(model), model.identity]
    assert not [text for text in shown if KEY in text]
    assert KEY not in repr(server.requests)


def test_the_model_is_known_by_what_it_is_and_where(server):
    model = AnthropicChat(endpoint(server), HttpClient(), 1.0)
    assert (model.name, model.identity) == ("anthropic/claude-x", f"anthropic/claude-x@{server.url}")


@pytest.mark.parametrize(
    ("schema", "compiled"),
    [
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            id="objects are closed",
        ),
        pytest.param({"type": "object"}, {"type": "object"}, id="an object of any properties stays open"),
        pytest.param(
            {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            id="what is said of further properties stays",
        ),
        pytest.param(
            {
                "type": "array",
                "items": {"type": "number", "maximum": 1},
                "minItems": 2,
                "maxItems": 3,
                "description": "Two.",
            },
            {
                "type": "array",
                "items": {"type": "number", "description": "maximum: 1"},
                "description": "Two. minItems: 2, maxItems: 3",
            },
            id="limits are told after the description",
        ),
        pytest.param(
            {"type": "array", "minItems": 1}, {"type": "array", "minItems": 1}, id="one item at least is known"
        ),
        pytest.param(
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}], "$defs": {"A": {"minimum": 1}}},
            {
                "anyOf": [{"type": "string", "description": "maxLength: 3"}, {"type": "null"}],
                "$defs": {"A": {"description": "minimum: 1"}},
            },
            id="alternatives and definitions too",
        ),
        pytest.param(
            {"type": "object", "properties": {"minimum": {"type": "string"}}},
            {"type": "object", "properties": {"minimum": {"type": "string"}}, "additionalProperties": False},
            id="a property may be called minimum",
        ),
        pytest.param({"enum": [{"minimum": 1}]}, {"enum": [{"minimum": 1}]}, id="values are left alone"),
    ],
)
def test_a_schema_becomes_one_that_can_be_compiled(schema, compiled):
    assert grammar_schema(schema) == compiled
