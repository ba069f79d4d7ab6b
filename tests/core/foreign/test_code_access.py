"""Which code a file may name: tried with modules on disk and with what a hostile file would write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.foreign.named_objects import load_object
from evalmark.errors import ConfigError
from tests.importing import own_imports

pytestmark = pytest.mark.slow

FOREIGN = """
import pathlib
pathlib.Path(__file__).with_suffix(".ran").touch()


def run(text):
    return text


class Caller:
    def __call__(self, text):
        return text

    def ask(self, text):
        return text


caller = Caller()
"""
OWN = """
import functools
import json as data
import os
import os.path
import subprocess
from functools import lru_cache, partial, wraps
from os import system
from subprocess import run

import foreign_19k
from foreign_19k import Caller, caller
from foreign_19k import run as foreign_run


def answer(text):
    return text


def traced(function):
    @wraps(function)
    def inner(text):
        return function(text)

    return inner


@lru_cache
def cached(text):
    return text


class Bot:
    shell = os.system

    def __call__(self, text):
        return text

    def ask(self, text):
        return text

    @classmethod
    def made(cls, text):
        return text


class Child(Caller):
    pass


bot = Bot()
child = Child()
short = partial(answer)
shorter = partial(partial(answer))
quick = lambda text: text
shouting = lambda text: os.system
wrapped = traced(answer)

shell = partial(os.system)
deep = partial(partial(subprocess.run, shell=True), check=True)
wrapped_shell = traced(os.system)
cached_shell = lru_cache(os.system)
foreign_partial = partial(foreign_run)
made_here = Caller()
path = os.path.join
call = functools.partial(caller)
"""
MINE = (
    *("answer", "cached", "Bot", "bot", "bot.ask", "Bot.made", "child", "child.ask", "Child", "short", "shorter"),
    *("quick", "shouting", "wrapped", "Bot.ask"),
)
THEIRS = (
    *("os.system", "system", "run", "subprocess.run", "subprocess.Popen", "foreign_run", "foreign_19k.run", "Caller"),
    *("caller", "caller.ask", "shell", "deep", "wrapped_shell", "cached_shell", "foreign_partial", "made_here", "path"),
    *("made_here.ask", "call", "Bot.shell", "data.loads", "os.environ.get", "os.path.join", "foreign_19k.pathlib.Path"),
    *(
        "answer.__globals__.get",
        "__builtins__.get",
        "__loader__.load_module",
        "answer.__class__",
        "__spec__.loader.exec_module",
    ),
    *("functools.partial", "bot.ask.__func__.__globals__.pop", "os"),
)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A project with a suite's folder in it, and a folder outside that is on the import path."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "evals").mkdir(parents=True)
    outside.mkdir()
    (project / "pyproject.toml").write_text("[project]\nname = 'project-19k'\n")
    (outside / "foreign_19k.py").write_text(FOREIGN)
    (outside / "package_19k").mkdir()
    (outside / "package_19k" / "__init__.py").write_text(FOREIGN)
    (outside / "package_19k" / "inner.py").write_text(FOREIGN)
    (project / "evals" / "own_19k.py").write_text(OWN)
    monkeypatch.chdir(project / "evals")
    with own_imports(tmp_path):
        sys.path.append(str(outside))
        yield tmp_path


def named(world: Path, name: str, *allow: str):
    return load_object(name, AllowedFolders((world / "project" / "evals",), allow), what="target")


@pytest.mark.parametrize("attribute", MINE)
def test_what_is_defined_beside_the_suite_may_be_named(world, attribute):
    assert callable(named(world, f"own_19k:{attribute}"))


@pytest.mark.parametrize("attribute", THEIRS)
def test_what_is_only_reached_through_the_own_module_may_not(world, attribute):
    with pytest.raises(ConfigError, match=r"^target 'own_19k:.*' is defined in the module .*--allow-code"):
        named(world, f"own_19k:{attribute}")


@pytest.mark.parametrize(
    "name",
    [
        *("os:system", "builtins:eval", "posix:system", "subprocess:run", "foreign_19k:run", "package_19k.inner:run"),
        *("__main__:run", "pytest:main", "sys:exit", "importlib:import_module", "evalmark.errors:need"),
        *(
            "evalmark.core.foreign:load_object",
            "evalmark.testing.memory:MemorySink",
            "zipimport:zipimporter",
            "ctypes.util:find_library",
        ),
    ],
)
def test_other_modules_may_not_be_named_and_are_not_imported(world, name):
    before = set(sys.modules)
    with pytest.raises(ConfigError, match=r"is defined in the module .*, and a file may name only code"):
        named(world, name)
    assert name.partition(":")[0] not in set(sys.modules) - before
    assert not list(world.rglob("*.ran"))


def test_the_command_line_and_python_name_anything(world):
    assert load_object("os:getcwd", [world]) is __import__("os").getcwd
    assert load_object("foreign_19k:run")("a") == "a"


@pytest.mark.parametrize(
    ("name", "allow"),
    [
        ("foreign_19k:run", "foreign_19k"),
        ("package_19k.inner:run", "package_19k"),
        ("package_19k.inner:run", "package-19k"),
        ("own_19k:foreign_run", "foreign_19k"),
    ],
)
def test_a_package_can_be_allowed(world, name, allow):
    assert named(world, name, "other", allow)("a") == "a"


def test_an_allowed_package_does_not_hand_on_what_is_not_its_own(world):
    with pytest.raises(ConfigError, match=r"'foreign_19k:pathlib\.Path' is defined in the module pathlib"):
        named(world, "foreign_19k:pathlib.Path", "foreign_19k")


def test_the_names_of_installed_scorers_may_be_named(world):
    assert named(world, "evalmark.scorers:Contains").__name__ == "Contains"
    assert named(world, "evalmark.scorers:Assertions").__name__ == "Assertions"


def test_a_file_may_name_what_the_project_has_elsewhere(world):
    (world / "project" / "app_19k").mkdir()
    (world / "project" / "app_19k" / "bot.py").write_text("def answer(text):\n    return text\n")
    sys.path.append(str(world / "project"))
    assert named(world, "app_19k.bot:answer")("a") == "a"


def test_namespace_packages_are_found_without_importing_those_above_them(world):
    for root, code in (("project", "def answer(text):\n    return text\n"), ("outside", FOREIGN)):
        for folder in ("space_19k/bots/inner", "space_19k/bots"):
            (world / root / folder).mkdir(parents=True, exist_ok=True)
            (world / root / folder / f"of_{root}.py").write_text(code)
    sys.path.append(str(world / "project"))
    for module in ("space_19k.bots.inner.of_outside", "space_19k.bots.of_outside"):
        with pytest.raises(
            ConfigError, match=rf"is defined in the module {module} in .*, and a file may name only code"
        ):
            named(world, f"{module}:run")
    assert "space_19k" not in sys.modules
    assert not list(world.rglob("*.ran"))
    assert named(world, "space_19k.bots.inner.of_project:answer")("a") == "a"
    assert named(world, "space_19k.bots.of_project:answer")("a") == "a"
    with pytest.raises(ConfigError, match=r"there is no module .space_19k\.bots\.inner\.nothing."):
        named(world, "space_19k.bots.inner.nothing:run")


@pytest.mark.parametrize(
    "folder",
    [
        *(".venv/lib/python3.11/site-packages", "vendor/site-packages", "node_modules/gyp", "evals/env", "conda"),
        *("evals/site-packages", "evals/dist-packages"),
    ],
)
def test_installed_code_below_the_project_is_not_the_projects(world, folder):
    place = world / "project" / folder
    place.mkdir(parents=True)
    if folder.endswith(("env", "conda")):
        (place / ("pyvenv.cfg" if folder.endswith("env") else "conda-meta")).touch()
    (place / "installed_19k.py").write_text(FOREIGN)
    sys.path.append(str(place))
    with pytest.raises(ConfigError, match="is defined in the module installed_19k in"):
        named(world, "installed_19k:run")
    assert not list(world.rglob("*.ran"))


def test_a_suite_that_came_with_a_package_may_name_its_neighbours(world):
    place = world / "project" / ".venv" / "lib" / "site-packages" / "package" / "evals"
    place.mkdir(parents=True)
    (place / "neighbour_19k.py").write_text(FOREIGN)
    assert load_object("neighbour_19k:run", AllowedFolders((place,)))("a") == "a"


def test_links_are_followed(world):
    evals = world / "project" / "evals"
    (evals / "linked_19k").symlink_to(world / "outside" / "package_19k", target_is_directory=True)
    (evals / "single_19k.py").symlink_to(world / "outside" / "foreign_19k.py")
    for name in ("linked_19k.inner:run", "linked_19k:run", "single_19k:run"):
        with pytest.raises(ConfigError, match="and a file may name only code"):
            named(world, name)
    assert not list(world.rglob("*.ran"))
    (world / "linked").symlink_to(evals, target_is_directory=True)
    assert load_object("own_19k:answer", AllowedFolders((world / "linked",)))("a") == "a"


def test_a_module_called_like_one_of_pythons_is_pythons_and_a_sentence_says_so(world):
    evals = world / "project" / "evals"
    (evals / "wave.py").write_text(FOREIGN)
    for name in ("wave:run", "wave:open"):
        with pytest.raises(ConfigError, match=r"wave\.py is not used: evalmark needs Python's own module 'wave'"):
            named(world, name)
    with pytest.raises(ConfigError, match=r"has no attribute 'run'.* To use the file, rename it\."):
        load_object("wave:run", [evals])
    assert not list(world.rglob("*.ran"))


def test_the_home_folder_is_no_project(world, monkeypatch):
    monkeypatch.setenv("HOME", str(world))
    (world / ".git").mkdir()
    (world / "project" / "pyproject.toml").unlink()
    with pytest.raises(ConfigError, match="and a file may name only code"):
        named(world, "foreign_19k:run")


def test_the_own_distribution_counts_when_it_is_installed(world):
    site = world / "installed" / "site-packages"
    (site / "project_19k-1.dist-info").mkdir(parents=True)
    (site / "project_19k-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: project-19k\nVersion: 1\n")
    (site / "project_19k-1.dist-info" / "RECORD").write_text("product_19k/__init__.py,,\n")
    (site / "product_19k").mkdir()
    (site / "product_19k" / "__init__.py").write_text(FOREIGN)
    (site / "neighbour_19m.py").write_text(FOREIGN)
    sys.path.append(str(site))
    assert named(world, "product_19k:run")("a") == "a"
    with pytest.raises(ConfigError, match="and a file may name only code"):
        named(world, "neighbour_19m:run")


def test_relative_names_are_none(world):
    for name in (".own_19k:answer", "..outside:run", "own_19k:", ":answer", "own_19k/answer:x"):
        with pytest.raises(ConfigError, match="is not of the form"):
            named(world, name)


SAID = "and a file may name only code"


@pytest.mark.parametrize("verb", ["validate", "plan", "run"])
@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("target: os:system\nmetrics: [equals]\n", id="target"),
        pytest.param("metrics: [os:system]\n", id="metric"),
        pytest.param("metrics: [not-os:system]\n", id="negated"),
        pytest.param("metrics: [{os:system: {command: touch ran}}]\n", id="metric with settings"),
        pytest.param("metrics: [similarity]\nembeddings: os:system\n", id="embeddings"),
    ],
)
def test_a_suite_of_somebody_else_calls_nothing(tmp_path, verb, lines):
    (tmp_path / "rows.jsonl").write_text('{"input": "touch ran", "expected": "0", "answer": "touch ran"}\n')
    (tmp_path / "suite.yaml").write_text(f"datasets: [rows.jsonl]\n{lines}")
    command = [sys.executable, "-m", "evalmark", verb, "suite.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, SAID in done.stdout + done.stderr) == (2, True)
    assert not (tmp_path / "ran").exists()


def test_a_test_file_of_tiamat_is_a_suite_of_somebody_too(tmp_path):
    (tmp_path / "rows.json").write_text('{"name": "rows", "data": [{"input": "touch ran", "output": "0"}]}')
    (tmp_path / "test.json").write_text(
        '{"name": "t", "datasets": "rows.json", "metrics": ["equals"], "target": "os:system"}'
    )
    command = [sys.executable, "-m", "evalmark", "run", "test.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, SAID in done.stderr) == (2, True)
    assert not (tmp_path / "ran").exists()


def test_the_project_that_the_command_is_run_in_allows_packages_and_that_of_the_suite_does_not(world):
    evals, here = world / "project" / "evals", world / "here"
    here.mkdir()
    (evals / "rows.jsonl").write_text('{"input": "a", "expected": "a"}\n')
    (evals / "suite.yaml").write_text("datasets: [rows.jsonl]\ntarget: foreign_19k:run\nmetrics: [equals]\n")
    allowing = '[tool.evalmark]\nallow_code = ["foreign_19k"]\n'
    environment = {**os.environ, "PYTHONPATH": str(world / "outside")}

    def run(*words: str) -> int:
        command = [sys.executable, "-m", "evalmark", "run", str(evals / "suite.yaml"), *words]
        return subprocess.run(command, cwd=here, capture_output=True, env=environment, check=False).returncode

    (world / "project" / "pyproject.toml").write_text(allowing)
    assert run() == 2
    assert run("--allow-code", "foreign_19k") == 0
    assert run("--target", "foreign_19k:run") == 0
    (here / "pyproject.toml").write_text(allowing)
    assert run() == 0


def test_a_chain_or_an_agent_belongs_to_the_module_that_makes_it(world):
    (world / "outside" / "langchain_core").mkdir()
    (world / "outside" / "langchain_core" / "__init__.py").write_text(
        "class Runnable:\n    def invoke(self, text):\n        return text\n"
    )
    (world / "outside" / "partner_19k.py").write_text(
        "import langchain_core\n\n\nclass Model(langchain_core.Runnable):\n    pass\n"
    )
    (world / "project" / "evals" / "chains_19k.py").write_text(
        "import langchain_core\nimport partner_19k\nfrom langchain_core import Runnable\n\nchain = Runnable()\nmodel = partner_19k.Model()\n"
    )
    for name in ("chain", "chain.invoke", "model", "model.invoke"):
        assert named(world, f"chains_19k:{name}") is not None
    for name in ("Runnable", "partner_19k.Model", "Runnable.invoke"):
        with pytest.raises(ConfigError, match="and a file may name only code"):
            named(world, f"chains_19k:{name}")


def test_files_that_look_like_an_installed_package_hand_nothing_to_evalmark(tmp_path):
    (tmp_path / "helper-1.dist-info").mkdir()
    (tmp_path / "helper-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: helper\nVersion: 1\n")
    (tmp_path / "helper-1.dist-info" / "entry_points.txt").write_text("[evalmark.scorers]\nhelpful = os:system\n")
    (tmp_path / "own_19k.py").write_text("def answer(text):\n    return text\n")
    (tmp_path / "rows.jsonl").write_text('{"input": "touch ran", "expected": "0", "answer": "touch ran"}\n')
    for metric in ("{helpful: {command: touch ran}}", "{os:system: {command: touch ran}}"):
        (tmp_path / "suite.yaml").write_text(
            f"datasets: [rows.jsonl]\ntarget: own_19k:answer\nmetrics: [equals, 'own_19k:answer', {metric}]\n"
        )
        command = [sys.executable, "-m", "evalmark", "run", "suite.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, SAID in done.stderr) == (2, True)
        assert not (tmp_path / "ran").exists()


def test_validate_and_plan_say_what_they_import(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"input": "a", "expected": "a"}\n')
    (tmp_path / "bot_19k.py").write_text("def answer(text):\n    return text\n")
    (tmp_path / "suite.yaml").write_text(
        "datasets: [rows.jsonl]\ntarget: bot_19k:answer\nmetrics: ['evalmark.scorers:Equals']\n"
    )
    for verb in ("validate", "plan"):
        command = [sys.executable, "-m", "evalmark", verb, "suite.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "Imported bot_19k for this check; no target was called." in done.stdout
