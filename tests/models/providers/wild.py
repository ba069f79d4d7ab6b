"""What the tests of providers share: one call to a server, and a server that sends whatever bytes a test wants."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from evalmark import Turn
from evalmark.core.settings import HttpLibrary
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ModelCallError
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.http import HttpClient

KEY = "sk-canary-0123456789abcdef"
CHAT = "openai/some-model"

library: HttpLibrary = "builtin"
"""What sends the requests; a fixture of the tests that run with both changes it."""

Wild = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def client(environ: Mapping[str, str] | None = None) -> HttpClient:
    """A client of the library under test."""
    return HttpClient(environ, library)


def request(**parts: Any) -> Request:
    """A question."""
    return Request(messages=(Turn(role="user", content="Which way?"),), **parts)


async def called(url: str, wanted: Request, *, within: float = 5.0, **environ: str) -> Reply | ModelCallError:
    """What one call to the server at `url` comes to."""
    http = client(environ)
    try:
        variables = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, **environ}
        return await open_chat(CHAT, environ=variables, table={}, http=http, within=within)(wanted)
    except ModelCallError as error:
        return error
    finally:
        await http.close()


def call(url: str, wanted: Request | None = None, *, within: float = 5.0, **environ: str) -> Reply | ModelCallError:
    """The same, from outside of a loop."""
    return asyncio.run(called(url, wanted or request(), within=within, **environ))


def replied(url: str, wanted: Request | None = None, **environ: str) -> Reply:
    """The reply that has to come."""
    found = call(url, wanted, **environ)
    assert isinstance(found, Reply), found
    return found


def failed(url: str, wanted: Request | None = None, *, within: float = 5.0, **environ: str) -> ModelCallError:
    """The error that has to come."""
    found = call(url, wanted, within=within, **environ)
    assert isinstance(found, ModelCallError), found
    return found


@asynccontextmanager
async def wild(send: Wild, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server on this loop that does with each connection what `send` does; gives its address."""
    serving: set[asyncio.Task[Any]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            await send(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    server = await asyncio.start_server(handle, host, 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close their sockets


async def heard(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head and the body of the next request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head, await reader.readexactly(length)


def sends(data: bytes) -> Wild:
    """Answers each request with these bytes and hangs up."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        writer.write(data)
        await writer.drain()

    return send


def answer_to(data: bytes, wanted: Request | None = None, *, within: float = 5.0, **environ: str) -> Any:
    """What one call comes to when the server sends these bytes."""

    async def run() -> Reply | ModelCallError:
        async with wild(sends(data)) as url:
            return await called(url, wanted or request(), within=within, **environ)

    return asyncio.run(run())


def http(body: bytes, *headers: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """A response of a given length."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def completion(**message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI sends it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "some-model-2026",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "North.", **message}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
    }


def completed(**message: Any) -> bytes:
    """A whole response with such a completion."""
    return http(json.dumps(completion(**message)).encode())
