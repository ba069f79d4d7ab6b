"""Fields of JSON inputs and outputs as columns of the cases of a run."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evalmark.core.text import cut_at_word
from evalmark.core.values.score import Result

_OFFERED = 20
"""Most fields that a page offers."""
_READ = 20_000
"""Longest text that is read as JSON."""
_LONGEST = 60


def offered_fields(results: Iterable[Result], chosen: Iterable[str]) -> list[str]:
    """List the fields of the JSON objects of results, such as `output.city`: first those that are chosen."""
    found = dict.fromkeys(chosen)
    for result in results:
        for side in ("input", "output"):
            found |= dict.fromkeys(f"{side}.{key}" for key in _object(result, side))
    return list(found)[:_OFFERED]


def field_text(result: Result, name: str) -> str:
    """Return the value of a field on one line; empty if the result does not have it."""
    side, _, key = name.partition(".")
    value = _object(result, side).get(key)
    return f"{value:.6g}" if isinstance(value, float) else cut_at_word(value, _LONGEST)


def _object(result: Result, side: str) -> Mapping[str, Any]:
    """Return the input or the output if it is a JSON object, or the text of one; otherwise an empty one."""
    value = result.trial.case.input if side == "input" else result.output.value
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) <= _READ:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    is_object = isinstance(value, Mapping) and (
        side == "output" or len(value) > 1
    )  # the only field of an input is its title
    return value if is_object else {}
