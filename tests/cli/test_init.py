"""`evalmark init` and `schema`: every example runs as it is written, and its one change makes it worse."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from evalmark.cli.commands.init import NEXT, SCHEMA_FILES, TEMPLATE_ENDING, schema_text
from evalmark.inputs.datasets.fields import SYNONYMS
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedReply, ScriptedServer
from tests.conftest import ROOT

TEMPLATES = ROOT / "src" / "evalmark" / "cli" / "templates"
KINDS = {
    "plain": ((), "bot.py", ('"full"', '"short"')),
    "rag": (("--rag",), "rag.py", (" = 3", " = 1")),
    "agent": (("--agent",), "agent.py", (" = 3", " = 1")),
}


def counts(world: Path) -> list[tuple[int, int]]:
    """The passed and the failed trials of each run, the best first."""
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        verdicts = [[result.verdict for result in store.run(run.id).results] for run in store.runs()]
    return sorted(((found.count("pass"), found.count("fail")) for found in verdicts), reverse=True)


def evalmark_process(world: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, without compiled files: the code of an example changes within a second."""
    return subprocess.run(
        [sys.executable, "-m", "evalmark", *words],
        cwd=world,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_passes_and_its_change_makes_it_worse(world, kind):
    flags, code, (before, after) = KINDS[kind]
    assert evalmark_process(world, "init", *flags).returncode == 0
    run = evalmark_process(world, "run")
    assert (run.returncode, "9 of 10 passed" in run.stdout) == (0, True), run.stdout + run.stderr

    text = (world / code).read_text()
    assert text.count(before) == 1
    (world / code).write_text(text.replace(before, after))
    run = evalmark_process(world, "run", "--baseline", "last")
    assert (run.returncode, "▼ worse" in run.stdout) == (1, True), run.stdout + run.stderr
    assert counts(world)[0] == (9, 1)
    assert counts(world)[1][0] <= 3


@pytest.mark.parametrize("kind", ["plain", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("rag", "agent"))])
def test_the_test_of_an_example_fails_for_the_case_that_is_said_to_fail(world, kind):
    flags, *_ = KINDS[kind]
    evalmark_process(world, "init", *flags)
    command = [sys.executable, "-m", "pytest", "--evalmark", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(command, cwd=world, capture_output=True, text=True, check=False)
    assert re.search(r"1 failed, 9 passed", done.stdout), done.stdout + done.stderr


def test_the_prompt_is_asked_of_two_models_without_a_metric_and_scored_later_without_a_call(
    evalmark, world, monkeypatch
):
    """The metrics of the template are commented out; the comment is taken away as its text says."""
    assert evalmark("init", "--prompt").code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with ScriptedServer(lambda said: ScriptedReply(text="repair" if "tire" in said.text else "booking")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        models = ("--model", "openai/one", "--model", "openai/two")
        assert evalmark("run", *models).code == 0
        asked = len(server.requests)
        suite = world / "evalmark.yaml"
        lines = [
            re.sub(r"^# (metrics:|  - equals|gate:|  min_pass)", r"\1", line) for line in suite.read_text().splitlines()
        ]
        suite.write_text("\n".join(lines))
        scored = evalmark("run", *models)
    assert (asked, len(server.requests)) == (20, 20)
    assert (scored.code, "equals" in scored.out) == (1, True), scored.text


def test_no_file_is_overwritten_unless_it_is_forced(evalmark, world):
    (world / "bot.py").write_text("mine = 1\n")
    refused = evalmark("init")
    assert (refused.code, refused.err) == (
        2,
        "bot.py exists already; name another folder, or overwrite with --force.\n",
    )
    assert [path.name for path in world.iterdir()] == ["bot.py"]
    assert evalmark("init", "--force").code == 0
    assert "PASSAGES" in (world / "bot.py").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ("--rag", "--agent"), "--rag and --agent write the same suite; choose one of them.", id="two kinds"
        ),
        pytest.param(("--ci", "gitlab"), "--ci takes github, not 'gitlab'.", id="another host"),
        pytest.param(("taken",), "taken: is a file; name a folder.", id="a file"),
    ],
)
def test_a_call_that_cannot_be_followed_writes_nothing(evalmark, world, words, sentence):
    (world / "taken").write_text("")
    said = evalmark("init", *words)
    assert (said.code, said.err) == (2, f"{sentence}\n")
    assert [path.name for path in world.iterdir()] == ["taken"]


@pytest.mark.parametrize("inner", [".", "services/bot"])
def test_the_workflow_lies_in_the_root_of_the_repository_and_runs_in_the_folder_of_the_suite(evalmark, world, inner):
    (world / ".git").mkdir()
    assert evalmark("init", inner, "--ci", "github").code == 0
    workflow = yaml.safe_load((world / ".github" / "workflows" / "evalmark.yml").read_text())
    job = workflow["jobs"]["evals"]
    assert job["defaults"]["run"]["working-directory"] == inner
    assert [step["run"] for step in job["steps"] if "run" in step] == [
        "python -m pip install -r requirements.txt",
        "evalmark run",
        "evalmark report last --to github -o evals.html",
    ]


def test_the_commands_that_are_named_next_exist_and_follow_a_change_of_folder(evalmark, world):
    said = evalmark("init", "my bots").out
    assert said.index("cd 'my bots'") < said.index("evalmark run ")
    for commands in NEXT.values():
        assert len(commands) == 3
        assert all(
            command in (TEMPLATES / "prompt" / "evalmark.yaml").read_text() or command in said.replace("my bots", "")
            for command, _ in NEXT["plain"]
        )


@pytest.mark.parametrize("kind", sorted(path.name for path in TEMPLATES.iterdir() if path.name != "github"))
def test_templates_fit_the_schemas_that_their_first_lines_name(kind):
    for file, schema in (("evalmark.yaml", "suite"), ("cases.yaml", "cases")):
        text = (TEMPLATES / kind / file).read_text(encoding="utf-8")
        hint = f"# yaml-language-server: $schema=.schemas/{Path(SCHEMA_FILES[schema]).name}"
        assert text.splitlines()[0] == hint
        Draft202012Validator(json.loads(schema_text(schema))).validate(yaml.safe_load(text))
    assert len(yaml.safe_load((TEMPLATES / kind / "cases.yaml").read_text())) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_of_the_templates_passes_a_linter(tmp_path, kind):
    for path in (TEMPLATES / kind).glob(f"*{TEMPLATE_ENDING}"):
        (tmp_path / path.name.removesuffix(TEMPLATE_ENDING)).write_text(path.read_text())
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "B,E,F,I,UP,W",
        "--line-length",
        "130",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SCHEMA_FILES)
def test_a_schema_is_printed_whole_and_is_one(evalmark, name):
    printed = json.loads(evalmark("schema", name).out)
    Draft202012Validator.check_schema(printed)
    assert printed == json.loads((ROOT / "src" / "evalmark" / SCHEMA_FILES[name]).read_text())


def test_an_unknown_schema_is_named_with_those_that_exist(evalmark):
    said = evalmark("schema", "suit")
    assert (said.code, said.err) == (2, "There is no schema 'suit'; there are suite, cases, run, line, comparison.\n")


def test_the_schema_of_cases_names_a_column_of_every_field():
    """`split` and `ideal` are columns of other tools' exports; the schema is for files that are written by hand."""
    columns = json.loads(schema_text("cases"))["$defs"]["case"]["properties"]
    fields = {field for field, names in SYNONYMS.items() if set(names) & set(columns)}
    assert set(SYNONYMS) - fields == {"ideal", "split"}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda path: path.name)
def test_the_yaml_files_of_the_examples_fit_the_schemas(path):
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = "suite" if "datasets" in data else "cases"
    Draft202012Validator(json.loads(schema_text(schema))).validate(data)
