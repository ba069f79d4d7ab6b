"""The page on commands names every verb, flag and variable there is, and none that there is not."""

import asyncio
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import fields

import pytest
import typer.main

from evalmark.cli.app import app
from evalmark.settings import Settings
from evalmark.store import open_store
from evalmark.values import Call, Reply, Request, Turn, Usage
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
FLAG = re.compile(r"(?<![\w-])-{1,2}[a-z][a-z-]*")
HELP = {"-h", "--help"}


def verbs(command, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every verb with its flags."""
    for word, below in getattr(command, "commands", {}).items():
        yield from verbs(below, f"{name} {word}".strip())
    if not hasattr(command, "commands"):
        flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        yield name, {flag for flag in flags if flag.startswith("-")} - HELP


VERBS = dict(verbs(typer.main.get_command(app)))


def sections() -> dict[str, str]:
    """The page by its headings that name a verb."""
    parts = re.split(r"^## evalmark (.+)$", PAGE, flags=re.MULTILINE)
    return {
        verb: re.split(r"^## ", text, flags=re.MULTILINE)[0]
        for verb, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_the_page_has_a_section_for_each_verb_and_for_nothing_else():
    assert sorted(sections()) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_of_a_verb_names_its_flags_and_no_others(verb):
    rows = re.findall(r"^\| (`-.*?) \|", sections()[verb], re.MULTILINE)
    assert {flag for row in rows for flag in FLAG.findall(row)} == VERBS[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_the_section_of_a_verb_shows_what_it_prints(verb):
    assert f"```console\n$ evalmark {verb}" in sections()[verb]


def test_every_command_on_the_page_takes_its_flags():
    known = sorted(VERBS, key=len, reverse=True)
    calls = re.findall(r"^(?:\$|\s*- run:)(?: EVALMARK_\w+=\w+)? evalmark (.*)$", PAGE, re.MULTILINE)
    assert len(calls) > 10
    for call in calls:
        verb = next(name for name in known if call.startswith(name))
        assert set(FLAG.findall(call)) <= VERBS[verb], call


def test_the_variables_on_the_page_are_the_settings():
    named = set(re.findall(r"EVALMARK_[A-Z_]+", PAGE))
    assert named == {f"EVALMARK_{field.name.upper()}" for field in fields(Settings)}


def test_the_settings_on_the_page_have_their_defaults():
    rows = re.findall(r"^\| `(\w+)` \| `EVALMARK_(\w+)` \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    words = {None: "none", "": "the user's cache folder", False: "false", 10: "10"}
    shown = {field.name: words.get(field.default, f"`{field.default}`") for field in fields(Settings)}
    assert {name: default for name, _, default in rows} == shown
    assert all(name.upper() == variable for name, variable, _ in rows)


def test_the_exit_codes_stand_in_the_order_in_which_they_are_decided():
    section = PAGE.split("## Exit codes")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == ["2", "130", "1", "3", "0"]


# What the page shows is compared with what is printed, line by line; "…" stands for anything. Commands that need the
# embedding model, a signal, or a home folder are left out.
LEFT_OUT = re.compile(r"evalmark (?:rag|models|doctor|show)|slow:answer|EVALMARK_")
FILES = {
    "bad.yaml": "name: sums\ndatasets: [rows.csv]\nmetrics: [equal]\nrepeats: 2\n",
    "rows.jsonl": '{"id": "a", "input": "1 + 1?", "answer": "2"}\n{"id": "b", "input": "2 + 2?"\n'
    '{"id": "a", "input": "3 + 3?", "answer": NaN}\n',
    "down.py": 'def down(question):\n    raise ConnectionError("no route")\n',
    "slow.py": "def answer(text):\n    return text\n",
}
CHANGING = (
    (re.compile(r"\d{8}-\d{6}-\w{4}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "DATE"),
    (re.compile(r"[\d.,]+ m?s (median|p95)"), r"TIME \1"),
    (re.compile(r" {2,}"), "  "),
)


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the page's console blocks with the lines that it is said to print."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            if not LEFT_OUT.search(command):
                yield command, printed.splitlines()


def record_calls(path) -> None:
    """What the page shows as recorded."""
    given = [
        ("openai/NAME", Reply(text="A", usage=Usage(input_tokens=298, output_tokens=9), cost=0.0042), None),
        ("openai/NAME", None, "answered 500"),
        ("ollama/NAME", Reply(text="B", usage=Usage(input_tokens=310, output_tokens=12)), None),
    ]
    with open_store(path) as store:
        for number, (model, reply, error) in enumerate(given):
            request = Request(messages=(Turn(role="user", content=f"Question {number}?"),))
            asyncio.run(
                store.journal().keep(
                    Call(
                        key=request.key(model),
                        model=model,
                        identity=model,
                        request=request,
                        reply=reply,
                        error=error,
                        created=f"2026-11-21T14:32:0{number + 5}.000+00:00",
                    )
                )
            )


def steady(line: str) -> str:
    for changing, name in CHANGING:
        line = changing.sub(name, line)
    return line.rstrip()


def test_what_the_page_shows_is_what_is_printed(evalmark, world, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(ROOT / "examples", world / "examples")
    for name, text in FILES.items():
        (world / name).write_text(text, encoding="utf-8")
    evalmark("run", "examples/checks/suite.yaml", "--target", "slow:answer", "--store", "other.db", "-q")
    record_calls(world / ".evalmark" / "evalmark.db")
    compared = 0
    for command, printed in shown_commands():
        said = [steady(line) for line in evalmark(*shlex.split(command)[1:]).text.splitlines()]
        for line in printed:
            if "…" not in line:
                assert steady(line) in said, f"{command}\n{line}\nis not in\n" + "\n".join(said)
                del said[: said.index(steady(line)) + 1]
                compared += 1
    assert compared > 25
