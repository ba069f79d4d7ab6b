"""One HTTP attempt: a POST with a total deadline and a cap on what comes back, and what the response means."""

import asyncio
import functools
import io
import re
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment

import aiohttp

from evalmark.documents.strict_json import RefusedError, decode_at
from evalmark.errors import ConfigError, ModelCallError
from evalmark.values import Attempt

from .names import Endpoint, missing_key
from .waiting import retry_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalmark.errors import CallFault

MOST_BYTES = 32 << 20
"""A response that is larger is not read."""
KEPT = 4096
"""Characters of a response that an Attempt keeps."""
LEAST_SECRET = 16
"""Characters of a key; shorter ones are dummies for local servers, and words that any reply may hold."""
_LARGE_BODY = 1 << 20
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_HIDDEN = b"[key]"


class Response(NamedTuple):
    """What came back for one request, whatever its status. A key that the server sent back is not in it."""

    status: int
    headers: Mapping[str, str]
    """Found by their names in lower case."""
    body: bytes
    seconds: float
    """From the first byte sent to the last one read."""


class Http:
    """Sends requests over one pool of connections for each event loop.

    Proxies are those of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` in `environ`, never for this machine itself.
    Nothing else is taken from the environment: no netrc, no cookies. Redirects are not followed.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._proxies = _proxies(environ or {})
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, within: float) -> Response:
        """The response, all of it, within so many seconds.

        `headers` have lower-case names. The content type is JSON unless they say otherwise.

        Raises:
            ModelCallError: there is none, or it is larger than `MOST_BYTES`.
        """
        started = time.perf_counter()
        try:
            answer = await self._session().post(
                url,
                # aiohttp warns of large bodies that are bytes: it sends them in one piece.
                data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                headers=headers,
                timeout=_deadline(within),
                allow_redirects=False,
                proxy=self._proxy(url) if self._proxies else None,
            )
            content = await _read(answer)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # OSError: TimeoutError is one
            raise _lost(error, url, within, time.perf_counter() - started) from None
        return _without_secrets(
            Response(answer.status, answer.headers, content, time.perf_counter() - started), answer.raw_headers, headers
        )

    async def close(self) -> None:
        """Close the connections that were made on the running loop."""
        if session := self._sessions.pop(asyncio.get_running_loop(), None):
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if session := self._sessions.get(loop):
            return session
        self._sessions = {kept: session for kept, session in self._sessions.items() if not kept.is_closed()}
        session = self._sessions[loop] = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # how many calls run at a time is decided above
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept": "application/json", "content-type": "application/json", "user-agent": "evalmark"},
        )
        return session

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if _is_this_machine(host) or proxy_bypass_environment(host, {"no": self._proxies.get("no", "")}):
            return None
        return self._proxies.get(parts.scheme)


@functools.lru_cache(maxsize=16)
def _deadline(seconds: float) -> aiohttp.ClientTimeout:
    """A deadline for the whole attempt: a server that sends one byte every few seconds meets no other."""
    return aiohttp.ClientTimeout(total=seconds)


def _proxies(environ: Mapping[str, str]) -> dict[str, str]:
    found = {name: environ.get(f"{name}_proxy") or environ.get(f"{name.upper()}_PROXY") for name in _PROXIES}
    proxies = {name: value for name, value in found.items() if value}
    return proxies if proxies.keys() - {"no"} else {}


_PROXIES = ("http", "https", "no")


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The body, up to `MOST_BYTES` after unpacking."""
    try:
        length = answer.content_length
        if length is not None and length > MOST_BYTES:
            raise _TooLargeError
        if length is not None and "content-encoding" not in answer.headers:
            return await answer.read()
        body = bytearray()
        while piece := await answer.content.readany():
            body += piece
            if len(body) > MOST_BYTES:
                raise _TooLargeError
        return bytes(body)
    except BaseException:
        answer.close()
        raise


class _TooLargeError(ValueError):
    """More than `MOST_BYTES`."""


def _lost(error: Exception, url: str, within: float, seconds: float) -> ModelCallError:
    """The error for a request that brought no response."""
    message = f"{urlsplit(url).netloc}: {_cause(error, within)}"
    return ModelCallError(message, fault="transient", attempts=(Attempt(seconds=seconds, error=message),))


def _cause(error: Exception, within: float) -> str:
    # What aiohttp's errors say of themselves may hold the address of a proxy with its password.
    if isinstance(error, TimeoutError):
        return f"no whole answer came within {within:g} s"
    if isinstance(error, _TooLargeError):
        return f"the answer is larger than {MOST_BYTES >> 20} MiB"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "the proxy cannot be reached"
    return f"the connection failed ({type(error).__name__})"


def _without_secrets(response: Response, raw: tuple[tuple[bytes, bytes], ...], sent: Mapping[str, str]) -> Response:
    """The response without the key, should the server have sent it back."""
    for name in _SECRET_HEADERS:
        secret = sent.get(name, "").rpartition(" ")[2].encode()
        if len(secret) < LEAST_SECRET:
            continue
        if secret in response.body:
            response = response._replace(body=response.body.replace(secret, _HIDDEN))
        if any(secret in value for _, value in raw):
            hidden, shown = secret.decode(), _HIDDEN.decode()
            response = response._replace(
                headers={key.lower(): value.replace(hidden, shown) for key, value in response.headers.items()}
            )
    return response


def said(response: Response, endpoint: Endpoint) -> dict[str, Any]:
    """The JSON object of a successful response.

    Raises:
        ModelCallError: the status is not 2xx, or the body is no strict JSON object, or reports an error. `fault` goes
            by the status, `retry_after` by the headers, and the one Attempt holds the start of the body.
    """
    raise NotImplementedError


def require_key(endpoint: Endpoint) -> None:
    """Nothing, when a call can be sent.

    Raises:
        ModelCallError: closed; the sentence names the variable that holds the key.
    """
    if (fault := missing_key(endpoint)) is not None:
        raise ModelCallError(fault, fault="closed", attempts=(Attempt(seconds=0.0, error=fault),))
