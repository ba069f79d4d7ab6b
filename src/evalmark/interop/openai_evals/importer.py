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
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import case_data_of, unique_names
from evalmark.interop.shared.results import REST, SIDE, result_from

from .criteria import read_criterion, reference_of
from .exporter import native_of

Data = dict[str, Any]
_ENDINGS = (".json", ".jsonl")
_VARIABLE = "{{item."


class FoundObject(NamedTuple):
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


def import_openai_evals(path: Path) -> ImportResult:
    """Import the evals, runs and output items in a file, or in all JSON and JSONL files of a folder.

    Raises:
        DataError: a file cannot be read, or no file has an object of the API.
    """
    objects = list(_objects(path))
    builder = ImportBuilder(name="imported evals", side=read_side_file(folder_of(path)))
    evals = [found for found in objects if "testing_criteria" in found.data]
    runs = [found for found in objects if "data_source" in found.data]
    items = [found for found in objects if "datasource_item" in found.data]
    rows = [found for found in objects if "item" in found.data]
    if not (evals or runs or items or rows):
        raise PlacedError(str(path), "holds no eval, no run and no output item of the evals API.")
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

    evals: list[FoundObject]
    runs: list[FoundObject]
    items: list[FoundObject]
    rows: list[FoundObject]


def _add_eval(found: _Objects, builder: ImportBuilder, results: ImportBuilder) -> None:
    """Add the tests of an eval with its runs, and their results."""
    expected = next((key for one in found.evals if (key := reference_of(one.data["testing_criteria"]))), None)
    for one in found.evals:
        _eval(one, builder, expected)
    for one in found.runs:
        _run(one, builder, expected)
    for one in found.rows:
        _row(one.data, one.place, builder, expected)
    results.name = builder.name
    _results(found.items, {str(one.data.get("id")): one for one in found.runs}, results, expected)
    if not builder.cases:
        _cases_of_results(builder, found.items, expected)


def _split_by_eval(whole: _Objects) -> Iterator[_Objects]:
    """Yield the objects of each eval.

    Raises:
        DataError: an object does not state to which eval it belongs.
    """
    names = [str(found.data.get("id")) for found in whole.evals]
    of_run = {str(run.data.get("id")): str(run.data.get("eval_id")) for run in whole.runs}

    def owner(found: FoundObject) -> str:
        said = found.data.get("eval_id")
        return str(said) if said is not None else of_run.get(str(found.data.get("run_id")), "")

    for found in (*whole.runs, *whole.items, *whole.rows):
        if names.count(owner(found)) != 1:
            raise PlacedError(
                found.place,
                f"nothing says to which of the {len(names)} evals this belongs; put each eval into a folder of its own.",
            )
    for one, name in zip(whole.evals, names, strict=True):
        runs, items, rows = ([f for f in found if owner(f) == name] for found in whole[1:])
        yield _Objects([one], runs, items, rows)


def _objects(path: Path) -> Iterator[FoundObject]:
    for file in files_of(path, _ENDINGS):
        if file.name != SIDE and file.name.lower().endswith(_ENDINGS):
            yield from _in_file(file)


def _in_file(file: Path) -> Iterator[FoundObject]:
    if file.name.lower().endswith(".jsonl"):
        for number, line in numbered_lines(text_chunks(file)):
            if line.strip():
                data = parse_json(line, str(file), number)
                yield FoundObject(_object(data, f"{file}:{number}"), f"{file}:{number}", file)
        return
    document = load_document(file)
    data = document.data
    where: DataPath = ("data",) if _is_list_of_the_api(data) else ()
    holder = data["data"] if where else data
    for number, item in enumerate(holder if isinstance(holder, list) else [holder]):
        at = (*where, number) if isinstance(holder, list) else where
        place = document.place_of(at)
        yield FoundObject(_object(item, place), place, file, document, at)


def _is_list_of_the_api(data: Any) -> bool:
    return isinstance(data, dict) and data.get("object") == "list" and isinstance(data.get("data"), list)


def _object(data: Any, place: str) -> Data:
    if not isinstance(data, dict):
        raise PlacedError(place, "holds no object, where one of the evals API was expected.")
    return data


def _eval(found: FoundObject, builder: ImportBuilder, expected: str | None) -> None:
    criteria, config = found.data["testing_criteria"], found.data.get("data_source_config")
    if not isinstance(criteria, list):
        raise PlacedError(found.part("testing_criteria"), "`$.testing_criteria` is not a list.")
    if isinstance(name := found.data.get("name"), str) and name:
        builder.name = name
    for number, criterion in enumerate(criteria):
        at = ("testing_criteria", number)
        if not isinstance(criterion, dict):
            raise PlacedError(found.part(*at), f"`{json_path(at)}` is not an object.")
        read_criterion(criterion, f"{found.part(*at)} {json_path(at)}", builder, expected)
    kind = config.get("type") if isinstance(config, dict) else None
    if kind != "custom":
        builder.part(
            f"{found.place} data_source_config", "left out", f"data of the type {kind!r:.40} stays at the service"
        )


def _run(found: FoundObject, builder: ImportBuilder, expected: str | None) -> None:
    source = found.data["data_source"]
    if not isinstance(source, dict):
        raise PlacedError(found.part("data_source"), "`$.data_source` is not an object.")
    if isinstance(model := source.get("model"), str) and model:
        named = model if "/" in model else f"openai/{model}"
        if named not in builder.models:
            builder.models.append(named)
    _prompt(source, found, builder)
    inner = source.get("source")
    content = inner.get("content") if isinstance(inner, dict) else None
    if not isinstance(content, list):
        kind = inner.get("type") if isinstance(inner, dict) else None
        builder.part(
            f"{found.place} data_source",
            "left out",
            f"rows of the type {kind!r:.40} stay at the service; download them",
        )
        return
    for number, row in enumerate(content):
        at = ("data_source", "source", "content", number)
        if not isinstance(row, dict) or not isinstance(row.get("item"), dict):
            raise PlacedError(found.part(*at), f"`{json_path((*at, 'item'))}` is not an object.")
        _row(row, found.part(*at), builder, expected)


def _row(row: Mapping[str, Any], place: str, builder: ImportBuilder, expected: str | None) -> None:
    if not isinstance(row["item"], dict):
        raise PlacedError(place, "`$.item` is not an object.")
    case = case_data_of(row["item"], expected)
    sample = row.get("sample")
    said = sample.get("output_text") if isinstance(sample, dict) else None
    builder.add(case | ({"answer": said} if isinstance(said, str) and not builder.models else {}))


def _prompt(source: Mapping[str, Any], found: FoundObject, builder: ImportBuilder) -> None:
    asked = source.get("input_messages")
    template = asked.get("template") if isinstance(asked, dict) else None
    if not isinstance(template, list):
        return
    messages = [{"role": str(m.get("role", "user")), "content": _content(m)} for m in template if isinstance(m, dict)]
    prompt = PromptText(name=builder.name, messages=messages, place=found.place)
    if messages and all(prompt.messages != other.messages for other in builder.prompts):
        builder.prompts.append(prompt)
        builder.part(f"{found.place} input_messages", "mapped", "a prompt file")


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str)).replace(_VARIABLE, "{{")


def _results(
    items: list[FoundObject], runs: Mapping[str, FoundObject], builder: ImportBuilder, expected: str | None
) -> None:
    counts: dict[str, int] = {}
    for found in items:
        run = runs.get(str(found.data.get("run_id")))
        number = counts[str(found.file)] = counts.get(str(found.file), -1) + 1
        native = native_of(found.data, builder.name, number, expected)
        native["trial"]["target"] = native["trial"]["target"] or _target(run)
        builder.results.append(result_from(native, found.data.get(REST), found.place))
        created = found.data.get("created_at")
        if not builder.created and isinstance(created, int) and 0 <= created < 1 << 34:
            builder.created = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if items:
        builder.part(f"{len(items)} output items", "mapped", "results of a run")


def _target(run: FoundObject | None) -> str:
    return "" if run is None else str(run.data.get("model") or run.data.get("name") or "")


def _cases_of_results(builder: ImportBuilder, items: list[FoundObject], expected: str | None) -> None:
    for found in items:
        if not isinstance(item := found.data["datasource_item"], dict):
            raise PlacedError(found.part("datasource_item"), "`$.datasource_item` is not an object.")
        builder.add(case_data_of(item, expected))
