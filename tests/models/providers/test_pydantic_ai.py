"""Models by way of pydantic-ai; skips where that is not installed (`make integration` installs it)."""

import asyncio
import json

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.values.call import Request
from evalmark.core.values.case import Usage
from evalmark.errors import MissingExtraError, ModelCallError
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.http import HttpClient
from evalmark.models.providers.pydantic_ai import PydanticAIChat
from evalmark.testing.scripted import (
    Cut,
    FinishWith,
    HeadersOnly,
    ModelRefusal,
    NoUsage,
    Raw,
    Reset,
    ScriptedReply,
    ScriptedServer,
    Status,
)

KEY = "sk-0123456789-secret"
HELLO = Request(messages=(Turn(role="user", content="hello you"),))
SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
WANTED = Request(messages=HELLO.messages, schema=SCORE)
ENDPOINT = Endpoint(name="pydantic-ai/openai-chat:some-model", provider="pydantic-ai", model="openai-chat:some-model")


def ask(*requests, model=None, within=5.0, endpoint=ENDPOINT, environ=None):
    async def work():
        http = HttpClient()
        chat = PydanticAIChat(endpoint, http, within, environ=environ, model=model)
        try:
            return [await chat(request) for request in requests]
        finally:
            await http.close()

    replies = asyncio.run(work())
    return replies[0] if len(replies) == 1 else replies


def failure(**more):
    with pytest.raises(ModelCallError) as caught:
        ask(HELLO, **more)
    return caught.value


def test_without_the_package_one_sentence_says_what_to_install():
    try:
        import pydantic_ai  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(MissingExtraError, match=r"pip install 'evalmark\[pydantic-ai\]'"):
            open_chat(ENDPOINT.name, environ={}, table={}, http=HttpClient(), within=1.0)
    else:
        model = open_chat(ENDPOINT.name, environ={}, table={}, http=HttpClient(), within=1.0)
        assert (model.name, model.identity) == (ENDPOINT.name, "pydantic-ai/openai-chat:some-model@")


@pytest.fixture
def function_model():
    """A model of pydantic-ai that answers with a function, and the list of what it was asked."""
    function = pytest.importorskip("pydantic_ai.models.function", exc_type=ImportError)

    def made(*parts, **response):
        asked = []

        def answer(messages, info):
            from pydantic_ai.messages import ModelResponse

            asked.append((messages, info))
            return ModelResponse(parts=list(parts), **response)

        return function.FunctionModel(answer), asked

    return made


@pytest.fixture
def server(monkeypatch):
    """A server that pydantic-ai takes for OpenAI's: it looks into the environment for address and key."""
    pytest.importorskip("pydantic_ai.models.openai", exc_type=ImportError)
    with ScriptedServer(key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def test_a_conversation_goes_over_in_pydantic_ais_own_words(function_model):
    from pydantic_ai.messages import TextPart

    model, asked = function_model(TextPart("yes"))
    turns = [("system", "be brief"), ("user", "hi"), ("assistant", "yes?"), ("user", "go"), ("user", "on")]
    reply = ask(Request(messages=tuple(Turn(role=role, content=text) for role, text in turns)), model=model)
    assert (reply.text, reply.status) == ("yes", "ok")
    ((messages, _),) = asked
    assert [[(part.part_kind, part.content) for part in message.parts] for message in messages] == [
        [("system-prompt", "be brief"), ("user-prompt", "hi")],
        [("text", "yes?")],
        [("user-prompt", "go"), ("user-prompt", "on")],
    ]


def test_settings_go_under_pydantic_ais_names_for_one_attempt(function_model):
    from pydantic_ai.messages import TextPart

    model, asked = function_model(TextPart("yes"))
    settings = {"temperature": 0.5, "top_p": None, "max_tokens": 9, "stop": "END", "seed": 7}
    ask(Request(messages=HELLO.messages, settings=settings), model=model)
    given = dict(asked[0][1].model_settings)
    assert given.pop("max_retries", 0) == 0
    assert given == {"temperature": 0.5, "max_tokens": 9, "stop_sequences": ["END"], "seed": 7}


def test_what_is_no_text_is_not_sent(function_model):
    model, asked = function_model()
    picture = Request(messages=(Turn(role="user", content=[{"type": "image_url", "image_url": {"url": "x"}}]),))
    with pytest.raises(ModelCallError, match="parts other than text"):
        ask(picture, model=model)
    assert asked == []


@pytest.mark.parametrize(
    ("details", "status", "text"),
    [
        pytest.param({"finish_reason": "stop"}, "ok", "a", id="a full end"),
        pytest.param({"finish_reason": "tool_call"}, "ok", "a", id="a tool call"),
        pytest.param({}, "ok", "a", id="no reason given"),
        pytest.param({"finish_reason": "length"}, "truncated", "a", id="a limit"),
        pytest.param({"finish_reason": "error"}, "truncated", "a", id="an error of the model"),
        pytest.param({"finish_reason": "content_filter"}, "filtered", "a", id="a filter"),
        pytest.param({"provider_details": {"finish_reason": "refusal"}}, "refused", "a", id="a refusal"),
        pytest.param({"state": "suspended"}, "truncated", "a", id="a turn that is not over"),
    ],
)
def test_how_a_reply_ended_is_its_status(function_model, details, status, text):
    from pydantic_ai.messages import TextPart, ThinkingPart

    model, _ = function_model(ThinkingPart("hm"), TextPart("a"), **details)
    reply = ask(HELLO, model=model)
    assert (reply.status, reply.text, reply.reasoning) == (status, text, "hm")


def test_a_reply_without_anything_is_empty_and_a_refusal_may_stand_in_the_details(function_model):
    empty, _ = function_model()
    refused, _ = function_model(provider_details={"refusal": "Never."})
    assert ask(HELLO, model=empty).status == "empty"
    reply = ask(HELLO, model=refused)
    assert (reply.status, reply.text) == ("refused", "Never.")


def test_usage_is_mapped_and_zeros_that_mean_nothing_become_unknown(function_model):
    from pydantic_ai.messages import TextPart
    from pydantic_ai.usage import RequestUsage

    told = RequestUsage(
        input_tokens=100, output_tokens=30, cache_read_tokens=90, cache_write_tokens=5, output_reasoning_tokens=20
    )
    for given, usage in (
        (
            told,
            Usage(input_tokens=100, output_tokens=30, cached_tokens=90, cache_write_tokens=5, reasoning_tokens=20),
        ),
        (RequestUsage(input_tokens=7, output_tokens=0), Usage(input_tokens=7, output_tokens=0)),
        (RequestUsage(unmeasured_requests=1), Usage()),
    ):
        model, _ = function_model(TextPart("a"), usage=given)
        assert ask(HELLO, model=model).usage == usage


def test_tool_calls_of_the_model_are_kept(function_model):
    from pydantic_ai.messages import ToolCallPart

    model, _ = function_model(ToolCallPart("add", {"a": 1}), ToolCallPart("add", '{"a": 2}'), ToolCallPart("add", "["))
    first, second, third = ask(HELLO, model=model).tool_calls
    assert (first, second) == (ToolCall(name="add", arguments={"a": 1}), ToolCall(name="add", arguments={"a": 2}))
    assert "[" in third.error


def test_a_model_that_knows_tools_only_gives_its_object_by_one():
    test = pytest.importorskip("pydantic_ai.models.test", exc_type=ImportError)
    reply = ask(WANTED, model=test.TestModel())
    assert (reply.form, reply.data) == ("tool", {"score": 0})
    (attempt,) = reply.attempts
    assert attempt.error.endswith("Native structured output is not supported by this model.")


def test_over_the_wire_a_request_is_one_that_openai_takes(server):
    plain, structured = ask(HELLO, WANTED)
    assert (plain.text, plain.model, plain.usage) == ("hello you", "some-model", Usage(input_tokens=2, output_tokens=2))
    assert (structured.form, structured.data) == ("schema", {"score": 0})
    assert server.problems == []


def test_over_the_wire_the_forms_are_tried_in_order(server):
    server.unsupported = ["response_format"]
    reply = ask(WANTED)
    assert (reply.form, reply.data, len(reply.attempts)) == ("tool", {"score": 0}, 1)
    server.unsupported = ["response_format", "tools"]
    server.answer = lambda said: '{"score": 5}'
    reply = ask(WANTED)
    assert (reply.form, reply.data, len(reply.attempts)) == ("text", {"score": 5}, 2)


@pytest.mark.parametrize(
    ("answer", "fault", "status", "wait"),
    [
        pytest.param(Status(429, {"retry-after": "2"}), "transient", 429, 2.0, id="too many requests"),
        pytest.param(Status(500), "transient", 500, None, id="a fault of the server"),
        pytest.param(Status(503), "transient", 503, None, id="overloaded"),
        pytest.param(Status(400), "rejected", 400, None, id="a request it does not take"),
        pytest.param(Status(401), "closed", 401, None, id="a wrong key"),
        pytest.param(Status(402), "closed", 402, None, id="no money left"),
        pytest.param(Status(404), "closed", 404, None, id="no such model"),
        pytest.param(Raw(b"no JSON"), "transient", None, None, id="broken JSON"),
        pytest.param(Cut(20), "transient", None, None, id="a connection that breaks"),
        pytest.param(Reset(), "transient", None, None, id="a connection that is reset"),
    ],
)
def test_over_the_wire_errors_say_what_they_mean_for_other_calls(server, answer, fault, status, wait):
    server.answer = [answer]
    error = failure()
    assert (error.fault, error.retry_after) == (fault, wait)
    (attempt,) = error.attempts
    assert attempt.status == status
    assert server.count == 1  # the SDK repeats nothing by itself
    assert "\n" not in str(error)


def test_over_the_wire_replies_of_all_kinds_are_read(server):
    server.answer = [
        ModelRefusal("No."),
        FinishWith("length", "ab"),
        NoUsage("x"),
        ScriptedReply(text="y", reasoning="hm"),
    ]
    refused, cut, unknown, thought = ask(HELLO, HELLO, HELLO, HELLO)
    assert (refused.status, refused.text) == ("refused", "No.")
    assert (cut.status, cut.text) == ("truncated", "ab")
    assert (unknown.text, unknown.usage) == ("x", Usage())
    assert (thought.text, thought.reasoning) == ("y", "hm")


def test_an_answer_that_never_comes_is_given_up(server):
    server.answer = [HeadersOnly()]
    error = failure(within=0.1)
    assert error.fault == "transient"
    assert "no complete response within 0.1 s" in str(error)


def test_keys_of_the_environment_are_in_no_error(server):
    server.answer = [Status(401, body={"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY}})]
    error = failure(environ={"OPENAI_API_KEY": KEY, "HOME": "/"})
    assert "Incorrect API key provided: (not kept)" in str(error)
    assert KEY not in repr(error.attempts) + repr(error)


@pytest.mark.parametrize(
    "model", [pytest.param("nobody:x", id="an unknown provider"), pytest.param("x", id="no provider at all")]
)
def test_a_model_that_pydantic_ai_does_not_know_takes_no_calls(model):
    pytest.importorskip("pydantic_ai", exc_type=ImportError)
    error = failure(endpoint=Endpoint(name=f"pydantic-ai/{model}", provider="pydantic-ai", model=model))
    assert error.fault == "closed"
    assert "Unknown model" in str(error)


def test_a_model_serves_one_loop_after_another(server):
    async def work(chat, http):
        try:
            return json.dumps((await chat(HELLO)).text)
        finally:
            await http.close()

    http = HttpClient()
    chat = PydanticAIChat(ENDPOINT, http, 5.0)
    assert [asyncio.run(work(chat, http)) for _ in range(2)] == ['"hello you"'] * 2
