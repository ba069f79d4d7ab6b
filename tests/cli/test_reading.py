"""Words that are read here come to what typer makes of them, and whatever is wrong with them it says."""

import pytest
import typer.main

from evalmark.cli.commands.app import program
from evalmark.cli.commands.flags import with_variables

WORDS = [
    *("", " ", "a", "text.json", "no such/file", ".", "rows.json", "é", "\ud800", "a\0b", "-", "--", "~"),
    *("0", "1", "5", "007", "-1", "+1", " 1", "1 ", "1_000", "1.0", "1e3", "٣", "²", "999999999", "1000000000"),
    *("9" * 30, "nan", "true", "no", b"bytes"),
]
VALUES = [None, *WORDS, 5, -5, 10**12, True, 0.5]
SEVERAL = [None, (), [], *[(word,) for word in WORDS], ("a", "b"), ["a", ""], ("1", "x"), "a text where several are"]


def parameters(command, path=()):
    for name, verb in getattr(command, "commands", {}).items():
        yield from parameters(verb, (*path, name))
    yield from (((*path, parameter.name), parameter) for parameter in command.params)


OURS = dict(parameters(with_variables(typer.main.get_command(program()))))
TYPERS = dict(parameters(typer.main.get_command(program())))


def came_of(parameter, value):
    context = typer.Context(typer.main.get_command(program("doctor")))
    try:
        found = parameter.process_value(context, value)
    except (typer.BadParameter, typer.Exit, ValueError, TypeError, AttributeError) as error:
        return type(error), str(error)
    several = isinstance(found, (list, tuple))  # a verb gets a list of either
    return "several" if several else type(found), repr(list(found) if several else found)


@pytest.mark.parametrize("path", OURS, ids=" ".join)
def test_every_flag_reads_each_word_as_typer_does(path, world):
    (world / "rows.json").write_text("[]", encoding="utf-8")
    ours, typers = OURS[path], TYPERS[path]
    several = ours.nargs != 1 or getattr(ours, "multiple", False)
    for value in SEVERAL if several else VALUES:
        assert came_of(ours, value) == came_of(typers, value), value
