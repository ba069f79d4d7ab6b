"""Ids: no two alike, and made from the row itself where a file has none."""

import hashlib
import json
import unicodedata
from array import array
from typing import Any

from evalmark.core.values.plain_data import canonical

MAX_ID = 200
"""Characters an id may have."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_WORD = (1 << 64) - 1


class FieldError(ValueError):
    """What is wrong with one field of a row."""


def parse_id(value: Any) -> str | None:
    """The id as text; None where a row leaves it empty.

    >>> parse_id(7), parse_id(7.0), parse_id(" ")
    ('7', '7', None)

    Raises:
        FieldError: it is neither text nor a whole number, or too long.
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
    """12 hex digits that follow the question and its reference: not the row's place, not the answer under test."""
    known = input is not None or history or expected is not None
    content = [input, history, expected] if known else row
    try:
        text = _ENCODER.encode(content)
    except (TypeError, ValueError, RecursionError):
        text = canonical(content)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


class SeenIds:
    """Where each id was first seen, in 16 bytes a slot: a million ids need 32 MB, or 64 a few ids later.

    Ids are known by a 64-bit hash; that two of a million different ids share one happens once in
    40 million files.
    """

    def __init__(self) -> None:
        self._mask = (1 << 10) - 1
        self._keys = array("Q", bytes(8 << 10))
        self._places = array("Q", bytes(8 << 10))
        self._used = 0

    def seen(self, text: str) -> bool:
        """Whether the id, or one that looks the same, was put before."""
        key = _key(text)
        return self._keys[self._slot(key)] == key

    def put(self, text: str, line: int, column: int) -> tuple[int, int] | None:
        """Remember an id; the line and column of the earlier one if there was one that looks the same."""
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
    """The same number for ids that a reader could not tell apart; never 0."""
    same = text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()
    return hash(same) & _WORD or 1
