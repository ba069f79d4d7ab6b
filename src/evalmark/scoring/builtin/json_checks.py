"""Checks that the output is JSON, and JSON that fits a schema."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import regex
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.text import read_text
from evalmark.scoring.binding.scores import check_score
from evalmark.scoring.binding.text import preview
from evalmark.scoring.matching.json_text import NotJsonError, as_json, reject_constant

PATTERN_SECONDS = 1.0
"""Time limit for one `pattern` of a schema on one text."""


@dataclass(frozen=True, slots=True)
class IsJson:
    """Check that the output is JSON text, or already data.

    Returns:
        A score that passes (1) or fails (0).

    >>> IsJson()(Case(id="1"), Output(value='{"a": 1,}')).passed
    False
    """

    name: ClassVar[str] = "is_json"
    is_check: ClassVar[bool] = True

    def __call__(self, case: Case, output: Output) -> Score:
        try:
            as_json(output.value)
        except NotJsonError as error:
            return check_score(self.name, False, f"the output {preview(output.value)} is not JSON: {error}")
        return check_score(self.name, True, f"the output {preview(output.value)} is JSON")


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Check that the output is JSON that fits a JSON Schema.

    Args:
        schema: The schema, or the path of a JSON file with it. `format` is not enforced. References to other documents
            are never fetched.

    Returns:
        A score that passes (1) or fails (0), with up to five errors in its detail; status `error` if the schema cannot be
        applied.

    Raises:
        ConfigError: The schema is invalid, cannot be read, or refers to another document.

    >>> JsonSchema({"type": "object", "required": ["city"]})(Case(id="1"), Output(value="{}")).reason
    "the output '{}' does not fit the schema at $: 'city' is a required property"
    """

    name: ClassVar[str] = "json_schema"
    is_check: ClassVar[bool] = True

    schema: Mapping[str, Any] | bool | Path
    validator: Validator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        schema = _read_schema(self.schema) if isinstance(self.schema, Path) else self.schema
        if not isinstance(schema, (Mapping, bool)):
            raise ConfigError(f"json_schema: a schema is a mapping, found {preview(schema)}.")
        kind: Any = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise ConfigError(
                f"json_schema: the schema is invalid at {error.json_path}: {validator_message(error)}."
            ) from error
        _refuse_references(schema)
        object.__setattr__(self, "schema", schema)
        timed: Any = extend(kind, {"pattern": _pattern, "patternProperties": _pattern_properties})  # type: ignore[no-untyped-call]
        object.__setattr__(self, "validator", timed(schema, registry=Registry()))

    def __call__(self, case: Case, output: Output) -> Score:
        try:
            errors = list(self.validator.iter_errors(as_json(output.value)))
        except NotJsonError as error:
            return check_score(self.name, False, f"the output {preview(output.value)} is not JSON: {error}")
        except (TimeoutError, Unresolvable, RecursionError) as error:
            return Score(name=self.name, status="error", reason=f"the schema cannot be applied: {error}")
        worst = best_match(errors)
        if worst is None:
            return check_score(self.name, True, f"the output {preview(output.value)} fits the schema")
        reason = f"the output {preview(output.value)} does not fit the schema at {worst.json_path}: {validator_message(worst)}"
        found = [{"path": error.json_path, "message": validator_message(error)} for error in errors[:5]]
        return check_score(self.name, False, reason, errors=found, error_count=len(errors))


def validator_message(error: ValidationError | SchemaError) -> str:
    """Return a validator's message, shortened if it quotes a long value."""
    return error.message if len(error.message) <= 200 else f"{error.message[:120]} … {error.message[-60:]}"


def _read_schema(path: Path) -> Any:
    try:
        return json.loads(read_text(path), parse_constant=reject_constant)
    except PlacedError as error:
        raw = error.message.replace("there is no such file", "No such file", 1)
        raise ConfigError(f"json_schema: {path} cannot be read: {raw}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"json_schema: {path} is not JSON: {error}.") from error


def _texts_under(schema: Any, key: str) -> Iterator[str]:
    """Yield every text under `key` anywhere in a schema."""
    items = schema.items() if isinstance(schema, Mapping) else enumerate(schema) if isinstance(schema, list) else ()
    for name, item in items:
        if name == key and isinstance(item, str):
            yield item
        else:
            yield from _texts_under(item, key)


def _refuse_references(schema: Any) -> None:
    """Raise an error for references to other documents; with an `$id` in the schema, relative names may be its own parts."""
    known = set(_texts_under(schema, "$id"))
    for reference in _texts_under(schema, "$ref"):
        outside = reference.split("#")[0]
        if outside and outside not in known and (not known or ":" in outside):
            raise ConfigError(
                f"json_schema: $ref {reference!r} lies outside the schema and is not fetched; copy it in."
            )


def _matches(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise TimeoutError(f"its pattern {pattern!r} took longer than {PATTERN_SECONDS:g} s") from None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, inner in patterns.items():
            for key, item in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(item, inner, path=key, schema_path=pattern)
