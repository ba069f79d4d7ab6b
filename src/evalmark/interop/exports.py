"""Import what ragas, LangSmith, Braintrust, Langfuse and Phoenix export: datasets, and experiments with their scores.

The tools name the same things differently. `export_formats` has the names of each; the rest is the same for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalmark.core.values.session import seconds_between
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.serialization import json_line
from evalmark.interop.shared.folders import files_of
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, is_number, list_or_empty
from evalmark.interop.shared.recorded import (
    RecordedRow,
    RecordedRun,
    add_known_metrics,
    import_recorded,
    recorded_score,
)
from evalmark.interop.shared.row_files import ENDINGS, cell_value, export_rows, number_in

from .export_formats import FORMATS, ExportFormat, Names
from .langfuse import join_langfuse

Data = dict[str, Any]
Notes = Callable[[str], None]
_TRUTHS = {"true": True, "false": False}
_COMMON = ("metadata", "metrics", "tags", "error", "start_time", "end_time", "run", "run_id")
"""Columns that are read whichever tool wrote them."""


@dataclass(slots=True, kw_only=True)
class _Export:
    """The rows of one import, and what all of them together tell."""

    names: ExportFormat
    results: int = 0
    score_names: set[str] = field(default_factory=set)
    """The columns of numbers that are scores."""

    def value(self, row: Data, names: Names) -> Any:
        """Return the first value that is there."""
        for name in names:
            if name.endswith("."):
                parts = {key.removeprefix(name): item for key, item in row.items() if key.startswith(name)}
                if parts := {key: item for key, item in parts.items() if item is not None}:
                    return parts
            elif row.get(name) is not None:
                return row[name]
        return None


def import_ragas(path: Path) -> ImportResult:
    """Import a dataset, a test set or the results of ragas: JSON, JSONL or CSV, as `to_pandas()` and `to_jsonl` write it."""
    return _import(path, "ragas")


def import_langsmith(path: Path) -> ImportResult:
    """Import examples of a dataset, or the results of an experiment, of LangSmith."""
    return _import(path, "langsmith")


def import_braintrust(path: Path) -> ImportResult:
    """Import a dataset, or the rows of an experiment, of Braintrust."""
    return _import(path, "braintrust")


def import_langfuse(path: Path) -> ImportResult:
    """Import dataset items, or traces with scores, of Langfuse; of a folder, items, dataset runs, traces and scores joined."""
    return _import(path, "langfuse")


def import_phoenix(path: Path) -> ImportResult:
    """Import examples of a dataset, or the runs of an experiment, of Phoenix."""
    return _import(path, "phoenix")


def _import(path: Path, tool: str) -> ImportResult:
    names = FORMATS[tool]
    files = files_of(path, ENDINGS)
    if not files:
        raise PlacedError(str(path), "there is no JSON, JSONL or CSV file here.")
    recorded = RecordedRun(name=path.resolve().stem, path=path)

    def note(text: str) -> None:
        recorded.remarks[text] = None

    rows = [(row, place, file.stem) for file in files for row, place in export_rows(file, note, names.texts)]
    if tool == "langfuse":
        rows = join_langfuse(rows)
    rows = [(one, place, target) for row, place, target in rows for one in _unpacked(row) if _is_root(one)]
    export = _Export(names=names)
    if names.score_columns:
        export.score_names = _number_columns([row for row, _, _ in rows], names)
    made = [_row(row, place, target, export) for row, place, target in rows if not _is_archived(row, place, note)]
    if not made:
        raise PlacedError(str(path), "has no rows.")
    targets = {row.target for row in made if row.output is not None}
    if len(targets) == 1:
        made = [replace(row, target="") for row in made]
    recorded.is_run = export.results > 0
    recorded.header = {"notes": (f"Imported from an export of {names.tool} in {path.name}.",)}
    scored = list(dict.fromkeys(str(score["name"]) for row in made for score in row.scores))

    def prepare(_: str, builder: ImportBuilder) -> None:
        add_known_metrics(builder, scored, names.known, {})

    return import_recorded(made, recorded, prepare)


def _unpacked(row: Data) -> Iterator[Data]:
    """Yield the runs of an example of LangSmith that has them in it, and any other row itself."""
    runs = row.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs) or not runs:
        yield row
        return
    for run in runs:
        yield {**run, "inputs": row.get("inputs"), "reference_outputs": row.get("outputs"), "example_id": row.get("id")}


def _is_root(row: Data) -> bool:
    """Tell whether a row is a case, and not a step of one: Braintrust exports the spans of an experiment too."""
    return row.get("is_root") is not False and not row.get("span_parents")


def _is_archived(row: Data, place: str, note: Notes) -> bool:
    if row.get("status") != "ARCHIVED":
        return False
    note(f"{place}: the item is archived, so it is left out.")
    return True


def _number_columns(rows: Sequence[Data], names: ExportFormat) -> set[str]:
    """Return the columns that hold numbers only, and at least one."""
    fields = {*names.input, *names.expected, *names.output, *names.contexts, *names.retrieved}
    columns = dict.fromkeys(key for row in rows for key in row if key not in fields and not key.startswith("Unnamed"))
    found = set()
    for column in columns:
        cells = [row[column] for row in rows if row.get(column) is not None]
        if cells and all(number_in(cell) is not None for cell in cells):
            found.add(column)
    return found - {"index", "id", ""}


def _row(row: Data, place: str, target: str, export: _Export) -> RecordedRow:
    names = export.names
    is_result = not names.marks_result or any(export.value(row, (name,)) is not None for name in names.marks_result)
    question, expected = export.value(row, names.input), export.value(row, names.expected)
    output = export.value(row, names.output) if is_result else None
    if not is_result and expected is None:
        expected = export.value(row, names.reference_if_dataset)
    if question is None and output is None:
        raise PlacedError(place, f"there is neither {' nor '.join(names.input)}, so this is no export of {names.tool}.")
    scores = [*_scores(row, export, place)]
    fields = _output(row, output, export) if is_result and (output is not None or scores or row.get("error")) else None
    if fields is not None:
        export.results += bool(scores) or bool(names.marks_result) or "metrics" in row or output is not None
    case = {"input": question, "expected": _unwrapped(expected), "contexts": _texts(export.value(row, names.contexts))}
    if isinstance(question, list) and (turns := _turns(question)):
        case["input"], fields = _conversation(turns, fields)
    more = {"metadata": _metadata(row, export) or None, "tags": _texts(row.get("tags"))}
    kept = {name: value for name, value in {**case, **more}.items() if value is not None}
    repeat = row.get(names.repeat)
    return RecordedRow(
        place=place,
        case={
            "id": _id(row, export, is_item=fields is None) or generated_row_id([case["input"], case["expected"]]),
            **kept,
        },
        output=fields,
        scores=scores,
        target=target,
        repeat=int(repeat) - 1 if is_number(repeat) and repeat >= 1 else None,
    )


def _id(row: Data, export: _Export, *, is_item: bool) -> str:
    """Return the id of the dataset's item; of an experiment of Braintrust, `id` is that of a span."""
    value = export.value(row, (*export.names.id, "id") if is_item else export.names.id)
    if isinstance(value, dict):
        value = value.get("id")
    return str(value)[:200] if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _unwrapped(value: Any) -> Any:
    """Return the only value of an object with one key, such as `{"answer": "Oslo"}`, as an application returns it."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def _texts(value: Any) -> list[str] | None:
    """Return a list of texts, also of a single one; None for what is neither."""
    value = cell_value(value)
    listed = [value] if isinstance(value, str) else list_or_empty(value)
    return [item if isinstance(item, str) else json_line(item).strip() for item in listed] or None


def _output(row: Data, output: Any, export: _Export) -> Data:
    metrics = dict_or_empty(row.get("metrics"))
    error = row.get("error")
    counts = {
        name: int(number)
        for name, keys in zip(("input_tokens", "output_tokens"), export.names.tokens, strict=True)
        if (number := number_in(export.value({**metrics, **row}, keys))) is not None and number >= 0
    }
    fields = {
        "value": _unwrapped(output),
        "error": " ".join(str(error).split()) if error not in (None, "") else None,
        "contexts": _texts(export.value(row, export.names.retrieved)),
        "seconds": _seconds(row, metrics, export),
        "usage": counts or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _seconds(row: Data, metrics: Data, export: _Export) -> float | None:
    seconds = number_in(export.value(row, export.names.seconds))
    if seconds is None and (milliseconds := number_in(export.value(row, export.names.milliseconds))) is not None:
        seconds = milliseconds / 1000
    if seconds is None and is_number(metrics.get("start")) and is_number(metrics.get("end")):
        seconds = metrics["end"] - metrics["start"]
    if seconds is None and isinstance(row.get("start_time"), str) and isinstance(row.get("end_time"), str):
        seconds = seconds_between(row["start_time"], row["end_time"])
    return seconds if seconds is not None and seconds >= 0 else None


def _metadata(row: Data, export: _Export) -> Data:
    """Return the row's metadata, and what has no place elsewhere."""
    names = export.names
    used = {*names.id, *names.input, *names.expected, *names.output, *names.contexts, *names.retrieved, *names.scores}
    used |= {*names.seconds, *names.milliseconds, *names.tokens[0], *names.tokens[1], *names.unused}
    used |= {*names.marks_result, names.repeat, *_COMMON, *export.score_names}
    prefixes = tuple(name for name in used if name.endswith((".", "annotation_")))
    rest = {
        key: value
        for key, value in row.items()
        if key not in used and not (prefixes and key.startswith(prefixes)) and value is not None
    }
    return {**rest, **dict_or_empty(row.get("metadata"))}


def _scores(row: Data, export: _Export, place: str) -> Iterator[Data]:
    """Yield the recorded scores, in any of the forms of the tools."""
    for name in export.names.scores:
        if name == "annotation_":
            yield from _annotation_columns(row)
        elif name.endswith("."):
            for key, value in dict_or_empty(export.value(row, (name,))).items():
                yield _score(key, value)
        else:
            yield from _score_values(row.get(name), place)
    for column in row:
        if column in export.score_names:
            yield _score(column, row[column])


def _score_values(value: Any, place: str) -> Iterator[Data]:
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    if isinstance(value, dict):
        for name, item in value.items():
            yield _score(str(name), item)
        return
    for item in list_or_empty(value):
        if not isinstance(item, dict):
            continue  # Langfuse lists the ids of scores where it does not embed them
        name = item.get("name") or item.get("key")
        if not isinstance(name, str):
            raise PlacedError(place, "a score has neither a `name` nor a `key`.")
        yield _score(name, item)


def _score(name: str, item: Any) -> Data:
    """Convert one score: a number, or an object with the number, a label and an explanation."""
    if isinstance(item, str) and item.lower() in _TRUTHS:
        return recorded_score(name, _TRUTHS[item.lower()])  # in a cell of a table
    if not isinstance(item, dict):
        number = number_in(item)
        return recorded_score(name, item if number is None or is_number(item) else number)
    if item.get("error"):
        return {"name": name, "status": "error", "reason": " ".join(str(item["error"]).split())}
    values = [item.get(key) for key in ("score", "value", "avg", "stringValue", "label")]
    value = next((one for one in values if one is not None), None)
    if item.get("dataType") == "BOOLEAN" and value in (0, 1):
        value = bool(value)
    detail = {key: item[key] for key in ("label", "annotator_kind", "source", "n") if item.get(key) is not None}
    reason = next((item[key] for key in ("explanation", "comment", "reason") if isinstance(item.get(key), str)), None)
    if isinstance(value, (dict, list)):
        return {"name": name, "status": "unscored", "reason": reason or "", "detail": detail}
    return recorded_score(name, value, reason=reason, detail=detail)


def _annotation_columns(row: Data) -> Iterator[Data]:
    """Yield the scores of Phoenix' CSV, which has the columns `annotation_NAME_score`, `…_label`, `…_explanation`."""
    found: dict[str, Data] = {}
    for key, value in row.items():
        for part in ("score", "label", "explanation", "annotator_kind", "error"):
            if key.startswith("annotation_") and key.endswith(f"_{part}") and value is not None:
                name = key.removeprefix("annotation_").removesuffix(f"_{part}")
                found.setdefault(name, {})[part] = value
    for name, item in found.items():
        yield _score(name, {**item, "score": number_in(item.get("score"))})


def _turns(messages: Sequence[Any]) -> list[Data]:
    """Return the messages of a conversation of ragas; empty if these are none."""
    roles = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
    turns = [
        {
            "role": roles.get(str(m.get("type") or m.get("role")), str(m.get("role") or m.get("type"))),
            "content": m.get("content", ""),
        }
        for m in messages
        if isinstance(m, dict) and "content" in m
    ]
    return turns if len(turns) == len(messages) else []


def _conversation(turns: Sequence[Data], output: Data | None) -> tuple[Any, Data]:
    """Return the user's first message, and the output with the last reply and the whole conversation."""
    question = next((turn["content"] for turn in turns if turn["role"] == "user"), turns[0]["content"])
    replies = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    return question, {"value": replies[-1] if replies else None, **(output or {}), "transcript": list(turns)}
