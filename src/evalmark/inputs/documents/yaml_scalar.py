"""Convert a plain YAML word: typed if all YAML versions agree on it, else text."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import yaml

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_DECIMAL_OR_EXPONENT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_NEWER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MAY_BE_MORE = frozenset("0123456789-+.~tTfFnNyYoO")
_MAX_WORD = 400
"""No number or date is longer; a longer word is text."""


class ScalarError(ValueError):
    """A word whose value is refused."""


@dataclass(frozen=True, slots=True)
class AmbiguousWord:
    """A word that YAML 1.1 or 1.2 reads as something other than text."""

    text: str
    older: Any
    newer: Any


def scalar_value(text: str, as_text: bool) -> Any:
    """Return the value of a plain word, or an `AmbiguousWord` if it stays text and the user should know.

    With `as_text`, a word is typed only if nothing is lost: `42` is a number, `042` and `1.10` are texts.

    >>> scalar_value("12", False), scalar_value("no", True), scalar_value("1.10", True), scalar_value("1.10", False)
    (12, 'no', '1.10', 1.1)

    Raises:
        ScalarError: an infinite or far too large number.
    """
    if text[:1] not in _MAY_BE_MORE or (len(text) > _MAX_WORD and not _WHOLE.fullmatch(text)):
        return None if text == "" else text
    if text in _NULL:
        return None
    if as_text:
        return _lossless(text)
    value = _agreed(text)
    return value if value is not _UNSURE else _ambiguous(text)


_UNSURE = object()


def _lossless(text: str) -> Any:
    """Return the number or boolean whose JSON text is exactly this text, else the text."""
    if text not in ("true", "false") and not (len(text) <= _MAX_WORD and _DECIMAL.fullmatch(text)):
        return text
    value = json.loads(text)
    return value if json.dumps(value) == text else text


def _agreed(text: str) -> Any:
    """Return the value if YAML 1.1 and YAML 1.2 agree on it, else `_UNSURE`."""
    if text in _TRUTH:
        return _TRUTH[text]
    if _WHOLE.fullmatch(text):
        return _whole(text)
    if _DECIMAL_OR_EXPONENT.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise ScalarError(f"{text} is too large for a number; put it in quotes")
        return number
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is not a finite number; write null for an unknown one, or put it in quotes")
    return _UNSURE


def _whole(text: str) -> int:
    try:
        return int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        raise ScalarError(f"a number of {len(text)} digits is too large; put it in quotes") from None


def _ambiguous(text: str) -> Any:
    older, newer = _yaml_1_1(text), _yaml_1_2(text)
    return text if older == text and newer == text else AmbiguousWord(text, older, newer)


def _yaml_1_1(text: str) -> Any:
    """Return the value of a word in YAML 1.1, according to PyYAML."""
    rules = yaml.resolver.Resolver.yaml_implicit_resolvers.get(text[:1], [])
    if not any(rule.match(text) for _, rule in rules):
        return text
    try:
        return yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return "a date"


def _yaml_1_2(text: str) -> Any:
    """Return the value of a word in YAML 1.2."""
    if len(text) > _MAX_WORD or not _NEWER.fullmatch(text):
        return text
    if text.startswith("0o"):
        return int(text, 8)
    return int(text) if text.lstrip("+-").isdigit() else float(text)
