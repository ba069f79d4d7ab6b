"""Access checks of every request, before anything else runs."""

import hmac
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = ("GET", "HEAD", "POST")
"""Allowed methods; only POST changes anything."""
FORM = "evalmark.form"
"""Key of the form fields in the request's scope."""
KEY = "key"
"""Form field that proves that a page of this viewer made the form."""
MOST_SENT = 1_000_000
"""Largest form in bytes."""
TICKET_HOLDS = 600.0
"""Seconds."""
ENTRIES = ("token", "ticket")
"""Query parameters that grant access."""
_MOST_FIELDS = 1_000
_FROM_HERE = ("same-origin", "none")
_FORM_KIND = "application/x-www-form-urlencoded"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not `no-referrer`: with it, browsers send `Origin: null` with forms.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response."""
LASTING = (b"cache-control", b"private, max-age=31536000, immutable")
"""Header of files without data whose address changes with their content; the only one of `HEADERS` that a response replaces."""


class Tickets:
    """One-time tickets, valid for ten minutes, for addresses that others may see, such as command lines."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._made: dict[str, float] = {}

    def new(self) -> str:
        """Create a ticket."""
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            self._made[ticket] = self._now()
        return ticket

    def take(self, ticket: str) -> bool:
        """Use up a ticket; return whether it was valid."""
        with self._lock:
            oldest = self._now() - TICKET_HOLDS
            self._made = {known: made for known, made in self._made.items() if made >= oldest}
            # All are compared, so that the duration reveals nothing.
            found = [known for known in self._made if _same(ticket, known)]
            for known in found:
                del self._made[known]
        return bool(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Accepted host names and secrets of a viewer."""

    token: str
    hosts: frozenset[str]
    """Accepted `Host` headers, with port: `127.0.0.1:7878`."""
    cookie: str
    """Name of the cookie, one per port, since browsers share cookies between ports."""
    tickets: Tickets = field(default_factory=Tickets, compare=False)

    @property
    def key(self) -> str:
        """Secret of each form, derived from the token, so that other sites cannot know it."""
        return hmac.new(self.token.encode(), b"forms of this viewer", "sha256").hexdigest()

    def __repr__(self) -> str:
        return f"AccessPolicy(hosts={sorted(self.hosts)})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: status and reason."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class GuardedApp:
    """An application with access control; requests without the token learn nothing, not even which paths exist."""

    app: Application
    policy: AccessPolicy
    release: Callable[[], None] = lambda: None
    """Lets requests go that wait for a change."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Other protocols are refused: a websocket is closed before it opens.
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
        refusal = refusal_of(scope["method"], headers, self.policy)
        if refusal is not None:
            await _say(send, refusal)
        elif (location := entry_path(scope, self.policy)) is not None:
            await _let_in(send, location, self.policy)
        elif _has_cookie(headers, self.policy):
            await self._inside(scope, headers, receive, send)
        else:
            await _say(send, Refusal(403, "Open the address printed by `evalmark view`: it contains the token."))

    async def _inside(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Forward an authorized request; the key of a form is checked here for all pages."""
        if scope["method"] == "POST":
            form = await sent_form(headers, receive)
            if isinstance(form, Refusal):
                await _say(send, form)
                return
            if not _same(form.get(KEY, ""), self.policy.key):
                await _say(
                    send,
                    Refusal(
                        403, "This form is from an earlier start of the viewer: reload the page and send it again."
                    ),
                )
                return
            scope = {**scope, FORM: form}
        await self.app(scope, receive, _with_headers(send))


def refusal_of(method: str, headers: Headers, policy: AccessPolicy) -> Refusal | None:
    """Check host, origin and method; return the refusal, or None."""
    values: dict[bytes, list[str]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value.strip(b" \t").decode("latin-1"))
    hosts = values.get(b"host", [])
    if len(hosts) != 1 or hosts[0].lower() not in policy.hosts:
        return Refusal(400, "This viewer does not answer under this host name.")
    if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in values.get(b"origin", [])):
        return Refusal(403, "Requests from other sites are refused.")
    if any(site.lower() not in _FROM_HERE for site in values.get(b"sec-fetch-site", [])):
        return Refusal(403, "Links from other sites are refused; copy the address into the browser instead.")
    if method not in METHODS:
        return Refusal(405, "Only GET, HEAD and POST are supported.")
    if method == "POST" and (
        not values.get(b"origin") or values.get(b"sec-fetch-site", ["same-origin"]) != ["same-origin"]
    ):
        return Refusal(403, "Forms are accepted only from pages of the viewer.")
    return None


async def sent_form(headers: Headers, receive: Receive) -> Mapping[str, str] | Refusal:
    """Read the fields of a form, or return a refusal."""
    kinds = [value.decode("latin-1") for name, value in headers if name == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != _FORM_KIND:
        return Refusal(415, "Only HTML forms are accepted.")
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return Refusal(400, "The form is incomplete.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_SENT:
            return Refusal(413, f"A form has at most {MOST_SENT:,} bytes.")
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return Refusal(400, "The form cannot be read.")


def entry_path(scope: Scope, policy: AccessPolicy) -> str | None:
    """Return the address without its token or ticket to redirect to; None if it has no valid one.

    GET uses up a ticket; HEAD does not.
    """
    pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    keys = [(name, value) for name, value in pairs if name in ENTRIES]
    if len(keys) != 1 or scope["method"] not in ("GET", "HEAD"):
        return None
    (name, value), is_look = keys[0], scope["method"] == "GET"
    if not (_same(value, policy.token) if name == "token" else is_look and policy.tickets.take(value)):
        return None
    rest = urlencode([(name, value) for name, value in pairs if name not in ENTRIES])
    # Exactly one slash: two would name another host.
    raw = bytes(scope.get("raw_path") or b"/").decode("latin-1").partition("?")[0]
    path = "/" + raw.lstrip("/\\")
    return f"{path}?{rest}" if rest else path


def _has_cookie(headers: Headers, policy: AccessPolicy) -> bool:
    values = [value.decode("latin-1") for name, value in headers if name == b"cookie"]
    # Several may have this name: any server of this machine can set one for some paths.
    return len(values) == 1 and any(_same(value, policy.token) for value in cookie_values(values[0], policy.cookie))


def cookie_values(header: str, name: str) -> list[str]:
    """Return the values of all cookies with a name, ignoring others.

    >>> cookie_values('{"theme": "dark"}; name=a=b; =; other=c', "name")
    ['a=b']
    """
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for key, _, value in pairs if key == name]


def _same(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), token.encode())


async def _let_in(send: Send, location: str, policy: AccessPolicy) -> None:
    cookie = f"{policy.cookie}={policy.token}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", location.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())]
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
            given = message.get("headers", [])
            theirs = [(name, value) for name, value in given if bytes(name).lower() not in ours]
            fixed = [LASTING if LASTING in given and name == LASTING[0] else (name, value) for name, value in HEADERS]
            message = {**message, "headers": [*theirs, *fixed]}
        await send(message)

    return sent
