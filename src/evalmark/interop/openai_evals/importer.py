"""Import evals of OpenAI and Microsoft Foundry: request bodies, and objects and lists of the API."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import numbered_lines, text_chunks
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, PromptText, combine_imports, read_side_file
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import case_data_of, dict_or_empty, unique_names
from evalmark.interop.shared.results import REST, SIDE, result_from

from .criteria import read_criterion, reference_of
from .exporter import native_of

Data = dict[str, Any]
_ENDINGS = (".json", ".jsonl")
_VARIABLE = "{{item."


class ApiObject(NamedTuple):
    """One object in the files, with its place and those of its parts."""

    data: Data
    place: str
    file: Path
    document: Document | None = None
    """None for a line of JSONL."""
    at: DataPath = ()

    def part(self, *path: str | int) -> str:
        """Return `file:line` of a part of the object."""
        return self.place if self.document is None else self.document.place_of((*self.at, *path))


def import_openai_evals(path: Path, options: ImportOptions = DEFAULT_OPTIONS) -> ImportResult:
    """Import the evals, runs and output items in a file, or in all JSON and JSONL files of a folder.

    Raises:
        DataError: a file cannot be read, or no file has an object of the API.
    """
    objects = list(_objects(path))
    builder = ImportBuilder(name="imported evals", side=read_side_file(folder_of(path)))
    evals = [entry for entry in objects if "testing_criteria" in entry.data]
    runs = [entry for entry in objects if "data_source" in entry.data]
    items = [entry for entry in objects if "datasource_item" in entry.data]
    rows = [entry for entry in objects if "item" in entry.data]
    if not (evals or runs or items or rows):
        raise PlacedError(str(path), "has no eval, no run and no output item of the evals API.")
    whole = _Objects(evals, runs, items, rows)
    if len(evals) < 2:
        _add_eval(whole, builder, builder)
        return builder.imported()
    groups: dict[str, ImportBuilder] = {}
    for part in _split_by_eval(whole):
        group = groups.setdefault(f"{len(groups) + 1}", ImportBuilder(name="imported evals", side=builder.side))
        _add_eval(part, group, builder)
    named = unique_names(group.name for group in groups.values())
    return combine_imports(dict(zip(named, groups.values(), strict=True)), builder)


class _Objects(NamedTuple):
    """The objects in the files, by kind."""

    evals: list[ApiObject]
    runs: list[ApiObject]
    items: list[ApiObject]
    rows: list[ApiObject]


def _add_eval(objects: _Objects, builder: ImportBuilder, results: ImportBuilder) -> None:
    """Add the tests of an eval with its runs, and their results."""
    expected = next((key for entry in objects.evals if (key := reference_of(entry.data["testing_criteria"]))), None)
    for entry in objects.evals:
        _eval(entry, builder, expected)
    for entry in objects.runs:
        _run(entry, builder, expected)
    for entry in objects.rows:
        _row(entry.data, entry.place, builder, expected)
    results.name = builder.name
    _results(objects.items, {str(entry.data.get("id")): entry for entry in objects.runs}, results, expected)
    if not builder.cases:
        _cases_of_results(builder, objects.items, expected)


def _split_by_eval(whole: _Objects) -> Iterator[_Objects]:
    """Yield the objects of each eval.

    Raises:
        DataError: an object does not state to which eval it belongs.
    """
    names = [str(found.data.get("id")) for found in whole.evals]
    of_run = {str(run.data.get("id")): str(run.data.get("eval_id")) for run in whole.runs}

    def owner(entry: ApiObject) -> str:
        eval_id = entry.data.get("eval_id")
        return str(eval_id) if eval_id is not None else of_run.get(str(entry.data.get("run_id")), "")

    for found in (*whole.runs, *whole.items, *whole.rows):
        if names.count(owner(found)) != 1:
            raise PlacedError(
                found.place,
                f"it is unclear to which of the {len(names)} evals this belongs; put each eval into its own folder.",
            )
    for one, name in zip(whole.evals, names, strict=True):
        runs, items, rows = ([f for f in found if owner(f) == name] for found in whole[1:])
        yield _Objects([one], runs, items, rows)


def _objects(path: Path) -> Iterator[ApiObject]:
    for file in files_of(path, _ENDINGS):
        if file.name != SIDE and file.name.lower().endswith(_ENDINGS):
            yield from _in_file(file)


def _in_file(file: Path) -> Iterator[ApiObject]:
    if file.name.lower().endswith(".jsonl"):
        for number, line in numbered_lines(text_chunks(file)):
            if line.strip():
                data = parse_json(line, str(file), number)
                yield ApiObject(_object(data, f"{file}:{number}"), f"{file}:{number}", file)
        return
    document = load_document(file)
    data = document.data
    where: DataPath = ("data",) if _is_list_of_the_api(data) else ()
    holder = data["data"] if where else data
    for number, item in enumerate(holder if isinstance(holder, list) else [holder]):
        at = (*where, number) if isinstance(holder, list) else where
        place = document.place_of(at)
        yield ApiObject(_object(item, place), place, file, document, at)


def _is_list_of_the_api(data: Any) -> bool:
    return isinstance(data, dict) and data.get("object") == "list" and isinstance(data.get("data"), list)


def _object(data: Any, place: str) -> Data:
    if not isinstance(data, dict):
        raise PlacedError(place, "is not an object of the evals API.")
    return data


def _eval(entry: ApiObject, builder: ImportBuilder, expected: str | None) -> None:
    criteria, config = entry.data["testing_criteria"], entry.data.get("data_source_config")
    if not isinstance(criteria, list):
        raise PlacedError(entry.part("testing_criteria"), "`$.testing_criteria` is not a list.")
    if isinstance(name := entry.data.get("name"), str) and name:
        builder.name = name
    for number, criterion in enumerate(criteria):
        at = ("testing_criteria", number)
        if not isinstance(criterion, dict):
            raise PlacedError(entry.part(*at), f"`{json_path(at)}` is not an object.")
        read_criterion(criterion, f"{entry.part(*at)} {json_path(at)}", builder, expected)
    kind = dict_or_empty(config).get("type")
    if kind != "custom":
        builder.part(
            f"{entry.place} data_source_config", "left out", f"data of the type {kind!r:.40} stays at the service"
        )


def _run(entry: ApiObject, builder: ImportBuilder, expected: str | None) -> None:
    source = entry.data["data_source"]
    if not isinstance(source, dict):
        raise PlacedError(entry.part("data_source"), "`$.data_source` is not an object.")
    if isinstance(model := source.get("model"), str) and model:
        named = model if "/" in model else f"openai/{model}"
        if named not in builder.models:
            builder.models.append(named)
    _prompt(source, entry, builder)
    inner = dict_or_empty(source.get("source"))
    content = inner.get("content")
    if not isinstance(content, list):
        kind = inner.get("type")
        builder.part(
            f"{entry.place} data_source",
            "left out",
            f"rows of the type {kind!r:.40} stay at the service; download them",
        )
        return
    for number, row in enumerate(content):
        at = ("data_source", "source", "content", number)
        if not isinstance(row, dict) or not isinstance(row.get("item"), dict):
            raise PlacedError(entry.part(*at), f"`{json_path((*at, 'item'))}` is not an object.")
        _row(row, entry.part(*at), builder, expected)


def _row(row: Mapping[str, Any], place: str, builder: ImportBuilder, expected: str | None) -> None:
    if not isinstance(row["item"], dict):
        raise PlacedError(place, "`$.item` is not an object.")
    case = case_data_of(row["item"], expected)
    output = dict_or_empty(row.get("sample")).get("output_text")
    builder.add(case | ({"answer": output} if isinstance(output, str) and not builder.models else {}))


def _prompt(source: Mapping[str, Any], entry: ApiObject, builder: ImportBuilder) -> None:
    template = dict_or_empty(source.get("input_messages")).get("template")
    if not isinstance(template, list):
        return
    messages = [{"role": str(m.get("role", "user")), "content": _content(m)} for m in template if isinstance(m, dict)]
    prompt = PromptText(name=builder.name, messages=messages, place=entry.place)
    if messages:
        builder.add_prompt(prompt, f"{entry.place} input_messages")


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str)).replace(_VARIABLE, "{{")


def _results(
    items: list[ApiObject], runs: Mapping[str, ApiObject], builder: ImportBuilder, expected: str | None
) -> None:
    counts: dict[str, int] = {}
    for entry in items:
        run = runs.get(str(entry.data.get("run_id")))
        number = counts[str(entry.file)] = counts.get(str(entry.file), -1) + 1
        native = native_of(entry.data, builder.name, number, expected)
        native["trial"]["target"] = native["trial"]["target"] or _target(run)
        builder.results.append(result_from(native, entry.data.get(REST), entry.place))
        created = entry.data.get("created_at")
        if not builder.created and isinstance(created, int) and 0 <= created < 1 << 34:
            builder.created = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if items:
        builder.part(f"{len(items)} output items", "kept", "results of a run")


def _target(run: ApiObject | None) -> str:
    return "" if run is None else str(run.data.get("model") or run.data.get("name") or "")


def _cases_of_results(builder: ImportBuilder, items: list[ApiObject], expected: str | None) -> None:
    for entry in items:
        if not isinstance(item := entry.data["datasource_item"], dict):
            raise PlacedError(entry.part("datasource_item"), "`$.datasource_item` is not an object.")
        builder.add(case_data_of(item, expected))
