"""Rows of JSON files: a list, an object with a list, or one object a line."""

from collections.abc import Iterator
from typing import Any

from evalmark.inputs.documents.faults import PlacedError
from evalmark.inputs.documents.json_stream import JsonStream
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import MAX_ROW, first_letter, numbered_lines, text_chunks

from .rows import Reading, Row
from .wrapper import LIST_KEYS, check_row, looks_wrapped, no_rows, open_wrapper


def json_rows(reading: Reading) -> Iterator[Row]:
    """The rows of a `.json` file; one that really holds JSON lines is read as such, with a note."""
    start = first_letter(reading.path, reading.options.encoding)
    if start == "":
        raise PlacedError(reading.name, "is empty; a list of cases was expected.")
    if start == "[":
        return _list_rows(reading)
    if start != "{":
        raise PlacedError(f"{reading.name}:1", "a list of cases was expected: [{…}, …].")
    if _is_lines(reading):
        reading.notes(f"{reading.name} holds one JSON object a line; it is read as JSON lines.")
        return _line_rows(reading)
    return _wrapped_rows(reading)


def json_header(reading: Reading) -> None:
    """What a `.json` file says beside its rows, into `reading.header`; its rows are passed over only to find `config`."""
    if first_letter(reading.path, reading.options.encoding) == "{" and not _is_lines(reading):
        _read_header(reading)


def jsonl_rows(reading: Reading) -> Iterator[Row]:
    """The rows of a `.jsonl` file; one that really holds a JSON list is read as such, with a note."""
    if first_letter(reading.path, reading.options.encoding) != "[":
        return _line_rows(reading)
    reading.notes(f"{reading.name} holds one JSON list, not an object a line; it is read as a list.")
    return _list_rows(reading)


def _stream(reading: Reading) -> JsonStream:
    return JsonStream(text_chunks(reading.path, reading.options.encoding), reading.name)


def _list_rows(reading: Reading) -> Iterator[Row]:
    stream = _stream(reading)
    for item in stream.items():
        yield Row(*item)
    stream.finish()


def _line_rows(reading: Reading) -> Iterator[Row]:
    for number, line in numbered_lines(text_chunks(reading.path, reading.options.encoding)):
        if len(line) > MAX_ROW:
            fault = PlacedError(f"{reading.name}:{number}", f"the line is longer than {MAX_ROW >> 20} MiB; split it.")
            yield Row(number, 0, fault)
        elif line and not line.isspace():
            yield Row(number, 0, _parsed(line, reading.name, number))


def _parsed(line: str, name: str, number: int) -> Any:
    try:
        return parse_json(line, name, number)
    except PlacedError as fault:
        return fault


def _is_lines(reading: Reading) -> bool:
    """Whether the first line is a whole object, and not one that holds a list of rows."""
    for number, line in numbered_lines(text_chunks(reading.path, reading.options.encoding)):
        if line.strip():
            first = _parsed(line, reading.name, number) if len(line) <= MAX_ROW else None
            return isinstance(first, dict) and not looks_wrapped(first, reading.options)
    return False


def _wrapped_rows(reading: Reading) -> Iterator[Row]:
    """The rows of the list in an object. Two passes where the object's other fields come after the list."""
    _read_header(reading)
    open_wrapper(reading)
    stream = _stream(reading)
    for key in stream.members():
        if key in LIST_KEYS and stream.peek() == "[":
            for item in stream.items():
                yield Row(item.line, item.column, check_row(reading, item))
        else:
            stream.value()
    stream.finish()


def _read_header(reading: Reading) -> None:
    stream = _stream(reading)
    found = False
    for key in stream.members():
        if key in LIST_KEYS and stream.peek() == "[":
            found = True
            if "config" in reading.header:
                return
            for _ in stream.items():
                pass
        else:
            value = stream.value()
            if isinstance(value, PlacedError):
                raise value
            reading.header[key] = value
    if not found:
        raise no_rows(reading, reading.header)
