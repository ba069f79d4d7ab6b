"""Every flag has a variable that says the same."""

import json
import os

import pytest
import typer.main

from evalmark.cli.commands.app import program
from evalmark.cli.commands.flags import SETTINGS, with_variables

ENDING = {"help", "wants_version"}
OTHER_NAMES = {"mode": "embedding_mode", "model": "embeddings"}


def flags(command):
    for verb in getattr(command, "commands", {}).values():
        yield from () if verb.name == "clear" else flags(verb)
    yield from (parameter for parameter in command.params if parameter.param_type_name == "option")


def test_every_flag_has_one_named_after_it():
    verbs = with_variables(typer.main.get_command(program()))
    silent = [f for verb in ("note", "delete", "prune") for f in verbs.commands[verb].params]
    found = {(f.name, f.envvar) for f in flags(verbs) if f not in silent}
    assert {f.envvar for f in silent} == {None}  # no forgotten variable speaks for a person
    assert {"repeat", "fail_on_flags", "output", "jobs"} <= {name for name, _ in found}
    for name, variable in found:
        assert variable == (None if name in SETTINGS | ENDING else f"EVALMARK_{name.upper()}")
    assert {OTHER_NAMES.get(name, name) for name in SETTINGS} <= SETTINGS


def test_nothing_is_deleted_because_of_a_variable(evalmark, monkeypatch, suite):
    monkeypatch.setenv("EVALMARK_ALL", "1")
    monkeypatch.setenv("EVALMARK_FAILED", "1")
    evalmark("run", suite)
    refused = evalmark("cache", "clear")
    assert (refused.code, "--all" in refused.err) == (2, True)


@pytest.fixture
def suite(world):
    (world / "own.py").write_text("def answer(text):\n    return text.upper()\n", encoding="utf-8")
    rows = [{"id": n, "input": n, "expected": n.upper(), "answer": "?"} for n in "abc"]
    (world / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (world / "suite.json").write_text(json.dumps({"datasets": ["rows.json"], "metrics": ["equals"]}), encoding="utf-8")
    return "suite.json"


def test_a_variable_counts_as_its_flag_and_the_flag_wins(evalmark, suite, world, monkeypatch):
    for name, value in {
        "TARGET": "own:answer",
        "REPEAT": "2",
        "LIMIT": "1",
        "OUTPUT": "out.json",
        "QUIET": "1",
    }.items():
        monkeypatch.setenv(f"EVALMARK_{name}", value)
    said = evalmark("run", suite, "--limit", "2")
    assert (said.code, said.text) == (0, "")
    results = json.loads((world / "out.json").read_text(encoding="utf-8"))["results"]
    assert [(r["case"]["id"], r["repeat"]) for r in results] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_a_variable_with_several_values(evalmark, suite, world, monkeypatch):
    monkeypatch.setenv("EVALMARK_OUTPUT", f"one.csv{os.pathsep}two.md")
    assert evalmark("run", suite, "--target", "own:answer").code == 0
    assert (world / "one.csv").exists()
    assert (world / "two.md").exists()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        pytest.param("REPEAT", "none", "Invalid value for '--repeat'", id="no number"),
        pytest.param("LIMIT", "0", "Invalid value for", id="too small"),
        pytest.param("OUTPUT", "out.xyz", "out.xyz", id="an ending that nobody knows"),
    ],
)
def test_a_variable_that_cannot_be_right_is_refused(evalmark, suite, monkeypatch, name, value, says):
    monkeypatch.setenv(f"EVALMARK_{name}", value)
    said = evalmark("run", suite, "--target", "own:answer")
    assert (said.code, says in said.err) == (2, True), said.text


def test_an_empty_variable_says_nothing(evalmark, suite, monkeypatch):
    monkeypatch.setenv("EVALMARK_REPEAT", "")
    assert evalmark("run", suite, "--target", "own:answer").code == 0
