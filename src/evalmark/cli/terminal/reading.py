"""What the words after a flag come to, read here where they are plain: the library would first build a reader for each.

It builds one for every flag of a verb, used or not, out of a library that takes longer to load than all of evalmark.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DIGITS = 9
"""Of a number that every flag can hold, so that nothing has to be said of its size."""


def read_here(command: Any) -> None:
    """Have the flags of a verb read plain words themselves; all others, and whatever is wrong, they leave to typer."""
    for parameter in command.params:
        _read_by(parameter)
    found = command.get_help_option

    def help_option(context: Any) -> Any:
        option = found(context)
        if option is not None and "process_value" not in vars(option):  # the same one is given each time
            _read_by(option)
        return option

    command.get_help_option = help_option


def _read_by(parameter: Any) -> None:
    descriptor = getattr(parameter, "type_descriptor", None)
    if descriptor is None:  # older versions of typer build nothing
        return
    several = parameter.nargs != 1 or bool(getattr(parameter, "multiple", False))
    read = _reader(descriptor)
    leave, hear = parameter.process_value, parameter.callback

    def process(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            found: Any = () if several else None
        else:
            words = [] if read is None else _read(value if several else (value,), read)
            if not words:
                return leave(context, value)
            found = words if several else words[0]
        return found if hear is None else hear(context, parameter, found)

    parameter.process_value = process


def _read(words: Any, read: Callable[[Any], Any]) -> Sequence[Any]:
    """What the words come to; nothing where one of them is for typer."""
    found = [read(word) for word in words] if isinstance(words, (list, tuple)) else []
    return [] if None in found else found


def _reader(descriptor: Any) -> Callable[[Any], Any] | None:
    kind, said = descriptor.annotation, descriptor.parameter_info
    if kind in (str, list[str]):
        return _text
    if kind in (Path, list[Path]):
        return _path
    return (lambda word: _whole(word, said.min, said.max)) if kind is int else None


def _text(word: Any) -> str | None:
    return word if type(word) is str else None


def _path(word: Any) -> Path | None:
    """A file that can be read, or that is not there: what else it may be, typer has a sentence for."""
    if type(word) is not str or not word:
        return None
    try:
        return Path(word) if os.access(word, os.R_OK) or not os.path.lexists(word) else None
    except ValueError:  # a text that is no name in any file system
        return None


def _whole(word: Any, least: float | None, most: float | None) -> int | None:
    if type(word) is str and word.isascii() and word.isdecimal() and len(word) <= _DIGITS:
        word = int(word)
    fits = type(word) is int and (least is None or word >= least) and (most is None or word <= most)
    return word if fits else None
