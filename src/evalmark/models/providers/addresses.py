"""Check addresses of servers before a key is sent there."""

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from evalmark.core.errors import ConfigError

_VERSION = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]*)?")
_ANYWHERE = ("0.0.0.0", "::", "*", "")  # noqa: S104  what a server listens on is not where a client goes
_OLLAMA_PORT = 11434


def validate_address(text: str, location: str) -> str:
    """Return a checked http address without a trailing slash.

    Error messages do not repeat an address that may contain a password.

    Raises:
        ConfigError: It has another scheme, no host, credentials, or a query; `location` is where it was written.
    """
    shown = "this address" if "@" in text or "?" in text or "#" in text else repr(text)
    if not text.isprintable() or " " in text or "\\" in text:
        raise ConfigError(
            f"{location}: the address contains a space, a backslash or a control character. Write it again."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError(f"{location}: {shown} is not an address. Write http://HOST:PORT/v1.") from None
    if "@" in parts.netloc:
        raise ConfigError(
            f"{location}: the address contains credentials. Remove them, and name a variable with the key."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"{location}: {shown} is not an http address with a host. Write http://HOST:PORT/v1.")
    if parts.query or parts.fragment:
        raise ConfigError(f"{location}: the address has a query or a fragment. Remove it.")
    return text.rstrip("/?#")


def split_model_url(text: str, location: str) -> tuple[str, str]:
    """Split `ADDRESS/MODEL` into the address and the model.

    The address ends with the first part of the path that is a version, such as `v1`; without one, the last part of the path
    is the model.

    >>> split_model_url("http://127.0.0.1:8000/v1/org/model", "x")
    ('http://127.0.0.1:8000/v1', 'org/model')
    >>> split_model_url("http://127.0.0.1:8000/model", "x")
    ('http://127.0.0.1:8000', 'model')

    Raises:
        ConfigError: There is no model, or the address is invalid.
    """
    checked = validate_address(text, location)
    scheme, _, rest = checked.partition("://")
    host, *path = rest.split("/")
    at = next((i + 1 for i, part in enumerate(path) if _VERSION.fullmatch(part)), len(path) - 1)
    model = unquote("/".join(path[at:])) if path else ""
    if not model:
        raise ConfigError(f"{location}: the address is not followed by a model. Write http://HOST:PORT/v1/MODEL.")
    return "/".join([f"{scheme}://{host}", *path[:at]]), model


def ollama_address(text: str) -> str:
    """Return the address of the server that OLLAMA_HOST names: a host, a port, both, or an address.

    >>> ollama_address("0.0.0.0"), ollama_address("https://box.example/ollama")
    ('http://127.0.0.1:11434/v1', 'https://box.example/ollama/v1')

    Raises:
        ConfigError: The value is invalid.
    """
    location = "OLLAMA_HOST"
    if "://" in text:
        return f"{strip_suffix(validate_address(text, location), ('/v1',))}/v1"
    host, colon, port = text.partition(":") if text.count(":") < 2 else (text, "", "")
    host = "127.0.0.1" if host in _ANYWHERE else f"[{host}]" if ":" in host and host[0] != "[" else host
    return validate_address(f"http://{host}:{port if colon else _OLLAMA_PORT}/v1", location)


def strip_suffix(address: str, ends: Sequence[str]) -> str:
    """Remove the path of the API from the end of an address; users write it or leave it out."""
    return next((address.removesuffix(end) for end in ends if address.endswith(end)), address)
