"""Every example suite names files that exist, and its target and scorers can be loaded."""

import csv
import json
import sys
from pathlib import Path

import pytest
import yaml

from evalmark.core.foreign.named_objects import is_named_object, load_object
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
SUITES = [
    EXAMPLES / name
    for name in (
        "library/suite.yaml",
        "checks/suite.yaml",
        "checks/orders.yaml",
        "similarity/suite.yaml",
        "similarity/suite-v2.yaml",
    )
]


def named(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@pytest.mark.parametrize("path", SUITES, ids=named)
def test_what_a_suite_names_is_there(path, monkeypatch):
    monkeypatch.delitem(sys.modules, "bot", raising=False)  # two of the examples have one
    monkeypatch.setattr(sys, "path", list(sys.path))
    suite = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert all((path.parent / name).is_file() for name in suite["datasets"])
    metrics = [next(iter(m)) if isinstance(m, dict) else m for m in suite["metrics"]]
    for name in [suite["target"], *(m for m in metrics if is_named_object(m))]:
        assert callable(load_object(name, [path.parent]))


def test_no_other_suite_lies_about():
    found = {p for p in EXAMPLES.rglob("*.yaml") if p.name not in ("cases.yaml", "rayjob.yaml")}
    assert found == {*SUITES, EXAMPLES / "regression/suite.yaml"}  # whose cases are recorded: test_regression.py


def test_the_changed_suite_differs_in_name_and_target_alone():
    first, second = (
        yaml.safe_load((EXAMPLES / f"similarity/{n}.yaml").read_text(encoding="utf-8")) for n in ("suite", "suite-v2")
    )
    assert {key for key in first if first[key] != second[key]} == {"name", "target"}


def test_the_plain_checks_have_right_answers():
    convert = load_object("convert:convert", [EXAMPLES / "checks"])
    read_order = load_object("convert:read_order", [EXAMPLES / "checks"])
    with (EXAMPLES / "checks/conversions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    orders = [json.loads(line) for line in (EXAMPLES / "checks/orders.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) + len(orders) >= 12
    assert [row["id"] for row in rows if convert(row["input"]) != row["expected"]] == []
    assert [row["id"] for row in orders if read_order(row["input"]) != row["expected"]] == []
