"""The scripted model server: what it takes, what it refuses, and how it misbehaves."""

import asyncio
import base64
import json
import struct
import threading

import aiohttp
import pytest

from evalmark.testing import scripted
from evalmark.testing.scripted import (
    Cut,
    Delay,
    Endless,
    FinishWith,
    HeadersOnly,
    Huge,
    ModelRefusal,
    NoUsage,
    OddUsage,
    Raw,
    Reset,
    ScriptedReply,
    ScriptedServer,
    Slow,
    Status,
    Unsupported,
)

KEY = "the-key"
OPENAI = "/v1/chat/completions"
AZURE = "/openai/deployments/deployed/chat/completions?api-version=2024-10-21"
CLAUDE = "/v1/messages"
GEMINI = "/v1beta/models/gem:generateContent"
ASKED = [{"role": "user", "content": "hello you"}]
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
HEADERS = {
    "openai": {},
    "azure": {"api-key": KEY},
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": KEY},
}
PATHS = {"openai": OPENAI, "azure": AZURE, "anthropic": CLAUDE, "gemini": GEMINI}
BODIES = {
    "openai": {"model": "m", "messages": ASKED},
    "azure": {"messages": ASKED},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": ASKED},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello you"}]}]},
}


def text_of(provider, reply):
    match provider:
        case "anthropic":
            return reply["content"][0]["text"]
        case "gemini":
            return reply["candidates"][0]["content"]["parts"][0]["text"]
    return reply["choices"][0]["message"]["content"]


async def send(server, path, body, headers=None, seconds=5.0):
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"content-type": "application/json"} | (headers or {})
        async with session.post(server.url + path, data=data, headers=kind) as response:
            return response.status, response.headers, await response.read()


def post(server, path, body, headers=None, seconds=5.0):
    status, _, content = asyncio.run(send(server, path, body, headers, seconds))
    return status, json.loads(content)


def speak(server, provider, **more):
    return post(server, PATHS[provider], BODIES[provider] | more, HEADERS[provider])


@pytest.fixture(scope="module")
def shared_server():
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def server(shared_server):
    shared_server.answer, shared_server.unsupported, shared_server.key = None, (), None
    return shared_server


@pytest.mark.parametrize("provider", PATHS)
def test_the_default_is_to_repeat_what_the_user_said(server, provider):
    status, reply = speak(server, provider)
    assert (status, text_of(provider, reply)) == (200, "hello you")
    said = server.requests[-1]
    assert (said.provider, said.messages, said.text) == (provider, (("user", "hello you"),), "hello you")
    assert said.model == {"azure": "deployed", "gemini": "gem"}.get(provider, "m")


def test_an_answer_may_be_a_function_of_the_request_or_a_list_that_is_used_up(server):
    server.answer = lambda said: f"{said.number >= 0} {said.text.upper()}"
    assert text_of("openai", speak(server, "openai")[1]) == "True HELLO YOU"
    server.answer = script = ["one", "two"]
    texts = [text_of("openai", speak(server, "openai")[1]) for _ in range(3)]
    assert texts == ["one", "two", "hello you"]
    assert script == ["one", "two"]
    server.answer = script
    assert text_of("openai", speak(server, "openai")[1]) == "one"


def test_keys_are_not_kept(server):
    speak(server, "anthropic")
    assert "anthropic-version" in server.requests[-1].headers
    assert KEY not in repr(server.requests)


@pytest.mark.parametrize(
    ("provider", "native", "tool"),
    [
        pytest.param(
            "openai",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": SCHEMA, "strict": True},
                }
            },
            {
                "tools": [{"type": "function", "function": {"name": "a", "parameters": SCHEMA, "strict": True}}],
                "tool_choice": {"type": "function", "function": {"name": "a"}},
            },
            id="openai",
        ),
        pytest.param(
            "anthropic",
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            {"tools": [{"name": "a", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "a"}},
            id="anthropic",
        ),
        pytest.param(
            "gemini",
            {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
            {
                "tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": SCHEMA}]}],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]}},
            },
            id="gemini",
        ),
    ],
)
def test_an_object_comes_in_the_form_in_which_it_was_asked_for(server, provider, native, tool):
    _, reply = speak(server, provider, **native)
    assert json.loads(text_of(provider, reply)) == {"score": 0}
    assert (server.requests[-1].form, server.requests[-1].schema) == ("schema", SCHEMA)
    server.answer = [{"score": 3}]
    _, reply = speak(server, provider, **tool)
    assert (server.requests[-1].form, server.requests[-1].tool) == ("tool", "a")
    assert '"score": 3' in json.dumps(reply).replace("\\", "")
    server.unsupported = ["response_format", "tools"]
    assert [speak(server, provider, **form)[0] for form in (native, tool)] == [400, 400]
    assert speak(server, provider)[0] == 200


OWN_WORDS = {
    "openai": lambda reply: reply["error"]["type"],
    "azure": lambda reply: reply["error"]["type"],
    "anthropic": lambda reply: reply["error"]["type"],
    "gemini": lambda reply: reply["error"]["status"],
}


@pytest.mark.parametrize(
    ("provider", "code", "word"),
    [
        ("openai", 429, "rate_limit_error"),
        ("openai", 500, "server_error"),
        ("azure", 401, "authentication_error"),
        ("anthropic", 400, "invalid_request_error"),
        ("anthropic", 413, "request_too_large"),
        ("anthropic", 500, "api_error"),
        ("anthropic", 529, "overloaded_error"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("gemini", 503, "UNAVAILABLE"),
        ("gemini", 418, "UNKNOWN"),
    ],
)
def test_an_error_has_the_form_of_its_provider(server, provider, code, word):
    server.answer = [Status(code)]
    status, reply = speak(server, provider)
    assert (status, OWN_WORDS[provider](reply)) == (code, word)


def changed(provider, **changes):
    """The provider's plain request, with fields put in the place of others; None takes one away."""
    return {name: value for name, value in (BODIES[provider] | changes).items() if value is not None}


def strict(**changes):
    json_schema = {"name": "a", "strict": True, "schema": SCHEMA | changes}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def compiled(**changes):
    return {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA | changes}}}


REFUSED = [
    ("openai", changed("openai", model=None), "model"),
    ("openai", changed("openai", messages=[]), "empty array"),
    ("openai", changed("openai", messages=[{"role": "critic", "content": "x"}]), "'critic'"),
    ("openai", changed("openai", messages=[{"role": "tool", "content": "x"}]), "tool_call_id"),
    ("openai", changed("openai", messages=[{"role": "user", "content": 3}]), "Invalid type"),
    ("openai", changed("openai", topK=3), "Unrecognized request argument supplied: topK"),
    ("openai", changed("openai", temperature=3), "0..2"),
    ("openai", changed("openai", temperature="0"), "expected a number"),
    ("openai", changed("openai", seed=1.5), "expected an integer"),
    ("openai", changed("openai", max_tokens=5, max_completion_tokens=5), "at the same time"),
    ("openai", changed("openai", model="o3-mini", max_tokens=5), "max_completion_tokens"),
    ("openai", changed("openai", top_logprobs=3), "'logprobs' is enabled"),
    ("openai", changed("openai", logprobs=True, top_logprobs=21), "0..20"),
    ("openai", changed("openai", stop=["a"] * 5), "up to 4"),
    ("openai", changed("openai", stream=True), "stream"),
    ("openai", changed("openai", tools=[]), "empty array"),
    ("openai", changed("openai", tool_choice="auto"), "'tools' are specified"),
    ("openai", changed("openai", response_format={"type": "json_object"}), "the word 'json'"),
    ("openai", changed("openai", response_format={"type": "json_schema", "json_schema": {"schema": {}}}), "name"),
    ("openai", changed("openai", **strict(required=[])), "'required' is required"),
    ("openai", changed("openai", **strict(additionalProperties=True)), "'additionalProperties' is required"),
    ("openai", changed("openai", **strict(anyOf=[])), 'type: "object"'),
    ("openai", changed("openai", **strict(properties={"score": {"oneOf": []}})), "'oneOf' is not permitted"),
    ("anthropic", changed("anthropic", max_tokens=None), "max_tokens: Field required"),
    ("anthropic", changed("anthropic", max_tokens=0), "max_tokens"),
    ("anthropic", changed("anthropic", seed=1), "seed: Extra inputs are not permitted"),
    ("anthropic", changed("anthropic", temperature=1.5), "0..1"),
    ("anthropic", changed("anthropic", model="claude-opus-4-7", temperature=0), "deprecated for this model"),
    ("anthropic", changed("anthropic", messages=[{"role": "system", "content": "x"}]), "top-level `system`"),
    ("anthropic", changed("anthropic", messages=[{"role": "assistant", "content": "x"}]), "first message"),
    ("anthropic", changed("anthropic", messages=[{"role": "user", "content": ""}]), "non-empty"),
    ("anthropic", changed("anthropic", messages=[*ASKED, {"role": "assistant", "content": "x "}]), "whitespace"),
    ("anthropic", changed("anthropic", stop_sequences=[" "]), "non-whitespace"),
    ("anthropic", changed("anthropic", output_format={}), "Use 'output_config.format' instead"),
    ("anthropic", changed("anthropic", tool_choice={"type": "any"}), "while providing tools"),
    ("anthropic", changed("anthropic", thinking={"type": "enabled", "budget_tokens": 2_000}), "greater than"),
    ("anthropic", changed("anthropic", **compiled(additionalProperties=True)), "explicitly set to false"),
    (
        "anthropic",
        changed("anthropic", **compiled(properties={"score": {"type": "integer", "minimum": 1}})),
        "properties minimum are not supported",
    ),
    (
        "anthropic",
        changed("anthropic", **compiled(properties={f"p{n}": {} for n in range(25)}, required=[])),
        "Schema is too complex",
    ),
    ("gemini", changed("gemini", contents=[]), "contents is not specified"),
    ("gemini", changed("gemini", contents=[{"role": "assistant", "parts": [{"text": "x"}]}]), "user, model"),
    ("gemini", changed("gemini", contents=[{"role": "user", "parts": []}]), "must not be empty"),
    ("gemini", changed("gemini", messages=ASKED), 'Unknown name "messages"'),
    ("gemini", changed("gemini", generationConfig={"max_tokens": 3}), 'Unknown name "max_tokens"'),
    ("gemini", changed("gemini", generationConfig={"logprobs": 3}), "responseLogprobs"),
    ("gemini", changed("gemini", generationConfig={"responseJsonSchema": SCHEMA}), "response_mime_type"),
    (
        "gemini",
        changed("gemini", generationConfig={"responseMimeType": "application/json", "responseSchema": SCHEMA}),
        'Unknown name "additionalProperties"',
    ),
    (
        "gemini",
        changed(
            "gemini",
            generationConfig={
                "responseMimeType": "application/json",
                "responseJsonSchema": {"properties": {"a": {"$ref": "#/$defs/A", "title": "A"}}},
            },
        ),
        "other keywords",
    ),
    (
        "gemini",
        changed(
            "gemini",
            tools=[{"functionDeclarations": [{"name": "a"}]}],
            generationConfig={"responseMimeType": "application/json"},
        ),
        "Function calling with a response mime type",
    ),
]


@pytest.mark.parametrize(("provider", "body", "sentence"), REFUSED, ids=[f"{row[0]}: {row[2]}" for row in REFUSED])
def test_what_the_provider_would_refuse_is_refused_in_its_form(server, provider, body, sentence):
    before = len(server.problems)
    status, reply = post(server, PATHS[provider], body, HEADERS[provider])
    assert (status, sentence in reply["error"]["message"]) == (400, True), reply
    assert server.problems[before:] == [reply["error"]["message"]]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param(OPENAI, {}, 200, id="a compatible server wants no key"),
        pytest.param(AZURE, {}, 401, id="azure wants one"),
        pytest.param(AZURE.partition("?")[0], HEADERS["azure"], 404, id="azure wants a version with a deployment"),
        pytest.param("/openai/v1/chat/completions", {"authorization": f"Bearer {KEY}"}, 200, id="its v1 API does not"),
        pytest.param(CLAUDE, {"anthropic-version": "2023-06-01"}, 401, id="anthropic wants a key"),
        pytest.param(CLAUDE, {"x-api-key": KEY}, 400, id="anthropic wants a version"),
        pytest.param(GEMINI, {}, 403, id="gemini wants a key"),
        pytest.param(f"{GEMINI}?key={KEY}", HEADERS["gemini"], 400, id="and not in the address"),
        pytest.param("/v1/nothing", {}, 404, id="other paths are unknown"),
    ],
)
def test_who_comes_in(server, path, headers, status):
    provider = next((name for name in PATHS if path.startswith(PATHS[name].partition("?")[0])), "openai")
    found, _, _ = asyncio.run(send(server, path, BODIES[provider], headers))
    assert found == status
    assert KEY not in repr(server.requests)


@pytest.mark.parametrize(("provider", "status"), [("openai", 401), ("azure", 401), ("anthropic", 401), ("gemini", 400)])
def test_a_server_with_a_key_takes_no_other(server, provider, status):
    server.key = "another"
    assert speak(server, provider)[0] == status


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"no json", id="no JSON"),
        pytest.param(b"[1]", id="no object"),
        pytest.param(b'{"model": "m", "max_tokens": 1, "messages": {"role": "user"}}', id="no list"),
        pytest.param(b'{"model": "m", "max_tokens": 1, "messages": [1], "contents": [1]}', id="no messages"),
        pytest.param(
            b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": 3}', id="tools as a number"
        ),
        pytest.param(b'{"contents": [{"parts": [{"text": "x"}]}], "toolConfig": 3}', id="a configuration as a number"),
    ],
)
@pytest.mark.parametrize("provider", PATHS)
def test_nonsense_is_refused_and_the_server_lives_on(server, provider, body):
    status, _, _ = asyncio.run(send(server, PATHS[provider], body, HEADERS[provider]))
    assert status == 400
    assert speak(server, provider)[0] == 200


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(Cut(10), aiohttp.ClientPayloadError, id="cut"),
        pytest.param(Slow(20), TimeoutError, id="slow"),
        pytest.param(HeadersOnly(), TimeoutError, id="head without a body"),
        pytest.param(Endless(), TimeoutError, id="endless"),
        pytest.param(Reset(), aiohttp.ClientError, id="reset"),
        pytest.param(Delay(1.0, "late"), TimeoutError, id="late"),
    ],
)
def test_a_connection_is_not_what_it_should_be(server, answer, error):
    server.answer = [answer]
    with pytest.raises(error):
        asyncio.run(send(server, OPENAI, BODIES["openai"], seconds=0.1))
    assert speak(server, "openai")[0] == 200


def test_what_is_slow_large_or_late_comes_whole_in_the_end(server):
    server.answer = [Slow(1_000_000, "slow"), Huge(300_000), Delay(0.01, Delay(0.01, "late"))]
    slow, huge, late = (text_of("openai", speak(server, "openai")[1]) for _ in range(3))
    assert (slow, len(huge), late) == ("slow", 300_000, "late")


def test_raw_bytes_and_bodies_come_as_they_are(server):
    server.answer = [Raw(b"\xff{", "text/html", {"x-a": "b"}), Status(418, {"x-c": "d"}, "I am a teapot")]
    status, headers, body = asyncio.run(send(server, OPENAI, BODIES["openai"]))
    assert (status, headers["content-type"], headers["x-a"], body) == (200, "text/html", "b", b"\xff{")
    status, headers, body = asyncio.run(send(server, OPENAI, BODIES["openai"]))
    assert (status, headers["x-c"], body) == (418, "d", b"I am a teapot")


def test_a_reply_can_be_given_in_all_its_parts(server):
    server.answer = [
        ScriptedReply(text="a", reasoning="hm", tool_calls=[("f", "{}")], model="other", usage={"prompt_tokens": 3}),
        ModelRefusal("no"),
        FinishWith("length", "cut"),
        NoUsage("x"),
        OddUsage({"prompt_tokens": -1}),
    ]
    whole, refused, cut, unknown, odd = (speak(server, "openai")[1] for _ in range(5))
    assert (whole["model"], whole["usage"]) == ("other", {"prompt_tokens": 3})
    assert whole["choices"][0]["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert refused["choices"][0]["message"]["refusal"] == "no"
    assert cut["choices"][0]["finish_reason"] == "length"
    assert "usage" not in unknown
    assert odd["usage"] == {"prompt_tokens": -1}


@pytest.mark.parametrize("provider", PATHS)
def test_words_of_a_model_that_does_not_take_a_part(server, provider):
    for what in ("response_format", "tools", "logprobs", "max_tokens", "temperature"):
        server.answer = [Unsupported(what)]
        assert speak(server, provider)[0] == 400


def test_probabilities_come_where_they_are_asked_for(server):
    _, reply = speak(server, "openai", logprobs=True, top_logprobs=1)
    first, second = reply["choices"][0]["logprobs"]["content"]
    assert (first["token"], second["token"], len(first["top_logprobs"])) == ("hello", " you", 1)
    assert speak(server, "openai")[1]["choices"][0]["logprobs"] is None


def test_vectors_come_from_texts_or_from_the_script(server):
    _, reply = post(server, "/v1/embeddings", {"model": "m", "input": ["a", "b", "a"], "dimensions": 4})
    a, b, again = (row["embedding"] for row in reply["data"])
    assert a == again != b
    assert sum(x * x for x in a) == pytest.approx(1)
    server.answer = [[[1.0, 0.5]]]
    _, reply = post(server, "/v1/embeddings", {"model": "m", "input": "a", "encoding_format": "base64"})
    assert struct.unpack("<2f", base64.b64decode(reply["data"][0]["embedding"])) == (1.0, 0.5)
    server.answer = None
    single = {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 4}
    _, one = post(server, "/v1beta/models/gem:embedContent", single, HEADERS["gemini"])
    several = {"requests": [single | {"model": "models/gem"}]}
    _, many = post(server, "/v1beta/models/gem:batchEmbedContents", several, HEADERS["gemini"])
    assert one["embedding"]["values"] == many["embeddings"][0]["values"] == a


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/embeddings", {"model": "m", "input": []}, id="no text"),
        pytest.param("/v1/embeddings", {"model": "m", "input": ["a", ""]}, id="an empty text"),
        pytest.param("/v1/embeddings", {"model": "m", "input": ["a"] * 2_049}, id="too many texts"),
        pytest.param("/v1/embeddings", {"model": "m", "input": "a", "encoding_format": "int8"}, id="an unknown format"),
        pytest.param("/v1beta/models/gem:batchEmbedContents", {"requests": []}, id="no request"),
        pytest.param(
            "/v1beta/models/gem:batchEmbedContents",
            {"requests": [{"model": "models/other", "content": {"parts": [{"text": "a"}]}}]},
            id="another model than the address names",
        ),
    ],
)
def test_embeddings_that_the_provider_would_refuse(server, path, body):
    assert post(server, path, body, HEADERS["gemini"])[0] == 400


def test_requests_are_counted_with_how_many_were_under_way_at_once():
    async def work(server):
        await asyncio.gather(*(send(server, OPENAI, BODIES["openai"]) for _ in range(20)))

    with ScriptedServer(latency=0.05) as server:
        asyncio.run(work(server))
        assert (server.count, server.in_flight) == (20, 0)
        assert 10 <= server.most_in_flight <= 20
        assert [said.number for said in server.requests] == list(range(20))


def test_a_broken_answer_is_raised_when_the_block_ends():
    def broken(said):
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"), ScriptedServer(broken) as server:
        assert speak(server, "openai")[0] == 500
    with pytest.raises(json.JSONDecodeError), ScriptedServer(broken) as server:
        post(server, "/v1/nothing" if speak(server, "openai") else "", {})  # what goes wrong in the block comes first


def test_nothing_is_left_when_the_block_ends():
    before = set(threading.enumerate())

    async def leave(server):
        with pytest.raises(TimeoutError):
            await send(server, OPENAI, BODIES["openai"], seconds=0.05)

    with ScriptedServer([HeadersOnly(), Endless()]) as server:
        asyncio.run(leave(server))
        asyncio.run(leave(server))
    assert set(threading.enumerate()) <= before
    with pytest.raises(aiohttp.ClientConnectorError):
        asyncio.run(send(server, OPENAI, BODIES["openai"]))


def test_every_name_that_is_offered_can_be_had():
    assert all(getattr(scripted, name) is not None for name in scripted.__all__)


def test_a_server_can_come_back_at_its_port():
    with ScriptedServer() as first:
        port = int(first.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), ScriptedServer(port=port):
            pass
    with ScriptedServer(port=port) as second:
        assert second.url == first.url
