"""Addresses of pages, and the names in them."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]*")
_MARK = "~"
"""Stands before a name that an address does not say as it is."""


def named(text: str) -> str:
    """A name as part of a path: as it is where it is plain, else so that it means nothing to a server.

    >>> named("20261121-101500-3f9a"), named("../etc")
    ('20261121-101500-3f9a', '~Li4vZXRj')
    """
    if _PLAIN.fullmatch(text):
        return text
    return _MARK + urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


def name_in(part: str) -> str:
    """The name that `named` was given; a part that it never gives is a name of nothing.

    >>> name_in(named("../etc")), name_in("~?")
    ('../etc', '')
    """
    if not part.startswith(_MARK):
        return part
    try:
        return urlsafe_b64decode(part[1:] + "=" * (-len(part[1:]) % 4)).decode(errors="surrogatepass")
    except (NotBase64, UnicodeDecodeError, ValueError):
        return ""


def as_said(name: str) -> str:
    """A name as part of a query, where it is shown to whoever types one: as it is, but for one that cannot be sent so.

    >>> as_said("my app"), as_said(" app")
    ('my app', '~IGFwcA')
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return named(name)
    return named(name) if name.startswith(_MARK) or name != name.strip() else name


def name_said(said: str) -> str:
    """The name that `as_said` was given."""
    return name_in(said) if said.startswith(_MARK) else said


def run_path(run: str, query: str = "") -> str:
    """The page of a run."""
    return f"/runs/{named(run)}{query}"


def case_path(run: str, number: int, query: str = "") -> str:
    """The page of one result of it."""
    return f"/runs/{named(run)}/results/{number}{query}"


def download_path(run: str, number: int) -> str:
    """All of one result, as JSON."""
    return f"/runs/{named(run)}/results/{number}/whole.json"


def label_path(run: str) -> str:
    """Where one chooses which outputs of a run to label, with a sample that can be had in half an hour."""
    return f"/label?what=run:{named(run)}&n=40"


def session_path(session: str, query: str = "") -> str:
    """The page of a recorded session; the id of an answer or a step leads to its session too."""
    return f"/sessions/{named(session)}{query}"
