"""Every Python example in README.md and docs/ runs, page by page, in an empty folder."""

import importlib
import re
import tomllib
from contextvars import Context
from pathlib import Path

import pytest

from evalmark.inputs.datasets.fields import SYNONYMS
from evalmark.reports.files import run_csv

from .conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=name(p)) for p in PAGES if BLOCK.search(p.read_text(encoding="utf-8"))]
)
def test_the_examples_of_a_page_run_from_top_to_bottom(page: Path, world: Path):
    namespace = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        code = compile("\n" * line + block.group(1), str(page), "exec")
        Context().run(exec, code, namespace)  # as in a script: what is expected is no part of the pytest around it


def test_the_quick_start_is_two_commands():
    section = re.search(
        r"^## Quick start$(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    blocks = re.findall(r"^```bash\n(.*?)^```$", section.group(1), re.MULTILINE | re.DOTALL)
    assert [len(block.strip().splitlines()) for block in blocks] == [1, 1]
    assert blocks[1].strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [pytest.param(p, id=name(p)) for p in PAGES])
def test_examples_import_public_names_only(page: Path):
    code = "".join(re.findall(r"^```python.*?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    modules = re.findall(r"^\s*(?:from|import) (evalmark[\w.]*)", code, re.MULTILINE)
    assert [module for module in modules if not hasattr(importlib.import_module(module), "__all__")] == []


@pytest.mark.parametrize("page", [pytest.param(p, id=name(p)) for p in PAGES])
def test_links_between_pages_lead_somewhere(page: Path):
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", [pytest.param(p, id=name(p)) for p in PAGES])
def test_commands_of_this_repository_name_files_that_exist(page: Path):
    commands = re.findall(r"(?:python|pytest)[^`\n]* [^`\n]*", page.read_text(encoding="utf-8"))
    named = {path for line in commands for path in re.findall(r"\b((?:tests|benchmarks)/[\w/]+\.py)\b", line)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def _anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [pytest.param(p, id=name(p)) for p in PAGES])
def test_links_to_a_heading_find_it(page: Path):
    links = re.findall(r"\]\((?!https?://|mailto:)([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    missing = [(to, anchor) for to, anchor in links if anchor not in _anchors(page.parent / to if to else page)]
    assert missing == []


def test_the_map_shows_the_layers_that_the_contract_holds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in project["tool"]["importlinter"]["contracts"] if one["containers"] == ["evalmark"])
    layers = [sorted(re.findall(r"\w+", line)) for line in contract["layers"] if line != "__main__"]
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    block = re.search(r"^## The packages$.*?^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [sorted(re.match(r"\w+(?: {3}\w+)*", line)[0].split()) for line in block[1].splitlines()] == layers


def test_the_map_is_two_pages():
    assert len((DOCS / "architecture.md").read_text(encoding="utf-8").split()) <= 1_500


def test_every_page_is_linked_from_the_first_page():
    first = DOCS / "README.md"
    links = re.findall(r"\]\(([\w/-]+\.md)", first.read_text(encoding="utf-8"))
    assert {name(page) for page in DOCS.rglob("*.md")} == {name(DOCS / link) for link in links} | {name(first)}


def test_a_page_has_a_kind():
    kinds = {page.parent.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert kinds <= {".", "start", "how-to", "reference", "explanation"}
    assert {page.name for page in DOCS.glob("*.md")} == {"README.md", "architecture.md"}


def test_every_picture_is_shown_somewhere_and_small():
    folder = DOCS / "pictures"
    shown = {
        (page.parent / place).resolve()
        for page in PAGES
        for place in re.findall(r"(?:\]\(|src=\"|srcset=\")([^)\"\s]+\.(?:png|svg))", page.read_text(encoding="utf-8"))
    }
    there = {picture.resolve() for kind in ("*.png", "*.svg") for picture in folder.glob(kind)}
    assert {place for place in shown if not place.exists()} == set()
    assert there - shown == set()
    assert {picture.name for picture in there if picture.stat().st_size > 200_000} == set()


def test_the_page_on_datasets_names_every_column_that_is_read():
    page = (DOCS / "reference" / "datasets.md").read_text(encoding="utf-8")
    assert [name for names in SYNONYMS.values() for name in names if f"`{name}`" not in page] == []


def test_the_page_on_formats_names_every_column_of_a_csv_report():
    text = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8").split("## CSV")[1].split("\n## ")[0]
    parts = [f"NAME {part}" for part in (*run_csv.SCORE_COLUMNS, "judge")]
    assert [column for column in (*run_csv.LAST, *run_csv.END, *parts) if f"`{column}`" not in text] == []
    assert len(run_csv.COLUMNS) == 10
    assert "ten columns" in text
