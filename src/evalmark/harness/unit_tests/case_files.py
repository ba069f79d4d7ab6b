"""Reads test cases from JSON Lines, a JSON list, or one JSON object; every error names its line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, DataError
from evalmark.inputs.datasets.case_builder import as_cases
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.json_rows import jsonl_rows
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.datasets.rows import DatasetFile
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import MAX_ROW, first_character, numbered_lines, read_text, text_chunks

from .labeled import TestCase, from_case

_LISTS = ("test_cases", "cases")
"""Keys of an object that may hold a list of cases."""
_MOST_FAULTS = 20
_LINES = (".jsonl", ".ndjson")


def read_test_cases(path: Path) -> list[tuple[str, TestCase]]:
    """Return the cases of a file with their places.

    Raises:
        DataError: the file cannot be read, or rows of it are not test cases; every such row is named.
    """
    cases: list[tuple[str, TestCase]] = []
    faults = FaultList(str(path), most=_MOST_FAULTS)
    for place, row in _rows(path):
        try:
            cases.append((place, _test_case(row, place)))
        except ConfigError as error:
            faults.add(str(error))
    if lines := faults.lines():
        raise DataError("\n".join(lines))
    return cases


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place of each row, and its data or the error."""
    start = first_character(path)
    if start == "":
        raise PlacedError(
            str(path), 'is empty; one {"inputs": {…}, "outputs": [{"label": 1, "value": …}]} a line is expected.'
        )
    if start == "[" or _is_lines(path):
        source = DatasetFile(path=path, options=ReadOptions(), notes=lambda _: None)
        for line, column, value in jsonl_rows(source):
            yield source.place(line, column), value
        return
    data = parse_json(read_text(path), str(path))
    cases = _cases_in(data)
    if cases is None:
        yield f"{path}:1", data
    else:
        yield from ((f"{path}, case {number}", row) for number, row in enumerate(cases, 1))


def _is_lines(path: Path) -> bool:
    """Return whether a file is JSON Lines: by its name, or because its first line is a whole value."""
    if any(suffix.lower() in _LINES for suffix in path.suffixes):
        return True
    line = next((line for _, line in numbered_lines(text_chunks(path)) if line.strip()), "")
    try:
        return _cases_in(parse_json(line[: MAX_ROW + 1], str(path))) is None
    except PlacedError:
        return False


def _cases_in(data: Any) -> list[Any] | None:
    """Return the list of cases in an object; None where it is a case itself."""
    if not isinstance(data, Mapping) or "inputs" in data:
        return None
    return next((data[name] for name in _LISTS if isinstance(data.get(name), list)), None)


def _test_case(row: Any, place: str) -> TestCase:
    if isinstance(row, PlacedError):
        raise row
    if not isinstance(row, Mapping):
        raise PlacedError(place, f"a test case is an object with `inputs` and `outputs`; found {row!r:.100}.")
    if not {"inputs", "outputs"} & row.keys() and {"liked", "disliked"} & row.keys():
        return _from_export(row, place)
    missing = [name for name in ("inputs", "outputs") if row.get(name) is None]
    if missing:
        raise PlacedError(
            place,
            f"a test case needs `inputs` and `outputs`; `{missing[0]}` is not among {', '.join(sorted(row)) or 'its fields'}.",
        )
    identity = row.get("id")
    try:
        return TestCase(
            id=None if identity is None else str(identity),
            inputs=row["inputs"],
            outputs=row["outputs"],
            for_template_name=row.get("for_template_name"),
            for_tracking_project=row.get("for_tracking_project"),
        )
    except ConfigError as error:
        raise PlacedError(place, str(error)) from None


def _from_export(row: Mapping[str, Any], place: str) -> TestCase:
    """Return a row of `evalmark export` as a test case."""
    try:
        (case,) = as_cases([row])
        return from_case(case)
    except ConfigError as error:
        raise PlacedError(place, str(error)) from None
