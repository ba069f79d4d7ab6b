"""The sizes that keep the house liveable, and names that can be had from the rooms that offer them."""

import ast
import importlib
from collections import Counter
from pathlib import Path

import pytest

import evalmark

from .conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_400_lines():
    assert {str(path.relative_to(SOURCE)) for path in FILES if lines(path) > 400} == set()


def test_no_function_is_longer_than_60_lines():
    long = {
        f"{path.relative_to(SOURCE)}:{node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    }
    assert long == set()


def test_no_room_is_longer_than_2500_lines():
    sizes = Counter[str]()
    for path in FILES:
        sizes[path.relative_to(SOURCE).parts[0]] += lines(path)
    assert {room: size for room, size in sizes.items() if size > 2_500} == {}


def test_no_file_has_the_name_of_a_drawer():
    drawers = {"utils", "util", "helpers", "common", "base", "manager", "misc"}
    assert {path.stem for path in FILES} & drawers == set()


def test_the_top_offers_few_names_and_none_of_a_room():
    assert len(evalmark.__all__) <= 30
    assert not set(evalmark.__all__) & set(ROOMS)


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_name_that_a_room_offers_can_be_had(room):
    package = importlib.import_module(f"evalmark.{room}".rstrip("."))
    for name in getattr(package, "__all__", ()):
        assert getattr(package, name) is not None
