"""Reads test cases from JSON Lines, a JSON list, or one JSON object; every fault has its line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, DataError
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.reader import as_cases
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_stream import JsonStream
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import MAX_ROW, first_character, numbered_lines, read_text, text_chunks

from .labeled import TestCase, from_case

_LISTS = ("test_cases", "cases")
"""Under which an object may hold its cases."""
_MOST_FAULTS = 20
_LINES = (".jsonl", ".ndjson")
Row = tuple[str, Any]
"""A place, and the data there or the fault."""


def read_test_cases(path: Path) -> list[tuple[str, TestCase]]:
    """Return the cases of a file with their places.

    Raises:
        DataError: the file cannot be read, or some of its rows are no test cases; every such row is named.
    """
    found: list[tuple[str, TestCase]] = []
    faults = FaultList(str(path), most=_MOST_FAULTS)
    for place, row in _rows(path):
        try:
            found.append((place, _test_case(row, place)))
        except ConfigError as fault:
            faults.add(str(fault))
    if found_faults := faults.lines():
        raise DataError("\n".join(found_faults))
    return found


def _rows(path: Path) -> Iterator[Row]:
    start = first_character(path)
    if start == "":
        raise PlacedError(
            str(path), 'is empty; one {"inputs": {…}, "outputs": [{"label": 1, "value": …}]} a line is expected.'
        )
    if start == "[":
        yield from _list(path)
    elif _is_lines(path):
        yield from _lines(path)
    else:
        yield from _object(path)


def _list(path: Path) -> Iterator[Row]:
    stream = JsonStream(text_chunks(path), str(path))
    for item in stream.items():
        yield f"{path}:{item.line}", item.value
    stream.finish()


def _lines(path: Path) -> Iterator[Row]:
    for number, line in numbered_lines(text_chunks(path)):
        if line.strip():
            yield f"{path}:{number}", _parsed(line, path, number)


def _object(path: Path) -> Iterator[Row]:
    data = parse_json(read_text(path), str(path))
    if isinstance(data, Mapping) and "inputs" not in data:
        held = next((data[name] for name in _LISTS if isinstance(data.get(name), list)), None)
        if held is not None:
            yield from ((f"{path}, case {number}", row) for number, row in enumerate(held, 1))
            return
    yield f"{path}:1", data


def _is_lines(path: Path) -> bool:
    """Return whether a file is JSON Lines: by its name, or because its first line is a whole value."""
    if any(suffix.lower() in _LINES for suffix in path.suffixes):
        return True
    for number, line in numbered_lines(text_chunks(path)):
        if line.strip():
            first = _parsed(line, path, number)
            return not isinstance(first, PlacedError) and not (isinstance(first, dict) and _holds_cases(first))
    return False


def _holds_cases(data: Mapping[str, Any]) -> bool:
    return "inputs" not in data and any(isinstance(data.get(name), list) for name in _LISTS)


def _parsed(line: str, path: Path, number: int) -> Any:
    if len(line) > MAX_ROW:
        return PlacedError(f"{path}:{number}", f"the line is longer than {MAX_ROW >> 20} MiB; split it.")
    try:
        return parse_json(line, str(path), number)
    except PlacedError as fault:
        return fault


def _test_case(row: Any, place: str) -> TestCase:
    if isinstance(row, PlacedError):
        raise row
    if not isinstance(row, Mapping):
        raise PlacedError(place, f"a test case is an object with `inputs` and `outputs`; found {row!r:.100}.")
    if not {"inputs", "outputs"} & row.keys() and {"liked", "disliked"} & row.keys():
        return _exported(row, place)
    missing = [name for name in ("inputs", "outputs") if row.get(name) is None]
    if missing:
        raise PlacedError(
            place,
            f"a test case needs `inputs` and `outputs`; `{missing[0]}` is not among {', '.join(sorted(row)) or 'its fields'}.",
        )
    given = row.get("id")
    try:
        return TestCase(
            id=None if given is None else str(given),
            inputs=row["inputs"],
            outputs=row["outputs"],
            for_template_name=row.get("for_template_name"),
            for_tracking_project=row.get("for_tracking_project"),
        )
    except ConfigError as fault:
        raise PlacedError(place, str(fault)) from None


def _exported(row: Mapping[str, Any], place: str) -> TestCase:
    """Return a row of `evalmark export` as a test case."""
    try:
        (case,) = as_cases([row])
        return from_case(case)
    except ConfigError as fault:
        raise PlacedError(place, str(fault)) from None
