"""Pictures show what their alternative text promises: a test looks, since readers of a change often do not."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from evalmark.store import open_store

from .conftest import ROOT
from .reports.viewer.conftest import a_run, keep, result, shown

FOLDER = ROOT / "docs" / "pictures"


def _beside(name: str) -> ModuleType:
    """A module beside the pictures, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHOWN = _beside("shown")
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


PEERS = tomllib.loads((FOLDER / "peers.toml").read_text(encoding="utf-8"))


def test_the_table_of_pages_beside_other_tools_has_every_page_of_the_viewer(tmp_path):
    with open_store(tmp_path / "none.db") as store:
        known = [route for route in shown(store).app.routes if "GET" in route.methods]
    pages = {route.path for route in known if not route.path.startswith("/static/")}
    routes = [page["route"] for page in PEERS["page"] if page["route"].startswith("/")]
    assert {*routes, *PEERS["without_page"]} == pages
    assert set(routes) & set(PEERS["without_page"]) == set()


def test_each_row_of_the_table_is_whole_and_names_its_sources():
    rows = {page["name"]: page for page in PEERS["page"]}
    assert len(rows) == len(PEERS["page"])
    few = {name for name, page in rows.items() if len(page["peers"]) < 2 or not page["job"] or not page["ours"]}
    assert few == set()
    sources = [source for page in rows.values() for _, _, source in page["peers"]]
    assert [source for source in sources if not re.fullmatch(r"https://[\w.-]+/\S+", source)] == []


def test_the_store_that_the_review_shows_has_something_for_every_kind_of_page(tmp_path):
    demo, now = _beside("demo_store"), datetime(2026, 11, 24, 4, 30, tzinfo=UTC)
    with open_store(tmp_path / "demo.db") as store:
        ids = demo.fill(store, now, size=24, steps=30)
        next(demo.under_way(store, now, size=8))
        runs = {run.id: run for run in store.runs()}
        assert len(runs) == len(ids) + 1
        assert {run.status for run in runs.values()} == {"complete", "stopped", "running"}
        assert max(len(run.results) for run in runs.values()) == 24 * len(demo.TARGETS)
        verdicts = {result.verdict for run in runs.values() for result in run.results}
        assert {"pass", "fail", "error"} <= verdicts
        agent = [call for result in runs[ids["agent, 60% good"]].results for call in result.output.tool_calls]
        assert any(call.error for call in agent)
        assert store.sessions.labels_of_run(ids["night 14"])
        assert max(one.spans for one in store.sessions.summaries()) >= 30


@pytest.mark.slow
def test_the_review_takes_a_page_at_three_widths_in_both_themes_beside_its_peers(tmp_path):
    pytest.importorskip("playwright", reason="playwright is not installed")
    if not (shutil.which("chromium-headless-shell") or shutil.which("chromium")):
        pytest.skip("there is no chromium")
    with open_store(tmp_path / "mine.db") as store:
        keep(store, a_run("20261121-101500-3f9a"), [result(number) for number in range(8)])
    words = ["-o", "sheet", "--store", "mine.db", "--page", "home", "--page", "compare"]
    subprocess.run([sys.executable, FOLDER / "review.py", *words], cwd=tmp_path, check=True)
    pictures = sorted(path.name for path in (tmp_path / "sheet").glob("*.png"))
    assert pictures == sorted(f"home-{width}-{theme}.png" for width in (390, 800, 1280) for theme in ("light", "dark"))
    for name in pictures:
        rows = SHOWN.rows_of_png((tmp_path / "sheet" / name).read_bytes())
        assert len(set(rows)) > len(rows) / 20, name
    sheet = (tmp_path / "sheet" / "index.html").read_text(encoding="utf-8")
    assert all(f'src="{name}"' in sheet for name in pictures)
    assert all(f'href="{source}"' in sheet for _, _, source in PEERS["page"][0]["peers"])
    assert "The store has nothing for {run_id}." in sheet
