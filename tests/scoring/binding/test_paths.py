"""What a data file may have opened: every setting of a scorer and of a suite is tried with hostile paths.

The settings come from the signatures of the scorers and from the schema of suites, so that a new one is tried too. What
is opened is told by Python itself, in a process of its own, since a pipe would be waited for.
"""

import json
import os
import resource
import subprocess
import sys
import typing
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from evalmark.core.foreign.code_access import IMPORTED_SUITE_SCORERS
from evalmark.core.foreign.named_objects import load_object
from evalmark.scoring.binding.registry import GROUP, _type_hints

KEPT = "kept-by-somebody-else"
WHERE = (
    "../outside.json",
    "/dev/zero",
    "/dev/stdin",
    "pipe.json",
    "link.json",
    "up/outside.json",
    "zero.json",
    ".",
    "../outside",
)


@pytest.fixture
def suite(tmp_path):
    """A suite's folder with a pipe and links in it, and a secret beside the folder."""
    for name in ("outside.json", "outside.prompty", "outside.py"):
        (tmp_path / name).write_text(json.dumps(KEPT))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.json").write_text(json.dumps(KEPT))
    folder = tmp_path / "suite"
    folder.mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    (folder / "up").symlink_to(tmp_path)
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "rows.jsonl").write_text('{"input": "a", "expected": "a", "answer": "{}"}\n')
    return folder


def paths_in(hint: object) -> bool:
    return hint is Path or any(map(paths_in, typing.get_args(hint)))


def settings_with_paths() -> Iterator[tuple[str, str]]:
    """Every setting of a scorer whose type has a path in it."""
    scorers = {entry.name: entry.load() for entry in entry_points(group=GROUP)}
    scorers |= {name: load_object(name) for name in IMPORTED_SUITE_SCORERS}
    for name, scorer in sorted(scorers.items()):
        yield from ((name, setting) for setting, hint in _type_hints(scorer).items() if paths_in(hint))


def test_the_settings_with_paths_are_found():
    assert {("json_schema", "schema"), ("evalmark.scorers:PythonAssertion", "file")} <= set(settings_with_paths())


WATCHED = """
import json, os, sys
from pathlib import Path
opened, here = [], os.getcwd()
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.realpath(os.path.join(here, os.fsdecode(arguments[0])))
        if path.startswith(os.path.dirname(here)) and not path.startswith(here) or path.startswith("/dev/z"):
            opened.append(path)
from evalmark import ConfigError
from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark import Case, Output
from evalmark.interop.shared.assertions import Assertions
import yaml, jsonschema, asyncio, pyarrow.parquet
for number, text in enumerate(json.load(sys.stdin)):
    if isinstance(text, list):  # a check that stands in a row
        sys.addaudithook(hook) if not number else None
        try:
            found = [str(Assertions()(Case(id="1", metadata={"assert": text}), Output(value="{}")))]
        except (ValueError, ConfigError) as fault:
            found = [str(fault)]
        print(json.dumps(found))
        continue
    Path("suite.json").write_text(text)
    sys.addaudithook(hook) if not number else None
    print(json.dumps(validate(Path("suite.json"), Settings())))
print(json.dumps(opened))
"""


def watched(folder: Path, suites: list[object]) -> tuple[list[list[str]], list[str]]:
    """What is wrong with each suite, and which files outside of its folder were opened."""
    gigabytes = 3 << 30
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        cwd=folder,
        input=json.dumps(suites),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (gigabytes, gigabytes)),
    )
    assert done.returncode == 0, done.stderr
    *faults, opened = map(json.loads, done.stdout.splitlines())
    return faults, opened


def test_no_setting_of_a_scorer_reaches_outside_of_the_suite(suite):
    suites = [
        json.dumps({"datasets": ["rows.jsonl"], "metrics": [{scorer: {setting: path}}]})
        for scorer, setting in settings_with_paths()
        for path in (*WHERE, str(suite.parent / "outside.json"), "../outside.py", "missing.json")
    ]
    faults, opened = watched(suite, suites)
    assert opened == []
    assert all(faults)
    assert all(KEPT not in fault and len(fault) < 1_000 for found in faults for fault in found)


def test_no_check_in_a_row_reaches_outside_either(suite):
    faults, opened = watched(suite, [[{"json_schema": {"schema": path}}] for path in WHERE])
    assert opened == []
    assert all(faults)
    assert KEPT not in json.dumps(faults)


BASE = {"datasets": ["rows.jsonl"], "metrics": ["equals"]}


def texts_in(schema: dict, whole: dict, at: tuple = (), depth: int = 0) -> Iterator[tuple]:
    """Where a suite may hold a text, by its schema."""
    schema = referred(schema, whole)
    if "string" in schema.get("type", "object"):
        yield at
    inner = [((*at, key), part) for key, part in schema.get("properties", {}).items()]
    inner += [((*at, 0), schema.get("items")), ((*at, "key"), schema.get("additionalProperties"))]
    inner += [(at, schema.get(rule)) for rule in ("if", "then", "else")]
    for where, part in inner:
        if isinstance(part, dict) and depth <= 4:
            yield from texts_in(part, whole, where, depth + 1)


def referred(schema: dict, whole: dict) -> dict:
    while "$ref" in schema:
        part = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            part = part[step]
        schema = part
    return schema


def with_text(at: tuple, text: str) -> dict:
    """A suite with a text in one place."""
    made = json.loads(json.dumps(BASE))
    made[at[0]] = nested(at[1:], text)
    return made


def nested(at: tuple, text: str) -> object:
    if not at:
        return text
    return [nested(at[1:], text)] if at[0] == 0 else {at[0]: nested(at[1:], text)}


@pytest.mark.slow
def test_no_text_of_a_suite_reaches_outside_of_it(suite):
    import evalmark.inputs.suites

    schema = json.loads((Path(evalmark.inputs.suites.__file__).parent / "suite.schema.json").read_text())
    places = sorted(set(texts_in(schema, schema)), key=str)
    assert {("datasets", 0), ("datasets", 0, "path"), ("metrics", 0), ("target",), ("embeddings",), ("lock",)} <= set(
        places
    )
    more = ("../outside.prompty", "../outside.py", f"{suite.parent}/outside.json", "file://../outside.json")
    suites = [json.dumps(with_text(at, path)) for at in places for path in (*WHERE, *more)]
    faults, opened = watched(suite, suites)
    assert opened == []
    assert KEPT not in json.dumps(faults)
    assert all(len(fault) < 1_000 for found in faults for fault in found)


@pytest.mark.parametrize(
    "name",
    [
        "rules.txt",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("tests.json", "kind.metric.prompty", "intent.txt", "baseline_tests.txt")
        ),
    ],
)
def test_a_link_beside_a_prompt_does_not_lead_out(suite, name):
    (suite / "kind.prompty").write_text(
        "---\nname: kind\ninputs: {text: {type: string}}\n---\nuser:\nWhich? {{text}}\n"
    )
    (suite / "kind").mkdir()
    (suite / "kind" / "tests.json").write_text('[{"text": "a"}]')
    home = suite if name.endswith(".prompty") else suite / "kind"
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(suite.parent / "outside.json")
    command = [sys.executable, "-m", "evalmark", "validate", "kind.prompty"]
    done = subprocess.run(command, cwd=suite, capture_output=True, text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert (done.returncode, KEPT in said) == (2, False)
    assert "is a link that leads out of its project" in said


def test_a_suite_reaches_what_its_project_has(suite):
    (suite.parent / "pyproject.toml").touch()
    (suite.parent / "outside.json").write_text('{"type": "object"}')
    metric = {"json_schema": {"schema": "../outside.json"}}
    faults, opened = watched(suite, [json.dumps({"datasets": ["rows.jsonl"], "metrics": [metric]})])
    assert faults == [[]]
    assert set(opened) == {str(suite.parent / "outside.json")}


@pytest.mark.parametrize("path", ["/dev/zero", "pipe.json"])
@pytest.mark.parametrize(
    "words",
    [
        ("validate",),
        ("note", "--file"),
        *(pytest.param(words, marks=pytest.mark.slow) for words in (("rag",), ("cache", "import"), ("calibrate",))),
    ],
)
def test_on_the_command_line_a_pipe_or_a_device_is_refused_too(suite, words, path):
    command = [sys.executable, "-m", "evalmark", *words, path]
    done = subprocess.run(
        command, cwd=suite, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.PIPE
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
