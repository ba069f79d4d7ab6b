"""Read promptfoo's result files row by row, since they are large: versions 1 to 3, and JSONL."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.json_stream import JsonStream
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text, text_chunks
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty
from evalmark.interop.shared.results import REST, result_from

from .exporter import graded_parts, is_broken, native_of, variables_of_result
from .prompts import name_in_label, prompt_name
from .templates import is_template
from .tests import MOST_LETTERS, unique_descriptions

Data = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class ResultsFile:
    """The content of a result file, version 2 or 3."""

    path: Path
    rows: list[tuple[Data, str]] = field(default_factory=list)
    """Each result with its place."""
    created: str = ""
    config: Any = None
    prompts: list[Any] = field(default_factory=list)
    """The prompts before their variables are filled in, each once for each provider; empty if the file has none."""


def read_results(path: Path) -> ResultsFile | None:
    """Read the results of a JSON or JSONL file; None if it has none.

    Raises:
        DataError: the file cannot be read, or a result is not an object.
    """
    if path.suffix.lower() == ".jsonl":
        return _read_lines(path)
    stream = JsonStream(text_chunks(regular_file(path)), str(path))
    if stream.peek() != "{":
        return None
    results = ResultsFile(path=path)
    is_results = False
    for key in stream.members():
        if key == "results" and stream.peek() == "{":
            is_results = _take(stream, results)
        elif key == "results" and stream.peek() == "[":  # the oldest layout
            results.rows += _rows(stream, results.path)
            is_results = bool(results.rows) and all(_is_result(row) for row, _ in results.rows)
        else:
            value = _value(stream)
            results.config = value if key == "config" else results.config
    stream.finish()
    return results if is_results else None


def _read_lines(path: Path) -> ResultsFile | None:
    """Read a file with a result on each line."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            row = parse_json(line, f"{path}:{number}")
            if not _is_result(row):
                return None
            rows.append((row, f"{path}:{number}"))
    return ResultsFile(path=path, rows=rows) if rows else None


def _is_result(row: Any) -> bool:
    return isinstance(row, dict) and "success" in row and ("prompt" in row or "promptIdx" in row)


def _take(stream: JsonStream, results: ResultsFile) -> bool:
    """Read the object with the rows, and tell whether it has any."""
    has_rows = False
    for key in stream.members():
        if key == "results" and stream.peek() == "[":
            has_rows = True
            results.rows += _rows(stream, results.path)
        elif key == "prompts" and stream.peek() == "[":
            results.prompts = _value(stream)
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


def _template_of(row: Data, results: ResultsFile) -> tuple[str, str]:
    """Return the text and the label of the prompt of a result.

    The row itself has the text with its variables filled in, which is another one for each test.
    """
    number, prompt = row.get("promptIdx"), row.get("prompt")
    if type(number) is int and 0 <= number < len(results.prompts):
        prompt = results.prompts[number]
    if not isinstance(prompt, dict):
        return str(prompt), ""
    label = prompt.get("label") or prompt.get("display")
    return (str(prompt.get("raw")), label) if isinstance(label, str) else (str(prompt.get("raw")), "")


def _prompt_names(results: ResultsFile) -> dict[str, str]:
    """Return the name of each prompt in the suite by its label, or else its text; nothing if there is only one."""
    rows = [row for row, _ in results.rows]
    if all(type(row.get("promptIdx")) is int for row in rows):
        rows.sort(key=lambda row: row["promptIdx"])  # results of fast models come first
    names: dict[str, str] = {}
    for row in rows:
        text, label = _template_of(row, results)
        is_own = label.isprintable() and len(label) <= MOST_LETTERS and text not in label and not is_template(label)
        if (label or text) not in names:
            names[label or text] = prompt_name(name_in_label(label) or (label if is_own else ""), names.values())
    return names if len(names) > 1 else {}


def add_results(results: ResultsFile, builder: ImportBuilder) -> None:
    """Add the results of a file to the import; further results of a test and target become repeats.

    Raises:
        DataError: a result is invalid.
    """
    builder.created = builder.created or results.created
    prompts = _prompt_names(results)
    pairs = [
        (dict_or_empty(row.get("testCase")).get("description"), variables_of_result(row)) for row, _ in results.rows
    ]
    names = unique_descriptions(pairs)
    positions: dict[str, int] = {}
    repeats: dict[tuple[Any, ...], int] = {}
    odd: list[tuple[str, Any]] = []
    for row, place in results.rows:
        # The oldest layout has no numbers of tests.
        position = positions.setdefault(canonical(variables_of_result(row)), len(positions))
        row = row if "testIdx" in row else {**row, "testIdx": position}
        text, label = _template_of(row, results)
        native = native_of(row, builder.name, prompt=prompts.get(label or text, ""), names=names)
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
