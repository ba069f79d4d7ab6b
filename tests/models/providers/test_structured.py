"""The ladder of structured replies: which form is used, when it falls, and what it remembers."""

import asyncio
import json

import pytest

from evalmark import Turn
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.errors import ModelCallError
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.http import HttpClient
from evalmark.models.providers.structured import (
    StructuredOutputFallback,
    is_format_rejection,
    is_strict,
    with_schema_instruction,
)
from evalmark.testing.scripted import Raw, ScriptedReply, ScriptedServer, Status

from .wild import CHAT, completion, failed, replied, request

STRICT = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
LOOSE = {"type": "object", "properties": {"score": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("unsupported", "form", "attempts"),
    [
        pytest.param((), "schema", 0, id="a server that knows JSON schemas"),
        pytest.param(("response_format",), "tool", 1, id="one that knows tools"),
        pytest.param(("response_format", "tools"), "text", 2, id="one that knows neither"),
    ],
)
@pytest.mark.parametrize("schema", [STRICT, LOOSE], ids=["strict", "loose"])
def test_the_form_is_the_first_that_the_server_takes(unsupported, form, attempts, schema):
    def answer(said):
        return '{"score": 0}' if not said.schema else None

    with ScriptedServer(answer, unsupported=unsupported) as server:
        reply = replied(server.url, request(schema=schema))
    assert (reply.form, reply.data, len(reply.attempts)) == (form, {"score": 0}, attempts)
    assert server.count == attempts + 1
    assert all(attempt.status == 400 for attempt in reply.attempts)


def test_a_form_that_was_rejected_is_not_tried_again_for_the_same_schema():
    with ScriptedServer(unsupported=("response_format",)) as server:

        async def run():
            client = HttpClient()
            model = open_chat(CHAT, environ={"OPENAI_BASE_URL": f"{server.url}/v1"}, table={}, http=client, within=5)
            counts = []
            for schema in (STRICT, STRICT, dict(STRICT), LOOSE, LOOSE):
                before = server.count
                assert (await model(request(schema=schema))).form == "tool"
                counts.append(server.count - before)
            await client.close()
            return counts

        assert asyncio.run(run()) == [2, 1, 1, 2, 1]


def test_the_prompt_is_the_last_thing_that_holds_the_schema():
    with ScriptedServer(unsupported=("response_format", "tools")) as server:
        replied(server.url, request(schema=STRICT))
        said = server.requests[-1]
    assert said.text.startswith("Which way?\n\nReply with one JSON object and nothing else")
    assert json.dumps(STRICT) in said.text
    assert said.schema is None


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param('{"score": 4}', {"score": 4}, id="the object"),
        pytest.param(' \n{"score": 4}\n', {"score": 4}, id="with space around"),
        pytest.param("{}", {}, id="an empty object"),
        pytest.param('Sure! {"score": 4}', None, id="with words before it"),
        pytest.param('{"score": 4} Done.', None, id="with words after it"),
        pytest.param('```json\n{"score": 4}\n```', None, id="in a code fence"),
        pytest.param('{"score": 4}{"score": 5}', None, id="two objects"),
        pytest.param('{"score": 4,}', None, id="a comma too many"),
        pytest.param('{"score": 4, "score": 5}', None, id="a key twice"),
        pytest.param('{"score": NaN}', None, id="NaN"),
        pytest.param('{"score": 1e999}', None, id="infinity"),
        pytest.param("[4]", None, id="a list"),
        pytest.param("4", None, id="a number"),
        pytest.param("four", None, id="prose"),
        pytest.param("[" * 10_000, None, id="a deep nest"),
        pytest.param('{"score": ' + "4" * 5_000 + "}", None, id="5,000 digits"),
    ],
)  # fmt: skip
def test_data_is_the_object_only_where_the_text_is_exactly_one(text, data):
    with ScriptedServer([text]) as server:
        reply = replied(server.url, request(schema=STRICT))
    assert (reply.data, reply.text, reply.form) == (data, text, "schema")


@pytest.mark.parametrize(
    ("said", "data", "text"),
    [
        pytest.param(ScriptedReply(tool_calls=[("answer", '{"score": 4}')]), {"score": 4}, "", id="a call"),
        pytest.param(ScriptedReply(tool_calls=[("answer", "{}")]), {}, "", id="an empty call"),
        pytest.param(ScriptedReply(tool_calls=[("answer", "{")]), None, "{", id="a call that is cut"),
        pytest.param(ScriptedReply(text="four"), None, "four", id="prose"),
        pytest.param(ScriptedReply(text='{"score": 4}'), {"score": 4}, '{"score": 4}', id="the object as text"),
        pytest.param(ScriptedReply(tool_calls=[("other", "{}"), ("answer", '{"score": 4}')]), {"score": 4}, "", id="another call first"),
    ],
)  # fmt: skip
def test_a_forced_call_gives_its_arguments(said, data, text):
    with ScriptedServer(lambda _: said, unsupported=("response_format",)) as server:
        reply = replied(server.url, request(schema=STRICT))
    assert (reply.data, reply.text, reply.form) == (data, text, "tool")
    assert "answer" not in [call.name for call in reply.tool_calls]


def test_words_beside_a_forced_call_are_kept():
    call = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": '{"score": 4}'}}
    body = json.dumps(completion(content="Well.", tool_calls=[call])).encode()
    with ScriptedServer([Status(400, {}, "no response_format"), Raw(body)]) as server:
        reply = replied(server.url, request(schema=STRICT))
    assert (reply.data, reply.text, reply.tool_calls) == ({"score": 4}, "Well.", ())


def test_an_error_that_does_not_speak_of_the_form_is_the_end():
    answers = [Status(400, {}, {"error": {"message": "The context is too long."}})]
    with ScriptedServer(answers) as server:
        assert failed(server.url, request(schema=STRICT)).fault == "rejected"
        assert server.count == 1


def test_where_no_form_is_taken_all_attempts_are_told():
    body = {"error": {"message": "schema, tools and words are refused"}}
    with ScriptedServer([Status(400, {}, body)] * 3) as server:
        error = failed(server.url, request(schema=STRICT))
    assert (error.fault, len(error.attempts), server.count) == ("rejected", 3, 3)


def test_what_fails_in_a_lower_form_is_not_remembered():
    with ScriptedServer([Status(400, {}, "no response_format"), Status(500), None]) as server:

        async def run():
            client = HttpClient()
            model = open_chat(CHAT, environ={"OPENAI_BASE_URL": f"{server.url}/v1"}, table={}, http=client, within=5)
            with pytest.raises(ModelCallError) as broken:
                await model(request(schema=STRICT))
            reply = await model(request(schema=STRICT))
            await client.close()
            return broken.value, reply

        error, reply = asyncio.run(run())
    assert (error.fault, [attempt.status for attempt in error.attempts]) == ("transient", [400, 500])
    assert reply.form == "schema"


def test_without_a_schema_there_is_no_form():
    with ScriptedServer(['{"score": 4}']) as server:
        reply = replied(server.url)
    assert (reply.form, reply.data) == ("", None)


@pytest.mark.parametrize(
    ("fault", "status", "body", "speaks"),
    [
        ("rejected", 400, "Invalid parameter: 'response_format'", True),
        ("rejected", 400, "This model does not support tools", True),
        ("rejected", 422, "extra fields: json_schema", True),
        ("rejected", 400, "temperature is too high", False),
        ("closed", 404, "No endpoints found that support tool use", True),
        ("closed", 404, "no such model", False),
        ("closed", 401, "the tool key is wrong", False),
        ("transient", 500, "Failed to parse grammar", True),
        ("transient", 500, "Internal Server Error", False),
        ("transient", 500, "\n<!DOCTYPE html><script>(function(){})()</script>", False),
        ("transient", 429, "schema limit", False),
        ("transient", None, "", False),
    ],
)
def test_what_speaks_of_the_form(fault, status, body, speaks):
    attempt = Attempt(seconds=0.1, error="x", status=status, body=body)
    assert is_format_rejection(ModelCallError("x", fault=fault, attempts=[attempt])) is speaks


def test_an_error_without_attempts_does_not_speak_of_the_form():
    assert not is_format_rejection(ModelCallError("schema", fault="rejected"))


@pytest.mark.parametrize(
    ("messages", "roles", "last"),
    [
        pytest.param((Turn(role="user", content="Hi"),), ["user"], "Hi\n\nReply with one", id="joined to the user's last message"),
        pytest.param((Turn(role="system", content="Hi"),), ["system", "user"], "Reply with one", id="after a system message"),
        pytest.param((Turn(role="user", content="Hi"), Turn(role="assistant", content="Yo")), ["user", "assistant", "user"], "Reply with one", id="after the model's own"),
        pytest.param((Turn(role="user", content=[{"type": "text", "text": "Hi"}]),), ["user", "user"], "Reply with one", id="after parts"),
        pytest.param((), ["user"], "Reply with one", id="alone"),
    ],
)  # fmt: skip
def test_the_instruction_comes_last(messages, roles, last):
    found = with_schema_instruction(Request(messages=messages, schema=STRICT))
    assert [turn.role for turn in found.messages] == roles
    assert found.messages[-1].content.startswith(last)
    assert found.schema is None


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(STRICT, True, id="closed, all required"),
        pytest.param(LOOSE, False, id="open"),
        pytest.param(STRICT | {"required": []}, False, id="an optional property"),
        pytest.param({"type": "array", "items": STRICT}, False, id="a list at the root"),
        pytest.param(STRICT | {"properties": {"score": LOOSE}}, False, id="an open object inside"),
        pytest.param(STRICT | {"properties": {"score": {"type": "array", "items": LOOSE}}}, False, id="an open object in a list"),
        pytest.param(STRICT | {"properties": {"score": {"anyOf": [STRICT, {"type": "null"}]}}}, True, id="a choice"),
        pytest.param(STRICT | {"properties": {"score": {"oneOf": [STRICT]}}}, False, id="a word that strict mode has not"),
        pytest.param(STRICT | {"properties": {"score": {"type": "integer", "default": 1}}}, False, id="a default"),
        pytest.param(STRICT | {"$defs": {"a": LOOSE}}, False, id="an open definition"),
        pytest.param(STRICT | {"properties": {"not": {}}, "required": ["not"]}, True, id="a property with the name of a keyword"),
        pytest.param({}, False, id="nothing"),
        pytest.param(True, False, id="true"),
    ],
)  # fmt: skip
def test_strict_mode_is_asked_for_only_where_the_schema_allows_it(schema, strict):
    assert is_strict(schema) is strict


def test_the_memory_of_the_ladder_does_not_grow_without_end():
    async def ask(wanted: Request, form: str) -> Reply:
        return Reply(text="{}")

    async def run(ladder):
        for n in range(1_000):
            await ladder.ask(request(schema=STRICT | {"title": str(n)}), ask)
        return len(ladder._known)

    assert asyncio.run(run(StructuredOutputFallback())) <= 256


def test_a_schema_that_is_changed_in_place_is_another_schema():
    ladder, schema = StructuredOutputFallback(), dict(LOOSE)
    first = ladder.reply_format(schema)
    assert ladder.reply_format(schema) is first
    schema["required"] = ["score"]
    assert ladder.reply_format(schema).schema == schema != first.schema


def test_a_server_that_ignores_the_form_is_taken_at_its_word():
    body = json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": "Four, I think."}, "finish_reason": "stop"}]}
    )
    with ScriptedServer([Raw(body.encode())]) as server:
        reply = replied(server.url, request(schema=STRICT))
        assert server.count == 1
    assert (reply.form, reply.data, reply.text) == ("schema", None, "Four, I think.")
