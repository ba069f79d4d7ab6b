"""The help pages: one line for each verb, and the exit codes as a table."""

import re

import pytest
import typer.main

from evalmark.cli.commands.app import VERBS, overview, program

WITH_CODES = (
    "audit",
    "calibrate",
    "compare",
    "doctor",
    "generate",
    "merge",
    "rag",
    "report",
    "rescore",
    "run",
    "validate",
)


def test_the_overview_and_the_whole_program_show_the_same_lines():
    found = [
        {name: verb.short_help or verb.help for name, verb in typer.main.get_command(app).commands.items()}
        for app in (overview(), program())
    ]
    assert found[0] == found[1] == {verb: line for verb, (_, line) in VERBS.items()}


def test_the_help_shows_all_exit_codes(evalmark):
    said = evalmark("--help").out
    table = said.split("Exit codes:\n")[1].splitlines()
    assert [line.split()[0] for line in table if line.strip()] == ["0", "1", "2", "3", "130"]


@pytest.mark.parametrize("verb", WITH_CODES)
def test_the_help_of_a_verb_shows_its_exit_codes_one_a_line(evalmark, verb):
    table = evalmark(verb, "--help").out.split("Exit codes:\n")[1].rstrip().splitlines()
    assert len(table) >= 2
    assert all(line.split()[0] in {"0", "1", "2", "3", "130"} and len(line) <= 80 for line in table)


@pytest.mark.parametrize("verb", [*VERBS, "models get", "cache list"])
def test_the_help_of_a_verb_shows_no_type_of_python_and_no_range(evalmark, verb):
    said = evalmark(*verb.split(), "--help").out
    assert not re.search(r"<[a-z]+|\bx[<>]=|<=x|\[default:\s*\n", said)


@pytest.mark.parametrize("verb", [*VERBS, "models get", "cache list"])
def test_the_help_of_a_verb_breaks_no_name_at_a_hyphen(evalmark, verb):
    said = evalmark(*verb.split(), "--help").out
    assert not re.search(r"\w-\n|\u2011", said)


@pytest.mark.parametrize("verb", ["get", "list"])
def test_the_commands_of_a_supervised_group_can_be_called(evalmark, verb):
    said = evalmark("models", verb, "--help")
    assert said.code == 0
    assert f"evalmark models {verb}" in said.out


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        pytest.param(["run", "--repeat", "0"], "'0' is not a whole number from 1 to 10,000.", id="below the least"),
        pytest.param(["run", "--limit", "x"], "'x' is not a whole number from 1.", id="no number"),
        pytest.param(["report", "--min-pass-rate", "2"], "'2' is not a number from 0 to 1.", id="above the most"),
        pytest.param(["run", "--timeout", "soon"], "'soon' is not a number.", id="no limits"),
    ],
)
def test_a_wrong_number_is_refused_in_plain_words(evalmark, words, refusal):
    said = evalmark(*words)
    assert said.code == 2
    assert refusal in " ".join(said.err.split())


def test_plain_text_is_for_logs_wherever_the_flag_stands(evalmark, world, monkeypatch):
    (world / "bot.py").write_text("def answer(question):\n    return 'yes…'\n")
    (world / "cases.jsonl").write_text('{"input": "q?", "expected": "yes…"}\n')
    (world / "suite.yaml").write_text("datasets: [cases.jsonl]\ntarget: bot:answer\nmetrics: [equals]\n")
    words = ["run", "suite.yaml"]
    for arguments in (["--plain", *words], [*words, "--plain"]):
        monkeypatch.setenv("COLUMNS", "60")
        said = evalmark(*arguments)
        assert said.code == 0, said.text
        assert said.out.isascii()
        assert "equals" in said.out
        monkeypatch.delenv("EVALMARK_PLAIN")
    assert not evalmark(*words).out.isascii()
