"""Gemini models over generateContent, against a server that checks each request."""

import asyncio
import json

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.values.call import Request, Token
from evalmark.core.values.case import Usage
from evalmark.errors import ModelCallError
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.gemini import GeminiChat, lone_references, read_usage
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

KEY = "AIza0123456789-secret"
HELLO = Request(messages=(Turn(role="user", content="hello you"),))
SCORE = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 1}}, "required": ["score"]}
WANTED = Request(messages=HELLO.messages, schema=SCORE)


def endpoint(server, **more):
    fields = {"name": "gemini/gem-x", "provider": "gemini", "model": "gem-x", "base_url": server.url}
    return Endpoint(**(fields | {"key_variable": "GEMINI_API_KEY", "key": KEY, "needs_key": True} | more))


def ask(server, *requests, within=5.0, **more):
    async def work():
        http = HttpClient()
        model = GeminiChat(endpoint(server, **more), http, within)
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
    assert (reply.text, reply.status, reply.model) == ("hello you", "ok", "gem-x")
    assert reply.usage == Usage(input_tokens=2, output_tokens=2, cached_tokens=0, reasoning_tokens=0)
    assert reply.seconds > 0
    (said,) = server.requests
    assert (said.provider, said.model, said.messages) == ("gemini", "gem-x", (("user", "hello you"),))
    assert said.path == "/v1beta/models/gem-x:generateContent"
    assert said.settings == {}


def test_settings_go_under_the_names_of_the_api_and_beside_its_configuration_where_they_belong(server):
    settings = {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 3,
        "max_tokens": 9,
        "stop": "END",
        "seed": 7,
        "thinkingConfig": {"thinkingBudget": 0},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "presencePenalty": None,
    }
    ask(server, Request(messages=HELLO.messages, settings=settings))
    assert server.problems == []
    assert server.requests[0].settings == {
        "temperature": 0,
        "topP": 0.5,
        "topK": 3,
        "maxOutputTokens": 9,
        "stopSequences": ["END"],
        "seed": 7,
        "thinkingConfig": {"thinkingBudget": 0},
    }


@pytest.mark.parametrize(
    ("turns", "arrived"),
    [
        pytest.param(
            [("system", "be brief"), ("user", "hi"), ("assistant", "yes?"), ("user", "go")],
            [("system", "be brief"), ("user", "hi"), ("model", "yes?"), ("user", "go")],
            id="the assistant is called model",
        ),
        pytest.param(
            [("system", "judge this")], [("user", "judge this")], id="system texts alone are what the user says"
        ),
        pytest.param([("user", [{"type": "text", "text": "a"}])], [("user", "a")], id="parts go as parts"),
        pytest.param([("user", ["a", 1])], [("user", '["a",1]')], id="what is no text goes as JSON"),
    ],
)
def test_messages_arrive_as_the_api_wants_them(server, turns, arrived):
    ask(server, Request(messages=tuple(Turn(role=role, content=content) for role, content in turns)))
    assert list(server.requests[0].messages) == arrived


def test_a_tuned_model_keeps_the_path_it_has(server):
    error = failure(server, model="tunedModels/mine")
    assert error.attempts[0].status == 404


def test_an_object_is_asked_for_as_json_schema(server):
    reply = ask(server, WANTED)
    assert (reply.form, reply.data) == ("schema", {"score": 1})
    (said,) = server.requests
    assert (said.schema, said.settings["responseMimeType"]) == (SCORE, "application/json")


def test_a_model_without_the_native_form_is_asked_for_a_function_call_and_then_in_words(server):
    server.unsupported = ["response_format"]
    first, second = ask(server, WANTED, WANTED)
    assert (first.form, first.data, first.tool_calls) == ("tool", {"score": 1}, ())
    assert [attempt.status for attempt in first.attempts] == [400]
    assert (second.form, second.attempts) == ("tool", ())
    server.unsupported = ["response_format", "tools"]
    server.answer = lambda said: '{"score": 2}'
    last = ask(server, WANTED)
    assert (last.form, last.data) == ("text", {"score": 2})


def test_a_malformed_function_call_is_no_object(server):
    server.unsupported = ["response_format"]
    server.answer = ['{"score": ', '{"score": 3}']
    first, second = ask(server, WANTED, WANTED)
    assert (first.status, first.data, first.text) == ("empty", None, '{"score": ')
    assert second.data == {"score": 3}


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        pytest.param("", "empty", "", id="nothing said"),
        pytest.param(FinishWith("MAX_TOKENS", "a"), "truncated", "a", id="the limit of the request"),
        pytest.param(FinishWith("MAX_TOKENS"), "truncated", "", id="all went into thoughts"),
        pytest.param(FinishWith("SAFETY"), "filtered", "", id="safety"),
        pytest.param(FinishWith("RECITATION", "To be"), "filtered", "To be", id="recitation"),
        pytest.param(FinishWith("PROHIBITED_CONTENT"), "filtered", "", id="prohibited"),
        pytest.param(FinishWith("SPII"), "filtered", "", id="personal data"),
        pytest.param(FinishWith("OTHER", "a"), "truncated", "a", id="no reason given"),
        pytest.param(FinishWith("OTHER"), "empty", "", id="no reason and no text"),
        pytest.param(ModelRefusal("blocked"), "filtered", "blocked", id="a prompt that is blocked"),
    ],
)
def test_how_a_reply_ended_is_its_status(server, answer, status, text):
    server.answer = [answer]
    reply = ask(server, HELLO)
    assert (reply.status, reply.text) == (status, text)


def test_thoughts_and_function_calls_are_kept_apart_from_the_text(server):
    server.answer = [ScriptedReply(text="It is 4.", reasoning="2 + 2", tool_calls=[("add", '{"a": 2}')])]
    reply = ask(server, HELLO)
    assert (reply.text, reply.reasoning, reply.status) == ("It is 4.", "2 + 2", "ok")
    assert reply.tool_calls == (ToolCall(name="add", arguments={"a": 2}),)
    assert (reply.usage.output_tokens, reply.usage.reasoning_tokens) == (8, 3)


def test_probabilities_come_where_they_are_asked_for(server):
    server.answer = lambda said: ScriptedReply(text="A", tokens=[("A", -0.2, [("A", -0.2), ("B", -1.8), ("C", -4.0)])])
    plain, two, many = ask(server, HELLO, *(Request(messages=HELLO.messages, logprobs=count) for count in (2, 99)))
    assert plain.tokens == ()
    assert two.tokens == (Token("A", -0.2, (("A", -0.2), ("B", -1.8))),)
    assert len(many.tokens[0].others) == 3
    assert server.requests[2].settings["logprobs"] == 20
    assert server.problems == []


@pytest.mark.parametrize(
    ("result", "tokens"),
    [
        pytest.param(
            {"chosenCandidates": [{"token": "A", "logProbability": -0.5}]}, (Token("A", -0.5),), id="no alternatives"
        ),
        pytest.param({"chosenCandidates": [{"token": "A"}]}, (Token("A", 0.0),), id="a zero is left out by the server"),
        pytest.param(
            {"chosenCandidates": [{"token": "A"}], "topCandidates": []}, (Token("A", 0.0),), id="lists of two lengths"
        ),
        pytest.param(
            {"chosenCandidates": [{"token": "A"}, {"token": 3}]}, (), id="one that cannot be read leaves none"
        ),
        pytest.param({"chosenCandidates": [{"token": "A", "logProbability": "x"}]}, (), id="a text is no number"),
        pytest.param(
            {"chosenCandidates": [{"token": "A", "logProbability": -(10**400)}]}, (), id="a number beyond every float"
        ),
        pytest.param({"chosenCandidates": {}}, (), id="no list"),
        pytest.param(None, (), id="nothing"),
    ],
)
def test_probabilities_that_make_no_sense_are_left_out(server, result, tokens):
    candidate = {"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP", "logprobsResult": result}
    server.answer = [Raw(json.dumps({"candidates": [candidate]}).encode())]
    reply = ask(server, HELLO)
    assert (reply.text, reply.tokens, reply.usage) == ("A", tokens, Usage())


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        pytest.param(
            {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 20, "cachedContentTokenCount": 4},
            Usage(input_tokens=10, output_tokens=25, cached_tokens=4, reasoning_tokens=20),
            id="thoughts are output, the cache is input",
        ),
        pytest.param(
            {"promptTokenCount": 10, "totalTokenCount": 10},
            Usage(input_tokens=10, output_tokens=0, cached_tokens=0, reasoning_tokens=0),
            id="zeros are left out by the server",
        ),
        pytest.param(
            {"promptTokenCount": 10, "candidatesTokenCount": -1},
            Usage(input_tokens=10, cached_tokens=0, reasoning_tokens=0),
            id="an impossible count is unknown",
        ),
        pytest.param({"totalTokenCount": 10}, Usage(), id="nothing said of the input"),
        pytest.param("many", Usage(), id="no mapping"),
        pytest.param(None, Usage(), id="nothing"),
    ],
)
def test_usage_is_what_can_be_and_else_unknown(given, usage):
    assert read_usage(given) == usage


def test_a_reply_without_usage_is_a_reply(server):
    server.answer = [NoUsage("a"), OddUsage({"promptTokenCount": True}, "b")]
    texts = [(reply.text, reply.usage.input_tokens) for reply in ask(server, HELLO, HELLO)]
    assert texts == [("a", None), ("b", None)]


@pytest.mark.parametrize(
    ("answer", "fault", "status", "wait"),
    [
        pytest.param(Status(429, {"retry-after": "2"}), "transient", 429, 2.0, id="too many requests"),
        pytest.param(Status(503), "transient", 503, None, id="overloaded"),
        pytest.param(Status(400), "rejected", 400, None, id="a request it does not take"),
        pytest.param(Status(403), "closed", 403, None, id="not allowed"),
        pytest.param(Status(404), "closed", 404, None, id="no such model"),
        pytest.param(Raw(b"{}"), "transient", 200, None, id="neither candidates nor a reason"),
        pytest.param(Raw(b'{"candidates": {}}'), "transient", 200, None, id="candidates that hold nothing"),
        pytest.param(Raw(b'{"candidates": "many"}'), "transient", 200, None, id="candidates that are no list"),
        pytest.param(Raw(b'{"candidates": [1]}'), "transient", 200, None, id="a candidate that is a number"),
        pytest.param(Raw(b"[1]"), "transient", 200, None, id="a list"),
        pytest.param(Raw(b"hm", "text/plain"), "transient", 200, None, id="a text"),
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


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param("text", id="parts that are no list"),
        pytest.param([1, {"text": 2}, {"functionCall": "f"}], id="parts that hold nothing"),
        pytest.param([{"text": "hidden", "thought": True}], id="thoughts alone"),
    ],
)
def test_a_candidate_without_anything_readable_is_empty(server, parts):
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    server.answer = [Raw(json.dumps({"candidates": [candidate]}).encode())]
    assert ask(server, HELLO).status == "empty"


def test_an_answer_that_never_comes_is_given_up(server):
    server.answer = [HeadersOnly()]
    assert "no complete response within 0.05 s" in str(failure(server, within=0.05))


def test_without_a_key_nothing_is_sent(server):
    error = failure(server, key="")
    assert (error.fault, server.count) == ("closed", 0)
    assert "GEMINI_API_KEY" in str(error)


def test_the_words_for_a_wrong_key_close_the_endpoint(server):
    server.key = "another"
    error = failure(server)
    assert error.attempts[0].status == 400
    assert "key" in str(error)


@pytest.mark.parametrize("code", [400, 403, 429, 500])
def test_the_key_is_in_no_address_no_error_no_body_and_no_repr(server, code):
    server.answer = [Status(code, {"x-echo": KEY}, {"error": {"code": code, "message": f"key {KEY} is wrong"}})]
    error = failure(server)
    model = GeminiChat(endpoint(server), HttpClient(), 1.0)
    shown = [str(error), repr(error), repr(error.attempts), repr(endpoint(server)), repr(model), model.identity]
    assert not [text for text in shown if KEY in text]
    assert KEY not in repr(server.requests)


def test_references_stand_alone():
    schema = {"properties": {"a": {"$ref": "#/$defs/A", "title": "A"}, "$ref": {"type": "string", "title": "B"}}}
    assert lone_references(schema)["properties"]["a"] == {"$ref": "#/$defs/A"}
    assert lone_references(schema)["properties"]["$ref"] == {"type": "string", "title": "B"}
