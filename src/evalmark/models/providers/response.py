"""The HTTP response to one request, and how it is read: strict JSON, or a typed error."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any, NamedTuple

from evalmark.core.errors import ModelCallError
from evalmark.core.text import one_line
from evalmark.core.values.call import Attempt
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.strict_json import RefusedJsonError, decode_at
from evalmark.inputs.secrets.known_secrets import mask_key

from .endpoint import SERVICE, Endpoint
from .retry_after import retry_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalmark.core.errors import CallFault

PROXY = "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"
MAX_BODY_CHARS = 4096
"""Characters of a body that an `Attempt` holds."""
_LARGE_BODY = 1 << 20
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_SPACE = " \t\r\n"
_MARK = b"\xef\xbb\xbf"
_TRANSIENT = frozenset((408, 409, 425, 429))
_CLOSED = frozenset((401, 402, 403, 404, 407))
_NEVER_AGAIN = ("insufficient_quota", "billing_not_active", "credit balance is too low")
"""What providers report, with various statuses, when an account has no credit left."""
_PHRASES = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


class Response(NamedTuple):
    """The response to one request, with any status; API keys that the server echoed are removed."""

    status: int
    headers: Mapping[str, str]
    """Looked up by lower-case names."""
    body: bytes
    seconds: float
    """From the first byte sent to the last byte read."""


def without_secrets(response: Response, raw: tuple[tuple[bytes, bytes], ...], sent: Mapping[str, str]) -> Response:
    """Remove the API key from a response if the server echoed it, in full or in part."""
    for name in _SECRET_HEADERS:
        if not (key := sent.get(name, "").rpartition(" ")[2]):
            continue
        together = b"\n".join((response.body, *(value for _, value in raw))).decode(errors="surrogateescape")
        if mask_key(together, key) == together:
            continue
        body = mask_key(response.body.decode(errors="surrogateescape"), key)
        headers = {name.lower(): mask_key(value, key) for name, value in response.headers.items()}
        response = response._replace(body=body.encode(errors="surrogateescape"), headers=headers)
    return response


def read_json(response: Response, endpoint: Endpoint) -> dict[str, Any]:
    """Return the JSON object of a successful response.

    Raises:
        ModelCallError: The status is not 2xx, the body is not a strict JSON object, or it reports an error. `fault`
            depends on the status, `retry_after` on the headers; the attempt holds the start of the body.
    """
    check_status(response, endpoint)
    kind = response.headers.get("content-type", "json")
    if "json" not in kind.lower():
        what = "a web page" if "html" in kind.lower() else repr(one_line(kind, 60))
        advice = f"Check the address {endpoint.base_url}"
        raise response_error(response, endpoint, f"answered with {what} where JSON was expected. {advice}")
    data = _object(response, endpoint)
    if (error := data.get("error")) and "choices" not in data:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 300 <= code < 600 else 500
        raise _refused(response, endpoint, status, data)
    return data


def check_status(response: Response, endpoint: Endpoint) -> None:
    """Accept a successful response. Raises ModelCallError as `read_json` does: the status is not 2xx."""
    if not 200 <= response.status < 300:
        raise _refused(response, endpoint, response.status, _read_leniently(response.body))


def _object(response: Response, endpoint: Endpoint) -> dict[str, Any]:
    try:
        text = response.body.decode("utf-8")
        value, end = decode_at(text, len(text) - len(text.lstrip(_SPACE)))
    except UnicodeDecodeError as error:
        raise response_error(response, endpoint, f"answered with invalid UTF-8 (at byte {error.start})") from None
    except JSONDecodeError as error:
        problem = "starts with a byte order mark" if response.body.startswith(_MARK) else f"{error.msg} at {error.pos}"
        raise response_error(response, endpoint, f"answered with invalid JSON ({problem})") from None
    except RefusedJsonError:
        unclear = "a key twice in one object, NaN, too large a number, or too deep a nest"
        raise response_error(response, endpoint, f"answered with JSON that contains {unclear}") from None
    if text[end:].strip(_SPACE):
        raise response_error(response, endpoint, f"sent more text after its JSON (at {end})")
    if not isinstance(value, dict):
        raise response_error(
            response, endpoint, f"answered with a JSON {type(value).__name__} where an object was expected"
        )
    return value


def response_error(
    response: Response, endpoint: Endpoint, what: str, fault: "CallFault" = "transient"
) -> ModelCallError:
    """Build the error for a response without a reply; `what` continues the message after the name of the server."""
    message = f"{endpoint.name}: {endpoint.host} {what}."
    attempt = Attempt(seconds=response.seconds, error=message, status=response.status, body=_start(response.body))
    wait = retry_after(response.headers, limited=response.status == 429) if fault == "transient" else None
    return ModelCallError(message, fault=fault, attempts=(attempt,), retry_after=wait)


def _start(body: bytes) -> str:
    # A character has at most four bytes.
    return body[: 4 * MAX_BODY_CHARS].decode("utf-8", errors="replace")[:MAX_BODY_CHARS]


def _read_leniently(body: bytes) -> Any:
    """The body of an error as JSON if it is JSON, otherwise as text."""
    text = _start(body)
    try:
        return json.loads(body) if len(body) < _LARGE_BODY else text
    except (ValueError, RecursionError):
        return "a web page" if "<html" in text.lower() else text


def _refused(response: Response, endpoint: Endpoint, status: int, data: Any) -> ModelCallError:
    message_text = one_line(_error_message(data), 300).rstrip(".")
    fault = _fault(status, data)
    phrase = f"answered {status} {_PHRASES.get(status, '')}".rstrip()
    return response_error(
        response, endpoint, f"{phrase}{message_text and ': '}{message_text}{_advice(status, fault, endpoint)}", fault
    )


def _error_message(data: Any) -> str:
    for _ in range(3):
        if not isinstance(data, dict):
            break
        data = next((data[key] for key in ("error", "message", "detail", "errors") if data.get(key)), "")
    return data if isinstance(data, str) else canonical(data)


def _fault(status: int, data: Any) -> "CallFault":
    if 400 <= status < 500 and any(word in canonical(data) for word in _NEVER_AGAIN):
        return "closed"
    if status in _TRANSIENT or status >= 500:
        return "transient"
    return "closed" if status in _CLOSED or status < 400 else "rejected"


def _advice(status: int, fault: "CallFault", endpoint: Endpoint) -> str:
    if status in (401, 403):
        return f". Check the key in {endpoint.key_variable}" if endpoint.key_variable else ". It requires a key"
    if status == 404 and endpoint.provider == SERVICE:
        return f". Check the address {endpoint.base_url}"
    if status == 404:
        return f". Check the model {endpoint.model!r} and the address {endpoint.base_url}"
    if status == 407:
        return f". {PROXY}"
    if status < 400:
        return ". Redirects are not followed: give the final address"
    return ". The account has no credit left" if fault == "closed" else ""
