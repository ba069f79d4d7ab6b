"""Methods of JavaScript's strings and patterns."""

import functools
import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from .sequence_methods import (
    MAX_ITEMS,
    Call,
    Method,
    argument,
    concatenated,
    first_index,
    has_item,
    index_within,
    item_at,
    last_index,
    limited_items,
    plain_text,
    slice_of,
)
from .values import (
    SPACES,
    UNDEFINED,
    LimitError,
    Pattern,
    limited,
    make_pattern,
    to_integer,
    to_text,
    type_error,
)


def _substring(text: str, given: list[Any], call: Call) -> str:
    bounds = [
        max(0, min(len(text), to_integer(argument(given, at), default))) for at, default in ((0, 0), (1, len(text)))
    ]
    return text[min(bounds) : max(bounds)]


def _substr(text: str, given: list[Any], call: Call) -> str:
    start = index_within(argument(given, 0), len(text), 0)
    return text[start : start + max(0, to_integer(argument(given, 1), len(text)))]


def _starts(text: str, given: list[Any], call: Call) -> bool:
    return text.startswith(plain_text(argument(given, 0)), max(0, min(len(text), to_integer(argument(given, 1)))))


def _ends(text: str, given: list[Any], call: Call) -> bool:
    end = max(0, min(len(text), to_integer(argument(given, 1), len(text))))
    return text[:end].endswith(plain_text(argument(given, 0)))


def _split(text: str, given: list[Any], call: Call) -> list[Any]:
    between, most = argument(given, 0), argument(given, 1)
    count = MAX_ITEMS if most is UNDEFINED else to_integer(most)
    if between is UNDEFINED:
        parts: list[Any] = [text]
    elif isinstance(between, Pattern):
        parts = _split_by_pattern(text, between)
    else:
        sign = to_text(between)
        parts = text.split(sign) if sign else list(text)
    return limited_items(parts)[: max(0, count)]


def _split_by_pattern(text: str, pattern: Pattern) -> list[Any]:
    if not text:
        return [] if pattern.search(text) else [text]
    parts: list[Any] = []
    start = at = 0
    while at < len(text) and (match := pattern.search(text, at)) is not None and match.start() < len(text):
        if match.end() == start:  # nothing, where the last part ended
            at = match.start() + 1
            continue
        parts += [text[start : match.start()], *map(_group, match.groups())]
        start = at = match.end()
    return [*parts, text[start:]]


def _group(found: str | None) -> Any:
    return UNDEFINED if found is None else found


def _match_list(match: Any) -> Any:
    return None if match is None else [match[0], *map(_group, match.groups())]


def _matches(text: str, pattern: Pattern) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at <= len(text) and (match := pattern.search(text, at)) is not None:
        found.append(match)
        at = match.end() + (match.end() == match.start())
        limited_items(found)
    return found


def _match(text: str, given: list[Any], call: Call) -> Any:
    pattern = _pattern(argument(given, 0))
    if "g" not in pattern.flags:
        return _match_list(pattern.search(text))
    return [match[0] for match in _matches(text, pattern)] or None


def _match_all(text: str, given: list[Any], call: Call) -> list[Any]:
    pattern = _pattern(argument(given, 0))
    if "g" not in pattern.flags:
        raise type_error("matchAll needs a pattern with the flag g")
    return [_match_list(match) for match in _matches(text, pattern)]


def _pattern(value: Any) -> Pattern:
    if isinstance(value, Pattern):
        return value
    return new_pattern([value])


def _search(text: str, given: list[Any], call: Call) -> float:
    match = _pattern(argument(given, 0)).search(text)
    return float(match.start()) if match else -1.0


def _replace(text: str, given: list[Any], call: Call, every: bool = False) -> str:
    searched, by = argument(given, 0), argument(given, 1)
    if isinstance(searched, Pattern):
        if every and "g" not in searched.flags:
            raise type_error("replaceAll needs a pattern with the flag g")
        first = [] if "g" in searched.flags else [searched.search(text)]
        matches = [match for match in first if match] if "g" not in searched.flags else _matches(text, searched)
        spans = [(match.span(), [match[0], *map(_group, match.groups())]) for match in matches]
    else:
        sign = to_text(searched)
        found = re.finditer(re.escape(sign), text)
        spans = [(match.span(), [match[0]]) for match in found][: None if every else 1]
    parts: list[str] = []
    at = 0
    for (start, end), groups in spans:
        parts += [text[at:start], _replacement(by, groups, text, (start, end), call)]
        at = end
    return limited("".join([*parts, text[at:]]))


def _replacement(by: Any, groups: list[Any], text: str, span: tuple[int, int], call: Call) -> str:
    if callable(by):
        return to_text(call(by, [*groups, float(span[0]), text]))

    def filled(match: re.Match[str]) -> str:
        sign = match[1]
        whole = {"$": "$", "&": groups[0], "`": text[: span[0]], "'": text[span[1] :]}
        if sign in whole:
            return str(whole[sign])
        if int(sign) in range(1, len(groups)):
            return "" if groups[int(sign)] is UNDEFINED else to_text(groups[int(sign)])
        return match[0]

    return re.sub(r"\$([$&`']|[0-9]{1,2})", filled, to_text(by))


def _pad(text: str, given: list[Any], call: Call, at_end: bool = False) -> str:
    sign = " " if argument(given, 1) is UNDEFINED else to_text(given[1])
    lacking = to_integer(argument(given, 0)) - len(text)
    if lacking <= 0 or not sign:
        return text
    limited(" " * min(lacking, 10**7))
    filler = (sign * (lacking // len(sign) + 1))[:lacking]
    return text + filler if at_end else filler + text


def _repeat(text: str, given: list[Any], call: Call) -> str:
    times = to_integer(argument(given, 0))
    if times < 0 or times * max(1, len(text)) > 5_000_000:
        raise LimitError("a text grows too long")
    return text * times


def _code(text: str, given: list[Any], call: Call) -> Any:
    at = to_integer(argument(given, 0))
    return float(ord(text[at])) if 0 <= at < len(text) else math.nan


def _char(text: str, given: list[Any], call: Call) -> str:
    at = to_integer(argument(given, 0))
    return text[at] if 0 <= at < len(text) else ""


def _normalize(text: str, given: list[Any], call: Call) -> str:
    form = "NFC" if argument(given, 0) is UNDEFINED else to_text(given[0])
    if form not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise type_error(f"{form!r} is not a form of normalize")
    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


TEXT_METHODS: Mapping[str, Method] = {
    "includes": has_item,
    "indexOf": first_index,
    "lastIndexOf": last_index,
    "startsWith": _starts,
    "endsWith": _ends,
    "slice": slice_of,
    "substring": _substring,
    "substr": _substr,
    "split": _split,
    "match": _match,
    "matchAll": _match_all,
    "search": _search,
    "replace": _replace,
    "replaceAll": functools.partial(_replace, every=True),
    "padStart": _pad,
    "padEnd": functools.partial(_pad, at_end=True),
    "repeat": _repeat,
    "charCodeAt": _code,
    "charAt": _char,
    "at": item_at,
    "concat": concatenated,
    "normalize": _normalize,
    "toLowerCase": lambda text, given, call: text.lower(),
    "toLocaleLowerCase": lambda text, given, call: text.lower(),
    "toUpperCase": lambda text, given, call: text.upper(),
    "toLocaleUpperCase": lambda text, given, call: text.upper(),
    "trim": lambda text, given, call: text.strip(SPACES),
    "trimStart": lambda text, given, call: text.lstrip(SPACES),
    "trimEnd": lambda text, given, call: text.rstrip(SPACES),
    "toString": lambda text, given, call: text,
    "valueOf": lambda text, given, call: text,
}


def _exec(pattern: Pattern, given: list[Any], call: Call) -> Any:
    return _match_list(_next_match(pattern, to_text(argument(given, 0))))


def _next_match(pattern: Pattern, text: str) -> Any:
    """Find the next match of a global pattern, which remembers its place."""
    match = pattern.search(text, pattern.last) if pattern.last <= len(text) else None
    if pattern.is_global:
        pattern.last = match.end() if match else 0
    return match


PATTERN_METHODS: Mapping[str, Method] = {
    "test": lambda pattern, given, call: _next_match(pattern, to_text(argument(given, 0))) is not None,
    "exec": _exec,
}


def new_pattern(given: list[Any]) -> Pattern:
    """Make the pattern of `new RegExp(…)`."""
    source, flags = argument(given, 0), argument(given, 1)
    text = source.source if isinstance(source, Pattern) else "" if source is UNDEFINED else to_text(source)
    own = source.flags if isinstance(source, Pattern) else ""
    try:
        return make_pattern(text or "(?:)", own if flags is UNDEFINED else to_text(flags))
    except ValueError as error:
        raise LimitError(f"the pattern /{text}/ is not supported: {error}") from None
