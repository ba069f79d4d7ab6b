"""Read promptfoo's result files row by row, since they are large."""

from collections.abc import Iterator, Mapping
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
    found = ResultsFile(path=path)
    is_results = False
    for key in stream.members():
        if key == "results" and stream.peek() == "{":
            is_results = _take(stream, found)
        else:
            value = _value(stream)
            found.config = value if key == "config" else found.config
    stream.finish()
    return found if is_results else None


def _take(stream: JsonStream, found: ResultsFile) -> bool:
    """Read the object with the rows, and tell whether it has any."""
    has_rows = False
    for key in stream.members():
        if key == "results" and stream.peek() == "[":
            has_rows = True
            found.rows += _rows(stream, found.path)
        elif key == "timestamp" and isinstance(said := _value(stream), str):
            found.created = f"{said[:19]}Z" if len(said) >= 19 else ""
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
    found = stream.value()
    if isinstance(found, PlacedError):
        raise found
    return found


def add_results(found: ResultsFile, builder: ImportBuilder) -> None:
    """Add the results of a file to the import; further results of a test and target become repeats.

    Raises:
        DataError: a result is invalid.
    """
    builder.created = builder.created or found.created
    several = len({str(row.get("promptIdx")) for row, _ in found.rows}) > 1
    repeats: dict[tuple[Any, ...], int] = {}
    odd: list[tuple[str, Any]] = []
    for row, place in found.rows:
        native = native_of(row, builder.name, several=several)
        key = (native["trial"]["target"], native["trial"]["position"])
        native["trial"]["repeat"] = repeats[key] = repeats.get(key, -1) + 1
        metadata = row.get("metadata")
        rest: Mapping[str, Any] | None = metadata.get(REST) if isinstance(metadata, dict) else None
        builder.results.append(result_from(native, rest, place))
        odd += [
            (place, part["pass"])
            for part in graded_parts(row)
            if not (isinstance(part["pass"], bool) or is_broken(part))
        ]
    if odd:
        place, said = odd[0]
        more = f", and so in {count(len(odd) - 1, 'more grading')}" if len(odd) > 1 else ""
        builder.remark(
            f"{place}: `pass` is {canonical(said):.40}, neither true nor false{more}; its score has no verdict."
        )
    builder.part(f"{found.path}: {len(found.rows)} results", "mapped", "results of a run")
