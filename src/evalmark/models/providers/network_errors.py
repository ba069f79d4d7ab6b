"""Errors of requests without a response.

The messages are our own, since those of the HTTP client may contain the password of a proxy.
"""

import os
from urllib.parse import urlsplit

import aiohttp

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Attempt

from .response import PROXY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalmark.core.errors import CallFault

MOST_BYTES = 32 << 20
"""Larger responses are not read."""


class TooLargeError(ValueError):
    """A response is larger than `MOST_BYTES`."""


_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no complete response within {within:g} s"),
    (TooLargeError, f"the response is larger than {MOST_BYTES >> 20} MiB and was not read"),
    (aiohttp.ClientHttpProxyError, f"the proxy answered {{status}}. {PROXY}"),
    (aiohttp.ClientProxyConnectionError, f"the proxy cannot be reached. {PROXY}"),
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted: {reason}"),
    (aiohttp.ClientConnectorError, "no connection could be made: {reason}"),
    (aiohttp.ServerDisconnectedError, "the server closed the connection without a response"),
    (aiohttp.ClientPayloadError, "the response was cut off, or its compression is invalid"),
    (aiohttp.ClientResponseError, "the response is not valid HTTP"),
    (OSError, "the connection broke: {reason}"),
    (ValueError, f"this address, or that of the proxy, cannot be used. {PROXY}"),
)
"""The first matching type decides."""
_FOR_GOOD = (aiohttp.ClientConnectorCertificateError, ValueError)
"""Errors that a retry does not solve: an untrusted certificate, an invalid address."""


def network_error(error: Exception, url: str, within: float, seconds: float) -> ModelCallError:
    """Build the error for a request without a response."""
    causes = (text for kind, text in _CAUSES if isinstance(error, kind))
    text = next(causes, f"the request failed ({type(error).__name__})")
    status = getattr(error, "status", None)
    message = f"{urlsplit(url).netloc}: {text.format(within=within, status=status, reason=_reason(error))}."
    fault: CallFault = (
        "closed" if isinstance(error, _FOR_GOOD) and not isinstance(error, TooLargeError) else "transient"
    )
    return ModelCallError(message, fault=fault, attempts=(Attempt(seconds=seconds, error=message),))


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(getattr(error.certificate_error, "verify_message", "")) or "no reason given"
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    # asyncio replaces the message of the system; errors of name resolution have negative numbers.
    number = getattr(inner, "errno", None)
    return os.strerror(number) if number and number > 0 else getattr(inner, "strerror", None) or type(inner).__name__
