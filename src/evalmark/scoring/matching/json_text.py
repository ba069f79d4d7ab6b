"""Parses an output as JSON."""

import json
from typing import Any

from evalmark.core.values.plain_data import plain


class NotJsonError(ValueError):
    """The value is not JSON; the text says why."""


def as_json(value: Any) -> Any:
    """Return the data of an output: parsed from text, or the value itself if it is data.

    Raises:
        NotJsonError: The text is not JSON, or there is no output.
    """
    if value is None:
        raise NotJsonError("there is no output")
    return parse_json_text(value) if isinstance(value, str) else plain(value)


def parse_json_text(text: str) -> Any:
    """Return the data of a JSON text.

    Raises:
        NotJsonError: It is not JSON, or holds NaN or infinity.
    """
    try:
        return json.loads(text, parse_constant=reject_constant)
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except ValueError as error:
        raise NotJsonError(_why(error)) from None


def reject_constant(name: str) -> Any:
    """Reject constants that Python's parser takes and JSON does not.

    Raises:
        NotJsonError: Always.
    """
    raise NotJsonError(f"JSON has no {name}")


def _why(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]}, line {error.lineno} column {error.colno}"
    return str(error)
