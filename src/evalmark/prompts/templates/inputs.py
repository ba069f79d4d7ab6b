"""Reads the inputs of a prompt in all forms of the formats."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from evalmark.core.suggestions import did_you_mean
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.findings import Findings, json_excerpt

from .input_values import TYPES, InputValueError, PlainCopier, convert_value
from .prompt import Input, InputType, Message
from .rendering import place_in
from .template import template_of

PROPERTY_KEYS = frozenset(
    (
        *("type", "kind", "description", "default", "required", "is_required", "example", "sample", "enum"),
        *("enumValues", "title", "name", "strict", "items", "properties", "format", "minimum", "maximum"),
        "additionalProperties",
    )
)
"""Keys that make a mapping the declaration of an input; with any other key it is a value."""
_TYPES_WITHOUT_DEFAULT = ("image", "audio", "file")


def inputs_of(value: Any, messages: Iterable[Message], findings: Findings) -> tuple[Input, ...]:
    """Return the declared inputs, then those that only a message uses."""
    declared = _declared(value, findings)
    used: dict[str, int] = {}
    for message in messages:
        for name, line in template_of(message.text).variables:
            used.setdefault(name, int(place_in("", message, line)[1:]))
    for name in [one for one in declared if one not in used]:
        findings.note(declared[name].line, _unused(name, sorted(used.keys() - declared.keys())))
    others = [Input(name=name, declared=False, line=line) for name, line in used.items() if name not in declared]
    return (*declared.values(), *others)


def _unused(name: str, others: list[str]) -> str:
    close = get_close_matches(name, others, n=1)
    return f"the input {name!r} is not used in any message" + (f"; {close[0]!r} does." if close else ".")


def _declared(value: Any, findings: Findings) -> dict[str, Input]:
    at: DataPath = ("inputs",)
    if (
        isinstance(value, Mapping)
        and isinstance(value.get("properties"), (list, dict))
        and value.keys() <= PROPERTY_KEYS
    ):
        value, at = value["properties"], (*at, "properties")
    if isinstance(value, list):
        return _listed(value, at, findings)
    rows = findings.mapping(at, value)
    return {
        name: _input(name, row, (*at, name), findings) for name, row in rows.items() if _is_name(name, at, findings)
    }


def _listed(rows: list[Any], at: DataPath, findings: Findings) -> dict[str, Input]:
    found: dict[str, Input] = {}
    for number, row in enumerate(rows):
        here = (*at, number)
        name = row.get("name") if isinstance(row, Mapping) else None
        if not isinstance(name, str) or not isinstance(row, Mapping):
            findings.add_fault(here, f"is {json_excerpt(row)}; an input in a list is a mapping with a `name`.")
        elif name in found:
            findings.add_fault(here, f"names {name!r} a second time; the first one is in line {found[name].line}.")
        elif _is_name(name, here, findings):
            found[name] = _input(name, row, here, findings)
    return found


def _is_name(name: str, at: DataPath, findings: Findings) -> bool:
    if name.isidentifier() and not name.startswith("__"):
        return True
    findings.add_fault(at, f"declares {json_excerpt(name)}, which is not a variable name; use letters, digits and _.")
    return False


def _input(name: str, row: Any, at: DataPath, findings: Findings) -> Input:
    line = findings.line_of(at)
    if not isinstance(row, Mapping) or not row.keys() <= PROPERTY_KEYS:
        return Input(name=name, type=_type_of(row), default=row, required=row is None, line=line)
    kind = _type(row, at, findings)
    default = row.get("default")
    required = row.get("required", row.get("is_required", default is None))
    if not isinstance(required, bool):
        findings.add_fault((*at, "required"), f"is {json_excerpt(required)}; it takes true or false.")
    choices = row.get("enum", row.get("enumValues"))
    known = Input(
        name=name,
        type=kind,
        description=findings.text((*at, "description"), row.get("description")) or "",
        default=default,
        required=required is not False and default is None,
        choices=tuple(findings.list((*at, "enum"), choices)),
        example=row.get("example", row.get("sample")),
        line=line,
    )
    _check_default(known, at, findings)
    return known


def _type_of(default: Any) -> InputType | None:
    """Return the type of an input that is declared by a default value alone."""
    types: dict[type, InputType] = {str: "string", bool: "boolean", list: "array", dict: "object"}
    return types.get(type(default), "number" if isinstance(default, (int, float)) else None)


def _type(row: Mapping[str, Any], at: DataPath, findings: Findings) -> InputType | None:
    key = "kind" if "kind" in row else "type"
    value = row.get(key)
    if value is None or value == "any":
        return None
    if isinstance(value, str) and value.lower() in TYPES:
        return TYPES[value.lower()]
    known = ", ".join(dict.fromkeys(TYPES.values()))
    advice = did_you_mean(str(value).lower(), TYPES) or f"there are {known}."
    findings.add_fault((*at, key), f"is {json_excerpt(value)}, which is not a type; {advice}")
    return None


def _check_default(known: Input, at: DataPath, findings: Findings) -> None:
    if known.default is None:
        return
    if known.type in _TYPES_WITHOUT_DEFAULT:
        findings.add_fault((*at, "default"), f"is given, and an input of the type {known.type} takes none.")
        return
    try:
        convert_value(PlainCopier().copy(known.default), known)
    except InputValueError as unfit:
        findings.add_fault((*at, "default"), f"{unfit}.")
