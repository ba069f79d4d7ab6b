"""Addresses of pages, and the names in them."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from pathlib import Path
from urllib.parse import quote, urlencode

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]*")
_MARK = "~"
"""Prefix of an encoded name."""


def encode_name(text: str) -> str:
    """Encode a name for a path; plain names stay unchanged.

    >>> encode_name("20261121-101500-3f9a"), encode_name("../etc")
    ('20261121-101500-3f9a', '~Li4vZXRj')
    """
    if _PLAIN.fullmatch(text):
        return text
    return _MARK + urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


def decode_name(part: str) -> str:
    """Decode a name from a path; an invalid encoding gives an empty name.

    >>> decode_name(encode_name("../etc")), decode_name("~?")
    ('../etc', '')
    """
    if not part.startswith(_MARK):
        return part
    try:
        return urlsafe_b64decode(part[1:] + "=" * (-len(part[1:]) % 4)).decode(errors="surrogatepass")
    except (NotBase64, UnicodeDecodeError, ValueError):
        return ""


def encode_query_name(name: str) -> str:
    """Encode a name for a query, unchanged if possible.

    >>> encode_query_name("my app"), encode_query_name(" app")
    ('my app', '~IGFwcA')
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return encode_name(name)
    return encode_name(name) if name.startswith(_MARK) or name != name.strip() else name


def decode_query_name(text: str) -> str:
    """Decode a name from a query."""
    return decode_name(text) if text.startswith(_MARK) else text


def run_path(run: str, query: str = "") -> str:
    """Path of a run's page."""
    return f"/runs/{encode_name(run)}{query}"


def grid_path(*runs: str) -> str:
    """Path of the grid of some runs."""
    return f"/grid?{urlencode([('run', run) for run in runs], errors='replace')}"


def case_path(run: str, number: int, query: str = "") -> str:
    """Path of a result's page."""
    return f"/runs/{encode_name(run)}/results/{number}{query}"


def download_path(run: str, number: int) -> str:
    """Path of a result's JSON download."""
    return f"/runs/{encode_name(run)}/results/{number}/whole.json"


def text_path(run: str, number: int, part: str) -> str:
    """Path of a text of a result, whole: its `input`, `output` or `expected` output."""
    return f"/runs/{encode_name(run)}/results/{number}/{part}.txt"


def label_path(run: str) -> str:
    """Path of the form to label a sample of 40 outputs of a run."""
    return f"/label?what=run:{encode_name(run)}&n=40"


def session_path(session: str, query: str = "") -> str:
    """Path of a session's page; ids of answers and steps work too."""
    return f"/sessions/{encode_name(session)}{query}"


def editor_address(form: str, place: str, folder: Path) -> str:
    """Return the address that opens a file in an editor; empty if there is no form, or no such file in the folder.

    Places come from the store, so files elsewhere are never linked.

    Args:
        form: the form of the address, with `{path}` and, if wanted, `{line}`.
        place: a file relative to the folder, or absolute, with an optional `:LINE`.
        folder: the folder in which the viewer was started.
    """
    if not form or not place or "\0" in place:
        return ""
    name, _, line = place.rpartition(":")
    name, line = (name, line) if name and line.isascii() and line.isdigit() and len(line) < 10 else (place, "1")
    try:
        root, path = folder.resolve(), (folder / name).resolve()
        is_here = path.is_relative_to(root) and path.is_file()
    except (OSError, ValueError, RuntimeError):  # too long, or a loop of links
        return ""
    if not is_here:
        return ""
    absolute = quote(path.as_posix(), safe="/:")
    return (
        form.replace("/{path}", "/" + absolute.lstrip("/"))
        .replace("{path}", absolute)
        .replace("{line}", str(int(line)))
    )
