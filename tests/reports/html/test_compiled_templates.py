"""Compiled templates are kept between processes, as Python keeps compiled modules."""

import sys
from pathlib import Path

import jinja2
import pytest

from evalmark.reports.html import jinja
from evalmark.reports.html.jinja import template_environment


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "pyc"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "pyc" / Path(jinja.__file__).parent.relative_to("/")
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """The names of templates that are compiled, rather than loaded."""
    names: list[str] = []
    compiles = jinja2.Environment.compile

    def compile_and_note(self, source, name=None, *rest, **more):
        names.append(name)
        return compiles(self, source, name, *rest, **more)

    monkeypatch.setattr(jinja2.Environment, "compile", compile_and_note)
    return names


def rendered(folder: Path) -> str:
    """Render as a new process does, which has no template in memory."""
    jinja._compiled_templates.cache_clear()
    return template_environment(folder, {}).get_template("page.html").render(name="a & b")


def test_a_template_is_compiled_by_the_first_process_alone(kept, compiled, tmp_path):
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>")
    assert [rendered(tmp_path) for _ in range(3)] == ["<p>a &amp; b</p>"] * 3
    assert compiled == ["page.html"]


def test_a_changed_template_is_compiled_again(kept, compiled, tmp_path):
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>")
    rendered(tmp_path)
    (tmp_path / "page.html").write_text("<b>{{ name }}</b>")
    assert rendered(tmp_path) == "<b>a &amp; b</b>"
    assert compiled == ["page.html"] * 2


def test_templates_compiled_with_other_settings_are_not_used(kept, compiled, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>")
    rendered(tmp_path)
    monkeypatch.setattr(jinja2, "__version__", "0.0")
    rendered(tmp_path)
    assert compiled == ["page.html"] * 2


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: b"", id="an empty file"),
        pytest.param(lambda whole: whole[: len(whole) // 2], id="a file cut in the middle"),
        pytest.param(lambda whole: whole[:-40] + bytes(40), id="a file with zeros at its end"),
        pytest.param(lambda whole: b"\xff" * len(whole), id="a file of other bytes"),
    ],
)
def test_a_damaged_file_is_replaced(damage, kept, compiled, tmp_path):
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>")
    rendered(tmp_path)
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert rendered(tmp_path) == "<p>a &amp; b</p>"
    assert compiled == ["page.html"] * 2
    assert file.read_bytes() == whole


def test_without_a_folder_to_write_to_templates_stay_in_memory(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>")
    jinja._compiled_templates.cache_clear()
    for _ in range(3):
        assert template_environment(tmp_path, {}).get_template("page.html").render(name="a") == "<p>a</p>"
    assert compiled == ["page.html"]
    assert not (tmp_path / "none").exists()
