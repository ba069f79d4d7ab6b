"""Import a run from a `.jsonl` report, versions 1 to 3."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import numbered_lines, text_chunks
from evalmark.interop.shared.folders import files_of
from evalmark.interop.shared.import_result import ImportedPart, ImportResult
from evalmark.interop.shared.results import result_from, run_from
from evalmark.storage.database.fields import read_object

Data = dict[str, Any]
VERSIONS = (1, 2, 3)
_NAMES = ("dataset", "target", "position", "repeat", "mode")


def import_jsonl(path: Path) -> ImportResult:
    """Import the run of a `.jsonl` report, or of the only such file in a folder.

    Summary figures are computed from the results, so the last line is not read.

    Raises:
        DataError: a line is invalid, or the first one is not the header of a run.
    """
    file = _file(path)
    run: Run | None = None
    results: list[Result] = []
    for number, line in numbered_lines(text_chunks(file)):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        data = parse_json(line, str(file), number)
        if run is None:
            run = _head(data, place)
        elif isinstance(data, dict) and data.get("kind") == "result":
            results.append(_result(data, place))
        elif not isinstance(data, dict) or data.get("kind") != "summary":
            kind = data.get("kind") if isinstance(data, dict) else None
            raise PlacedError(place, f"`$.kind` is {kind!r:.40}; it takes `result`, or `summary` in the last line.")
    if run is None:
        raise PlacedError(str(file), "is empty.")
    part = ImportedPart(name=f"{file}: {len(results)} results", outcome="kept", to="results of a run")
    return ImportResult(run=replace(run, results=results), parts=(part,))


def _file(path: Path) -> Path:
    files = files_of(path, (".jsonl",))
    if len(files) != 1:
        raise PlacedError(str(path), f"has {len(files)} .jsonl files; name one of them.")
    return files[0]


def _head(data: Any, place: str) -> Run:
    if not isinstance(data, dict) or data.get("format") != "evalmark-run" or data.get("kind") != "run":
        raise PlacedError(place, 'is not a header of a run; a report begins with {"format": "evalmark-run", …}.')
    if data.get("version") not in VERSIONS:
        raise PlacedError(place, f"`$.version` is {data.get('version')!r:.40}; versions 1 to 3 are supported.")
    head = data.get("run")
    if isinstance(head, dict):
        head = {name: _rows(item) if isinstance(item, list) else item for name, item in head.items()}
    return run_from(head, place)


def _rows(items: list[Any]) -> list[Any]:
    return [_without_nulls(item) if isinstance(item, dict) else item for item in items]


def _result(data: Data, place: str) -> Result:
    case, output, scores = data.get("case"), data.get("output"), data.get("scores")
    if not isinstance(case, dict) or not isinstance(output, dict) or not isinstance(scores, list):
        raise PlacedError(place, "a result has a `case` and an `output`, which are objects, and a list of `scores`.")
    fields = _without_nulls(case)
    if isinstance(case.get("given"), dict):
        fields["given"] = _output(case["given"])
    native = {
        "trial": {name: data[name] for name in _NAMES if name in data},
        "case": {"place": "", **fields},
        "output": _output(output),
        "scores": [_without_nulls(score) if isinstance(score, dict) else score for score in scores],
    }
    return result_from(native, None, place)


def _output(data: Data) -> Data:
    found = _without_nulls(data)
    for name in ("tool_calls", "transcript"):
        if isinstance(found.get(name), list):
            found[name] = [_event(event) for event in found[name]]
    return found


def _event(event: Any) -> Any:
    if not isinstance(event, dict):
        return event
    fields = {name: value for name, value in event.items() if name != "kind"}
    return fields if "role" in fields else _without_nulls(fields)


def _without_nulls(data: Any) -> Data:
    """Remove fields with the value null."""
    return {name: value for name, value in read_object(data).items() if value is not None}
