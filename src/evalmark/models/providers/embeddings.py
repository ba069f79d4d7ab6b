"""Embedding models of servers: OpenAI's API, which Azure, Ollama and many others have too, and Gemini's."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evalmark.core.errors import ConfigError, ModelCallError
from evalmark.core.lazy import LazyModule

from .endpoint import PYDANTIC_AI, Endpoint, find_endpoint
from .gemini import key_header
from .http import HttpClient, require_key
from .openai import address, key_headers
from .request_body import encode_body
from .response import Response, read_json, response_error

if TYPE_CHECKING:
    import numpy as np

    from evalmark.core.protocols import Vectors
else:
    np = LazyModule("numpy")


Around = Callable[[Callable[[], Awaitable["Vectors"]]], Awaitable["Vectors"]]
"""Sends one request by calling its argument, once or more often: adds limits and retries."""

MOST_TEXTS = 100
"""Most texts in one request; the limit of Gemini."""
MOST_BYTES = 250_000
"""Most bytes of all texts of one request. A token has at least one byte, and OpenAI accepts 300,000 tokens."""
AT_ONCE = 8
"""Most requests of one call in flight."""
_PACKED = ("openai", "azure")
"""Providers that can send vectors in base64, which is read a hundred times faster than decimal numbers."""
_TOO_MUCH = (400, 413, 422)


def open_embedder(
    name: str,
    *,
    environ: Mapping[str, str],
    table: Mapping[str, Any],
    http: HttpClient,
    within: float,
    around: Around | None = None,
) -> "HttpEmbedder":
    """Create the embedding model of a name.

    `around` sends each request; it adds limits and retries.

    Raises:
        ConfigError: The name is not that of a model, or its provider has no embedding models.
    """
    endpoint = find_endpoint(name, environ, table)
    if endpoint.provider in ("anthropic", PYDANTIC_AI):
        raise ConfigError(
            f"{name}: {endpoint.provider} has no embedding models that evalmark supports. Name a model of another provider."
        )
    return HttpEmbedder(endpoint, http, within, around)


class HttpEmbedder:
    """An embedding model of a server; its vectors are checked.

    An empty text, which servers reject, is sent as one space. If a server rejects a request with several texts, the request
    is split in half, and later requests are not larger.
    """

    def __init__(self, endpoint: Endpoint, http: HttpClient, within: float, around: Around | None = None) -> None:
        self.name = endpoint.name
        self.fingerprint = f"remote:{endpoint.identity}"
        """Vectors are cached under it."""
        self._endpoint = endpoint
        self._http = http
        self._within = within
        self._around = around or _once
        self._api: _OpenAI | _Gemini = _Gemini(endpoint) if endpoint.provider == "gemini" else _OpenAI(endpoint)
        self._most = MOST_TEXTS
        self._dimensions = 0

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text, in order: float32, shape (texts, dimensions).

        Raises:
            ModelCallError: A request failed, or the response does not have one finite vector of equal length for each
                text.
        """
        if not texts:
            return np.zeros((0, self._dimensions), np.float32)
        require_key(self._endpoint)
        gate = asyncio.Semaphore(AT_ONCE)

        async def part(batch: Sequence[str]) -> "Vectors":
            async with gate:
                return await self._part(batch)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(part(batch)) for batch in batches(texts, self._most)]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return np.concatenate([task.result() for task in tasks])

    async def _part(self, texts: Sequence[str]) -> "Vectors":
        if len(texts) > self._most:  # another request has found meanwhile that the server accepts fewer
            return np.concatenate([await self._part(part) for part in batches(texts, self._most)])
        try:
            return await self._around(lambda: self._ask(texts))
        except ModelCallError as error:
            if len(texts) == 1 or not error.attempts or error.attempts[-1].status not in _TOO_MUCH:
                raise
        half = len(texts) // 2
        first = await self._part(
            texts[:half]
        )  # a single text that the server rejects is found in a few steps, and raises
        self._most = min(self._most, half)
        return np.concatenate([first, await self._part(texts[half:])])

    async def _ask(self, texts: Sequence[str]) -> "Vectors":
        api = self._api
        body = encode_body(api.body([text or " " for text in texts]), self._endpoint)
        response = await self._http.post(api.url, body, api.headers, within=self._within)
        rows = api.rows(read_json(response, self._endpoint), len(texts))
        return self._checked(rows, len(texts), response)

    def _checked(self, rows: list[Any], count: int, response: Response) -> "Vectors":
        if len(rows) != count:
            raise response_error(response, self._endpoint, f"sent {len(rows)} vectors for {count} texts")
        try:
            vectors = np.stack([_vector(row) for row in rows])
        except (TypeError, ValueError, binascii.Error, OverflowError):
            raise response_error(response, self._endpoint, "sent data that are not vectors of equal length") from None
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise response_error(response, self._endpoint, "sent vectors that are empty or not finite")
        if self._dimensions not in (0, vectors.shape[1]):
            changed = f"{vectors.shape[1]} dimensions, {self._dimensions} before"
            raise response_error(response, self._endpoint, f"sent vectors of {changed}", "closed")
        self._dimensions = vectors.shape[1]
        return vectors


async def _once(send: Callable[[], Awaitable["Vectors"]]) -> "Vectors":
    return await send()


def batches(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Split the texts into parts for one request each, in order.

    >>> [len(part) for part in batches(["a"] * 5, 2)]
    [2, 2, 1]
    """
    start, size = 0, 0
    for at, text in enumerate(texts):
        length = len(text) if text.isascii() else 4 * len(text)
        if at > start and (at - start >= most or size + length > MOST_BYTES):
            yield texts[start:at]
            start, size = at, 0
        size += length
    yield texts[start:]


def _vector(row: Any) -> "Vectors":
    """Read a vector: a list of numbers, or 32-bit floats in base64."""
    if isinstance(row, str):
        return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4").astype(np.float32)
    if not isinstance(row, list) or any(type(number) not in (int, float) for number in row):
        raise TypeError
    with np.errstate(over="ignore"):  # too large numbers become infinite, which is rejected later
        return np.asarray(row, dtype=np.float64).astype(np.float32)


class _OpenAI:
    def __init__(self, endpoint: Endpoint) -> None:
        self.url = address(endpoint, "embeddings")
        self.headers = key_headers(endpoint)
        self._fixed = {"model": endpoint.model}
        if endpoint.provider in _PACKED and endpoint.needs_key:
            self._fixed["encoding_format"] = "base64"

    def body(self, texts: list[str]) -> dict[str, Any]:
        return {**self._fixed, "input": texts}

    def rows(self, data: dict[str, Any], count: int) -> list[Any]:
        """The vectors in the order of their `index`; empty if these are not 0, 1, 2 and so on."""
        given = data.get("data")
        parts = [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []
        places = {part.get("index", at): part.get("embedding") for at, part in enumerate(parts)}
        known = len(places) == len(parts) and all(type(at) is int and 0 <= at < count for at in places)
        return [places[at] for at in sorted(places)] if known else []


class _Gemini:
    def __init__(self, endpoint: Endpoint) -> None:
        self._model = f"models/{endpoint.model.removeprefix('models/')}"
        self.url = f"{endpoint.base_url}/v1beta/{quote(self._model)}:batchEmbedContents"
        self.headers = key_header(endpoint)

    def body(self, texts: list[str]) -> dict[str, Any]:
        return {"requests": [{"model": self._model, "content": {"parts": [{"text": text}]}} for text in texts]}

    def rows(self, data: dict[str, Any], count: int) -> list[Any]:
        given = data.get("embeddings")
        return (
            [part.get("values") if isinstance(part, dict) else None for part in given]
            if isinstance(given, list)
            else []
        )
