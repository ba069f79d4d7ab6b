"""The viewer's server: bound to this machine, with a new token at every start."""

import ipaddress
import re
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need

from .guard import AccessPolicy, GuardedApp

MOST_AT_ONCE = 64
"""Most connections and concurrent requests."""
_SHORTEST = 16
_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Bound sockets of a server that is not started yet, and its access policy."""

    sockets: tuple[socket.socket, ...]
    policy: AccessPolicy
    origin: str
    """Start of an address: `http://127.0.0.1:7878`."""

    def address_of(self, path: str = "/") -> str:
        """Address of a page with the token, for the user only."""
        return self._entry(path, "token", self.policy.token)

    def address_once(self, path: str = "/") -> str:
        """Address of a page with a one-time ticket, for a command line that others may see."""
        return self._entry(path, "ticket", self.policy.tickets.new())

    def _entry(self, path: str, name: str, secret: str) -> str:
        page, sign, fragment = path.partition("#")
        return f"{self.origin}{page}{'&' if '?' in page else '?'}{name}={secret}{sign}{fragment}"


def bind(port: int, host: str = "", token: str = "") -> Listener:
    """Bind a port on this machine, or on the address `host`, which needs an explicit token.

    `port` 0 takes any free port.

    Raises:
        ConfigError: the port is taken, or the address may not be used without a token, or is none of this machine.
    """
    _check(host, token)
    is_here = not host or _is_loopback(host)
    names = _NAMES if is_here else (_in_address(host),)
    sockets = _loopback(port) if is_here else [_listening(host, port)]
    port = sockets[0].getsockname()[1]
    token = token or secrets.token_urlsafe(24)
    policy = AccessPolicy(
        token=token,
        hosts=frozenset(f"{name}:{port}".lower() for name in names) | (frozenset(names) if port == 80 else frozenset()),
        cookie=f"evalmark-{port}",
    )
    return Listener(sockets=tuple(sockets), policy=policy, origin=f"http://{names[0]}:{port}")


def serve(app: GuardedApp, bound: Listener, ready: Callable[[], object] = lambda: None) -> None:
    """Serve until interrupted; `ready` is called once requests are accepted, and must be quick."""
    uvicorn = need("uvicorn")
    config = uvicorn.Config(
        app,
        http=f"{__package__}.connections:ViewerConnection",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # malformed requests of others are not printed
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=1,
    )

    class Announcing(uvicorn.Server):  # type: ignore[misc, name-defined] # loaded where it is used
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.release()
            await super().shutdown(sockets)

    with suppress(KeyboardInterrupt):
        Announcing(config).run(sockets=list(bound.sockets))


def _check(host: str, token: str) -> None:
    if token and (len(token) < _SHORTEST or not re.fullmatch(r"[A-Za-z0-9_.~-]+", token)):
        raise ConfigError(
            f"the token needs at least {_SHORTEST} letters, digits and -._~ ; "
            "leave it out, and one is made at every start."
        )
    if host in ("", *_NAMES):
        return
    if not _is_loopback(host) and not token:
        raise ConfigError(
            f"--host {host} can be reached from other machines, so it needs a token of yours: set EVALMARK_TOKEN."
        )
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            raise ConfigError(f"--host {host} means every address of this machine; give one address.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _loopback(port: int) -> list[socket.socket]:
    """Bind IPv4 and, if available, IPv6."""
    first = _listening("127.0.0.1", port)
    try:
        return [first, _listening("::1", first.getsockname()[1])]
    except ConfigError:
        if _has_ipv6():
            first.close()
            if port == 0:
                return _loopback(0)
            raise
        return [first]


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _listening(host: str, port: int) -> socket.socket:
    """Raises ConfigError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Of sockets that name their protocol, asyncio has small pages sent at once; else each waits 40 ms for the browser.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # No other program can bind the same port; this option only ignores connections that ended.
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host}, port {port}: {reason}. Name another port with --port, or take any free one with --port 0."
        ) from error
    made.setblocking(False)
    return made
