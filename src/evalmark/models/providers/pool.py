"""The connections of one event loop: a POST with a total deadline and a cap on what comes back.

The HTTP client is loaded with this file, and so with the first request: a run whose replies are all recorded sends none.
"""

import functools
import io
import time
from collections.abc import Callable, Mapping

import aiohttp

from .network_errors import MOST_BYTES, TooLargeError, network_error
from .response import Response, without_secrets

_LARGE_BODY = 1 << 20


class ConnectionPool:
    """Sends requests over connections that are kept open; made on the event loop that it is for."""

    def __init__(self, proxy: Callable[[str], str | None] | None) -> None:
        """`proxy` gives the proxy for an address, and raises ValueError for one that is none; None: there are none."""
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # how many calls run at a time is decided above
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept": "application/json", "content-type": "application/json", "user-agent": "evalmark"},
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], within: float) -> Response:
        """The response, all of it. Raises ModelCallError when there is none."""
        started = time.perf_counter()
        try:
            answer = await self._session.post(
                url,
                # aiohttp warns of large bodies that are bytes: it sends them in one piece.
                data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                headers=headers,
                timeout=_deadline(within),
                allow_redirects=False,
                proxy=None if self._proxy is None else self._proxy(url),
            )
            content = await _read(answer)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # OSError: TimeoutError is one
            raise network_error(error, url, within, time.perf_counter() - started) from None
        return without_secrets(
            Response(answer.status, answer.headers, content, time.perf_counter() - started), answer.raw_headers, headers
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


@functools.lru_cache(maxsize=16)
def _deadline(seconds: float) -> aiohttp.ClientTimeout:
    """A deadline for the whole attempt: a server that sends one byte every few seconds meets no other."""
    return aiohttp.ClientTimeout(total=seconds)


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The body, up to `MOST_BYTES` after unpacking."""
    try:
        length = answer.content_length
        if length is not None and "content-encoding" not in answer.headers:
            _check(length)
            return await answer.read()
        body = bytearray()
        while piece := await answer.content.readany():
            body += piece
            _check(len(body))
        return bytes(body)
    except BaseException:
        answer.close()
        raise


def _check(length: int) -> None:
    if length > MOST_BYTES:
        raise TooLargeError
