"""Our own reading of the published schema finds what the library for JSON Schema finds."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from evalmark.inputs.suites.json_schema import mismatches
from evalmark.inputs.suites.schema import suite_schema

from .test_schema import SUITES, TREES

SILENT = {"$id", "$schema", "title", "description"}


def by_library(data, schema) -> list[tuple[tuple, str]]:
    return [(tuple(error.absolute_path), error.validator) for error in Draft202012Validator(schema).iter_errors(data)]


def by_us(data, schema) -> list[tuple[tuple, str]]:
    return [(found.at, found.rule) for found in mismatches(data, schema)]


def same(data, schema) -> bool:
    """The same values by the same rules; of keys that are missing, the library tells one by one."""
    return set(by_us(data, schema)) == set(by_library(data, schema))


@settings(max_examples=300, deadline=None)
@given(SUITES | TREES)
def test_a_suite_is_found_faulty_where_the_library_finds_it_so(data):
    assert same(data, suite_schema())


ITEM = {"type": ["string", "object"], "required": ["p"], "additionalProperties": False, "properties": {"p": {}}}


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        pytest.param({"type": "integer"}, 3.0, id="a whole number written as a broken one"),
        pytest.param({"type": "integer"}, 3.5, id="a broken number"),
        pytest.param({"type": "integer"}, True, id="a truth value is no whole number"),
        pytest.param({"type": "number"}, False, id="a truth value is no number"),
        pytest.param({"type": ["object", "null"]}, None, id="null is allowed"),
        pytest.param({"type": "object"}, [], id="a list is no mapping"),
        pytest.param({"type": "boolean"}, 0, id="0 is not false"),
        pytest.param({"minimum": 1, "maximum": 3}, 4, id="too large"),
        pytest.param({"minimum": 1}, "0", id="a text has no size in numbers"),
        pytest.param({"minimum": 1}, False, id="false is not below 1"),
        pytest.param({"exclusiveMinimum": 0}, 0, id="not above 0"),
        pytest.param({"minLength": 2}, "ä", id="one letter of two bytes"),
        pytest.param({"minItems": 1}, [], id="an empty list"),
        pytest.param({"minProperties": 1, "maxProperties": 1}, {"a": 1, "b": 2}, id="too many keys"),
        pytest.param({"pattern": "^a"}, "ba", id="a pattern"),
        pytest.param({"pattern": "a"}, "ba", id="a pattern fits anywhere"),
        pytest.param({"required": ["a", "b"]}, {}, id="keys that are missing"),
        pytest.param({"required": ["a"]}, [], id="a list has no keys to miss"),
        pytest.param({"properties": {"a": {"type": "null"}}, "additionalProperties": False}, {"b": 1}, id="other keys"),
        pytest.param({"additionalProperties": {"type": "string"}}, {"a": 1, "b": "c"}, id="what other keys hold"),
        pytest.param({"items": {"type": "string"}}, ["a", 1], id="an item"),
        pytest.param({"items": {"type": "string"}}, {"a": 1}, id="a mapping has no items"),
        pytest.param({"if": {"type": "object"}, "then": {"required": ["a"]}}, {}, id="a condition that holds"),
        pytest.param({"if": {"type": "object"}, "then": {"required": ["a"]}}, 1, id="a condition that does not"),
        pytest.param({"properties": {"a": ITEM, "b": {"$ref": "#/properties/a"}}}, {"b": {"q": 1}}, id="a reference"),
    ],
)
def test_each_rule_means_what_the_library_means_by_it(schema, data):
    assert same(data, schema)


def keywords(schema: dict) -> Iterator[str]:
    yield from schema
    inner = [schema.get(key) for key in ("items", "additionalProperties", "if", "then")]
    for part in (*schema.get("properties", {}).values(), *inner):
        if isinstance(part, dict):
            yield from keywords(part)


def test_the_published_schema_uses_no_rule_that_would_be_passed_over():
    from evalmark.inputs.suites import json_schema

    known = set(json_schema._PLAIN) | set(json_schema._SchemaChecker({})._parts) | SILENT | {"then", "else"}
    assert set(keywords(suite_schema())) <= known


@pytest.mark.parametrize("data", [{}, {"metrics": "equals"}])
def test_a_key_that_is_missing_is_told_once_a_mapping(data):
    assert [rule for at, rule in by_us(data, suite_schema()) if at == ()] == ["required"]


def test_a_suite_is_read_without_the_library(world):
    (world / "cases.jsonl").write_text("{}")
    (world / "suite.json").write_text(json.dumps({"datasets": "cases.jsonl", "metrics": "equals"}))
    code = (
        "import sys, pathlib\n"
        "from evalmark.inputs.suites.reader import read_suite\n"
        "read_suite(pathlib.Path('suite.json'))\n"
        "assert not {'jsonschema', 'referencing'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
