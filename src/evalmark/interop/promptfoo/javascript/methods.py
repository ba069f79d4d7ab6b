"""The methods and global functions of JavaScript that assertions use."""

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .values import (
    SPACES,
    UNDEFINED,
    LimitError,
    Pattern,
    UniqueValues,
    items_of,
    json_text,
    key_of,
    keys_of,
    limited,
    make_pattern,
    number_text,
    parse_json,
    same_value,
    strictly_equal,
    to_integer,
    to_number,
    to_text,
    truthy,
    type_error,
)

Call = Callable[[Any, list[Any]], Any]
"""Calls a function of the program with arguments."""
Method = Callable[[Any, list[Any], Call], Any]
MAX_ITEMS = 200_000


def argument(given: list[Any], at: int) -> Any:
    """Return an argument; `undefined` if it is not given."""
    return given[at] if at < len(given) else UNDEFINED


# Texts.


def _within(value: Any, length: int, default: int) -> int:
    """Return an index from 0 to the length; a negative one counts from the end."""
    index = to_integer(value, default)
    return max(0, index + length) if index < 0 else min(index, length)


def _slice(text: Any, given: list[Any], call: Call) -> Any:
    return text[_within(argument(given, 0), len(text), 0) : _within(argument(given, 1), len(text), len(text))]


def _substring(text: str, given: list[Any], call: Call) -> str:
    bounds = [
        max(0, min(len(text), to_integer(argument(given, at), default))) for at, default in ((0, 0), (1, len(text)))
    ]
    return text[min(bounds) : max(bounds)]


def _substr(text: str, given: list[Any], call: Call) -> str:
    start = _within(argument(given, 0), len(text), 0)
    return text[start : start + max(0, to_integer(argument(given, 1), len(text)))]


def _includes(whole: Any, given: list[Any], call: Call) -> bool:
    searched = argument(given, 0)
    if isinstance(whole, list):
        return any(same_value(item, searched) for item in whole[_within(argument(given, 1), len(whole), 0) :])
    return _plain_text(searched) in whole[max(0, to_integer(argument(given, 1))) :]


def _plain_text(value: Any) -> str:
    if isinstance(value, Pattern):
        raise type_error("a pattern is given instead of a text")
    return to_text(value)


def _index_of(whole: Any, given: list[Any], call: Call) -> float:
    searched = argument(given, 0)
    if isinstance(whole, list):
        start = _within(argument(given, 1), len(whole), 0)
        return float(next((at for at in range(start, len(whole)) if strictly_equal(whole[at], searched)), -1))
    return float(whole.find(to_text(searched), max(0, min(len(whole), to_integer(argument(given, 1))))))


def _last_index_of(whole: Any, given: list[Any], call: Call) -> float:
    searched = argument(given, 0)
    if isinstance(whole, list):
        return float(next((at for at in range(len(whole) - 1, -1, -1) if strictly_equal(whole[at], searched)), -1))
    return float(whole.rfind(to_text(searched)))


def _starts(text: str, given: list[Any], call: Call) -> bool:
    return text.startswith(_plain_text(argument(given, 0)), max(0, min(len(text), to_integer(argument(given, 1)))))


def _ends(text: str, given: list[Any], call: Call) -> bool:
    end = max(0, min(len(text), to_integer(argument(given, 1), len(text))))
    return text[:end].endswith(_plain_text(argument(given, 0)))


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
    return _few(parts)[: max(0, count)]


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


def _few(items: list[Any]) -> list[Any]:
    if len(items) > MAX_ITEMS:
        raise LimitError(f"a list has more than {MAX_ITEMS:,} items")
    return items


def _match_list(match: Any) -> Any:
    return None if match is None else [match[0], *map(_group, match.groups())]


def _matches(text: str, pattern: Pattern) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at <= len(text) and (match := pattern.search(text, at)) is not None:
        found.append(match)
        at = match.end() + (match.end() == match.start())
        _few(found)
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


def _at(whole: Any, given: list[Any], call: Call) -> Any:
    at = to_integer(argument(given, 0))
    return whole[at] if -len(whole) <= at < len(whole) else UNDEFINED


def _concat(whole: Any, given: list[Any], call: Call) -> Any:
    if isinstance(whole, str):
        return limited(whole + "".join(map(to_text, given)))
    return _few(whole + [one for item in given for one in (item if isinstance(item, list) else [item])])


def _normalize(text: str, given: list[Any], call: Call) -> str:
    form = "NFC" if argument(given, 0) is UNDEFINED else to_text(given[0])
    if form not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise type_error(f"{form!r} is not a form of normalize")
    import unicodedata  # noqa: PLC0415  rarely used

    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


TEXT_METHODS: Mapping[str, Method] = {
    "includes": _includes,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "startsWith": _starts,
    "endsWith": _ends,
    "slice": _slice,
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
    "at": _at,
    "concat": _concat,
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


# Lists.


def _each(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    function = argument(given, 0)
    return [call(function, [item, float(at), items]) for at, item in enumerate(list(items))]


def _filter(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    return [item for item, kept in zip(list(items), _each(items, given, call), strict=True) if truthy(kept)]


def _find(items: list[Any], given: list[Any], call: Call) -> tuple[int, Any]:
    for at, item in enumerate(list(items)):
        if truthy(call(argument(given, 0), [item, float(at), items])):
            return at, item
    return -1, UNDEFINED


def _reduce(items: list[Any], given: list[Any], call: Call) -> Any:
    values = list(items)
    if len(given) < 2 and not values:
        raise type_error("reduce of an empty list without a first value")
    start = 1 if len(given) < 2 else 0
    result = given[1] if len(given) > 1 else values[0]
    for at in range(start, len(values)):
        result = call(argument(given, 0), [result, values[at], float(at), items])
    return result


def _sort(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    compare = argument(given, 0)
    rest = [item for item in items if item is UNDEFINED]
    known = [item for item in items if item is not UNDEFINED]
    if compare is UNDEFINED:
        known.sort(key=to_text)
    else:
        known.sort(key=functools.cmp_to_key(lambda left, right: _sign(call(compare, [left, right]))))
    items[:] = known + rest
    return items


def _sign(value: Any) -> int:
    number = to_number(value)
    return (number > 0) - (number < 0)


def _join(items: list[Any], given: list[Any], call: Call) -> str:
    between = "," if argument(given, 0) is UNDEFINED else to_text(given[0])
    return limited(between.join("" if item is None or item is UNDEFINED else to_text(item) for item in items))


def _push(items: list[Any], given: list[Any], call: Call) -> float:
    items += given
    return float(len(_few(items)))


def _unshift(items: list[Any], given: list[Any], call: Call) -> float:
    items[:0] = given
    return float(len(_few(items)))


def _flat(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    depth = min(20, to_integer(argument(given, 0), 1))
    flat = list(items)
    for _ in range(depth):
        flat = _few([one for item in flat for one in (item if isinstance(item, list) else [item])])
    return flat


def _flat_map(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    return _flat(_each(items, given, call), [], call)


def _reverse(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    items.reverse()
    return items


def _for_each(items: list[Any], given: list[Any], call: Call) -> Any:
    _each(items, given, call)
    return UNDEFINED


LIST_METHODS: Mapping[str, Method] = {
    "includes": _includes,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "slice": _slice,
    "at": _at,
    "concat": _concat,
    "map": _each,
    "forEach": _for_each,
    "filter": _filter,
    "some": lambda items, given, call: _find(items, given, call)[0] >= 0,
    "every": lambda items, given, call: all(
        truthy(call(argument(given, 0), [item, float(at), items])) for at, item in enumerate(list(items))
    ),
    "find": lambda items, given, call: _find(items, given, call)[1],
    "findIndex": lambda items, given, call: float(_find(items, given, call)[0]),
    "reduce": _reduce,
    "sort": _sort,
    "reverse": _reverse,
    "join": _join,
    "push": _push,
    "pop": lambda items, given, call: items.pop() if items else UNDEFINED,
    "shift": lambda items, given, call: items.pop(0) if items else UNDEFINED,
    "unshift": _unshift,
    "flat": _flat,
    "flatMap": _flat_map,
    "keys": lambda items, given, call: [float(at) for at in range(len(items))],
    "values": lambda items, given, call: list(items),
    "entries": lambda items, given, call: [[float(at), item] for at, item in enumerate(items)],
    "toString": lambda items, given, call: to_text(items),
}


# Numbers, patterns, sets and objects.


def _fixed(number: float, given: list[Any], call: Call) -> str:
    digits = to_integer(argument(given, 0))
    if not 0 <= digits <= 100:
        raise type_error("toFixed takes from 0 to 100 digits")
    if not math.isfinite(number) or abs(number) >= 1e21:
        return number_text(number)
    from decimal import ROUND_HALF_UP, Decimal  # noqa: PLC0415  rarely used

    text = str(Decimal(abs(number)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
    return f"-{text}" if number < 0 and Decimal(text) != 0 else text


def _exec(pattern: Pattern, given: list[Any], call: Call) -> Any:
    return _match_list(_next_match(pattern, to_text(argument(given, 0))))


def _next_match(pattern: Pattern, text: str) -> Any:
    """Find the next match of a global pattern, which remembers its place."""
    match = pattern.search(text, pattern.last) if pattern.last <= len(text) else None
    if pattern.is_global:
        pattern.last = match.end() if match else 0
    return match


def _add(values: UniqueValues, given: list[Any], call: Call) -> UniqueValues:
    key = argument(given, 0)
    values.entries[key_of(key)] = (key, argument(given, 1))
    return values


def _delete(values: UniqueValues, given: list[Any], call: Call) -> bool:
    return values.entries.pop(key_of(argument(given, 0)), None) is not None


def _for_each_entry(values: UniqueValues, given: list[Any], call: Call) -> Any:
    for key, item in list(values.entries.values()):
        call(argument(given, 0), [item if values.is_map else key, key, values])
    return UNDEFINED


NUMBER_METHODS: Mapping[str, Method] = {
    "toFixed": _fixed,
    "toString": lambda number, given, call: to_text(number),
    "valueOf": lambda number, given, call: number,
}
PATTERN_METHODS: Mapping[str, Method] = {
    "test": lambda pattern, given, call: _next_match(pattern, to_text(argument(given, 0))) is not None,
    "exec": _exec,
}
UNIQUE_METHODS: Mapping[str, Method] = {
    "has": lambda values, given, call: key_of(argument(given, 0)) in values.entries,
    "get": lambda values, given, call: values.entries.get(key_of(argument(given, 0)), (None, UNDEFINED))[1],
    "add": _add,
    "set": _add,
    "delete": _delete,
    "forEach": _for_each_entry,
    "keys": lambda values, given, call: [key for key, _ in values.entries.values()],
    "values": lambda values, given, call: [item if values.is_map else key for key, item in values.entries.values()],
    "entries": lambda values, given, call: [[key, item] for key, item in values.entries.values()],
}
OBJECT_METHODS: Mapping[str, Method] = {
    "hasOwnProperty": lambda value, given, call: to_text(argument(given, 0)) in value,
    "toString": lambda value, given, call: to_text(value),
}
METHODS: tuple[tuple[type, Mapping[str, Method]], ...] = (
    (str, TEXT_METHODS),
    (list, LIST_METHODS),
    (bool, {name: NUMBER_METHODS[name] for name in ("toString", "valueOf")}),
    (float, NUMBER_METHODS),
    (Pattern, PATTERN_METHODS),
    (UniqueValues, UNIQUE_METHODS),
    (dict, OBJECT_METHODS),
)
METHOD_NAMES = frozenset(name for _, methods in METHODS for name in methods)


# Global functions.


def new_pattern(given: list[Any]) -> Pattern:
    """Make the pattern of `new RegExp(…)`."""
    source, flags = argument(given, 0), argument(given, 1)
    text = source.source if isinstance(source, Pattern) else "" if source is UNDEFINED else to_text(source)
    own = source.flags if isinstance(source, Pattern) else ""
    try:
        return make_pattern(text or "(?:)", own if flags is UNDEFINED else to_text(flags))
    except ValueError as error:
        raise LimitError(f"the pattern /{text}/ is not supported: {error}") from None


def _new_unique(is_map: bool, given: list[Any]) -> UniqueValues:
    first = argument(given, 0)
    values = UniqueValues(is_map)
    for item in items_of(first) if first is not UNDEFINED and first is not None else []:
        pair = item if is_map else [item, item]
        values.entries[key_of(pair[0])] = (pair[0], pair[1])
    return values


def _error(name: str) -> Callable[[list[Any]], Any]:
    def make(given: list[Any]) -> dict[str, Any]:
        message = argument(given, 0)
        return {"name": name, "message": "" if message is UNDEFINED else to_text(message)}

    return make


CONSTRUCTORS: Mapping[str, Callable[[list[Any]], Any]] = {
    "Set": lambda given: _new_unique(False, given),
    "Map": lambda given: _new_unique(True, given),
    "RegExp": new_pattern,
    **{name: _error(name) for name in ("Error", "TypeError", "RangeError", "SyntaxError")},
}


def _parse_int(given: list[Any]) -> float:
    base = to_integer(argument(given, 1)) or 10
    text = to_text(argument(given, 0)).strip(SPACES)
    if base == 16 or (argument(given, 1) is UNDEFINED and re.match(r"[+-]?0[xX]", text)):
        text, base = re.sub(r"^([+-]?)0[xX]", r"\1", text), 16
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[: base if 2 <= base <= 36 else 0]
    match = re.match(f"[+-]?[{digits}]+", text, re.IGNORECASE) if digits else None
    return float(int(match[0], base)) if match else math.nan


def _parse_float(given: list[Any]) -> float:
    text = to_text(argument(given, 0)).strip(SPACES)
    match = re.match(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", text)
    return to_number(match[0]) if match else math.nan


def _entries(given: list[Any]) -> list[Any]:
    value = argument(given, 0)
    if isinstance(value, dict):
        return [[key, value[key]] for key in keys_of(value)]
    if isinstance(value, (list, str)):
        return [[str(at), item] for at, item in enumerate(value)]
    if value is None or value is UNDEFINED:
        raise type_error("null or undefined is not an object")
    return []


def _from(given: list[Any], call: Call) -> list[Any]:
    value, function = argument(given, 0), argument(given, 1)
    if isinstance(value, dict):
        count = to_integer(value.get("length", 0.0))
        if count > MAX_ITEMS:
            raise LimitError("a list grows too long")
        items: list[Any] = [UNDEFINED] * max(0, count)
    else:
        items = items_of(value)
    return items if function is UNDEFINED else _each(items, [function], call)


def _stringify(given: list[Any]) -> Any:
    value, chosen, space = (argument(given, at) for at in range(3))
    if chosen is not None and chosen is not UNDEFINED:
        raise LimitError("JSON.stringify with a second argument is not supported")
    indent = " " * min(10, max(0, int(space))) if isinstance(space, float) else space if isinstance(space, str) else ""
    return json_text(value, indent[:10])


def _round(number: float) -> float:
    return float(math.floor(number + 0.5)) if math.isfinite(number) and abs(number) < 2**52 else number


def _of_number(function: Callable[[float], float]) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        number = to_number(argument(given, 0))
        try:
            return float(function(number)) if math.isfinite(number) else number
        except (ValueError, OverflowError):
            return math.nan

    return compute


def _logarithm(function: Callable[[float], float]) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        number = to_number(argument(given, 0))
        if number == 0:
            return -math.inf
        return function(number) if number > 0 else math.nan

    return compute


def _extreme(choose: Callable[[list[float]], float], empty: float) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        numbers = list(map(to_number, given))
        return math.nan if any(map(math.isnan, numbers)) else choose(numbers) if numbers else empty

    return compute


def power(base: float, exponent: float) -> float:
    """Compute `base ** exponent` as JavaScript does."""
    try:
        result = base**exponent
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf
    return math.nan if isinstance(result, complex) else float(result)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value == int(value)


def _assign(given: list[Any]) -> Any:
    target = argument(given, 0)
    if not isinstance(target, dict):
        raise type_error("Object.assign needs an object")
    for source in given[1:]:
        target.update(source if isinstance(source, dict) else {})
    return target


def _from_codes(given: list[Any]) -> str:
    return "".join(chr(to_integer(code) & 0xFFFF) for code in given)


MEMBERS: Mapping[str, Mapping[str, Callable[[list[Any], Call], Any]]] = {
    "JSON": {
        "parse": lambda given, call: parse_json(to_text(argument(given, 0))),
        "stringify": lambda given, call: _stringify(given),
    },
    "Object": {
        "keys": lambda given, call: [key for key, _ in _entries(given)],
        "values": lambda given, call: [item for _, item in _entries(given)],
        "entries": lambda given, call: _entries(given),
        "fromEntries": lambda given, call: {to_text(pair[0]): pair[1] for pair in items_of(argument(given, 0))},
        "assign": lambda given, call: _assign(given),
    },
    "Array": {
        "isArray": lambda given, call: isinstance(argument(given, 0), list),
        "from": _from,
        "of": lambda given, call: given,
    },
    "Number": {
        "isInteger": lambda given, call: _is_whole(argument(given, 0)),
        "isFinite": lambda given, call: isinstance(argument(given, 0), float) and math.isfinite(given[0]),
        "isNaN": lambda given, call: isinstance(argument(given, 0), float) and math.isnan(given[0]),
        "parseFloat": lambda given, call: _parse_float(given),
        "parseInt": lambda given, call: _parse_int(given),
    },
    "String": {"fromCharCode": lambda given, call: _from_codes(given)},
    "console": dict.fromkeys(("log", "warn", "error", "info", "debug"), lambda given, call: UNDEFINED),
    "Math": {
        name: (lambda given, call, compute=compute: compute(given))  # type: ignore[misc]
        for name, compute in {
            "abs": _of_number(abs),
            "floor": _of_number(math.floor),
            "ceil": _of_number(math.ceil),
            "trunc": _of_number(math.trunc),
            "round": _of_number(_round),
            "sqrt": _of_number(math.sqrt),
            "exp": _of_number(math.exp),
            "sign": _of_number(_sign),
            "log": _logarithm(math.log),
            "log10": _logarithm(math.log10),
            "log2": _logarithm(math.log2),
            "max": _extreme(max, -math.inf),
            "min": _extreme(min, math.inf),
            "pow": lambda given: power(to_number(argument(given, 0)), to_number(argument(given, 1))),
        }.items()
    },
}
CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "Math": {"PI": math.pi, "E": math.e},
    "Number": {"MAX_SAFE_INTEGER": float(2**53 - 1), "EPSILON": 2.0**-52},
}
FUNCTIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "String": lambda given: to_text(given[0]) if given else "",
    "Number": lambda given: to_number(given[0]) if given else 0.0,
    "Boolean": lambda given: truthy(argument(given, 0)),
    "parseInt": _parse_int,
    "parseFloat": _parse_float,
    "isNaN": lambda given: math.isnan(to_number(argument(given, 0))),
    "isFinite": lambda given: math.isfinite(to_number(argument(given, 0))),
    **{name: CONSTRUCTORS[name] for name in ("RegExp", "Error", "TypeError", "RangeError", "SyntaxError")},
}
VALUES: Mapping[str, Any] = {"undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf}
GLOBALS = frozenset((*MEMBERS, *FUNCTIONS, *VALUES, *CONSTRUCTORS))


def property_of(value: Any, key: Any) -> Any:
    """Return a property of a value.

    Raises:
        ThrownError: The value is null or undefined.
    """
    if value is None or value is UNDEFINED:
        raise type_error(f"a property of {to_text(value)} is read: {to_text(key)}")
    name = to_text(key)
    if isinstance(value, dict):
        return value.get(name, UNDEFINED)
    if isinstance(value, (str, list)):
        if name == "length":
            return float(len(value))
        is_index = name.isdecimal() and name.isascii() and len(name) < 10
        return value[int(name)] if is_index and int(name) < len(value) else UNDEFINED
    if isinstance(value, UniqueValues) and name == "size":
        return float(len(value.entries))
    if isinstance(value, Pattern):
        return {"source": value.source, "flags": value.flags, "lastIndex": float(value.last)}.get(name, UNDEFINED)
    return UNDEFINED


def method_of(value: Any, name: str) -> Method | None:
    """Return a built-in method of a value; None if it has none of that name."""
    return next((methods.get(name) for kind, methods in METHODS if isinstance(value, kind)), None)
