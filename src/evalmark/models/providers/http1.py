"""Connections of one event loop that speak HTTP/1.1: requests written at once, responses parsed by llhttp."""

import asyncio
import functools
import socket
import ssl
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast
from urllib.parse import quote, urlsplit

import httptools
from aiohappyeyeballs import AddrInfoType, start_connection

from .network_errors import (
    CUT_OFF,
    INVALID_ADDRESS,
    MOST_BYTES,
    NO_RESPONSE,
    NOT_HTTP,
    TOO_LARGE,
    NetworkError,
    broken_connection,
    connect_error,
)

RawResponse = tuple[int, tuple[tuple[bytes, bytes], ...], bytes]
"""Status, headers, and the body without its content coding."""

_ATTEMPT_DELAY = 0.25
"""Seconds until the next address of a server is tried beside the first (RFC 8305)."""
_LOOKUP_LIFETIME = 10.0
_IDLE_LIFETIME = 15.0
"""Seconds; servers close idle connections, and a request that meets the close may or may not have been processed."""
_MOST_HEADERS = 128
_MOST_HEADER_BYTES = 8190
_MOST_MEMBERS = 16
"""Members of gzip data; servers send one."""
_MOST_OVERHEAD = 256 << 10
"""Bytes that a server may send without a byte of a body: headers, trailers, interim responses."""
_READ_SIZE = 64 << 10
_PIECE = 256 << 10
"""Bytes; larger requests are written in pieces, as the server takes them."""
_PATH_CHARACTERS = "/%:@!$&'()*+,;=~"


class _Origin(NamedTuple):
    host: str
    port: int
    secure: bool


class ConnectionPool:
    """Sends requests over connections that stay open. Create it on the event loop that uses it."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = tuple(headers.items())
        self._loop = asyncio.get_running_loop()
        self._open: set[_Connection] = set()
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._idle: dict[_Origin, deque[tuple[_Connection, float]]] = {}
        self._lookups: dict[_Origin, tuple[asyncio.Task[Sequence[AddrInfoType]], float]] = {}

    async def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> RawResponse:
        """Send a request and return the whole response.

        The request is sent once: where a server closes a connection without a response, it may have processed the request.

        Raises:
            NetworkError: There is no response.
        """
        try:
            origin, head = _request_head(method, url, (*self._headers, *headers.items()))
            connection = self._idle_connection(origin) or await self._connect(origin)
        except ValueError:
            raise NetworkError(INVALID_ADDRESS, fault="closed", sent=False) from None
        response = await connection.exchange(b"%b%d\r\n\r\n" % (head, len(body)), body)
        if connection.is_open:
            self._idle[origin].append((connection, self._loop.time()))
        return response

    async def close(self) -> None:
        """Close all connections."""
        for lookup, _ in self._lookups.values():
            lookup.cancel()
        for connection in tuple(self._open):
            connection.abort()
        await asyncio.sleep(0)  # transports close their sockets in the next iteration of the loop

    def _idle_connection(self, origin: _Origin) -> "_Connection | None":
        idle = self._idle.setdefault(origin, deque())
        oldest = self._loop.time() - _IDLE_LIFETIME
        while idle and idle[0][1] < oldest:
            idle.popleft()[0].abort()
        while idle:
            if (connection := idle.pop()[0]).is_open:
                return connection
        return None

    async def _connect(self, origin: _Origin) -> "_Connection":
        tls, name = (self._tls, origin.host.rstrip(".")) if origin.secure else (None, None)
        try:
            addresses = await self._addresses(origin)
            connected = await start_connection(addresses, happy_eyeballs_delay=_ATTEMPT_DELAY)
            _, connection = await self._loop.create_connection(
                lambda: _Connection(self._open, self._buffer), sock=connected, ssl=tls, server_hostname=name
            )
        except OSError as error:
            raise connect_error(error) from None
        return connection

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        """The trusted certificates of Python; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def _addresses(self, origin: _Origin) -> "Sequence[AddrInfoType]":
        """Look up a host once for all connections of the next seconds."""
        try:
            return socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:  # a name, which is looked up in a thread
            pass
        lookup, expiry = self._lookups.get(origin, (None, 0.0))
        if lookup is None or expiry < self._loop.time() or (lookup.done() and _failed(lookup)):
            lookup = self._loop.create_task(
                self._loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            )
            lookup.add_done_callback(_failed)
            self._lookups[origin] = lookup, self._loop.time() + _LOOKUP_LIFETIME
        return await asyncio.shield(lookup)


def _failed(lookup: "asyncio.Task[Sequence[AddrInfoType]]") -> bool:
    return lookup.cancelled() or lookup.exception() is not None


class _Connection(asyncio.BufferedProtocol):
    """A connection with at most one request at a time, and the parser of its responses.

    Whatever goes wrong, it is closed and not used again. All connections of a loop read into one buffer, which is parsed
    before the next read; a new object for each read would cost a sixth of the processor time of a request.
    """

    def __init__(self, registry: "set[_Connection]", buffer: memoryview) -> None:
        self._registry, self._buffer = registry, buffer
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        # Real servers send what strict parsers reject; aiohttp accepts the same.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._response: asyncio.Future[RawResponse] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._overhead = 0
        self._begin()

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not self._transport.is_closing()

    async def exchange(self, head: bytes, body: bytes) -> RawResponse:
        """Send a request and return its response. Raises NetworkError if there is none."""
        if not self.is_open:
            raise NetworkError(NO_RESPONSE)
        response: asyncio.Future[RawResponse] = self._loop.create_future()
        self._response, self._overhead = response, 0
        try:
            if len(body) <= _PIECE:
                self._transport.write(head + body)
            else:
                self._transport.write(head)
                await self._write(memoryview(body))
            return await response
        except BaseException:
            response.cancel()  # nothing waits for it any more
            self.abort()
            raise

    async def _write(self, body: memoryview) -> None:
        """Write a large body as fast as the server takes it; a response that comes early ends the request."""
        for start in range(0, len(body), _PIECE):
            if self._response is None:
                self._transport.abort()
                break
            self._transport.write(body[start : start + _PIECE])
            if self._writable is not None:
                await self._writable

    def abort(self, error: NetworkError | None = None) -> None:
        """Close the connection at once; `error` is that of a request under way."""
        self._finish(error or NetworkError(NO_RESPONSE))
        self._transport.abort()

    def _begin(self) -> None:
        """Prepare for the next message."""
        self._headers: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._in_body = False
        self._ends_with_connection = False

    def _finish(self, result: RawResponse | NetworkError) -> None:
        response, self._response = self._response, None
        if response is not None and not response.done():
            if isinstance(result, NetworkError):
                response.set_exception(result)
            else:
                response.set_result(result)
        self.resume_writing()
        self._begin()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._registry.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response: some bodies end with the connection."""
        self._registry.discard(self)
        if self._ends_with_connection and exc is None:
            self._complete()
        elif self._in_body:
            self._finish(NetworkError(CUT_OFF))
        else:
            self._finish(NetworkError(NO_RESPONSE) if exc is None else broken_connection(exc))

    def pause_writing(self) -> None:
        """Hold back the rest of a large request."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """Go on with a large request."""
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to write what the server sends."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse a part of the response."""
        self._overhead += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            cause = error.__context__
            self.abort(cause if isinstance(cause, NetworkError) else NetworkError(NOT_HTTP))
        if self._overhead > _MOST_OVERHEAD:
            self.abort(NetworkError(NOT_HTTP))

    # What the parser calls; an exception ends in `buffer_updated`.

    def on_message_begin(self) -> None:
        """Refuse a message for which there is no request."""
        if self._response is None:
            raise NetworkError(NOT_HTTP)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; trailers are skipped."""
        if self._in_body:
            return
        value = value.rstrip(b" \t")
        if len(self._headers) == _MOST_HEADERS or len(name) + len(value) > _MOST_HEADER_BYTES or b"\0" in value:
            raise NetworkError(NOT_HTTP)
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Refuse a body that is too large before it is read."""
        headers = dict(self._headers)
        self._in_body = True
        coding = headers.get(b"transfer-encoding", b"").rpartition(b",")[2].strip().lower()
        self._ends_with_connection = coding != b"chunked" and b"content-length" not in headers
        if int(headers.get(b"content-length", 0)) > MOST_BYTES:
            raise NetworkError(TOO_LARGE)

    def on_body(self, piece: bytes) -> None:
        """Keep a part of the body."""
        self._overhead = 0
        self._size += len(piece)
        if self._size > MOST_BYTES:
            raise NetworkError(TOO_LARGE)
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """End the response; interim responses are skipped."""
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._begin()
            return
        if not self._parser.should_keep_alive() or self._transport.get_write_buffer_size():
            self._transport.abort()
        self._complete()

    def _complete(self) -> None:
        coding = dict(self._headers).get(b"content-encoding", b"").lower()
        try:
            body = _decoded(b"".join(self._pieces), coding)
        except (zlib.error, NetworkError) as error:
            self._finish(error if isinstance(error, NetworkError) else NetworkError(CUT_OFF))
        else:
            self._finish((self._parser.get_status_code(), tuple(self._headers), body))


def _decoded(body: bytes, coding: bytes) -> bytes:
    """Undo the content codings that `accept-encoding` names; the body of any other coding stays as it is."""
    if coding not in (b"gzip", b"deflate"):
        return body
    # Some servers send raw deflate data where a zlib stream is meant; the low bits of the first byte tell them apart.
    window = 31 if coding == b"gzip" else 15 if body[:1] and body[0] & 15 == 8 else -15
    decoded = bytearray()
    for _ in range(_MOST_MEMBERS):
        if not body:
            return bytes(decoded)
        decoder = zlib.decompressobj(window)
        decoded += decoder.decompress(body, MOST_BYTES + 1 - len(decoded))
        if len(decoded) > MOST_BYTES:
            raise NetworkError(TOO_LARGE)
        if not decoder.eof:
            raise NetworkError(CUT_OFF)
        body = decoder.unused_data
    raise NetworkError(CUT_OFF)


@functools.lru_cache(maxsize=64)
def _request_head(method: str, url: str, headers: tuple[tuple[str, str], ...]) -> tuple[_Origin, bytes]:
    """Return where a request goes, and its head up to the value of `content-length`. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(url)
    secure = parts.scheme == "https"
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
    default = 443 if secure else 80
    port = default if parts.port is None else parts.port
    authority = (f"[{host}]" if ":" in host else host) + ("" if port == default else f":{port}")
    target = quote(parts.path or "/", safe=_PATH_CHARACTERS) + (f"?{parts.query}" if parts.query else "")
    fields = {"host": authority, **dict(headers), "accept-encoding": "gzip, deflate"}
    if not (target.isascii() and target.isprintable()) or any(
        {"\r", "\n", "\0"} & {*value} for value in fields.values()
    ):
        raise ValueError(url)
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "content-length: "]
    return _Origin(host, port, secure), "\r\n".join(lines).encode()
