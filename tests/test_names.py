"""Names of modules and classes, and names that can be imported from the public modules."""

import ast
import importlib
from collections import defaultdict
from functools import cache

import pytest

import evalmark

from .conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
PUBLIC = sorted(path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__"))
METAPHORS = frozenset(
    [
        "board",
        "book",
        "brief",
        "conduct",
        "crew",
        "desk",
        "door",
        "errand",
        "errands",
        "hand",
        "house",
        "knock",
        "ledger",
        "lender",
        "room",
        "seat",
        "sitting",
        "wing",
    ]
)


@cache
def classes() -> dict[str, list[str]]:
    """Where each class is defined, by its name."""
    found = defaultdict(list)
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "class " in text else ():
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    return found


def test_a_class_name_occurs_once():
    assert {name: places for name, places in classes().items() if len(places) > 1} == {}


def test_no_module_has_a_vague_name():
    vague = {"utils", "util", "helpers", "common", "base", "manager", "misc"}
    assert {path.stem for path in FILES} & vague == set()


def test_no_module_or_class_is_named_by_a_metaphor():
    modules = {path.stem for path in FILES} | {path.parent.name for path in FILES}
    assert modules & METAPHORS == set()
    assert {name for name in classes() if name.strip("_").lower() in METAPHORS} == set()


def test_the_package_shows_fourteen_packages_and_the_public_modules():
    assert len(PACKAGES) == 14
    assert PUBLIC == [
        "errors",
        "judges",
        "quality",
        "rag",
        "recording",
        "scorers",
        "store",
        "tools",
        "transcripts",
        "unit_tests",
        "values",
    ]


def test_the_top_offers_few_names_and_none_of_a_module():
    assert len(evalmark.__all__) <= 30
    assert not set(evalmark.__all__) & {*PACKAGES, *PUBLIC}


@pytest.mark.parametrize("module", ["", *PUBLIC, "prompts", "reports", "stats", "testing", "testing.scripted"])
def test_every_public_name_can_be_imported(module):
    found = importlib.import_module(f"evalmark.{module}".rstrip("."))
    for name in getattr(found, "__all__", ()):
        assert getattr(found, name) is not None
