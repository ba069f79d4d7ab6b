"""The values of JavaScript in Python, and its conversions.

Numbers are floats, texts are in UTF-16 code units, lists and mappings are those of Python, and null is None.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.lazy import need
from evalmark.interop.promptfoo.patterns import python_pattern

MAX_CHARS = 5_000_000
"""The longest text that is made."""
PATTERN_SECONDS = 1.0
SPACES = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class Undefined:
    """The type of `undefined`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the name in JavaScript."""
        return "undefined"


UNDEFINED = Undefined()


class ThrownError(Exception):
    """JavaScript throws an error."""

    def __init__(self, value: Any) -> None:
        super().__init__(to_text(value.get("message", "")) if isinstance(value, dict) else "an error is thrown")
        self.value = value


class LimitError(Exception):
    """The computation takes more steps, depth or memory than allowed."""


@dataclass(slots=True)
class Pattern:
    """A regular expression."""

    source: str
    flags: str
    compiled: Any
    last: int = 0
    """Where the next match of a global pattern begins."""

    @property
    def is_global(self) -> bool:
        return "g" in self.flags or "y" in self.flags

    def search(self, text: str, at: int = 0) -> Any:
        """Return the first match from a position; None if there is none."""
        find = self.compiled.match if "y" in self.flags else self.compiled.search
        try:
            return find(text, at, timeout=PATTERN_SECONDS)
        except TimeoutError:
            raise LimitError(f"the pattern /{self.source}/ takes longer than {PATTERN_SECONDS:g} s") from None


@dataclass(slots=True)
class UniqueValues:
    """A Set, or the entries of a Map; by the keys of `key_of`."""

    is_map: bool
    entries: dict[Any, tuple[Any, Any]] = field(default_factory=dict)


def make_pattern(source: str, flags: str) -> Pattern:
    """Compile a pattern.

    Raises:
        ValueError: The pattern or a flag is not supported; the text has the reason.
    """
    if set(flags) - set("gimsuy") or len(set(flags)) < len(flags):
        raise ValueError(f"the flags {flags!r} of a pattern are not supported")
    if "u" in flags and not source.isascii() and any("\ud800" <= sign <= "\udfff" for sign in source):
        raise ValueError("a pattern with the flag u and characters of two units is not supported")
    text = python_pattern(source, is_multiline="m" in flags, dot_all="s" in flags, is_unicode="u" in flags)
    module = need("regex")
    return Pattern(source, flags, module.compile(text, module.IGNORECASE if "i" in flags else 0))


def type_error(what: str) -> ThrownError:
    return ThrownError({"name": "TypeError", "message": what})


def from_python(value: Any, depth: int = 0) -> Any:
    """Convert plain data to values of JavaScript."""
    if depth > 200:
        raise LimitError("the data is nested too deeply")
    if isinstance(value, str):
        return to_units(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 2**1023 else math.inf
    if isinstance(value, (list, tuple)):
        return [from_python(item, depth + 1) for item in value]
    if hasattr(value, "items"):
        return {to_units(str(key)): from_python(item, depth + 1) for key, item in value.items()}
    return to_units(str(value))


def to_units(text: str) -> str:
    """Return a text with a character for each UTF-16 code unit.

    >>> len(to_units("🙂"))
    2
    """
    if text.isascii() or max(text) < "\U00010000":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(data[at] | data[at + 1] << 8) for at in range(0, len(data), 2))


def from_units(text: str) -> str:
    """Return a text of code units as a text of Python, with a replacement for half characters."""
    if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def truthy(value: Any) -> bool:
    if isinstance(value, float):
        return value != 0 and not math.isnan(value)
    if isinstance(value, str):
        return value != ""
    return value is not None and value is not UNDEFINED and value is not False


def type_of(value: Any) -> str:
    if value is UNDEFINED:
        return "undefined"
    for kind, name in ((bool, "boolean"), (float, "number"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "function" if callable(value) else "object"


def number_text(value: float) -> str:
    """Return a number as JavaScript writes it.

    >>> number_text(2.0), number_text(1e21), number_text(1e-7), number_text(0.1)
    ('2', '1e+21', '1e-7', '0.1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    sign = "-" if value < 0 else ""
    digits = mantissa.replace(".", "")
    point = len(mantissa.split(".")[0]) + int(exponent or 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    stripped = stripped.rstrip("0")
    if 0 < point <= 21:
        whole = stripped[:point].ljust(point, "0")
        return f"{sign}{whole}{'.' + stripped[point:] if len(stripped) > point else ''}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{stripped}"
    rest = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{sign}{stripped[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def to_text(value: Any) -> str:
    """Convert a value to a text, as `String(value)` does."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return number_text(value)
    return "undefined" if value is UNDEFINED else _object_text(value)


def _object_text(value: Any) -> str:
    if isinstance(value, list):
        return _joined(value)
    if isinstance(value, Pattern):
        return f"/{value.source}/{value.flags}"
    if isinstance(value, dict) and value.keys() >= {"name", "message"} and str(value["name"]).endswith("Error"):
        return f"{value['name']}: {to_text(value['message'])}"
    if callable(value):
        raise type_error("a function is not converted to a text")
    return "[object Object]"


def _joined(value: list[Any], depth: int = 0) -> str:
    if depth > 50:
        raise LimitError("a list is nested too deeply")
    return limited(
        ",".join(
            ""
            if item is None or item is UNDEFINED
            else _joined(item, depth + 1)
            if isinstance(item, list)
            else to_text(item)
            for item in value
        )
    )


def limited(text: str) -> str:
    if len(text) > MAX_CHARS:
        raise LimitError(f"a text grows longer than {MAX_CHARS:,} characters")
    return text


def to_number(value: Any) -> float:
    """Convert a value to a number, as `Number(value)` does."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or value is None:
        return float(bool(value))
    if value is UNDEFINED:
        return math.nan
    text = to_text(value).strip(SPACES)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    if text in ("Infinity", "+Infinity", "-Infinity"):
        return -math.inf if text[0] == "-" else math.inf
    match = re.fullmatch(r"0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)", text)
    return float(int(text, 0)) if match else math.nan


def to_integer(value: Any, default: int = 0) -> int:
    """Convert a value to a whole number within the limits of a length; NaN is 0."""
    if value is UNDEFINED:
        return default
    number = to_number(value)
    if math.isnan(number):
        return 0
    return int(max(-(2**53), min(2**53, number)))


def strictly_equal(left: Any, right: Any) -> bool:
    """Compare with `===`."""
    for kind in (bool, float, str):
        if isinstance(left, kind) or isinstance(right, kind):
            return isinstance(left, kind) and isinstance(right, kind) and left == right
    return left is right


def loosely_equal(left: Any, right: Any) -> bool:
    """Compare with `==`."""
    empty = (None, UNDEFINED)
    if any(left is one for one in empty) or any(right is one for one in empty):
        return any(left is one for one in empty) and any(right is one for one in empty)
    if isinstance(left, bool) or isinstance(right, bool):
        is_same = isinstance(left, bool) and isinstance(right, bool)
        return left == right if is_same else loosely_equal(_unboxed(left), _unboxed(right))
    plain = (str, float)
    if not isinstance(left, plain) and not isinstance(right, plain):
        return left is right
    left, right = (value if isinstance(value, plain) else to_text(value) for value in (left, right))
    return left == right if type(left) is type(right) else to_number(left) == to_number(right)


def _unboxed(value: Any) -> Any:
    return float(value) if isinstance(value, bool) else value


def same_value(left: Any, right: Any) -> bool:
    """Compare as `includes` does: NaN equals itself."""
    both = isinstance(left, float) and isinstance(right, float)
    return (both and math.isnan(left) and math.isnan(right)) or strictly_equal(left, right)


def key_of(value: Any) -> Any:
    """Return a key by which equal values are the same in a Set or a Map."""
    if isinstance(value, float) and math.isnan(value):
        return ("number", "NaN")
    return (type_of(value), value if isinstance(value, (str, float, bool)) else id(value))


def keys_of(value: dict[str, Any]) -> list[str]:
    """Return the keys of an object in JavaScript's order: whole numbers first."""
    numbers = [
        key for key in value if key.isdecimal() and key.isascii() and (key == "0" or key[0] != "0") and len(key) < 10
    ]
    if not numbers:
        return list(value)
    return sorted(numbers, key=int) + [key for key in value if key not in set(numbers)]


def items_of(value: Any) -> list[Any]:
    """Return the values over which a loop goes.

    Raises:
        ThrownError: The value has none.
    """
    if isinstance(value, list):
        return list(value)
    if isinstance(value, str):
        return characters_of(value)
    if isinstance(value, UniqueValues):
        return [[key, item] if value.is_map else key for key, item in value.entries.values()]
    raise type_error(f"{type_of(value)} is not iterable")


def characters_of(text: str) -> list[str]:
    """Return the characters of a text, with both halves of a pair together."""
    if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text):
        return list(text)
    return re.findall("[\ud800-\udbff][\udc00-\udfff]|[\\s\\S]", text)


def parse_json(text: str) -> Any:
    """Parse JSON as `JSON.parse` does.

    Raises:
        ThrownError: The text is not JSON.
    """

    def refuse(word: str) -> Any:
        raise ValueError(word)

    try:
        return from_python(json.loads(from_units(text), parse_constant=refuse, parse_int=float))
    except RecursionError:
        raise LimitError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ThrownError({"name": "SyntaxError", "message": f"the text is not JSON: {error}"}) from None


def json_text(value: Any, indent: str = "") -> Any:
    """Write JSON as `JSON.stringify` does; `undefined` for what has no JSON."""
    return _written(value, indent, "\n" if indent else "", 0)


def _written(value: Any, indent: str, line: str, depth: int) -> Any:
    if depth > 100:
        raise LimitError("the data is nested too deeply")
    if value is UNDEFINED or callable(value):
        return UNDEFINED
    if isinstance(value, float):
        return number_text(value) if math.isfinite(value) else "null"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return to_text(value)
    inner = line + indent
    if isinstance(value, list):
        parts: Iterable[str] = [
            "null" if (one := _written(item, indent, inner, depth + 1)) is UNDEFINED else one for item in value
        ]
        return _bracketed("[]", parts, line, inner)
    entries = (
        [(key, _written(value[key], indent, inner, depth + 1)) for key in keys_of(value)]
        if isinstance(value, dict)
        else []
    )
    between = ": " if indent else ":"
    parts = [f"{json.dumps(key, ensure_ascii=False)}{between}{text}" for key, text in entries if text is not UNDEFINED]
    return _bracketed("{}", parts, line, inner)


def _bracketed(signs: str, parts: Iterable[str], line: str, inner: str) -> str:
    body = f",{inner}".join(parts)
    return limited(f"{signs[0]}{inner}{body}{line}{signs[1]}" if body else signs)


Function = Callable[..., Any]


def to_python(value: Any, depth: int = 0) -> Any:
    """Convert a value of JavaScript to plain data; whole numbers become integers, and `undefined` None."""
    if depth > 200:
        raise LimitError("the data is nested too deeply")
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else value
    if isinstance(value, str):
        return from_units(value)
    if isinstance(value, list):
        return [to_python(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {from_units(key): to_python(item, depth + 1) for key, item in value.items()}
    return value if value is None or isinstance(value, bool) else None if value is UNDEFINED else to_text(value)
