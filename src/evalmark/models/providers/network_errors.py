"""Errors of requests without a response, the same for both HTTP clients.

The messages are our own, since those of a client may contain the password of a proxy.
"""

import errno
import os
import re
import socket
import ssl
from urllib.parse import urlsplit

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Attempt

from .response import PROXY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalmark.core.errors import CallFault

MOST_BYTES = 32 << 20
"""Larger responses are not read."""
NO_RESPONSE = "the server closed the connection without a response"
CUT_OFF = "the response was cut off, or its compression is invalid"
NOT_HTTP = "the response is not valid HTTP"
TOO_LARGE = f"the response is larger than {MOST_BYTES >> 20} MiB and was not read"
INVALID_ADDRESS = f"this address, or that of the proxy, cannot be used. {PROXY}"
_ERRNO = re.compile(r"\[Errno ([0-9]+)\]")
_HANDSHAKE_ERRORS = {
    "ConnectionAbortedError": "the server did not complete the TLS handshake in time",
    "ConnectionResetError": "the server closed the connection",
}
"""asyncio raises them without a number."""
_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
"""Numbers of name resolution: there is no server with that name. Others, such as EAI_AGAIN, may pass."""


class NetworkError(Exception):
    """The reason why a request has no response.

    Args:
        text: continues the message after the name of the server, without a full stop.
        fault: `closed` where a retry does not help, such as an untrusted certificate.
        sent: whether the server may have received the request.
        is_unreachable: whether no server accepts connections at the address, or no server has that name.
    """

    def __init__(
        self, text: str, *, fault: "CallFault" = "transient", sent: bool = True, is_unreachable: bool = False
    ) -> None:
        super().__init__(text)
        self.fault: CallFault = fault
        self.sent = sent
        self.is_unreachable = is_unreachable


def connect_error(error: Exception) -> NetworkError:
    """Build the error for a connection that could not be made."""
    if isinstance(error, ssl.CertificateError):
        reason = getattr(error, "verify_message", "") or "no reason given"
        return NetworkError(f"its certificate is not trusted: {reason}", fault="closed", sent=False)
    number = _number(error)
    advice = ""
    if number == errno.ECONNREFUSED:
        advice = ". Start the server, or check the address"
    elif number in _NO_SUCH_NAME:
        advice = ". Check the address"
    return NetworkError(
        f"no connection could be made: {_reason(error)}{advice}", sent=False, is_unreachable=bool(advice)
    )


def broken_connection(error: Exception) -> NetworkError:
    """Build the error for a connection that broke before a response began."""
    return NetworkError(f"the connection broke: {_reason(error)}")


def model_call_error(error: NetworkError, url: str, seconds: float) -> ModelCallError:
    """Build the error of a model call whose request has no response."""
    message = f"{urlsplit(url).netloc}: {error}."
    call_error = ModelCallError(message, fault=error.fault, attempts=(Attempt(seconds=seconds, error=message),))
    call_error.is_unreachable = error.is_unreachable
    return call_error


def _number(error: Exception) -> int:
    """Return the system's number of an error, or 0."""
    return getattr(error, "errno", None) or next(map(int, _ERRNO.findall(str(error))), 0)


def _reason(error: Exception) -> str:
    """The system's message: asyncio replaces it, and joins those of several addresses into one error without a number."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({(error.reason or 'no reason given').replace('_', ' ').lower()})"
    number = _number(error)
    if number > 0:  # errors of name resolution have negative numbers
        return os.strerror(number)
    name = type(error).__name__
    return getattr(error, "strerror", None) or _HANDSHAKE_ERRORS.get(name, name)
