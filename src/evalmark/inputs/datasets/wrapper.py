"""Files whose rows are in an object: `{name, config: {example_outputs}, data: [{input, output}]}`."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Protocol

from evalmark.inputs.documents.errors import PlacedError

from .fields import can_be_case
from .options import ReadOptions
from .rows import DatasetFile

LIST_KEYS = ("data", "cases")
"""The keys that may hold the rows."""

_OPTION = "example_outputs"
_SPELLED = {"true": True, "false": False}


class _Placed(Protocol):
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def value(self) -> Any: ...


def open_wrapper(source: DatasetFile) -> None:
    """Check the `config` of the object.

    Raises:
        DataError: `config` is not a mapping, or `example_outputs` is not a boolean or is misspelled.
    """
    if "config" not in source.header:
        return
    config = source.header["config"]
    if not isinstance(config, dict):
        raise PlacedError(f"{source.name}:1", '`config` is not a mapping such as {"example_outputs": true}.')
    _note_other_keys(source, config)
    source.wrapped = True
    example_outputs = config.get("example_outputs")
    if isinstance(example_outputs, str) and example_outputs.lower() in _SPELLED:
        source.notes(
            f"{source.name}: config.example_outputs is the text {example_outputs!r}; it is read as {example_outputs.lower()}."
        )
        example_outputs = _SPELLED[example_outputs.lower()]
    if example_outputs is not None and not isinstance(example_outputs, bool):
        raise PlacedError(f"{source.name}:1", f"config.example_outputs is {example_outputs!r}; write true or false.")
    source.header["example_outputs"] = example_outputs


def looks_wrapped(data: object, options: ReadOptions) -> bool:
    """Tell whether an object holds a list of rows, under any key, and is not a row itself."""
    if not isinstance(data, Mapping):
        return False
    if any(isinstance(data.get(key), list) for key in LIST_KEYS):
        return True
    return not can_be_case(map(str, data), options) and any(map(_is_rows, data.values()))


def no_rows_error(source: DatasetFile, data: Mapping[str, Any]) -> PlacedError:
    """Make the error for an object without rows under a known key."""
    keys = ", ".join(map(str, data)) or "no keys at all"
    lists = [str(key) for key, value in data.items() if _is_rows(value)]
    finding = f"an object with {keys}; a list of cases was expected, or an object with `data`"
    advice = f"; if the rows are those of `{lists[0]}`, call it `data`" if lists else ""
    return PlacedError(f"{source.name}:1", f"{finding}{advice}.")


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _note_other_keys(source: DatasetFile, config: Mapping[Any, Any]) -> None:
    """Note that other keys of `config` are ignored.

    Raises:
        DataError: a key is a misspelled `example_outputs`.
    """
    for key in (str(key) for key in config if key != _OPTION):
        if get_close_matches(key.lower(), [_OPTION], n=1, cutoff=0.7):
            raise PlacedError(f"{source.name}:1", f"`config` has a key {key!r}; did you mean `{_OPTION}`?")
        source.notes(f"{source.name}: config.{key} is not read; the one key that `config` knows is {_OPTION}.")


def check_row(source: DatasetFile, item: _Placed) -> Any:
    """Return the row, or a fault if it contradicts `config.example_outputs`."""
    promised = source.header.get("example_outputs") if source.wrapped else None
    if promised is None or not isinstance(item.value, dict):
        return item.value
    has = item.value.get("output") is not None
    if has == promised:
        return item.value
    finding = "the row has no `output`" if promised else "the row has an `output`"
    place = source.place(item.line, item.column)
    return PlacedError(place, f"config.example_outputs is {str(promised).lower()}, but {finding}.")
