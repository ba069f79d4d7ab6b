"""What docs/reference/pytest.md says of evals as tests is so: the files it shows run, the options are those there are."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest

from evalmark.harness.evals.definition import EvalOptions
from evalmark.harness.evals.eval_case import EvalCase
from evalmark.harness.evals.eval_spec import ExpectOptions
from evalmark.harness.pytest_plugin.marker import EvalMarker
from evalmark.testing.scripted import ScriptedServer
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "reference" / "pytest.md").read_text(encoding="utf-8")
FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = dict(FILE.findall(PAGE))


def judge(said):
    """What the model says that the page calls NAME."""
    wrong = "Bergen" in said.text
    return {
        "reason": f"The output names {'Bergen, the expected answer Oslo' if wrong else 'the same city'}.",
        "answer": "D" if wrong else "C",
    }


@pytest.fixture
def judged(suite):
    """A suite and what its evals need to ask a judge."""
    with ScriptedServer(judge) as server:
        yield suite, {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "", "EVALMARK_JUDGE": "openai/NAME"}
        assert server.problems == []


def test_every_file_that_the_page_shows_passes(judged):
    suite, env = judged
    for name, text in FILES.items():
        suite.write(name, text)
    ended = suite.run("-v", **env)
    assert ended.code == 0, ended.text
    assert set(ended.counts) == {"passed"}
    assert {word.partition("::")[0] for word in ended.words} == set(FILES)
    shown = re.findall(r"^(test_\w+\.py::.+) PASSED \(.*\)$", PAGE, re.MULTILINE)
    assert shown
    assert set(shown) <= set(ended.words)


def test_without_being_asked_the_page_s_evals_are_skipped_and_that_is_said(suite):
    for name, text in FILES.items():
        suite.write(name, text)
    ended = suite.plain()
    assert (ended.code, set(ended.counts)) == (0, {"skipped"})
    (said,) = re.findall(r"^\d evals skipped: .*$", PAGE, re.MULTILINE)
    assert said in ended.text


def test_without_a_judge_the_page_s_files_run_and_one_sentence_says_how_to_name_one(suite):
    for name, text in FILES.items():
        suite.write(name, text)
    ended = suite.run(OPENAI_API_KEY="")
    assert (ended.code, set(ended.counts)) == (1, {"passed", "unscored"})
    assert ended.text.count("no judge is named; use --evalmark-judge PROVIDER/MODEL") == 1
    soft = suite.run("--evalmark-soft", OPENAI_API_KEY="")
    assert (soft.code, set(soft.counts)) == (0, {"passed", "soft-failed"})


def test_a_wrong_answer_fails_its_test_with_the_reason(judged):
    suite, env = judged
    suite.write("test_capitals.py", FILES["test_capitals.py"].replace("It is Oslo.", "It is Bergen."))
    ended = suite.run(**env)
    assert ended.counts == {"passed": 1, "failed": 1}, ended.text
    (shown,) = re.findall(r"^```text\n(Score: .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown in ended.why["capitals[north]"]


def table(heading: str, page: str = PAGE) -> list[str]:
    """The first cells of the table under a heading, or in the one that begins so."""
    section = page.split(f"{heading}\n", 1)[1]
    rows = section[section.index("\n|--") :].split("\n\n")[0]
    return re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE)


def test_the_table_of_options_is_that_of_pytest():
    command = [sys.executable, "-m", "pytest", "--help"]
    said = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout
    group = re.search(r"^evals of language models \(evalmark\):\n(.*?)\n\n", said, re.MULTILINE | re.DOTALL)[1]
    options = re.findall(r"^  (--evalmark\S*)", group, re.MULTILINE)
    assert [cell.strip("`").replace(" ", "=") for cell in table("## Options")] == options
    assert re.findall(r"^  (evalmark_\w+)", said, re.MULTILINE) == ["evalmark_run"]
    assert "`evalmark_run = true`" in PAGE


def names(cells: list[str]) -> list[str]:
    return [name for cell in cells for name in re.findall(r"`(\w+)", cell)]


def test_the_tables_name_what_can_be_said():
    assert set(names(table("## What goes in"))) == {"data", "task", *EvalOptions.__annotations__} - {"scorer"}
    said = re.search(r"`to_eval` takes (.*?)\. `@pytest\.mark\.evalmark` takes (.*?)\.\n\n", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", said[1])) == set(ExpectOptions.__annotations__)
    marks = re.sub(r"\(.*?\)", "", said[2], flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", marks) == [field.name for field in fields(EvalMarker)]


def test_the_table_of_the_fixture_names_what_a_test_may_use():
    public = {name for name in vars(EvalCase) if not name.startswith("_")} - {"unfinished_part", "finish", "is_used"}
    cells = re.findall(r"^\| (`.*?) \|", PAGE.split("| of `evalmark_case` | |")[1].split("\n\n")[0], re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)(?:\(.*?\))?`", cell)}
    assert named == public
