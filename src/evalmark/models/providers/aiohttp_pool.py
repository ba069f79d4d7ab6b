"""Connections of one event loop through aiohttp, which also speaks to proxies."""

import io
from collections.abc import Callable, Mapping

import aiohttp

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
from .response import PROXY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import RawResponse

_LARGE_BODY = 1 << 20
_TEXTS = (
    (aiohttp.ServerDisconnectedError, NO_RESPONSE),
    (aiohttp.ClientPayloadError, CUT_OFF),
    (aiohttp.ClientResponseError, NOT_HTTP),
)


class AiohttpPool:
    """Sends requests over connections that stay open. Create it on the event loop that uses it."""

    def __init__(self, headers: Mapping[str, str], proxy: Callable[[str], str | None]) -> None:
        """`proxy` returns the proxy of a URL, and raises ValueError for an invalid one."""
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the throttle of the endpoint limits the calls in flight
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=aiohttp.ClientTimeout(),  # the caller has a deadline
        )

    async def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> "RawResponse":
        """Send a request and return the whole response. Raises NetworkError if there is none."""
        try:
            response = await self._session.request(
                method,
                url,
                # aiohttp warns about large bodies passed as bytes.
                data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy(url),
            )
            return response.status, response.raw_headers, await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _network_error(error) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


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
        raise NetworkError(TOO_LARGE)


def _network_error(error: Exception) -> NetworkError:
    match error:
        case aiohttp.ClientHttpProxyError():
            return NetworkError(f"the proxy answered {error.status}. {PROXY}", sent=False)
        case aiohttp.ClientProxyConnectionError():
            return NetworkError(f"the proxy cannot be reached. {PROXY}", sent=False)
        case aiohttp.ClientConnectorCertificateError():
            return connect_error(error.certificate_error)
        case aiohttp.ClientConnectorError():
            return connect_error(error.os_error)
    if text := next((text for kind, text in _TEXTS if isinstance(error, kind)), None):
        return NetworkError(text)
    if isinstance(error, OSError):  # aiohttp's own errors have no number, and a text with the whole address
        return broken_connection(error) if error.errno else NetworkError(NO_RESPONSE)
    if isinstance(error, ValueError):
        return NetworkError(INVALID_ADDRESS, fault="closed", sent=False)
    return NetworkError(f"the request failed ({type(error).__name__})")
