"""Where an error was raised, as the engine keeps it in the metadata of an output and in the detail of a score."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.text import clean, one_line
from evalmark.core.values.case import Output
from evalmark.core.values.score import Score

ERROR_FIELDS = ("raised_at", "traceback")
"""The fields that hold it."""


def raised_at(found: Output | Score) -> str:
    """` (file:line)` of the user's code that raised the error; empty where nothing is known of it.

    >>> raised_at(Output(error="NameError", metadata={"raised_at": "bot.py:3"})), raised_at(Output(error="no answer"))
    (' (bot.py:3)', '')
    """
    place = _kept(found).get("raised_at")
    return f" ({one_line(place, 200)})" if isinstance(place, str) and place else ""


def traceback_of(found: Output | Score) -> str:
    """The traceback of an error by the user's frames; empty where there is none."""
    text = _kept(found).get("traceback")
    return clean(text) if isinstance(text, str) else ""


def _kept(found: Output | Score) -> Mapping[str, Any]:
    """What is kept beside an error; a target that answered may mean something else by these names."""
    if isinstance(found, Score):
        return found.detail if found.status == "error" else {}
    return found.metadata if found.error is not None else {}
