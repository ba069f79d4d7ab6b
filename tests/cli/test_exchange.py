"""`evalmark import`, and the overview of what was imported."""

import pytest

from evalmark.store import open_store
from tests.interop.promptpex.test_importer import ROWS, folder

STORE = ".evalmark/evalmark.db"


def test_a_folder_becomes_a_run_and_its_parts_are_told(evalmark, world):
    folder(world, ROWS, overview__csv="model\n")
    said = evalmark("import", "promptpex", "classify")
    assert said.code == 0, said.text
    assert "classify: 5 results of 4 cases on 2 targets" in said.out
    assert "kept      test_results.csv" in said.out
    assert "left out  overview.csv" in said.out
    with open_store(STORE, read_only=True) as store:
        (run,) = store.runs()
    assert f"Stored as {run.id}; show it with: evalmark show {run.id} --overview" in said.out
    assert (run.name, run.status, len(run.results)) == ("classify", "complete", 5)


def test_what_is_odd_is_said_and_stands_with_the_run(evalmark, world):
    folder(world, ROWS + "dd,p,1,Be short.,large,three\n")
    said = evalmark("import", "promptpex", "classify")
    assert "test_results.csv:7: the row has no `output` and is left out." in said.out
    assert "test_results.csv:7: the row has no `output`" in evalmark("show").out


def test_several_folders_are_several_runs(evalmark, world):
    folder(world, ROWS, name="one")
    folder(world, ROWS, name="two")
    assert evalmark("import", "promptpex", "one", "two").code == 0
    with open_store(STORE, read_only=True) as store:
        assert [run.name for run in store.runs()] == ["two", "one"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("promptpx", "one"), "there is no format 'promptpx' to import; did you mean promptpex?", id="a typo"
        ),
        pytest.param(("zzz", "one"), "there is no format 'zzz' to import; it is one of ", id="a format nobody knows"),
        pytest.param(("promptpex", "one", "gone"), "gone: there is no such folder", id="one of two is not there"),
    ],
)
def test_nothing_is_kept_of_a_call_that_cannot_be_carried_out(evalmark, world, words, said):
    folder(world, ROWS, name="one")
    found = evalmark("import", *words)
    assert found.code == 2
    assert said in found.err
    assert not (world / STORE).exists()


def test_targets_stand_side_by_side(evalmark, world):
    folder(world, ROWS)
    evalmark("import", "promptpex", "classify")
    said = evalmark("show", "--overview")
    assert said.code == 0
    assert "target tests compliant positive negative baseline" in " ".join(said.out.split())
    assert "large against small" in said.out


def test_an_overview_shows_no_cases(evalmark, world):
    folder(world, ROWS)
    evalmark("import", "promptpex", "classify")
    said = evalmark("show", "--overview", "--failed")
    assert (said.code, said.err) == (2, "--overview shows no cases; leave out --failed, --case and --calls.\n")


def test_a_report_of_the_run_has_the_overview(evalmark, world):
    folder(world, ROWS)
    evalmark("import", "promptpex", "classify")
    evalmark("report", "-o", "page.html", "-o", "page.md")
    assert "Side by side" in (world / "page.html").read_text(encoding="utf-8")
    assert "Side by side" in (world / "page.md").read_text(encoding="utf-8")
