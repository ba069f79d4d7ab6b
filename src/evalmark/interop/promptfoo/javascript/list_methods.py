"""Methods of JavaScript's arrays."""

import functools
from collections.abc import Mapping
from typing import Any

from .sequence_methods import (
    Call,
    Method,
    argument,
    concatenated,
    first_index,
    has_item,
    item_at,
    last_index,
    limited_items,
    slice_of,
)
from .values import (
    UNDEFINED,
    limited,
    to_integer,
    to_number,
    to_text,
    truthy,
    type_error,
)


def mapped_items(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    function = argument(given, 0)
    return [call(function, [item, float(at), items]) for at, item in enumerate(list(items))]


def _filter(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    return [item for item, kept in zip(list(items), mapped_items(items, given, call), strict=True) if truthy(kept)]


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
        known.sort(key=functools.cmp_to_key(lambda left, right: sign_of(call(compare, [left, right]))))
    items[:] = known + rest
    return items


def sign_of(value: Any) -> int:
    number = to_number(value)
    return (number > 0) - (number < 0)


def _join(items: list[Any], given: list[Any], call: Call) -> str:
    between = "," if argument(given, 0) is UNDEFINED else to_text(given[0])
    return limited(between.join("" if item is None or item is UNDEFINED else to_text(item) for item in items))


def _push(items: list[Any], given: list[Any], call: Call) -> float:
    items += given
    return float(len(limited_items(items)))


def _unshift(items: list[Any], given: list[Any], call: Call) -> float:
    items[:0] = given
    return float(len(limited_items(items)))


def _flat(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    depth = min(20, to_integer(argument(given, 0), 1))
    flat = list(items)
    for _ in range(depth):
        flat = limited_items([one for item in flat for one in (item if isinstance(item, list) else [item])])
    return flat


def _flat_map(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    return _flat(mapped_items(items, given, call), [], call)


def _reverse(items: list[Any], given: list[Any], call: Call) -> list[Any]:
    items.reverse()
    return items


def _for_each(items: list[Any], given: list[Any], call: Call) -> Any:
    mapped_items(items, given, call)
    return UNDEFINED


LIST_METHODS: Mapping[str, Method] = {
    "includes": has_item,
    "indexOf": first_index,
    "lastIndexOf": last_index,
    "slice": slice_of,
    "at": item_at,
    "concat": concatenated,
    "map": mapped_items,
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
