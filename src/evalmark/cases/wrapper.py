"""Files whose rows lie in an object: `{name, config: {example_outputs}, data: [{input, output}]}`."""

from typing import Any, Protocol

from evalmark.documents import PlacedError

from .rows import Reading

LIST_KEYS = ("data", "cases")
"""Where the rows of an object may lie."""

_SPELLED = {"true": True, "false": False}


class _Placed(Protocol):
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def value(self) -> Any: ...


def open_wrapper(reading: Reading) -> None:
    """Take in what the object says beside its rows.

    Raises:
        DataError: `config` is no mapping, or `example_outputs` no truth value.
    """
    if "config" not in reading.header:
        return
    config = reading.header["config"]
    if not isinstance(config, dict):
        raise PlacedError(f"{reading.name}:1", '`config` is not a mapping such as {"example_outputs": true}.')
    reading.wrapped = True
    said = config.get("example_outputs")
    if isinstance(said, str) and said.lower() in _SPELLED:
        reading.notes(f"{reading.name}: config.example_outputs is the text {said!r}; it is read as {said.lower()}.")
        said = _SPELLED[said.lower()]
    if said is not None and not isinstance(said, bool):
        raise PlacedError(f"{reading.name}:1", f"config.example_outputs is {said!r}; write true or false.")
    reading.header["example_outputs"] = said


def check_row(reading: Reading, item: _Placed) -> Any:
    """The row, or what is wrong with it when it breaks the promise that `config` made."""
    promised = reading.header.get("example_outputs") if reading.wrapped else None
    if promised is None or not isinstance(item.value, dict):
        return item.value
    has = item.value.get("output") is not None
    if has == promised:
        return item.value
    finding = "the row has no `output`" if promised else "the row has an `output`"
    place = reading.place(item.line, item.column)
    return PlacedError(place, f"config.example_outputs is {str(promised).lower()}, but {finding}.")
