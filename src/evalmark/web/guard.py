"""Who may see the pages: checked for every request, whatever its path and method, before anything else runs."""

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = ("GET", "HEAD")
"""Every page is only looked at; nothing here changes anything."""
_FROM_HERE = ("same-origin", "none")
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
"""Of every answer, also of one that refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Under which names the pages are reached, and by which secret."""

    token: str
    hosts: frozenset[str]
    """What a `Host` header may say: names with their port, as `127.0.0.1:7878`."""
    cookie: str
    """The name of the cookie; browsers keep cookies by host and not by port, so each port needs one of its own."""

    def __repr__(self) -> str:
        return f"Door(hosts={sorted(self.hosts)})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered, and the status that says so."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """An application behind a door; what does not hold the token learns nothing, not even which paths there are."""

    app: Application
    door: Door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Nothing here speaks another protocol: a websocket is turned away before it opens.
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
        refusal = refused(scope["method"], headers, self.door)
        if refusal is not None:
            await _say(send, refusal)
        elif _has_cookie(headers, self.door):
            await self.app(scope, receive, _with_headers(send))
        elif (place := entered(scope, self.door)) is not None:
            await _let_in(send, place, self.door)
        else:
            await _say(send, Refusal(403, "Open the address that `evalmark view` has printed: it holds the token."))


def refused(method: str, headers: Iterable[tuple[bytes, bytes]], door: Door) -> Refusal | None:
    """Why a request is refused whatever token it brings; None for one that may go on."""
    found: dict[bytes, list[str]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value.decode("latin-1").strip())
    hosts = found.get(b"host", [])
    if len(hosts) != 1 or hosts[0].lower() not in door.hosts:
        return Refusal(400, "This viewer does not answer under this name.")
    if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in found.get(b"origin", [])):
        return Refusal(403, "A page of another site has asked.")
    if any(site.lower() not in _FROM_HERE for site in found.get(b"sec-fetch-site", [])):
        return Refusal(403, "A page of another site leads here; copy the address into the browser instead.")
    if method not in METHODS:
        return Refusal(405, "Pages here are only looked at.")
    return None


def entered(scope: Scope, door: Door) -> str | None:
    """Where a request that brings the token in its address goes on, without it; None where it brings none."""
    pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    tokens = [value for name, value in pairs if name == "token"]
    if len(tokens) != 1 or not _same(tokens[0], door.token):
        return None
    rest = urlencode([(name, value) for name, value in pairs if name != "token"])
    # One slash and no more: two of them would name another host.
    raw = bytes(scope.get("raw_path") or b"/").decode("latin-1").partition("?")[0]
    path = "/" + raw.lstrip("/\\")
    return f"{path}?{rest}" if rest else path


def _has_cookie(headers: Iterable[tuple[bytes, bytes]], door: Door) -> bool:
    values = [value.decode("latin-1") for name, value in headers if name == b"cookie"]
    if len(values) != 1:
        return False
    cookie: SimpleCookie = SimpleCookie()
    try:
        cookie.load(values[0])
    except CookieError:
        return False
    return door.cookie in cookie and _same(cookie[door.cookie].value, door.token)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


async def _let_in(send: Send, place: str, door: Door) -> None:
    cookie = f"{door.cookie}={door.token}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", place.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())]
    await send({"type": "http.response.start", "status": 303, "headers": [*headers, *HEADERS]})
    await send({"type": "http.response.body", "body": b""})


async def _say(send: Send, refusal: Refusal) -> None:
    body = f"{refusal.reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*headers, *HEADERS]})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    ours = {name for name, _ in HEADERS}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            theirs = [(name, value) for name, value in message.get("headers", []) if bytes(name).lower() not in ours]
            message = {**message, "headers": [*theirs, *HEADERS]}
        await send(message)

    return sent
