"""The HTTP client: one pool of connections for each event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from evalmark.core.errors import ModelCallError
from evalmark.core.lazy import need

from .endpoint import Endpoint, missing_key
from .response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .pool import ConnectionPool


class HttpClient:
    """Sends requests over one pool of connections for each event loop.

    Proxies are those of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` in `environ`, never for this machine itself.
    No netrc file and no cookies are used. Redirects are not followed.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._proxies = _proxies(environ or {})
        self._pools: dict[asyncio.AbstractEventLoop, ConnectionPool] = {}
        self._others: dict[asyncio.AbstractEventLoop, list[Callable[[], Awaitable[None]]]] = {}

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, within: float) -> Awaitable[Response]:
        """Send a POST request and return the whole response, within `within` seconds.

        `headers` have lower-case names. The content type is JSON unless they say otherwise.

        Raises:
            ModelCallError: There is no response, or it is larger than `MOST_BYTES`.
        """
        return self._pool().post(url, body, headers, within)

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

    def _pool(self) -> "ConnectionPool":
        loop = asyncio.get_running_loop()
        if pool := self._pools.get(loop):
            return pool
        self._pools = {other: pool for other, pool in self._pools.items() if not other.is_closed()}
        made: ConnectionPool = need("evalmark.models.providers.pool").ConnectionPool(
            self._proxy if self._proxies else None
        )
        self._pools[loop] = made
        return made

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
