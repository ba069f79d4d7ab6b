"""The table of assumptions in docs/reference/numbers.md names every method and every number that a report prints."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalmark.stats.inference.differences import SCORE
from evalmark.stats.inference.paired import EXACT, MID_P
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
SCHEMAS = [SOURCE / "reports" / "files" / "schemas" / f"{name}.schema.json" for name in ("run", "comparison")]
GIVEN = {"version", "repeat", "position", "rows", "threshold", "bars", "raw"}
"""Numbers in reports that are given, and not measured."""
OF_ONE_TRIAL = {"case", "output", "result", "tool_call", "event", "answer", "flip", "score"}
NUMBERS = ("/number", "/interval", "/share", "/counts", "/tries")
TEXTS = [SOURCE / "reports" / "text" / name for name in ("audit.py", "graded_audit.py", "calibration.py")]


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    """The cells of the table, without its headings."""
    page = (ROOT / "docs" / "reference" / "numbers.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


@pytest.fixture(scope="module")
def names(rows: list[list[str]]) -> set[str]:
    """What the first column names as it is printed."""
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row[0])}


def numbers(schema: Any, name: str = "") -> Iterator[str]:
    """The names under which a schema has a number, an interval, a share, or counts."""
    if not isinstance(schema, dict):
        return
    kinds = schema.get("type", [])
    if {"number", "integer"} & set([kinds] if isinstance(kinds, str) else kinds):
        yield name
    if schema.get("$ref", "").endswith(NUMBERS):
        yield name
    for part in (
        schema.get("items"),
        *(part for key in ("anyOf", "oneOf", "prefixItems") for part in schema.get(key, [])),
    ):
        yield from numbers(part, name)
    for key, value in schema.get("properties", {}).items():
        yield from numbers(value, key)
    for key, value in schema.get("$defs", {}).items():
        if key not in OF_ONE_TRIAL:
            yield from numbers(value, name)


def texts(value: ast.expr | None, constants: dict[str, str]) -> Iterator[str]:
    """The texts that an expression may be, or begin with."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield from texts(value.values[0], constants)
    elif isinstance(value, ast.IfExp):
        yield from texts(value.body, constants)
        yield from texts(value.orelse, constants)
    elif isinstance(value, ast.Name) and value.id in constants:
        yield constants[value.id]


def methods(path: Path) -> Iterator[str]:
    """The names that a module gives to methods: in arguments, defaults and variables called `method`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned = [
        (target.id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    constants = {name: text for name, value in assigned for text in texts(value, {}) if name.isupper()}
    values = [value for name, value in assigned if name == "method"]
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "method":
            values.append(node.value)
        elif isinstance(node, ast.arguments):
            values += [
                value for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if one.arg == "method"
            ]
    for value in values:
        for text in texts(value, constants):
            yield "sign flips" if text.startswith("sign flips") else re.split(r", clustered|: ", text)[0]


def topics(path: Path) -> Iterator[str]:
    """The words before the lines of an audit or a calibration."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value:
                yield first.value


def test_it_names_every_number_of_the_json_reports(names: set[str]):
    found = {name for path in SCHEMAS for name in numbers(json.loads(path.read_text(encoding="utf-8")))}
    assert {"trials", "pass_rate", "kappa", "p", "needed_range", "seconds_p95", "alpha", "cost"} <= found
    assert sorted(found - GIVEN - names - {""}) == []


def test_it_names_every_method_of_an_interval_or_a_test(names: set[str]):
    found = {name for path in (SOURCE / "stats").rglob("*.py") for name in methods(path)}
    found |= {SCORE, EXACT, MID_P}
    assert {"Wilson", "Jeffreys", "Dirichlet bound", "Student's t", "PPI by betting", "none"} <= found
    assert sorted(found - names) == []


def test_it_names_every_line_of_audits_and_calibrations(names: set[str]):
    found = {name for path in TEXTS for name in topics(path)}
    assert {"agreement", "beyond chance", "guarantee", "AUC", "mean"} <= found
    assert sorted(found - names) == []


def test_it_says_of_each_number_what_it_rests_on(rows: list[list[str]]):
    assert len(rows) > 40
    assert [row for row in rows if len(row) != 3 or (not row[0].startswith("**") and not row[1] and not row[2])] == []
