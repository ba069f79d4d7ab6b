"""The benchmarks can be found, explain themselves, and the page of their figures names commands that exist."""

import ast
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

FOLDER = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
SCRIPTS = sorted(FOLDER.glob("*.py"))
RUNNERS = sorted((FOLDER / "peers").glob("*.py"))
HEAD = "| what | measured | goal | | notes |"
COMMAND = re.compile(r"`(?:python )?(benchmarks/(?:run\b|[\w/]+\.py))([^`]*)`")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)


def test_the_list_names_every_script_and_nothing_else():
    said = run("benchmarks/run", "--list")
    assert said.returncode == 0, said.stderr
    assert sorted(re.findall(r"\b\w+\.py\b", said.stdout)) == [path.name for path in SCRIPTS]


def test_the_way_to_run_them_explains_its_options():
    said = run("benchmarks/run", "--help")
    assert said.returncode == 0
    assert {"--short", "--peers", "--peer-env"} <= set(re.findall(r"--[\w-]+", said.stdout))


def test_a_group_that_is_none_is_refused_with_those_there_are():
    said = run("benchmarks/run", "nothing")
    assert said.returncode == 1
    assert "'nothing' is not a group of benchmarks. The groups are: orchestration, " in said.stderr


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in SCRIPTS + RUNNERS])
def test_a_script_begins_with_one_sentence(path: Path):
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    assert re.fullmatch(r"[A-Z`a-z][^\n]{20,128}", first), f"{path.name}: {first!r} is no sentence on one line"


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in RUNNERS])
def test_a_script_of_another_tool_imports_what_their_shared_module_has(path: Path):
    """They run in environments that the tests do not have."""
    shared = ast.parse((FOLDER / "peers" / "work.py").read_text(encoding="utf-8"))
    names = {node.name for node in shared.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {target.id for node in shared.body if isinstance(node, ast.Assign) for target in node.targets}
    imports = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in imports if node.module == "work" for alias in node.names} <= names


def test_an_option_of_a_short_form_is_one_of_the_script():
    said = run("-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import catalogue, json\n" + SHORT_FORMS)
    for name, words in json.loads(said.stdout).items():
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert [word for word in words if word.startswith("--") and f'"{word}"' not in text] == [], name


SHORT_FORMS = "print(json.dumps({one.name: one.short for one in catalogue.KNOWN if one.short}))"


def test_every_script_that_is_run_has_help():
    """All are asked for it in the text; those that load nothing heavy are asked in earnest."""
    started = [path for path in SCRIPTS if "__main__" in path.read_text(encoding="utf-8")]
    assert [path.name for path in started if "ArgumentParser(" not in path.read_text(encoding="utf-8")] == []
    light = [path for path in started if path.stem in {"startup", "orchestration", "floor", "mock_server", "peer_runs"}]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda path: run(str(path), "--help"), light))
    assert [one.returncode for one in said] == [0] * 5
    assert all("usage:" in one.stdout for one in said)


def test_every_table_of_figures_names_the_command_that_made_it():
    text = PAGE.read_text(encoding="utf-8")
    parts = text.split(HEAD)
    assert len(parts) > 5
    for before in parts[:-1]:
        command = COMMAND.search(before.rstrip().rpartition("\n\n")[2])
        assert command is not None, f"no command stands above the table after {before[-200:]!r}"


def test_every_command_of_the_page_and_its_options_exist():
    for script, words in COMMAND.findall(PAGE.read_text(encoding="utf-8")):
        path = ROOT / script
        assert path.exists(), script
        text = (FOLDER / "runner.py" if path.name == "run" else path).read_text(encoding="utf-8")
        assert [word for word in re.findall(r"--[\w-]+", words) if f'"{word}"' not in text] == [], script


def test_rows_say_whether_a_goal_is_met():
    code = """
import sys; sys.path.insert(0, "benchmarks")
from rows import Row, line, markdown
rows = [
    Row(what="time", found=1.059, unit="x", at_most=1.06),
    Row(what="share", found=71.9, unit="%", at_least=72),
    Row(what="peer", found=None, at_most=1, note="not installed"),
]
print(markdown(rows)); print(line(rows[1]))
"""
    *table, last = run("-c", code).stdout.splitlines()
    assert table[2:] == [
        "| time | 1.06 x | ≤ 1.06 | met | |",
        "| share | 71.9 % | ≥ 72 | missed | |",
        "| peer | - | ≤ 1 | | not installed |",
    ]
    assert last.split() == ["share", "71.9", "%", "goal", "≥", "72:", "missed"]
