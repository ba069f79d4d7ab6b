"""Send a response: complete, truncated, slowly, or never."""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from .responses import Cut, Endless, HeadersOnly, Reset, Slow

PER_SECOND = 50
"""The number of pieces sent each second of a slow response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A response and the way it is sent."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Cut | Slow | HeadersOnly | Endless | Reset | None = None

    @classmethod
    def of(cls, value: Any, **rest: Any) -> Self:
        """Return a response with this value as JSON."""
        return cls(body=json.dumps(value).encode(), **rest)


async def deliver(outgoing: Outgoing, request: web.Request) -> web.StreamResponse:
    """Send a response."""
    headers = {"content-type": outgoing.content_type, **outgoing.headers}
    match outgoing.manner:
        case None:
            return web.Response(body=outgoing.body, status=outgoing.status, headers=headers)
        case Reset():
            return _reset(request)
        case Endless(bytes_at_once=size):
            response = await _begun(request, headers, None)
            while True:
                await response.write(b" " * size)
        case HeadersOnly():
            response = await _begun(request, headers, 100)
            await asyncio.Event().wait()
            return response
        case Cut(after_bytes=size):
            response = await _begun(request, headers, len(outgoing.body))
            await response.write(outgoing.body[:size])
            return _hang_up(request, response)
        case Slow(bytes_per_second=speed):
            response = await _begun(request, headers, len(outgoing.body))
            await _trickle(response, outgoing.body, speed)
            return response


async def _begun(request: web.Request, headers: Mapping[str, str], length: int | None) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    response.content_length = length
    await response.prepare(request)
    return response


async def _trickle(response: web.StreamResponse, body: bytes, speed: float) -> None:
    size = max(1, int(speed / PER_SECOND))
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(size / speed)
    await response.write_eof()


def _hang_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response


def _reset(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        # With a linger time of 0 the system sends a reset instead of closing the connection normally.
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return web.Response()
