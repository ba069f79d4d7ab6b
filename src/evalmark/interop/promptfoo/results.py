"""Read promptfoo's result files row by row, since they are large."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.json_stream import JsonStream
from evalmark.inputs.documents.text import text_chunks
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty
from evalmark.interop.shared.results import REST, result_from

from .exporter import graded_parts, is_broken, native_of

Data = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class ResultsFile:
    """The content of a result file, version 2 or 3."""

    path: Path
    rows: list[tuple[Data, str]] = field(default_factory=list)
    """Each result with its place."""
    created: str = ""
    config: Any = None


def read_results(path: Path) -> ResultsFile | None:
    """Read the results of a JSON file; None if it has none.

    Raises:
        DataError: the file cannot be read, or a result is not an object.
    """
    stream = JsonStream(text_chunks(regular_file(path)), str(path))
    if stream.peek() != "{":
        return None
    results = ResultsFile(path=path)
    is_results = False
    for key in stream.members():
        if key == "results" and stream.peek() == "{":
            is_results = _take(stream, results)
        else:
            value = _value(stream)
            results.config = value if key == "config" else results.config
    stream.finish()
    return results if is_results else None


def _take(stream: JsonStream, results: ResultsFile) -> bool:
    """Read the object with the rows, and tell whether it has any."""
    has_rows = False
    for key in stream.members():
        if key == "results" and stream.peek() == "[":
            has_rows = True
            results.rows += _rows(stream, results.path)
        elif key == "timestamp" and isinstance(timestamp := _value(stream), str):
            results.created = f"{timestamp[:19]}Z" if len(timestamp) >= 19 else ""
        elif key != "timestamp":
            _value(stream)
    return has_rows


def _rows(stream: JsonStream, path: Path) -> Iterator[tuple[Data, str]]:
    for number, item in enumerate(stream.items()):
        if isinstance(item.value, PlacedError):
            raise item.value
        if not isinstance(item.value, dict):
            raise PlacedError(f"{path}:{item.line}", f"`$.results.results[{number}]` is not an object.")
        yield item.value, f"{path}:{item.line}"


def _value(stream: JsonStream) -> Any:
    value = stream.value()
    if isinstance(value, PlacedError):
        raise value
    return value


def add_results(results: ResultsFile, builder: ImportBuilder) -> None:
    """Add the results of a file to the import; further results of a test and target become repeats.

    Raises:
        DataError: a result is invalid.
    """
    builder.created = builder.created or results.created
    several = len({str(row.get("promptIdx")) for row, _ in results.rows}) > 1
    repeats: dict[tuple[Any, ...], int] = {}
    odd: list[tuple[str, Any]] = []
    for row, place in results.rows:
        native = native_of(row, builder.name, several=several)
        key = (native["trial"]["target"], native["trial"]["position"])
        native["trial"]["repeat"] = repeats[key] = repeats.get(key, -1) + 1
        builder.results.append(result_from(native, dict_or_empty(row.get("metadata")).get(REST), place))
        odd += [
            (place, part["pass"])
            for part in graded_parts(row)
            if not (isinstance(part["pass"], bool) or is_broken(part))
        ]
    if odd:
        place, value = odd[0]
        more = f", and so in {count(len(odd) - 1, 'more grading')}" if len(odd) > 1 else ""
        builder.remark(
            f"{place}: `pass` is {canonical(value):.40}, neither true nor false{more}; its score has no verdict."
        )
    builder.part(f"{results.path}: {len(results.rows)} results", "kept", "results of a run")
