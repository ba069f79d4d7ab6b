"""Entry points and versions, read without the parsers of `importlib.metadata`."""

import importlib.metadata
import os
import sys

import pytest

from evalmark.core.foreign.entry_points import InstalledEntryPoint, entry_points, own_version

LISTED = """
# a comment
[console_scripts]
plug = plug.cli:main

[evalmark.scorers]
tone = plug.scorers:Tone
polite=plug.scorers:Polite.check [extra]
"""


@pytest.fixture
def plug(tmp_path, monkeypatch):
    """The folder of a distribution that offers two scorers."""
    info = tmp_path / "Plug.In-1.2.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(LISTED)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Plug.In\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_every_entry_point_of_this_environment_is_found():
    found = importlib.metadata.entry_points()
    expected = {(e.group, e.name, e.value) for group in found.groups for e in found.select(group=group)}
    assert {(e.group, e.name, e.value) for e in entry_points("")} == expected
    assert own_version() == importlib.metadata.version("evalmark")


def test_a_distribution_offers_the_objects_it_lists(plug):
    offered = [entry for entry in entry_points("evalmark.") if entry.folder == str(plug)]
    assert [(entry.group, entry.name, entry.object_name, entry.is_installed) for entry in offered] == [
        ("evalmark.scorers", "tone", "plug.scorers:Tone", True),
        ("evalmark.scorers", "polite", "plug.scorers:Polite.check", True),
    ]


def test_the_first_distribution_of_a_name_counts(plug, tmp_path_factory, monkeypatch):
    other = tmp_path_factory.mktemp("other") / "plug_in-2.egg-info"
    other.mkdir()
    (other / "entry_points.txt").write_text("[evalmark.scorers]\nolder = plug:Older\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(other.parent)])
    assert "older" not in {entry.name for entry in entry_points("evalmark.")}
    monkeypatch.setattr(sys, "path", [str(other.parent), *sys.path])
    names = {entry.name for entry in entry_points("evalmark.")}
    assert "older" in names
    assert "tone" not in names


def test_a_distribution_that_is_installed_meanwhile_is_found(plug):
    assert "late" not in {entry.name for entry in entry_points("evalmark.")}
    (plug / "late-1.dist-info").mkdir()
    (plug / "late-1.dist-info" / "entry_points.txt").write_text("[evalmark.scorers]\nlate = late:Late\n")
    os.utime(plug, (2_000_000_000, 2_000_000_000))  # clocks of file systems tick every few milliseconds
    assert "late" in {entry.name for entry in entry_points("evalmark.")}


def test_a_folder_on_the_path_that_does_not_exist_offers_nothing(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "gone"))
    assert {entry.name for entry in entry_points("evalmark.scorers")} >= {"contains", "equals"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("json:JSONDecoder.decode", "decode", id="an attribute of a class"),
        pytest.param("json : loads [fast]", "loads", id="blanks and an extra"),
        pytest.param("json.decoder", "json.decoder", id="a module"),
    ],
)
def test_an_entry_point_loads_its_object(value, expected):
    assert InstalledEntryPoint("group", "name", value, "/folder").load().__name__ == expected
