"""Read rows of JSON files: a list, an object with a list, or one object a line."""

from collections.abc import Iterator
from typing import Any

from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_stream import JsonStream
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import MAX_ROW, first_character, numbered_lines, text_chunks

from .rows import DatasetFile, DatasetRow
from .wrapper import LIST_KEYS, check_row, looks_wrapped, no_rows_error, open_wrapper


def json_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a `.json` file; a file with JSON lines is read as such, with a note."""
    start = first_character(source.path, source.options.encoding)
    if start == "":
        raise PlacedError(source.name, "is empty; a list of cases was expected.")
    if start == "[":
        return _list_rows(source)
    if start != "{":
        raise PlacedError(f"{source.name}:1", "a list of cases was expected: [{…}, …].")
    if _is_lines(source):
        source.notes(f"{source.name} holds one JSON object a line; it is read as JSON lines.")
        return _line_rows(source)
    return _wrapped_rows(source)


def json_header(source: DatasetFile) -> None:
    """Read the header of a `.json` file into `source.header`; rows are skipped only to find `config`."""
    if first_character(source.path, source.options.encoding) == "{" and not _is_lines(source):
        _read_header(source)


def jsonl_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a `.jsonl` file; a file with a JSON list is read as such, with a note."""
    if first_character(source.path, source.options.encoding) != "[":
        return _line_rows(source)
    source.notes(f"{source.name} holds one JSON list, not an object a line; it is read as a list.")
    return _list_rows(source)


def _stream(source: DatasetFile) -> JsonStream:
    return JsonStream(text_chunks(source.path, source.options.encoding), source.name)


def _list_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    stream = _stream(source)
    for item in stream.items():
        yield DatasetRow(*item)
    stream.finish()


def _line_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    for number, line in numbered_lines(text_chunks(source.path, source.options.encoding)):
        if len(line) > MAX_ROW:
            fault = PlacedError(f"{source.name}:{number}", f"the line is longer than {MAX_ROW >> 20} MiB; split it.")
            yield DatasetRow(number, 0, fault)
        elif line and not line.isspace():
            yield DatasetRow(number, 0, _parsed(line, source.name, number))


def _parsed(line: str, name: str, number: int) -> Any:
    try:
        return parse_json(line, name, number)
    except PlacedError as fault:
        return fault


def _is_lines(source: DatasetFile) -> bool:
    """Tell whether the first line is a whole object, and not one with a list of rows."""
    for number, line in numbered_lines(text_chunks(source.path, source.options.encoding)):
        if line.strip():
            first = _parsed(line, source.name, number) if len(line) <= MAX_ROW else None
            return isinstance(first, dict) and not looks_wrapped(first, source.options)
    return False


def _wrapped_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of the list in an object, in two passes if other fields come after the list."""
    _read_header(source)
    open_wrapper(source)
    stream = _stream(source)
    for key in stream.members():
        if key in LIST_KEYS and stream.peek() == "[":
            for item in stream.items():
                yield DatasetRow(item.line, item.column, check_row(source, item))
        else:
            stream.value()
    stream.finish()


def _read_header(source: DatasetFile) -> None:
    stream = _stream(source)
    has_rows = False
    for key in stream.members():
        if key in LIST_KEYS and stream.peek() == "[":
            has_rows = True
            if "config" in source.header:
                return
            for _ in stream.items():
                pass
        else:
            value = stream.value()
            if isinstance(value, PlacedError):
                raise value
            source.header[key] = value
    if not has_rows:
        raise no_rows_error(source, source.header)
