"""Convert values to plain JSON data, to one canonical text, and to fingerprints."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_DEPTH = 100
"""The deepest nesting of data: `plain` truncates deeper data, the file readers refuse it."""
MAX_ITEMS = 1_000_000
"""The most items of a value, nested ones included; `plain` truncates the rest."""
TRUNCATED = "..."
"""The text that replaces truncated data."""

T = TypeVar("T")


def finite_number(value: object) -> float | None:
    """Return a finite number as a float without negative zero; None for anything else.

    >>> finite_number(True), finite_number(float("nan")), finite_number(10**400), finite_number("1")
    (1.0, None, None, None)
    """
    try:
        number = float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:  # an integer that no float can hold
        return None
    return number + 0.0 if math.isfinite(number) else None


def plain(value: Any, depth: int = 0) -> Any:
    """Convert any value to JSON data, as the store and every report save it.

    Objects become their fields or their text, sets become sorted lists, and numbers that JSON cannot express become
    text. Data nested deeper than `MAX_DEPTH` (most likely a cycle) and items after `MAX_ITEMS` become "...".

    >>> plain({"a": (1, float("nan")), 2: {"b"}})
    {'a': [1, 'nan'], '2': ['b']}
    """
    if type(value) in _EXACT:
        return value
    try:
        return _plain_fast(value, depth, [MAX_ITEMS])
    except _TooManyError:  # the slow version counts item by item and truncates at the right one
        return _plain(value, depth, [MAX_ITEMS])


class _TooManyError(Exception):
    """A value has more than `MAX_ITEMS` items."""


def _plain_fast(value: Any, depth: int, left: list[int]) -> Any:
    """Do the same as `_plain`, faster for the most common types.

    Raises:
        _TooManyError: the value has more items than `left` allows.
    """
    kind = type(value)
    if depth >= MAX_DEPTH or kind not in _CONTAINERS:
        return _plain_fast_other(value, depth, left)
    left[0] -= len(value)
    if left[0] < 0:
        raise _TooManyError
    depth += 1
    if kind is dict:
        return {
            key if type(key) is str else str(key): item if type(item) in _EXACT else _plain_fast(item, depth, left)
            for key, item in value.items()
        }
    return [item if type(item) in _EXACT else _plain_fast(item, depth, left) for item in value]


def _plain_fast_other(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    if (
        depth < MAX_DEPTH
        and hasattr(kind, "__dataclass_fields__")
        and not issubclass(kind, _HANDLED_BEFORE_DATACLASSES)
    ):
        items = ((name, getattr(value, name)) for name in _fields_of(kind))  # type: ignore[arg-type]  # types are hashable
        return {name: item if type(item) in _EXACT else _plain_fast(item, depth + 1, left) for name, item in items}
    found = _plain(value, depth, left)
    if left[0] < 0:
        raise _TooManyError
    return found


@lru_cache(maxsize=256)
def _fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _plain(value: Any, depth: int, left: list[int]) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value if type(value) in _EXACT else _base_value(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if depth >= MAX_DEPTH:
        return TRUNCATED
    return _nested(value, depth + 1, left)


_EXACT = (type(None), str, bool, int)
_CONTAINERS = (dict, list, tuple)
_HANDLED_BEFORE_DATACLASSES = (str, int, float, bytes, bytearray, Mapping, type)
"""Types that are converted as such even if they are dataclasses too."""


def _base_value(value: Any) -> Any:
    """Convert an instance of a subclass of str or int (such as an enum member) to the base type."""
    return str.__str__(value) if isinstance(value, str) else int(value)


def _nested(value: Any, depth: int, left: list[int]) -> Any:
    if isinstance(value, Mapping):
        pairs = {str(key): _plain(item, depth, left) for key, item in _limited(value.items(), left)}
        return pairs if left[0] >= 0 else pairs | {TRUNCATED: TRUNCATED}
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", errors="replace")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), depth, left) for f in dataclasses.fields(value)}
    for method in ("model_dump", "tolist"):  # pydantic models; numpy arrays and scalars
        if callable(found := getattr(value, method, None)) and not isinstance(value, type):
            return _plain(found(), depth, left)
    if isinstance(value, Iterable) and not hasattr(value, "__next__"):
        items = [_plain(item, depth, left) for item in _limited(value, left)]
        sortable = sorted(items, key=_encode) if isinstance(value, (set, frozenset)) else items
        return sortable if left[0] >= 0 else [*sortable, TRUNCATED]
    return str(value)


def _limited(items: Iterable[T], left: list[int]) -> Iterator[T]:
    """Yield items until the limit, which all parts of a value share, is used up.

    A small object can contain one part a billion times, and an iterable may be infinite.
    """
    for item in items:
        left[0] -= 1
        if left[0] < 0:
            return
        yield item


def canonical(value: Any) -> str:
    r"""Return the canonical JSON text of a value: sorted keys, no spaces, pure ASCII.

    Lone surrogates are escaped, so the text can always be encoded and hashed.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"\\u00e9","b":1}'
    """
    if value is None:
        return "null"
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is int:
        return int.__repr__(value)
    if kind is bool:
        return "true" if value else "false"
    if kind in _CONTAINERS and not value:  # most fields of a case are empty
        return "{}" if kind is dict else "[]"
    return _encode(plain(value))


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii


def fingerprint(*parts: Any) -> str:
    """Hash values to 32 hex digits (SHA-256 of the canonical texts, each length-prefixed).

    >>> fingerprint("ab", "c") == fingerprint("a", "bc")
    False
    """
    return fingerprint_of_texts(map(canonical, parts))


def fingerprint_of_texts(texts: Iterable[str]) -> str:
    """Make the fingerprint from canonical texts."""
    return short_digest(digest_of(texts))


def digest_of(texts: Iterable[str], begun: "_Hash | None" = None) -> "_Hash":
    """Make the digest of a fingerprint from canonical texts, or continue the digest `begun`."""
    digest = begun or hashlib.sha256(b"evalmark-1")
    digest.update(length_prefixed(texts))
    return digest


def length_prefixed(texts: Iterable[str]) -> bytes:
    """Join canonical texts, each prefixed with its length."""
    return b"".join([_FRAMED_CONSTANTS.get(text) or _length_prefixed(text) for text in texts])


def _length_prefixed(text: str) -> bytes:
    return len(text).to_bytes(8, "big") + text.encode("ascii")


_FRAMED_CONSTANTS = {text: _length_prefixed(text) for text in ("null", "[]", "{}", '""', "0")}
"""The most frequent parts of cases and requests, precomputed."""


def short_digest(digest: "_Hash") -> str:
    """Return a digest as a fingerprint of 32 hex digits."""
    return digest.hexdigest()[:32]
