"""The page on commands names every verb, flag and variable there is, and none that there is not."""

import re
from collections.abc import Iterator
from dataclasses import fields

import pytest
import typer.main

from evalmark.cli.app import app
from evalmark.settings import Settings
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
