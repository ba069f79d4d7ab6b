"""The subset of JSON Schema that OpenAI accepts in strict mode."""

from collections.abc import Mapping
from typing import Any

from .requests import WrongRequestError, sub_schemas

REFUSED = frozenset(
    {"allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "oneOf"}
)
MOST_LEVELS = 10
MOST_PROPERTIES = 5_000


def check_strict_schema(schema: Any, name: str) -> None:
    """Reject a schema that OpenAI does not accept in strict mode.

    The root is an object; every object closes its properties and requires all of them.

    Raises:
        WrongRequestError: It is not such a schema.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object" or "anyOf" in schema:
        raise _wrong(name, "(root)", "schema must be a JSON Schema of 'type: \"object\"'")
    properties = 0
    for location, level, part in sub_schemas(schema):
        properties += len(part.get("properties", {}))
        fault = _fault(part, level)
        if fault:
            raise _wrong(name, location, fault)
    if properties > MOST_PROPERTIES:
        raise _wrong(name, "(root)", f"more than {MOST_PROPERTIES} properties")


def _wrong(name: str, location: str, fault: str) -> WrongRequestError:
    text = f"Invalid schema for {name}: In context={location}, {fault}."
    return WrongRequestError(text, parameter="response_format", code="invalid_json_schema")


def _fault(part: Mapping[str, Any], level: int) -> str:
    refused = sorted(REFUSED & part.keys())
    if refused:
        return f"'{refused[0]}' is not permitted"
    if level > MOST_LEVELS:
        return f"the schema is nested deeper than {MOST_LEVELS} levels"
    if "object" not in _types(part) and "properties" not in part:
        return ""
    if part.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    missing = sorted(set(part.get("properties", {})) ^ set(part.get("required", ())))
    if missing:
        return f"'required' is required to be supplied and to be an array including every key in properties: {missing}"
    return ""


def _types(part: Mapping[str, Any]) -> list[Any]:
    kind = part.get("type", [])
    return kind if isinstance(kind, list) else [kind]
