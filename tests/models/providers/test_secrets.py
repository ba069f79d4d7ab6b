"""Keys and passwords never come out again: not in texts, not in values, not in what is kept."""

import asyncio
import json
import traceback

import pytest

from evalmark.core.values.call import Reply
from evalmark.core.values.plain_data import canonical
from evalmark.errors import ModelCallError
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.embeddings import open_embedder

from .wild import client, completion, heard, http, request, wild

pytestmark = pytest.mark.usefixtures("library")
KEY = "sk-canary-9f8e7d6c5b4a3210"
SCHEMA = {"type": "object"}
NAMES = {
    "openai/m": {"OPENAI_BASE_URL": "URL/v1", "OPENAI_API_KEY": KEY},
    "azure/m": {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY},
    "openai_compatible:URL/v1/m": {"OPENAI_COMPATIBLE_API_KEY": KEY},
    "anthropic/m": {"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": KEY},
    "gemini/m": {"GOOGLE_GEMINI_BASE_URL": "URL", "GEMINI_API_KEY": KEY},
    "named": {"MY_KEY": KEY},
}
TABLE = {"named": {"provider": "openai", "model": "m", "base_url": "URL/v1", "key": "MY_KEY"}}


def echo(head, body):
    return http(b"echo: " + head + body, status="500 Internal Server Error", kind="text/plain")


def echo_as_error(head, _):
    return http(json.dumps({"error": {"message": head.decode()}}).encode(), status="401 Unauthorized")


def echo_as_reply(head, _):
    return http(
        json.dumps(completion(content=head.decode(), reasoning=head.decode()) | {"model": head.decode()}).encode()
    )


def echo_in_headers(head, _):
    key = next((line for line in head.decode().split("\r\n") if "canary" in line), "x: none")
    return http(json.dumps(completion()).encode(), f"x-request-id: {key.partition(': ')[2]}", f"date: {key}")


def echo_with_reason(head, _):
    return http(b"{}", status=f"418 {KEY}")


def echo_broken(head, body):
    return http(b'{"a": ' + head + body)


def echo_as_chunks(head, _):
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + KEY.encode()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "answer", [echo, echo_as_error, echo_as_reply, echo_in_headers, echo_with_reason, echo_broken, echo_as_chunks]
)
def test_a_key_that_the_server_sends_back_is_not_kept(name, answer):
    heads = []

    async def send(reader, writer):
        head, body = await heard(reader)
        heads.append(head.decode())
        writer.write(answer(head, body))

    async def run():
        async with wild(send) as url:
            http_client = client()
            environ = {key: value.replace("URL", url) for key, value in NAMES[name].items()}
            table = {key: row | {"base_url": f"{url}/v1"} for key, row in TABLE.items()}
            model = open_chat(name.replace("URL", url), environ=environ, table=table, http=http_client, within=5)
            written = [repr(model), str(model), model.name, model.identity, repr(http_client)]
            try:
                written.append(told(await model(request(schema=SCHEMA))))
            except ModelCallError as error:
                written.append(told(error))
            await http_client.close()
            return written

    written = asyncio.run(run())
    assert KEY in heads[0]
    assert [text for text in written if "canary" in text] == []


def told(found):
    """All that is written down of a call: its reply or its error, with attempts and traceback."""
    if isinstance(found, Reply):
        return canonical(found) + repr(found)
    chain = "".join(traceback.format_exception(found))
    return repr(found) + str(found) + canonical(found.attempts) + repr(found.attempts) + chain


def test_a_key_does_not_come_out_of_an_embedder():
    async def send(reader, writer):
        head, _ = await heard(reader)
        writer.write(http(head, status="400 Bad Request"))

    async def run():
        async with wild(send) as url:
            http_client = client()
            environ = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
            embedder = open_embedder("openai/m", environ=environ, table={}, http=http_client, within=5)
            with pytest.raises(ModelCallError) as refused:
                await embedder(["x"])
            await http_client.close()
            return repr(embedder) + embedder.fingerprint + told(refused.value)

    assert "canary" not in asyncio.run(run())


def test_a_short_dummy_key_is_not_looked_for_in_replies():
    async def send(reader, writer):
        await heard(reader)
        writer.write(http(json.dumps(completion(content="an empty ollama")).encode()))

    async def run():
        async with wild(send) as url:
            http_client = client()
            model = open_chat(
                f"openai_compatible:{url}/v1/m",
                environ={"OPENAI_COMPATIBLE_API_KEY": "ollama"},
                table={},
                http=http_client,
                within=5,
            )
            reply = await model(request())
            await http_client.close()
            return reply.text

    assert asyncio.run(run()) == "an empty ollama"


def test_a_key_that_no_header_can_hold_is_refused_and_not_shown():
    model = open_chat("openai/m", environ={"OPENAI_API_KEY": f"{KEY}\r\nx: y"}, table={}, http=client(), within=1)
    with pytest.raises(ModelCallError) as refused:
        asyncio.run(model(request()))
    assert refused.value.fault == "closed"
    assert "canary" not in told(refused.value)
