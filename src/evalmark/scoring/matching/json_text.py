"""An answer read as JSON."""

import json
from typing import Any

from evalmark.core.values.plain_data import plain


class NotJsonError(ValueError):
    """An answer that is no JSON; its text says why."""


def as_json(value: Any) -> Any:
    """The data of an answer: read from text, or the answer itself where it is data already.

    Raises:
        NotJsonError: the text is not JSON, or there is no answer.
    """
    if value is None:
        raise NotJsonError("there is no answer")
    return parse_json_text(value) if isinstance(value, str) else plain(value)


def parse_json_text(text: str) -> Any:
    """The data of a JSON text.

    Raises:
        NotJsonError: it is not JSON, or holds NaN or infinity, which JSON has no words for.
    """
    try:
        return json.loads(text, parse_constant=reject_constant)
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except ValueError as error:
        raise NotJsonError(_why(error)) from None


def reject_constant(name: str) -> Any:
    """Refuse what Python's reader takes beyond JSON.

    Raises:
        NotJsonError: always.
    """
    raise NotJsonError(f"JSON has no {name}")


def _why(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]}, line {error.lineno} column {error.colno}"
    return str(error)
