"""Unique case ids, generated from the row if a file has none."""

import hashlib
import json
import unicodedata
from array import array
from typing import Any

from evalmark.core.values.plain_data import canonical

MAX_ID = 200
"""The most characters of an id."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_WORD = (1 << 64) - 1


class FieldError(ValueError):
    """A field of a row is invalid."""


def parse_id(value: Any) -> str | None:
    """Convert an id to text; None if it is blank.

    >>> parse_id(7), parse_id(7.0), parse_id(" ")
    ('7', '7', None)

    Raises:
        FieldError: the id is neither text nor a whole number, or it is too long.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FieldError(f"an id is a text or a whole number, not {type(value).__name__}")
    text = str(value)
    if len(text) > MAX_ID:
        raise FieldError(f"an id may have {MAX_ID} characters, this one has {len(text)}")
    return text if text.strip() else None


def generated_id(input: Any, history: Any, expected: Any, row: Any) -> str:  # noqa: A002  the field's name
    """Generate an id of 12 hex digits from the input and its reference, independent of place and output."""
    has_content = input is not None or history or expected is not None
    content = [input, history, expected] if has_content else row
    try:
        text = _ENCODER.encode(content)
    except (TypeError, ValueError, RecursionError):
        text = canonical(content)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


class SeenIds:
    """The place where each id was first seen, in a compact hash table: a million ids need 32 to 64 MB.

    Ids are compared by a 64-bit hash; a collision among a million ids happens once in 40 million files.
    """

    def __init__(self) -> None:
        self._mask = (1 << 10) - 1
        self._keys = array("Q", bytes(8 << 10))
        self._places = array("Q", bytes(8 << 10))
        self._used = 0

    def seen(self, text: str) -> bool:
        """Tell whether the id, or one that looks the same, was added before."""
        key = _key(text)
        return self._keys[self._slot(key)] == key

    def put(self, text: str, line: int, column: int) -> tuple[int, int] | None:
        """Add an id, and return line and column of an earlier one that looks the same, if any."""
        key = _key(text)
        slot = self._slot(key)
        if self._keys[slot] == key:
            return divmod(self._places[slot], 1 << 32)
        self._keys[slot], self._places[slot] = key, (line << 32) + column
        self._used += 1
        if self._used * 2 > self._mask:
            self._grow()
        return None

    def _slot(self, key: int) -> int:
        slot = key & self._mask
        while (found := self._keys[slot]) and found != key:
            slot = (slot + 1) & self._mask
        return slot

    def _grow(self) -> None:
        old = zip(self._keys, self._places, strict=True)
        size = 2 * (self._mask + 1)
        self._mask, self._keys, self._places = size - 1, array("Q", bytes(8 * size)), array("Q", bytes(8 * size))
        for key, place in old:
            if key:
                slot = self._slot(key)
                self._keys[slot], self._places[slot] = key, place


def _key(text: str) -> int:
    """Hash an id so that ids that look the same are equal; never 0."""
    same = text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()
    return hash(same) & _WORD or 1
