"""Converts the fields of values to JSON and back, and tells whether they may hold secrets.

Users' code fills the fields, so writing accepts anything and turns it into plain data. Reading is strict: a damaged
row raises an error.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from evalmark.core.values.call import Attempt, Reply, Request, Token
from evalmark.core.values.case import Case, Example, Output, ToolCall, Turn
from evalmark.core.values.plain_data import MAX_DEPTH, finite_number, plain
from evalmark.core.values.score import Score
from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.storage.postgres.wire import SurrogateText

_LONGEST_INT = 14_000
"""Bits. Python refuses to print longer integers in decimal, so they are stored as hexadecimal text."""

_dump = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class Field(NamedTuple):
    """How one field is written and read. A field that is None or equals `skip` is left out, unless `skip` is `REQUIRED`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    skip: Any = None
    attribute: str | None = None
    """The attribute that holds it; None: it has the name of the field."""
    plain: type | None = None
    """Values of exactly this type are written and read unchanged, without a call; None: there is no such type."""


REQUIRED = object()
"""As `skip`: the field has no default, so it is always written."""


class Spec(dict[str, Field]):
    """The stored fields of a type, by name."""

    @cached_property
    def dump(self) -> Callable[[Any], dict[str, Any]]:
        """The function behind `dump_fields`, with one line for each field: a loop would take twice as long."""
        return _compile_dump(self)

    @cached_property
    def readers(self) -> Mapping[str, tuple[str, Callable[[Any], Any], type | None]]:
        """The attribute, the reader and the plain type of each field."""
        return {name: (field.attribute or name, field.read, field.plain) for name, field in self.items()}


def _compile_dump(spec: Mapping[str, Field]) -> Callable[[Any], dict[str, Any]]:
    """Compile the function that returns the fields of a value which differ from their defaults."""
    names: dict[str, Any] = {"REQUIRED": REQUIRED}
    lines = ["def dump(value):", "    data = {}"]
    for number, (name, field) in enumerate(spec.items()):
        names |= {
            f"write_{number}": field.write,
            f"skip_{number}": field.skip,
            f"skipped_{number}": type(field.skip),
            f"plain_{number}": field.plain,
        }
        if field.skip is REQUIRED:
            differs = "True"
        elif field.skip is None:
            differs = "item is not None"
        else:
            differs = (
                "item is not skip_{0} and item is not None and (type(item) is not skipped_{0} or item != skip_{0})"
            )
        written = "write_{0}(item)" if field.plain is None else "item if type(item) is plain_{0} else write_{0}(item)"
        lines += [
            f"    item = value.{field.attribute or name}",
            f"    if {differs.format(number)}:",
            f"        data[{name!r}] = {written.format(number)}",
        ]
    exec("\n".join((*lines, "    return data")), names)  # noqa: S102  from the tables of this package alone
    dump: Callable[[Any], dict[str, Any]] = names["dump"]
    return dump


def to_json(data: Any) -> str:
    """Encode plain data as ASCII JSON. Equal data is always spelled the same way.

    Two adjacent lone surrogates that form one character are decoded as that character.
    """
    try:
        return _dump(data)
    except ValueError:
        return _dump(_printable(data))


def to_row_json(data: Any) -> str:
    """Encode plain data as ASCII JSON for a column: faster than `to_json`, but some numbers are spelled differently.

    >>> to_row_json({"a": 1e-7}), to_json({"a": 1e-7})
    ('{"a":1e-7}', '{"a":1e-07}')
    """
    try:
        text = msgspec.json.encode(data)
    except (
        msgspec.EncodeError,
        TypeError,
        ValueError,
    ):  # a lone surrogate, say, or an integer that Python refuses to print
        return to_json(data)
    return text.decode() if text.isascii() else to_json(data)


def from_json(text: str) -> Any:
    """Decode JSON like `json.loads`, but faster where all numbers and characters are usual ones.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):  # a lone surrogate, say, or no JSON at all
        return json.loads(text)


def dump_fields(value: Any, spec: Spec) -> dict[str, Any]:
    """Return the fields of a value that differ from their defaults, as plain data."""
    return spec.dump(value)


def load_fields(kind: Callable[..., Any], spec: Spec, data: object) -> Any:
    """Build a value from the data that `dump_fields` returned.

    Raises:
        ValueError: the data has another form.
    """
    fields, readers = {}, spec.readers
    for name, item in read_object(data).items():
        if (known := readers.get(name)) is None:
            raise ValueError(f"an unknown field {name!r}")
        attribute, read, plain = known
        fields[attribute] = item if type(item) is plain else read(item)
    try:
        return kind(**fields)
    except TypeError as missing:
        raise ValueError(str(missing)) from missing


def sql_text(text: str) -> str | bytes:
    r"""Convert a text for an SQL column: unchanged, or bytes where it holds lone surrogates.

    >>> sql_text("a\x00b"), sql_text("\ud800")
    ('a\x00b', b'\xed\xa0\x80')
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return SurrogateText(text.encode(errors="surrogatepass"))
    return text


def like_pattern(text: str) -> str | bytes:
    """Return an SQL LIKE pattern, escaped with `!`, for texts that contain `text`.

    >>> like_pattern("50%")
    '%50!%%'
    """
    for special in ("!", "%", "_"):
        text = text.replace(special, f"!{special}")
    return sql_text(f"%{text}%")


def like_pattern_in_json(text: str) -> str | bytes:
    r"""Return an SQL LIKE pattern for ASCII JSON that contains `text`.

    >>> print(like_pattern_in_json('a "b" ☺'))
    %a \"b\" \u263a%
    """
    return like_pattern(json.dumps(text)[1:-1])


def from_sql(value: object) -> str:
    """Decode the value that `sql_text` returned."""
    text: str = value.decode(errors="surrogatepass") if isinstance(value, bytes) else read_text(value)
    return text


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return hex(value) if isinstance(value, int) and value.bit_length() > _LONGEST_INT else value


# Writers.


def storable(value: Any, depth: int = 0) -> Any:
    try:
        return plain(value, depth)
    except Exception as error:  # noqa: BLE001  foreign code: the value's own __str__, tolist or model_dump
        if isinstance(value, dict) and depth < MAX_DEPTH:
            return {storable_text(key): storable(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
            return [storable(item, depth + 1) for item in value]
        return f"(a {type(value).__name__} that cannot be stored: {type(error).__name__})"


def sortable_time(moment: str) -> str:
    """Return a time as text that sorts by time, in UTC; empty if it is unknown.

    >>> sortable_time("2026-11-21T10:15:00+02:00"), sortable_time("last week")
    ('2026-11-21T08:15:00.000000+00:00', '')
    """
    try:
        read = datetime.fromisoformat(moment)
        aware = read if read.tzinfo else read.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return ""


def storable_text(value: Any) -> str:
    return value if type(value) is str else str(storable(value))


def storable_texts(value: Any) -> list[str]:
    items = storable(value)
    return [storable_text(item) for item in items] if isinstance(items, list) else [storable_text(items)]


def storable_mapping(value: Any) -> dict[str, Any]:
    found = storable(value)
    return found if isinstance(found, dict) else {"value": found}


def storable_number(value: Any) -> Any:
    number = value if type(value) is float else storable(value)
    return None if finite_number(number) is None else number


def storable_count(value: Any) -> int | None:
    return value if type(value) is int else None


def storable_names(value: Any) -> dict[str, str]:
    return {name: storable_text(item) for name, item in storable_mapping(value).items()}


def storable_token(token: Token) -> list[Any]:
    others = [[storable_text(text), storable(logprob)] for text, logprob in token.others]
    return [storable_text(token.text), storable(token.logprob), *([others] if others else [])]


# Readers.


def of_type(kind: type | tuple[type, ...], what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) in exact:  # nearly always
            return value
        if not isinstance(value, kind) or (numbers and isinstance(value, bool)):
            raise ValueError(f"{type(value).__name__} in the place of {what}")
        return value

    exact = kind if isinstance(kind, tuple) else (kind,)
    numbers = kind not in (bool, str, dict, list)  # bool is a subclass of int
    return check


read_text = of_type(str, "a text")
read_int = of_type(int, "a whole number")
read_object = of_type(dict, "an object")
read_list = of_type(list, "a list")
read_number = of_type((int, float), "a number")


def read_optional_number(value: Any) -> Any:
    return None if value is None else read_number(value)


def read_texts(value: Any) -> tuple[str, ...]:
    return tuple(read_text(item) for item in read_list(value))


def read_optional_count(value: Any) -> Any:
    if value is not None and read_int(value) < 0:
        raise ValueError(f"{value} in the place of a count")
    return value


def _a_logprob(value: Any) -> float:
    """Read a number, or `-inf`, `inf` or `nan`, which JSON cannot express."""
    return float(value if value in ("-inf", "inf", "nan") else read_number(value))


def read_token(data: Any) -> Token:
    match read_list(data):
        case [text, logprob]:
            return Token(read_text(text), _a_logprob(logprob))
        case [text, logprob, others]:
            pairs = tuple((read_text(word), _a_logprob(number)) for word, number in map(read_list, read_list(others)))
            return Token(read_text(text), _a_logprob(logprob), pairs)
    raise ValueError("a list of another length in the place of a token")


def one_of(words: tuple[str, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in words:
            raise ValueError(f"{value!r} in the place of one of {', '.join(words)}")
        return value

    return check


def mapping_of(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {key: check(item) for key, item in read_object(value).items()}


def value_field(kind: type, spec: Spec) -> Field:
    return Field(lambda value: dump_fields(value, spec), lambda data: load_fields(kind, spec, data))


def tuple_field(kind: type, spec: Spec, write: Callable[[Any], Any] | None = None) -> Field:
    single = value_field(kind, spec)
    each = write or single.write
    return Field(
        lambda items: [each(item) for item in items], lambda data: tuple(map(single.read, read_list(data))), ()
    )


# Secrets.

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
    _gather_texts(values, texts, 0)
    together = "\n".join(texts)
    return MASK in together or mask_secrets(together) != together


def _gather_texts(values: Iterable[Any], texts: list[str], depth: int) -> None:
    """Append all texts in these values, whatever users' code has put into them."""
    for value in values:
        kind = type(value)
        if kind is str:
            texts.append(value)
        elif kind in _PLAIN or (kind in _HOLDERS and not value):  # most fields are empty
            continue
        elif (fields := _TEXTS.get(kind)) is not None:
            _gather_texts(fields(value), texts, depth + 1)
        elif kind in _HOLDERS and depth < MAX_DEPTH:
            _gather_texts((*value, *value.values()) if kind is dict else value, texts, depth + 1)
        else:
            texts.append(to_json(storable(value)))
