"""Chat completions: what is sent, and what is made of what comes back."""

import asyncio
import json

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Usage
from evalmark.errors import ConfigError, ModelCallError
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.http import HttpClient
from evalmark.models.providers.request_body import messages_text
from evalmark.testing.scripted import FinishWith, ModelRefusal, NoUsage, OddUsage, ScriptedReply, ScriptedServer, Status

from .wild import CHAT, KEY, answer_to, call, completion, failed, heard, http, replied, request, wild


def sent(wanted, name=CHAT, **environ):
    """Head and body of the request that goes out."""
    seen = []

    async def send(reader, writer):
        seen.append(await heard(reader))
        writer.write(http(json.dumps(completion()).encode()))

    async def run():
        async with wild(send) as url:
            client = HttpClient()
            variables = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
            given = {key: value.replace("URL", url) for key, value in environ.items()}
            model = open_chat(name.replace("URL", url), environ=variables | given, table={}, http=client, within=5)
            try:
                return await model(wanted)
            finally:
                await client.close()

    assert asyncio.run(run()).text == "North."
    ((head, body),) = seen
    return head.decode(), json.loads(body)


def test_a_request_holds_model_and_messages_and_nothing_that_was_not_asked_for():
    turns = (
        Turn(role="system", content="Be brief."),
        Turn(role="user", content="Hi é"),
        Turn(role="assistant", content="Yes?"),
    )
    head, body = sent(Request(messages=turns, settings={"temperature": None}))
    assert body == {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi é"},
            {"role": "assistant", "content": "Yes?"},
        ],
    }
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert f"authorization: Bearer {KEY}\r\n" in head
    assert "content-type: application/json\r\n" in head


def test_settings_are_sent_under_the_names_of_the_provider():
    settings = {
        "temperature": 0,
        "top_p": 0.5,
        "max_tokens": 7,
        "seed": 1,
        "stop": ["a"],
        "reasoning_effort": "low",
        "x": {"y": 1},
    }
    _, body = sent(request(settings=settings, logprobs=3))
    assert {name: body[name] for name in body if name not in ("model", "messages")} == {
        **settings,
        "logprobs": True,
        "top_logprobs": 3,
    }


@pytest.mark.parametrize(
    ("name", "environ", "field"),
    [
        pytest.param(CHAT, {}, "max_tokens", id="another server than OpenAI's own"),
        pytest.param("ollama/m", {"OLLAMA_HOST": "URL"}, "max_tokens", id="Ollama"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY}, "max_completion_tokens", id="Azure's v1 API"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": "2024-10-21"}, "max_completion_tokens", id="Azure's newer dated API"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": "2024-06-01"}, "max_tokens", id="Azure's older dated API"),
    ],
)  # fmt: skip
def test_the_length_limit_has_the_name_that_the_server_knows(name, environ, field):
    _, body = sent(request(settings={"max_tokens": 7}), name, **environ)
    assert body[field] == 7
    assert len(body) == 3


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('a "b"\n', id="a text of ASCII letters"),
        pytest.param("Straße 東京", id="letters of other scripts"),
        pytest.param("\\u0041\x00", id="what looks like an escape, and a zero byte"),
        pytest.param([{"type": "text", "text": "a"}], id="parts"),
    ],
)
def test_messages_reach_the_server_as_they_are(content):
    turns = (Turn(role="system", content="s"), Turn(role="user", content=content))
    _, body = sent(Request(messages=turns, settings={"temperature": 0}), "openai/m", OPENAI_BASE_URL="URL")
    assert body["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": content}]
    assert body["temperature"] == 0
    assert list(body).count("messages") == 1


def test_letters_of_other_scripts_go_out_as_they_are():
    assert messages_text(Request(messages=(Turn(role="user", content="東京"),))) is None
    assert messages_text(Request(messages=(Turn(role="user", content="Oslo"),))) is not None


def test_openai_itself_is_sent_the_new_name_of_the_length_limit():
    model = open_chat("openai/m", environ={"OPENAI_API_KEY": KEY}, table={}, http=HttpClient(), within=1)
    assert model._body(request(settings={"max_tokens": 7}), "")["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        pytest.param({}, "POST /openai/v1/chat/completions HTTP", id="the v1 API"),
        pytest.param({"OPENAI_API_VERSION": "2024-10-21"}, "POST /openai/deployments/my%20one/chat/completions?api-version=2024-10-21 HTTP", id="the dated API"),
    ],
)  # fmt: skip
def test_azure_is_asked_at_its_own_address_with_its_own_header(environ, line):
    azure = {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY, **environ}
    head, body = sent(request(), "azure/my one", **azure)
    assert head.startswith(line)
    assert f"api-key: {KEY}\r\n" in head
    assert "authorization" not in head
    assert body["model"] == "my one"


def test_azure_speaks_through_the_scripted_server():
    with ScriptedServer(key=KEY) as server:
        environ = {"AZURE_OPENAI_ENDPOINT": server.url, "AZURE_OPENAI_API_KEY": KEY}

        async def run(**more):
            client = HttpClient()
            model = open_chat("azure/d", environ=environ | more, table={}, http=client, within=5)
            reply = await model(request())
            await client.close()
            return reply.text

        assert asyncio.run(run()) == asyncio.run(run(OPENAI_API_VERSION="2024-10-21")) == "Which way?"
        assert [said.provider for said in server.requests] == ["azure", "azure"]


@pytest.mark.parametrize(
    ("name", "environ", "header"),
    [
        pytest.param("openai_compatible:URL/v1/m", {}, None, id="no key for an address"),
        pytest.param(
            "openai_compatible:URL/v1/m", {"OPENAI_COMPATIBLE_API_KEY": "other"}, "Bearer other", id="its own key"
        ),
        pytest.param("ollama/m", {"OLLAMA_HOST": "URL"}, None, id="no key for Ollama"),
        pytest.param(CHAT, {"OPENAI_API_KEY": ""}, None, id="no key for a server of one's own"),
    ],
)
def test_a_key_is_sent_only_where_it_belongs(name, environ, header):
    head, _ = sent(request(), name, **environ)
    assert [line.partition(": ")[2] for line in head.split("\r\n") if line.startswith("authorization")] == [header] * (
        header is not None
    )


def test_without_a_key_nothing_is_sent_and_no_other_call_needs_to_try():
    model = open_chat("openai/m", environ={}, table={}, http=HttpClient(), within=1)
    with pytest.raises(
        ModelCallError,
        match=r"^openai/m: OPENAI_API_KEY is not set\. Set it to the key of api\.openai\.com, or OPENAI_BASE_URL to the address of a server of your own\.$",
    ) as refused:
        asyncio.run(model(request()))
    assert (refused.value.fault, refused.value.attempts) == ("closed", ())


def test_a_model_is_told_apart_by_its_address():
    def named(name, **environ):
        return open_chat(name, environ=environ, table={}, http=HttpClient(), within=1).identity

    assert (
        named("openai/m")
        != named("openai/m", OPENAI_BASE_URL="http://h/v1")
        != named("openai_compatible:http://h/v1/m")
    )


CONTENTS = [
    pytest.param("text", "text", id="text"),
    pytest.param(None, "", id="nothing"),
    pytest.param({"b": 1, "a": "é"}, '{"a":"\\u00e9","b":1}', id="an object"),
    pytest.param([1, 2], "[1,2]", id="a list"),
    pytest.param(3, "3", id="a number"),
    pytest.param([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}], id="parts"),
    pytest.param("half \ud800 of a pair", "half \ufffd of a pair", id="half of a surrogate pair"),
    pytest.param("a \ud83d\ude00 pair in halves", "a 😀 pair in halves", id="both halves"),
    pytest.param("nul \x00", "nul \x00", id="a NUL"),
]


@pytest.mark.parametrize(("content", "wire"), CONTENTS)
def test_the_content_of_a_message_is_text_or_parts(content, wire):
    _, body = sent(Request(messages=(Turn(role="user", content=content),)))
    assert body["messages"][0]["content"] == wire


def test_an_address_in_the_data_is_passed_on_and_never_fetched():
    with ScriptedServer() as elsewhere:
        parts = [{"type": "image_url", "image_url": {"url": f"{elsewhere.url}/v1/chat/completions"}}]
        _, body = sent(Request(messages=(Turn(role="user", content=parts), Turn(role="user", content=elsewhere.url))))
    assert body["messages"][0]["content"] == parts
    assert elsewhere.count == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_setting_that_is_no_json_is_refused_before_it_is_sent(value):
    error = failed("http://127.0.0.1:9", request(settings={"temperature": value}))
    assert (error.fault, error.attempts) == ("rejected", ())
    assert "cannot be written as JSON" in str(error)


def test_a_reply_holds_all_that_the_server_said():
    with ScriptedServer(["North."]) as server:
        reply = replied(server.url)
    assert (reply.text, reply.status, reply.form, reply.data) == ("North.", "ok", "", None)
    assert (reply.model, reply.system_fingerprint) == ("some-model", "fp_scripted")
    assert reply.usage.input_tokens == 2
    assert 0 < reply.seconds < 5
    assert reply.cost is None


@pytest.mark.parametrize(
    ("answer", "status", "text", "reasoning"),
    [
        pytest.param(FinishWith("length", "half"), "truncated", "half", "", id="cut by the length limit"),
        pytest.param(FinishWith("length", ""), "truncated", "", "", id="all of it reasoning, and cut"),
        pytest.param(FinishWith("content_filter", "ha"), "filtered", "ha", "", id="filtered"),
        pytest.param(ModelRefusal("No."), "refused", "No.", "", id="refused"),
        pytest.param(ScriptedReply(), "empty", "", "", id="empty"),
        pytest.param(ScriptedReply(reasoning="Hm."), "empty", "", "Hm.", id="only reasoning"),
        pytest.param(ScriptedReply(text="Yes", reasoning="Hm."), "ok", "Yes", "Hm.", id="reasoning and an answer"),
        pytest.param(ScriptedReply(tool_calls=[("go", "{}")]), "ok", "", "", id="a tool call"),
    ],
)
def test_how_a_reply_ended_is_its_status(answer, status, text, reasoning):
    with ScriptedServer([answer]) as server:
        reply = replied(server.url)
    assert (reply.status, reply.text, reply.reasoning) == (status, text, reasoning)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(400, {"code": "content_filter", "innererror": {}}, id="Azure"),
        pytest.param(400, {"code": "content_policy_violation"}, id="OpenAI"),
        pytest.param(403, {"code": 403, "metadata": {"reasons": ["x"], "flagged_input": "…"}}, id="OpenRouter"),
    ],
)
def test_a_prompt_that_is_not_let_through_is_filtered_and_ends_nothing(status, error):
    with ScriptedServer([Status(status, {}, {"error": error})]) as server:
        reply = replied(server.url)
    assert (reply.status, reply.text, reply.usage) == ("filtered", "", Usage())


@pytest.mark.parametrize(
    ("message", "text", "status"),
    [
        pytest.param({"content": None}, "", "empty", id="null"),
        pytest.param({"content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "a"}, {"text": "b"}, 3]}, "ab", "ok", id="parts"),
        pytest.param({"content": {"x": 1}}, "", "empty", id="an object"),
        pytest.param({"content": 3}, "", "empty", id="a number"),
        pytest.param({"content": "\ud800"}, "\ud800", "ok", id="half of a surrogate pair"),
        pytest.param({"content": " "}, " ", "ok", id="a space"),
        pytest.param({"content": "x", "refusal": 3, "tool_calls": "y", "reasoning": []}, "x", "ok", id="fields of other types"),
        pytest.param({"tool_calls": [3, {}, {"function": 3}]}, "North.", "ok", id="tool calls that are none"),
    ],
)  # fmt: skip
def test_odd_messages_are_read_as_far_as_they_go(message, text, status):
    reply = answer_to(http(json.dumps(completion(**message)).encode()))
    assert (reply.text, reply.status) == (text, status)


def test_tool_calls_are_read_and_bad_arguments_are_kept():
    calls = [("go", '{"to": "north", "n": 1}'), ("stop", ""), ("bad", "{"), ("list", "[1]"), ("twice", '{"a":1,"a":2}')]
    with ScriptedServer([ScriptedReply(tool_calls=calls)]) as server:
        found = replied(server.url).tool_calls
    assert found[:2] == (ToolCall(name="go", arguments={"to": "north", "n": 1}), ToolCall(name="stop"))
    assert [call.error for call in found[2:]] == [
        "its arguments are not a JSON object: '{'",
        "its arguments are not a JSON object: '[1]'",
        'its arguments are not a JSON object: \'{"a":1,"a":2}\'',
    ]


def test_usage_is_read_with_its_parts():
    usage = {
        "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3},
    }  # fmt: skip
    with ScriptedServer([OddUsage(usage)]) as server:
        assert replied(server.url).usage == Usage(input_tokens=10, output_tokens=5, cached_tokens=4, reasoning_tokens=3)


def test_deepseek_counts_its_cache_in_a_field_of_its_own():
    with ScriptedServer([OddUsage({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6})]) as server:
        assert replied(server.url).usage == Usage(input_tokens=10, cached_tokens=6)


@pytest.mark.parametrize("odd", [-1, 10**12, 1.5, "7", True, None, [], float(3)])
def test_a_count_that_cannot_be_is_unknown(odd):
    usage = {
        "prompt_tokens": odd,
        "completion_tokens": odd,
        "prompt_tokens_details": {"cached_tokens": odd},
        "completion_tokens_details": odd,
    }
    with ScriptedServer([OddUsage(usage)]) as server:
        assert replied(server.url).usage == Usage()


@pytest.mark.parametrize("body", [{"usage": None}, {"usage": []}, {"usage": 3}, {}])
def test_no_usage_is_unknown_usage(body):
    data = {key: value for key, value in completion().items() if key != "usage"} | body
    assert answer_to(http(json.dumps(data).encode())).usage == Usage()
    with ScriptedServer([NoUsage()]) as server:
        assert replied(server.url).usage == Usage()


def test_log_probabilities_are_read_and_odd_ones_left_out():
    places = [
        {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}, {"token": 3}, "x"]},
        {"token": "c", "logprob": None},
        {"token": "d", "logprob": True},
        {"token": "d", "logprob": -(10**400)},
        "e",
        {"token": "f", "logprob": 0, "top_logprobs": None},
    ]  # fmt: skip
    data = completion()
    data["choices"][0]["logprobs"] = {"content": places}
    reply = answer_to(http(json.dumps(data).encode()))
    assert reply.tokens == (("a", -0.5, (("a", -0.5), ("b", -1.0))), ("f", 0.0, ()))


@pytest.mark.parametrize("odd", [3, "x", {"content": None}, {"content": 3}, {"tokens": ["a"]}])
def test_log_probabilities_of_another_form_are_none(odd):
    data = completion()
    data["choices"][0]["logprobs"] = odd
    assert answer_to(http(json.dumps(data).encode())).tokens == ()


def test_only_headers_on_the_list_are_kept():
    headers = [
        "x-request-id: r1",
        "X-RateLimit-Remaining-Tokens: 9",
        "retry-after: 1",
        "date: now",
        "openai-organization: mine",
        "set-cookie: a=b",
        "server: s",
        "cf-ray: c",
    ]
    reply = answer_to(http(json.dumps(completion()).encode(), *headers))
    assert reply.headers == {
        "x-request-id": "r1",
        "x-ratelimit-remaining-tokens": "9",
        "retry-after": "1",
        "date": "now",
        "cf-ray": "c",
    }


def test_openrouter_says_what_a_call_came_to():
    table = {"r": {"provider": "openrouter", "model": "a/b", "base_url": "URL/v1"}}

    def cost(said):
        data = completion() | {"usage": {"prompt_tokens": 1, "cost": said}}

        async def run():
            async with wild_reply(data) as url:
                client = HttpClient()
                model = open_chat(
                    "r", environ={}, table={"r": table["r"] | {"base_url": f"{url}/v1"}}, http=client, within=5
                )
                reply = await model(request())
                await client.close()
                return reply.cost

        return asyncio.run(run())

    assert [cost(said) for said in (0.25, 0, -1, "1", None, True, 10**400)] == [0.25, 0.0, *[None] * 5]


def wild_reply(data):
    async def send(reader, writer):
        await heard(reader)
        writer.write(http(json.dumps(data).encode()))

    return wild(send)


def test_many_calls_at_once_each_get_their_own_reply():
    with ScriptedServer(latency=0.02) as server:

        async def run():
            client = HttpClient()
            model = open_chat(CHAT, environ={"OPENAI_BASE_URL": f"{server.url}/v1"}, table={}, http=client, within=10)
            wanted = [Request(messages=(Turn(role="user", content=f"n{n}"),)) for n in range(200)]
            replies = await asyncio.gather(*map(model, wanted))
            await client.close()
            return [reply.text for reply in replies]

        assert asyncio.run(run()) == [f"n{n}" for n in range(200)]
        assert server.most_in_flight > 20


@pytest.mark.parametrize("name", ["anthropic/m", "pydantic-ai/bedrock:m"])
def test_a_provider_without_embeddings_is_refused_by_name(name):
    from evalmark.models.providers.embeddings import open_embedder

    with pytest.raises(ConfigError, match="has no embedding models that evalmark supports"):
        open_embedder(name, environ={}, table={}, http=HttpClient(), within=1)


def test_a_reply_to_a_wrong_key_ends_all_calls():
    with ScriptedServer(key="sk-the-right-one") as server:
        found = call(server.url)
    assert not isinstance(found, Reply)
    assert found.fault == "closed"


@pytest.mark.parametrize("setting", ["messages", "model", "stream", "n", "contents"])
@pytest.mark.parametrize(("name", "variable"), [("openai/m", "OPENAI"), ("anthropic/m", "ANTHROPIC"), ("gemini/m", "GOOGLE_GEMINI")])  # fmt: skip
def test_no_setting_takes_the_place_of_what_is_asked_and_recorded(name, variable, setting):
    async def ask(environ):
        http = HttpClient(environ)
        try:
            return await open_chat(name, environ=environ, table={}, http=http, within=5.0)(
                request(settings={setting: []})
            )
        finally:
            await http.close()

    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    with (
        ScriptedServer() as server,
        pytest.raises(ModelCallError, match=f"the setting '{setting}' would replace") as told,
    ):
        asyncio.run(ask({**keys, f"{variable}_BASE_URL": server.url}))
    assert (told.value.fault, server.count) == ("rejected", 0)
