"""Why a request brought no response, in words of our own: those of the HTTP client may hold the password of a proxy."""

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
"""A response that is larger is not read."""


class TooLargeError(ValueError):
    """More than `MOST_BYTES`."""


_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no whole answer came within {within:g} s"),
    (TooLargeError, f"the answer is larger than {MOST_BYTES >> 20} MiB and was not read"),
    (aiohttp.ClientHttpProxyError, f"the proxy answered {{status}}. {PROXY}"),
    (aiohttp.ClientProxyConnectionError, f"the proxy cannot be reached. {PROXY}"),
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted: {reason}"),
    (aiohttp.ClientConnectorError, "no connection could be made: {reason}"),
    (aiohttp.ServerDisconnectedError, "the server closed the connection without an answer"),
    (aiohttp.ClientPayloadError, "the answer broke off, or is not packed as it says"),
    (aiohttp.ClientResponseError, "the answer is no HTTP"),
    (OSError, "the connection broke: {reason}"),
    (ValueError, f"this address, or that of the proxy, cannot be used. {PROXY}"),
)
"""The first kind that fits counts."""
_FOR_GOOD = (aiohttp.ClientConnectorCertificateError, ValueError)
"""What will not be otherwise in a second: a certificate that is not trusted, an address that is none."""


def network_error(error: Exception, url: str, within: float, seconds: float) -> ModelCallError:
    """The error for a request that brought no response."""
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
    # asyncio puts a sentence of its own with the address in the place of the system's word; names have negative numbers.
    number = getattr(inner, "errno", None)
    return os.strerror(number) if number and number > 0 else getattr(inner, "strerror", None) or type(inner).__name__
