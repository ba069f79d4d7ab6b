"""`evalmark export` and `evalmark import`, as somebody types them."""

import json
import shutil

import pytest

from evalmark.cli.commands.export import EXPORTERS
from evalmark.core.values.plain_data import canonical
from evalmark.interop.shared.export_run import ExportRun
from evalmark.reports.files.run_csv import as_csv
from evalmark.store import open_store
from tests.conftest import ROOT
from tests.interop.openai_evals.service import Service
from tests.reports.text.example import RUN

FORMATS = ("openai-evals", "openai-registry", "github-models", "promptfoo", "inspect", "deepeval", "jsonl")
KEY = "sk-0123456789abcdef-secret"


@pytest.fixture
def kept(evalmark, world):
    """A store with one run."""
    shutil.copytree(ROOT / "examples" / "checks", world / "checks")
    assert evalmark("run", "checks/suite.yaml", "-q").code == 0
    return evalmark


def results(world, reference="last"):
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run(reference)
        return sorted(canonical([result, result.verdict]) for result in run.results), run


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_goes_out_and_comes_back(name, kept, world):
    before, _ = results(world)
    said = kept("export", "last", "--to", name, "-o", "out")
    assert said.code == 0, said.text
    assert all((world / line).is_file() for line in said.out.splitlines())
    back = kept("import", name, "out")
    assert back.code == 0, back.text
    after, run = results(world)
    assert after == before
    assert f"Stored as {run.id}" in back.out


@pytest.mark.parametrize("name", FORMATS[:-1])
def test_a_suite_that_was_moved_has_no_fault(name, kept, world):
    kept("export", "--to", name, "-o", "out")
    partial = ["--partial"] if name in ("inspect", "deepeval") else []  # which lack the settings of metrics
    said = kept("import", name, "out", "-o", "moved", *partial)
    assert said.code == 0, said.text
    assert "moved: IMPORT.md, cases.jsonl" in said.out
    checked = kept("validate", "moved/suite.yaml")
    assert "no errors" in checked.out or "no model is named" in checked.out


def test_a_suite_of_promptfoo_with_answers_runs_at_once(kept, world):
    kept("export", "--to", "promptfoo", "-o", "out")
    kept("import", "promptfoo", "out/promptfooconfig.yaml", "-o", "moved")
    said = kept("run", "moved/suite.yaml")
    assert said.code == 0, said.text
    assert "10 of 10 passed" in said.out


def test_create_posts_the_eval_and_its_runs(kept, world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Service(key=KEY) as service:
        said = kept("export", "--to", "openai-evals", "-o", "out", "--create", "--base-url", f"{service.url}/v1")
    assert said.code == 0, said.text
    assert service.problems == []
    assert list(service.evals.values()) == [json.loads((world / "out" / "eval.json").read_text())]
    assert service.runs == [json.loads((world / "out" / "run.convert-convert.json").read_text())]
    assert "Created eval_0" in said.out
    assert KEY not in said.text
    assert not any(KEY in path.read_text(errors="replace") for path in world.rglob("*") if path.is_file())


def test_nothing_is_sent_without_create(kept, world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Service(key=KEY) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{service.url}/v1")
        assert kept("export", "--to", "openai-evals", "-o", "out").code == 0
    assert not service.evals


def test_a_service_that_refuses_is_one_sentence(kept, world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Service(key="another-key-of-some-length") as service:
        said = kept("export", "--to", "openai-evals", "-o", "out", "--create", "--base-url", f"{service.url}/v1")
    assert said.code == 2
    assert "answered 401" in said.err
    assert KEY not in said.text
    assert (world / "out" / "eval.json").is_file()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["export", "--to", "prompfoo", "-o", "x"], "did you mean promptfoo?"),
        (["export", "--to", "promptfoo", "-o", "x", "--create"], "--create and --base-url work only with --to openai-evals and otel"),
        (["export", "--to", "openai-evals", "-o", "x", "--base-url", "http://a"], "add --create, or leave it out"),
        (["export", "--to", "openai-evals", "-o", "x", "--create"], "OPENAI_API_KEY is not set"),
        (["export", "nothing", "--to", "jsonl", "-o", "x"], "there is no run 'nothing'"),
        (["export", "--to", "jsonl", "-o", "checks", "--suite", "none.yaml"], "none.yaml"),
        (["import", "promtfoo", "x"], "did you mean promptfoo?"),
        (["import", "promptfoo", "checks"], "neither a config of promptfoo"),
        (["import", "jsonl", "x", "--code", "y.py"], "--code is for promptfoo and openai-evals"),
        (["import", "jsonl", "x", "y", "-o", "z"], "-o takes the suite of one PATH"),
        (["import", "openai-registry", "checks/orders.jsonl"], "orders.jsonl"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_wrong_call_is_said_before_anything_is_written(words, wanted, kept, world, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    before = {path for path in world.rglob("*") if ".evalmark" not in path.parts}
    said = kept(*words)
    assert said.code == 2
    assert wanted in said.err
    assert {path for path in world.rglob("*") if ".evalmark" not in path.parts} == before


def test_no_file_is_written_over(kept, world):
    assert kept("export", "--to", "jsonl", "-o", "out").code == 0
    said = kept("export", "--to", "jsonl", "-o", "out")
    assert said.code == 2
    assert "the file exists already" in said.err


def test_a_folder_that_cannot_be_is_one_sentence(kept, world):
    said = kept("export", "last", "--to", "jsonl", "-o", "a" * 300)
    assert (said.code, "Traceback" in said.text) == (2, False)
    assert said.text.rstrip().endswith("the file cannot be written: File name too long.")


def test_a_link_that_leads_nowhere_is_not_written_over(kept, world):
    (world / "out").mkdir()
    (world / "out" / "run.jsonl").symlink_to(world / "elsewhere")
    assert kept("export", "last", "--to", "jsonl", "-o", "out").code == 2
    assert (world / "out" / "run.jsonl").is_symlink()


def test_tests_without_results_want_a_folder(kept, world):
    (world / "promptfooconfig.yaml").write_text(
        "prompts: ['{{a}}']\nproviders: [openai:small]\ntests: [{vars: {a: 1}, assert: [{type: contains, value: x}]}]\n"
    )
    said = kept("import", "promptfoo", "promptfooconfig.yaml")
    assert said.code == 2
    assert "write them as a suite with: -o DIR" in said.err
    said = kept("import", "promptfoo", "promptfooconfig.yaml", "-o", "moved")
    assert said.code == 0
    assert "Stored as" not in said.out


def test_a_prompt_without_tests_is_no_import_with_or_without_a_folder(kept, world):
    (world / "bare.prompt.yml").write_text("name: x\nmessages: [{role: user, content: 'Say {{a}}'}]\n")
    for more in ([], ["-o", "moved"]):
        said = kept("import", "github-models", "bare.prompt.yml", *more)
        assert (said.code, "contains neither tests nor results" in said.err) == (2, True)
        assert "evalmark generate" in said.err
    assert not (world / "moved").exists()


def test_places_are_told_within_the_folder_that_was_named(kept, world):
    assert kept("export", "--to", "openai-evals", "-o", "a-folder-with-a-long-name").code == 0
    said = kept("import", "openai-evals", "a-folder-with-a-long-name")
    assert "  eval.json:" in said.out
    assert said.out.count("a-folder-with-a-long-name") == 1


def test_a_table_for_spreadsheets_begins_with_the_mark_of_utf_8():
    text = EXPORTERS["csv"](ExportRun(run=RUN)).files["run.csv"]
    assert text.startswith("\ufeffdataset,case,")
    assert text.removeprefix("\ufeff") == "".join(as_csv(RUN))
