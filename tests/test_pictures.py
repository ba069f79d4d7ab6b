"""Pictures show what their alternative text promises: a test looks, since readers of a change often do not."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import ROOT

FOLDER = ROOT / "docs" / "pictures"


def _shown() -> ModuleType:
    """The module beside the pictures, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("shown", FOLDER / "shown.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHOWN = _shown()
DRAWINGS = sorted(FOLDER.glob("*.svg"))
SCREENSHOTS = sorted(FOLDER.glob("*.png"))


def name_of(path: Path) -> str:
    return path.name


def test_every_picture_has_words_that_it_is_there_to_show():
    assert set(SHOWN.WORDS) == {path.name for path in DRAWINGS + SCREENSHOTS}
    assert {name for name, words in SHOWN.WORDS.items() if len(words) < 2} == set()


@pytest.mark.parametrize("path", DRAWINGS, ids=name_of)
def test_a_drawing_shows_the_output_and_not_the_command_alone(path):
    text = SHOWN.words_of_svg(path.read_text(encoding="utf-8"))
    command, *output = [line for line in text.splitlines() if line.strip()]
    assert command.startswith("$ ")
    assert len(output) >= 10
    assert SHOWN.missing_words(path.name, "\n".join(output)) == []


@pytest.mark.parametrize("path", SCREENSHOTS, ids=name_of)
def test_a_screenshot_shows_its_page_and_is_not_blank(path):
    picture = path.read_bytes()
    assert SHOWN.missing_words(path.name, SHOWN.words_of_png(picture)) == []
    rows = SHOWN.rows_of_png(picture)
    assert len(set(rows)) > len(rows) / 5


def test_an_empty_picture_is_noticed():
    empty = "<svg><text>$&#160;evalmark&#160;compare</text></svg>"
    assert SHOWN.missing_words("compare.svg", SHOWN.words_of_svg(empty)) == list(SHOWN.WORDS["compare.svg"])


def test_text_put_into_a_screenshot_is_read_back():
    assert "naïve" in [
        SHOWN.words_of_png(SHOWN.with_words(b"".join((SHOWN.SIGNATURE, b"\0\0\0\0IEND\xaeB`\x82")), "naïve"))
    ]
