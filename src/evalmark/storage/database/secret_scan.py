"""Checks quickly whether a value may hold a secret, before the exact and slower masking."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.case import Case, Example, Output, ToolCall, Turn
from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.core.values.score import Score
from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.masks import mask_secrets

from .fields import storable, to_json

_TEXTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    Attempt: attrgetter("error", "body"),
    Case: attrgetter(
        "id", "input", "expected", "examples", "contexts", "history", "given", "tags", "metadata", "place"
    ),
    Example: attrgetter("value", "liked"),
    Output: attrgetter("value", "error", "contexts", "tool_calls", "metadata", "transcript"),
    Reply: attrgetter("text", "data", "reasoning", "tool_calls", "model", "system_fingerprint", "attempts", "headers"),
    Request: attrgetter("messages", "schema", "settings"),
    Score: attrgetter("raw", "reason", "detail"),
    ToolCall: attrgetter("name", "arguments", "result", "error", "id"),
    Turn: attrgetter("content", "role"),
}
"""The fields of each type that hold texts from outside."""
_HOLDERS = frozenset((dict, list, tuple))
_PLAIN = frozenset((type(None), bool, int, float))


def may_hold_secrets(*values: Any) -> bool:
    """Return whether any text in these values would be masked, or was masked before."""
    texts: list[str] = []
    _gather(values, texts, 0)
    together = "\n".join(texts)
    return MASK in together or mask_secrets(together) != together


def _gather(values: Iterable[Any], texts: list[str], depth: int) -> None:
    """Append all texts in these values, whatever users' code has put into them."""
    for value in values:
        kind = type(value)
        if kind is str:
            texts.append(value)
        elif kind not in _PLAIN and not (kind in _HOLDERS and not value):  # most fields are empty
            _gather(_parts(value, depth), texts, depth + 1)


def _parts(value: Any, depth: int) -> Iterable[Any]:
    kind = type(value)
    if (fields := _TEXTS.get(kind)) is not None:
        return fields(value)
    if kind in _HOLDERS and depth < MAX_DEPTH:
        return (*value, *value.values()) if kind is dict else value
    return (to_json(storable(value)),)
