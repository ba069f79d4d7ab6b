"""The HTTP client: one pool of connections for each event loop."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evalmark.core.errors import ModelCallError
from evalmark.core.lazy import LazyModule
from evalmark.core.settings import HttpLibrary

from .endpoint import Endpoint, missing_key
from .network_errors import NetworkError, model_call_error
from .response import Response, without_secrets

if TYPE_CHECKING:
    from . import aiohttp_pool, http1
else:  # a run with only cached replies needs neither, and most others only one
    aiohttp_pool = LazyModule("evalmark.models.providers.aiohttp_pool")
    http1 = LazyModule("evalmark.models.providers.http1")

_HEADERS = {"accept": "application/json", "content-type": "application/json", "user-agent": "evalmark"}


class HttpClient:
    """Sends requests over one pool of connections for each event loop.

    Proxies are those of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` in `environ`, never for this machine itself.
    No netrc file and no cookies are used. Redirects are not followed.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, library: HttpLibrary = "builtin") -> None:
        """`library` is the setting `http_library`; behind proxies aiohttp is used in any case."""
        self._proxies = _proxies(environ or {})
        self._library = library
        self._pools: dict[asyncio.AbstractEventLoop, http1.ConnectionPool | aiohttp_pool.AiohttpPool] = {}
        self._others: dict[asyncio.AbstractEventLoop, list[Callable[[], Awaitable[None]]]] = {}

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, within: float) -> Response:
        """Send a POST request. Raises and returns what `send` does."""
        return await self.send("POST", url, body, headers, within=within)

    async def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, within: float) -> Response:
        """Send a request and return the whole response, within `within` seconds from the connection to the last byte.

        `headers` have lower-case names. The content type is JSON unless they say otherwise.

        Raises:
            ModelCallError: There is no response, or it is larger than `MOST_BYTES`.
        """
        started = time.perf_counter()
        try:
            async with asyncio.timeout(within):
                status, fields, content = await self._pool().send(method, url, body, headers)
        except (NetworkError, TimeoutError) as error:
            timeout = NetworkError(f"no complete response within {within:g} s")
            found = error if isinstance(error, NetworkError) else timeout
            raise model_call_error(found, url, time.perf_counter() - started) from None
        seconds = time.perf_counter() - started
        received = {
            name.decode(errors="surrogateescape").lower(): value.decode(errors="surrogateescape")
            for name, value in reversed(fields)
        }
        return without_secrets(Response(status, received, content, seconds), fields, headers)

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Register a function that `close` calls on the running loop."""
        self._others.setdefault(asyncio.get_running_loop(), []).append(close)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        loop = asyncio.get_running_loop()
        for close in self._others.pop(loop, ()):
            await close()
        if pool := self._pools.pop(loop, None):
            await pool.close()

    def _pool(self) -> "http1.ConnectionPool | aiohttp_pool.AiohttpPool":
        loop = asyncio.get_running_loop()
        if pool := self._pools.get(loop):
            return pool
        for other in [other for other in tuple(self._pools) if other.is_closed()]:
            self._pools.pop(other, None)  # another thread may have removed it
        if self._proxies or self._library == "aiohttp":
            self._pools[loop] = aiohttp_pool.AiohttpPool(_HEADERS, self._proxy)
        else:
            self._pools[loop] = http1.ConnectionPool(_HEADERS)
        return self._pools[loop]

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        proxy = None if _is_direct(host, self._proxies.get("no", "")) else self._proxies.get(parts.scheme)
        if proxy and not proxy.startswith(("http://", "https://")):
            raise ValueError  # aiohttp would use HTTP with any other scheme too
        return proxy


def _proxies(environ: Mapping[str, str]) -> dict[str, str]:
    found = {name: environ.get(f"{name}_proxy") or environ.get(f"{name.upper()}_PROXY") for name in ("http", "https")}
    proxies = {name: value if "://" in value else f"http://{value}" for name, value in found.items() if value}
    return proxies and proxies | {"no": environ.get("no_proxy") or environ.get("NO_PROXY", "")}


def _is_direct(host: str, exceptions: str) -> bool:
    """Whether requests to a host bypass the proxy: this machine, and the listed domains with their subdomains."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return True
    names = [name.strip().lstrip(".").lower() for name in exceptions.split(",")]
    return any(name == "*" or host == name or host.endswith(f".{name}") for name in names if name)


def require_key(endpoint: Endpoint) -> None:
    """Check that the endpoint has the key it needs.

    Raises:
        ModelCallError: The key is missing or invalid (fault `closed`); the message names its variable.
    """
    if (fault := missing_key(endpoint)) is not None:
        raise ModelCallError(fault, fault="closed")
