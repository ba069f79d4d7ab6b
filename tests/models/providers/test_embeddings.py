"""Vectors from servers: order, count, form, batches, and what is refused."""

import asyncio
import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.protocols import Embedder
from evalmark.errors import ModelCallError
from evalmark.models.providers.embeddings import MOST_BYTES, MOST_TEXTS, batches, open_embedder
from evalmark.models.providers.http import HttpClient
from evalmark.testing.scripted import Raw, ScriptedServer, Status

from .wild import KEY, heard, http, wild


def embedded(url, texts, name="openai/e", around=None, **environ):
    """The vectors, or the error."""
    variables = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY} | environ

    async def run():
        client = HttpClient()
        embedder = open_embedder(name, environ=variables, table={}, http=client, within=5, around=around)
        try:
            return await embedder(texts)
        except ModelCallError as error:
            return error
        finally:
            await client.close()

    return asyncio.run(run())


def answered(body, texts=("a", "b"), **environ):
    """The same, with a server that sends this body."""
    with ScriptedServer(lambda _: Raw(json.dumps(body).encode())) as server:
        return embedded(server.url, list(texts), **environ)


def data(*vectors, **more):
    return {"data": [{"index": at, "embedding": vector} | more for at, vector in enumerate(vectors)]}


@pytest.mark.parametrize(
    ("name", "environ"),
    [
        pytest.param("openai/e", {}, id="OpenAI's form"),
        pytest.param("azure/e", {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY}, id="Azure"),
        pytest.param("azure/e", {"AZURE_OPENAI_ENDPOINT": "URL", "AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": "2024-10-21"}, id="Azure, dated"),
        pytest.param("gemini/e", {"GOOGLE_GEMINI_BASE_URL": "URL", "GEMINI_API_KEY": KEY}, id="Gemini"),
        pytest.param("ollama/e", {"OLLAMA_HOST": "URL"}, id="Ollama"),
        pytest.param("openai_compatible:URL/v1/e", {}, id="an address"),
    ],
)  # fmt: skip
def test_each_text_gets_its_vector_in_order(name, environ):
    texts = ["one", "two", "", "drei é", "one"]
    with ScriptedServer(key=KEY if "KEY" in str(environ) else None) as server:
        given = {key: value.replace("URL", server.url) for key, value in environ.items()}
        vectors = embedded(server.url, texts, name.replace("URL", server.url), **given)
        alone = embedded(server.url, ["drei é"], name.replace("URL", server.url), **given)
        assert server.problems == []
    assert isinstance(vectors, np.ndarray), vectors
    assert (vectors.dtype, vectors.shape) == (np.float32, (5, 8))
    assert np.array_equal(vectors[0], vectors[4])
    assert np.array_equal(vectors[3], alone[0])
    assert not np.array_equal(vectors[0], vectors[1])


def test_openai_itself_is_asked_for_packed_vectors():
    packed = base64.b64encode(np.array([1, -2.5], "<f4").tobytes()).decode()
    seen = []

    async def send(reader, writer):
        seen.append(json.loads((await heard(reader))[1]))
        writer.write(http(json.dumps(data(packed)).encode()))

    async def run():
        async with wild(send) as url:
            client = HttpClient()
            environ = {"AZURE_OPENAI_ENDPOINT": url, "AZURE_OPENAI_API_KEY": KEY}
            embedder = open_embedder("azure/e", environ=environ, table={}, http=client, within=5)
            vectors = await embedder(["x"])
            await client.close()
            return vectors

    assert asyncio.run(run()).tolist() == [[1, -2.5]]
    assert seen == [{"model": "e", "encoding_format": "base64", "input": ["x"]}]


def test_it_is_an_embedder_whose_vectors_belong_to_model_and_address():
    def opened(name, **environ):
        return open_embedder(name, environ=environ, table={}, http=HttpClient(), within=1)

    assert isinstance(opened("openai/e"), Embedder)
    assert opened("openai/e").fingerprint == "remote:openai/e@https://api.openai.com/v1"
    assert opened("openai/e", OPENAI_BASE_URL="http://h/v1").fingerprint != opened("openai/e").fingerprint


def test_vectors_are_put_in_the_order_of_their_index():
    body = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}
    assert answered(body).tolist() == [[1, 0], [0, 1]]


def test_vectors_without_an_index_are_in_order():
    body = {"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}
    assert answered(body).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param({}, "sent 0 vectors for 2 texts", id="nothing"),
        pytest.param(data([1, 0]), "sent 1 vectors for 2 texts", id="one too few"),
        pytest.param(data([1, 0], [0, 1], [1, 1]), "sent 0 vectors for 2 texts", id="one too many"),
        pytest.param({"data": [{"index": 0, "embedding": [1]}] * 2}, "sent 0 vectors for 2 texts", id="an index twice"),
        pytest.param({"data": [{"index": 5, "embedding": [1]}, {"index": 6, "embedding": [1]}]}, "sent 0 vectors", id="an index beyond the texts"),
        pytest.param({"data": [{"index": "0", "embedding": [1]}, {"index": "1", "embedding": [1]}]}, "sent 0 vectors", id="an index that is a text"),
        pytest.param({"data": 3}, "sent 0 vectors", id="a number"),
        pytest.param({"data": [1, 2]}, "sent 0 vectors", id="numbers"),
        pytest.param(data([1, 0], [1]), "data that are not vectors of equal length", id="different lengths"),
        pytest.param(data([1], None), "data that are not vectors", id="null"),
        pytest.param(data([1, "x"], [1, 2]), "data that are not vectors", id="a text among the numbers"),
        pytest.param(data([1, True], [1, 2]), "data that are not vectors", id="true among the numbers"),
        pytest.param(data([1, None], [1, 2]), "data that are not vectors", id="null among the numbers"),
        pytest.param(data([[1]], [[2]]), "data that are not vectors", id="lists of lists"),
        pytest.param(data("AAAAAA==", "AAAAAA=="), None, id="packed zeros"),
        pytest.param(data("AAA", "AAAA"), "data that are not vectors", id="packed, but broken"),
        pytest.param(data("AAAA", "AAAA"), "data that are not vectors", id="packed, but three bytes"),
        pytest.param(data("é", "é"), "data that are not vectors", id="a text that is no base64"),
        pytest.param(data("AADAfw==", "AADAfw=="), "empty or not finite", id="packed NaN"),
        pytest.param(data([1e300], [1]), "empty or not finite", id="a number too large for 32 bits"),
        pytest.param(data([], []), "empty", id="empty vectors"),
        pytest.param(data([10**400], [1]), "data that are not vectors", id="a whole number beyond any float"),
    ],
)  # fmt: skip
def test_what_is_no_vector_is_a_typed_error(body, said):
    found = answered(body)
    if said is None:
        assert found.tolist() == [[0.0], [0.0]]
    else:
        assert isinstance(found, ModelCallError)
        assert said in str(found)
        assert (found.fault, len(found.attempts)) == ("transient", 1)


def test_vectors_of_another_length_than_before_end_the_run():
    with ScriptedServer([Raw(json.dumps(data([1, 0])).encode()), Raw(json.dumps(data([1, 0, 0])).encode())]) as server:

        async def run():
            client = HttpClient()
            embedder = open_embedder(
                "openai/e", environ={"OPENAI_BASE_URL": f"{server.url}/v1"}, table={}, http=client, within=5
            )
            try:
                await embedder(["a"])
                await embedder(["b"])
            finally:
                await client.close()

        with pytest.raises(ModelCallError, match="sent vectors of 3 dimensions, 2 before") as refused:
            asyncio.run(run())
    assert refused.value.fault == "closed"


def test_no_texts_are_no_request():
    with ScriptedServer() as server:
        assert embedded(server.url, []).shape == (0, 0)
        assert server.count == 0


def test_many_texts_go_in_several_requests_at_once():
    texts = [f"text {n}" for n in range(1_050)]
    with ScriptedServer(latency=0.02) as server:
        vectors = embedded(server.url, texts)
        sizes = [len(said.messages) for said in server.requests]
        last = embedded(server.url, texts[-1:])
        assert server.most_in_flight > 2
    assert sum(sizes) == 1_050
    assert max(sizes) == MOST_TEXTS
    assert np.array_equal(vectors[-1], last[0])


@given(st.lists(st.integers(0, 2 * MOST_BYTES).map(lambda n: "a" * n), max_size=8), st.integers(1, 3))
def test_batches_keep_order_and_limits(texts, most):
    parts = list(batches(texts, most)) if texts else []
    assert [text for part in parts for text in part] == texts
    for part in parts:
        assert 1 <= len(part) <= most
        assert len(part) == 1 or sum(map(len, part)) <= MOST_BYTES


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_server_that_takes_few_texts_gets_few(status):
    def answer(said):
        return Status(status, {}, "batch size") if len(said.messages) > 32 else None

    texts = [f"text {n}" for n in range(150)]
    with ScriptedServer(answer) as server:
        vectors = embedded(server.url, texts)
        assert np.array_equal(vectors[149], embedded(server.url, texts[149:])[0])
        assert sum(len(said.messages) > 32 for said in server.requests) <= 3, "what one part has met the others know"
    assert len(vectors) == 150


def test_a_text_that_no_server_takes_is_an_error_after_a_few_requests():
    def answer(said):
        return Status(400, {}, "too long") if any(text == "bad" for _, text in said.messages) else None

    with ScriptedServer(answer) as server:
        error = embedded(server.url, ["a"] * 50 + ["bad"] + ["a"] * 49)
        assert server.count < 16
    assert error.fault == "rejected"


@pytest.mark.parametrize(("status", "fault"), [(429, "transient"), (401, "closed"), (500, "transient")])
def test_an_error_of_the_server_is_told_as_for_chats(status, fault):
    with ScriptedServer(lambda _: Status(status, {"retry-after": "3"})) as server:
        error = embedded(server.url, ["a"] * 300)
    assert (error.fault, error.retry_after) == (fault, 3 if fault == "transient" else None)


def test_each_request_goes_through_what_is_around_it():
    tried = []

    async def twice(send):
        for _ in range(2):
            try:
                tried.append("sent")
                return await send()
            except ModelCallError:
                continue
        raise AssertionError

    with ScriptedServer([Status(503)]) as server:
        assert embedded(server.url, ["a", "b"], around=twice).shape == (2, 8)
    assert tried == ["sent", "sent"]


def test_half_a_surrogate_pair_is_sent_as_the_replacement_character():
    with ScriptedServer() as server:
        embedded(server.url, ["a\ud800"])
        assert server.requests[0].text == "a\ufffd"


def test_without_a_key_nothing_is_sent():
    with pytest.raises(ModelCallError, match="OPENAI_API_KEY is not set"):
        asyncio.run(open_embedder("openai/e", environ={}, table={}, http=HttpClient(), within=1)(["x"]))
