"""The pool of HTTP connections of one event loop.

This module loads aiohttp, so it is imported with the first request: a run with only cached replies does not need it.
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
    """Sends requests over connections that stay open. Create it on the event loop that uses it."""

    def __init__(self, proxy: Callable[[str], str | None] | None) -> None:
        """`proxy` returns the proxy of a URL, and raises ValueError for an invalid one; None: no proxies are set."""
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the throttle of the endpoint limits the calls in flight
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept": "application/json", "content-type": "application/json", "user-agent": "evalmark"},
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], within: float) -> Response:
        """Send a POST request and return the whole response. Raises ModelCallError if there is none."""
        started = time.perf_counter()
        try:
            response = await self._session.post(
                url,
                # aiohttp warns about large bodies passed as bytes.
                data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                headers=headers,
                timeout=_deadline(within),
                allow_redirects=False,
                proxy=None if self._proxy is None else self._proxy(url),
            )
            content = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise network_error(error, url, within, time.perf_counter() - started) from None
        return without_secrets(
            Response(response.status, response.headers, content, time.perf_counter() - started),
            response.raw_headers,
            headers,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


@functools.lru_cache(maxsize=16)
def _deadline(seconds: float) -> aiohttp.ClientTimeout:
    """A deadline for the whole attempt, which also ends responses that trickle in."""
    return aiohttp.ClientTimeout(total=seconds)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Read the body, up to `MOST_BYTES` after decompression."""
    try:
        length = response.content_length
        if length is not None and "content-encoding" not in response.headers:
            _check(length)
            return await response.read()
        body = bytearray()
        while piece := await response.content.readany():
            body += piece
            _check(len(body))
        return bytes(body)
    except BaseException:
        response.close()
        raise


def _check(length: int) -> None:
    if length > MOST_BYTES:
        raise TooLargeError
