"""Names of files, and names that can be imported from the packages that offer them."""

import importlib

import pytest

import evalmark

from .conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


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
