"""The page that is one file, from the run to labels that are back in the store."""

import json

import pytest

from evalmark.store import open_store
from tests.reports.viewer.chromium import chromium

pytestmark = pytest.mark.slow

BOT = "def answer(text):\n    return text.upper()\n"


@pytest.fixture
def run(world, evalmark):
    """A run of five letters, of which two fail; gives its id."""
    (world / "bot.py").write_text(BOT, encoding="utf-8")
    cases = [{"id": name, "input": name, "expected": "?" if name in "bd" else name.upper()} for name in "abcde"]
    (world / "letters.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    suite = {"name": "letters", "datasets": ["letters.jsonl"], "target": "bot:answer", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    evalmark("run", "suite.json", "-q")
    with open_store(".evalmark/evalmark.db", read_only=True) as kept:
        return kept.run("last").id


def labelled(page) -> None:
    """Filters what failed, labels both by key, one with a score and a comment, and one that passed by its form."""
    page.select_option("[name=verdict]", "fail")
    page.wait_for_url("**#verdict=fail")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("d")
    page.keyboard.press("c")
    page.wait_for_selector("[name=comment]:focus")
    page.keyboard.type('Not "?" at all, größer \u2028 😀')
    page.fill("tbody[aria-current] [name=score]", "0.25")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("u")
    page.click("button[type=reset]")
    page.click(".all summary >> nth=4")
    page.fill("tbody[aria-current] [name=comment]", "Fine.")
    page.fill("[name=by]", "ann")


def test_labels_made_in_the_page_are_saved_as_a_file_that_note_reads_back(evalmark, run, world):
    assert evalmark("report", "last", "--to", "html", "-o", "report.html").code == 0
    with chromium() as browser, browser.new_context() as context:
        page = context.new_page()
        page.goto((world / "report.html").as_uri())
        labelled(page)
        with page.expect_download() as saved:
            page.click("text=Save labels")
        assert saved.value.suggested_filename == f"labels-{run}.jsonl"
        saved.value.save_as(world / saved.value.suggested_filename)
        assert "evalmark note --file" in page.inner_text("#said")
    assert evalmark("note", "--file", f"labels-{run}.jsonl").out == f"labels-{run}.jsonl: 3 labels stored, by ann.\n"
    with open_store(".evalmark/evalmark.db", read_only=True) as kept:
        ids = {f"output:{run}/{result.trial.id}": result.trial.case.id for result in kept.run(run).results}
        found = {ids[label.about]: label for label in kept.sessions.labels(ids)}
    assert {case: (one.liked, one.score, one.comment, one.by) for case, one in found.items()} == {
        "b": (False, 0.25, 'Not "?" at all, größer \u2028 😀', "ann"),
        "d": (True, None, "", "ann"),
        "e": (None, None, "Fine.", "ann"),
    }


def test_nothing_of_the_environment_stands_in_the_page(evalmark, run, world, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EVALMARK_TOKEN", "HOME_OF_NOTHING"):
        monkeypatch.setenv(name, "sk-canary-9f8e7d6c5b4a3210")
    evalmark("report", run, "-o", "report.html")
    text = (world / "report.html").read_text(encoding="utf-8")
    assert "canary" not in text
    assert str(world) not in text
