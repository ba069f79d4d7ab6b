"""Check data against a JSON Schema, for the part of draft 2020-12 that the suite schema uses.

The `jsonschema` library is not used here because loading it takes longer than running a small suite.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from evalmark.inputs.documents.document import DataPath

Schema = Mapping[str, Any]


class Mismatch(NamedTuple):
    """A value that violates a rule of the schema."""

    at: DataPath
    rule: str
    """The keyword of the schema."""
    found: Any
    schema: Schema
    """The (sub)schema with the rule."""


def mismatches(data: Any, schema: Schema) -> Iterator[Mismatch]:
    """Yield every violation of the schema, in the order of its rules.

    >>> [found.at for found in mismatches({"a": "x"}, {"properties": {"a": {"type": "integer"}}})]
    [('a',)]
    """
    return _SchemaChecker(schema).under(schema, data, ())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, Mapping),
    "string": lambda value: isinstance(value, str),
}
_PLAIN: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "exclusiveMinimum": ("number", lambda value, least: value > least),
    "maxProperties": ("object", lambda value, most: len(value) <= most),
    "maximum": ("number", lambda value, most: value <= most),
    "minItems": ("array", lambda value, least: len(value) >= least),
    "minLength": ("string", lambda value, least: len(value) >= least),
    "minProperties": ("object", lambda value, least: len(value) >= least),
    "minimum": ("number", lambda value, least: value >= least),
    "pattern": ("string", lambda value, pattern: re.search(pattern, value) is not None),
    "required": ("object", lambda value, names: all(name in value for name in names)),
}
"""Rules about one value, each with the type to which it applies."""


class _SchemaChecker:
    """Checks data against one schema, whose parts may refer to each other."""

    def __init__(self, whole: Schema) -> None:
        self._whole = whole
        self._parts: Mapping[str, Callable[[Schema, Any, DataPath], Iterator[Mismatch]]] = {
            "$ref": self._referred,
            "additionalProperties": self._others,
            "if": self._conditional,
            "items": self._items,
            "properties": self._named,
            "type": self._typed,
        }

    def under(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        """Yield the violations of the data at a path."""
        for rule, limit in schema.items():
            if rule in self._parts:
                yield from self._parts[rule](schema, data, at)
            elif rule in _PLAIN:
                kind, fits = _PLAIN[rule]
                if _TYPES[kind](data) and not fits(data, limit):
                    yield Mismatch(at, rule, data, schema)

    def _typed(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        kinds = schema["type"]
        if not any(_TYPES[kind](data) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            yield Mismatch(at, "type", data, schema)

    def _referred(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        part: Any = self._whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            part = part[step]
        return self.under(part, data, at)

    def _conditional(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        fits = not any(self.under(schema["if"], data, at))
        yield from self.under(schema.get("then" if fits else "else", {}), data, at)

    def _items(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        for number, item in enumerate(data if isinstance(data, list) else ()):
            yield from self.under(schema["items"], item, (*at, number))

    def _named(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        for name, inner in schema["properties"].items() if isinstance(data, Mapping) else ():
            if name in data:
                yield from self.under(inner, data[name], (*at, name))

    def _others(self, schema: Schema, data: Any, at: DataPath) -> Iterator[Mismatch]:
        """Check keys that `properties` does not name: they are not allowed, or have their own schema."""
        others = [key for key in data if key not in schema.get("properties", {})] if isinstance(data, Mapping) else []
        allowed = schema["additionalProperties"]
        if allowed is False:
            if others:
                yield Mismatch(at, "additionalProperties", data, schema)
            return
        for key in others:
            yield from self.under(allowed, data[key], (*at, key))
