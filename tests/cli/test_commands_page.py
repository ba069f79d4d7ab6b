"""Pages name only flags that there are; the page on commands names every variable, and none that there is not."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields

import pytest
import typer.main

from evalmark.cli.commands.app import program
from evalmark.cli.terminal import supervisor
from evalmark.cli.terminal.command_line import complete_words
from evalmark.core.settings import Settings
from evalmark.core.text import PLAIN
from tests.conftest import ROOT
from tests.test_docs import PAGES, name

PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
EXIT_CODES = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
FLAG = re.compile(r"(?<![\w-])-{1,2}[a-z][a-z-]*")
HELP = {"-h", "--help"}


def verbs(command, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every verb with its flags."""
    for word, below in getattr(command, "commands", {}).items():
        yield from verbs(below, f"{name} {word}".strip())
    if not hasattr(command, "commands"):
        flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        yield name, {flag for flag in flags if flag.startswith("-")} - HELP


VERBS = dict(verbs(typer.main.get_command(program())))


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])
def test_every_command_on_a_page_takes_its_flags(page):
    known = sorted(VERBS, key=len, reverse=True)
    blocks = re.findall(
        r"^```(?:bash|console|yaml)\b.*?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    text = "\n".join(blocks).replace("\\\n", " ")
    for call in re.findall(r"^(?:\$ |\s*- run: )?(?:EVALMARK_\w+=\w+ )?evalmark ([a-z].*)$", text, re.MULTILINE):
        whole = " ".join(complete_words(call.split()))
        verb = next((verb for verb in known if f"{whole} ".startswith(f"{verb} ")), None)
        assert verb, call
        assert set(FLAG.findall(re.split(r" [|#>] | && | -- ", call)[0])) <= VERBS[verb] | HELP, call


TABLES = {"models"}
"""Settings that have a table under [tool.evalmark], and no variable."""
WHEN_UNSET = {
    "cache_dir": "the user's cache folder",
    "env_file": "no file",
    "editor": "no links",
    "lock": "no learned thresholds",
    "connections": "as many as `jobs`",
    "rpm": "what the endpoint says",
    "tpm": "what the endpoint says",
    "workers": "one for each processor",
    "models": "no named endpoints",
}
"""What holds where a setting has no value of its own."""


def default_of(field) -> str:
    """The default of a setting as the page writes it."""
    if field.name in WHEN_UNSET:
        assert field.default in (None, "", MISSING)
        return WHEN_UNSET[field.name]
    if field.default is None or field.default == ():
        return "none"
    if isinstance(field.default, (bool, int, float)):
        return f"{field.default:g}" if not isinstance(field.default, bool) else str(field.default).lower()
    return f"`{field.default}`"


def test_the_variables_on_the_page_are_the_settings():
    named = set(re.findall(r"EVALMARK_[A-Z_]+", PAGE + EXIT_CODES))
    settings = {f"EVALMARK_{field.name.upper()}" for field in fields(Settings) if field.name not in TABLES}
    assert named == settings | {"EVALMARK_FILTER", PLAIN, supervisor.SUPERVISE_VARIABLE}


def test_the_settings_on_the_page_have_their_defaults():
    rows = re.findall(
        r"^\| `(\w+)` \| (?:`EVALMARK_(\w+)`[^|]*)?\|.*\| (.*) \|$", PAGE.split("## Settings")[1], re.MULTILINE
    )
    assert [(name, default) for name, _, default in rows] == [(f.name, default_of(f)) for f in fields(Settings)]
    assert all(variable == ("" if name in TABLES else name.upper()) for name, variable, _ in rows)


def test_the_exit_codes_stand_in_the_order_in_which_they_are_decided():
    assert re.findall(r"^\| (\d+) \|", EXIT_CODES, re.MULTILINE) == ["2", "130", "1", "3", "0"]
