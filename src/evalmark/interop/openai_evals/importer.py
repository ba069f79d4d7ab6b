"""Import evals of OpenAI and Microsoft Foundry: request bodies, and what the API returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.run import Run
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.serialization import file_name, yaml_text
from evalmark.interop.shared.folders import folder_of
from evalmark.interop.shared.import_builder import (
    ImportBuilder,
    PromptText,
    combine_imports,
    prompt_data,
    read_side_file,
)
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import case_data_of, dict_or_empty, is_number, list_or_empty, unique_names
from evalmark.interop.shared.results import REST, result_from

from .api_objects import ApiObject, ApiObjects, file_of, read_api_objects, split_by_eval
from .criteria import EvalKeys, keys_of, read_criterion
from .download import download_failures
from .exporter import native_of
from .grader_json import GraderError, messages_in
from .stored_runs import StoredEval, check_agreement, runs_of

Data = dict[str, Any]
_VARIABLE = "{{item."
_SETTINGS = {
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    **{name: name for name in ("temperature", "top_p", "seed", "reasoning_effort")},
}
"""Sampling parameters of runs, and the settings of a target that they are here."""


def import_openai_evals(path: Path, options: ImportOptions = DEFAULT_OPTIONS) -> ImportResult:
    """Import the evals, runs and output items in a file, or in all JSON and JSONL files below a folder.

    Each eval becomes a suite, and each of its runs a run, unless the folder is an export of evalmark, which is one run.

    Raises:
        DataError: a file cannot be read, or no file has an object of the API.
    """
    whole = read_api_objects(path)
    results = ImportBuilder(name="imported evals", side=read_side_file(folder_of(path)))
    for address, why in download_failures(folder_of(path)).items():
        results.part(address, "left out", f"it was not downloaded: {why}")
    runs: list[Run] = []
    if len(whole.evals) < 2:
        runs += _add_eval(whole, results, results, options)
        return replace(results.imported(), runs=tuple(runs))
    groups: list[ImportBuilder] = []
    for part in split_by_eval(whole):
        groups.append(ImportBuilder(name="imported evals", side=results.side))
        runs += _add_eval(part, groups[-1], results, options)
    named = unique_names(group.name for group in groups)
    for name, group in zip(named, groups, strict=True):
        group.name = name
    combined = combine_imports(dict(zip(named, groups, strict=True)), results)
    return replace(combined, runs=tuple(sorted(runs, key=lambda run: run.created)))


def _add_eval(objects: ApiObjects, builder: ImportBuilder, results: ImportBuilder, options: ImportOptions) -> list[Run]:
    """Add the tests of an eval, and return its runs; those of an export of evalmark are added to `results`."""
    criteria = [one for entry in objects.evals for one in list_or_empty(entry.data["testing_criteria"])]
    items = [entry.data["datasource_item"] for entry in objects.items]
    runs = sorted(objects.runs, key=_created)
    for entry in runs:
        _check_run(entry)
    keys = keys_of(criteria, [*_rows_of(objects.runs), *(entry.data["item"] for entry in objects.rows), *items])
    if any(_model(run.data["data_source"]) for run in runs):
        keys = keys._replace(graded="")  # a model gives the outputs
    for entry in objects.evals:
        _eval(entry, builder, keys, options)
    if builder.side is not None:
        return _add_export(objects._replace(runs=runs), builder, results, keys)
    if runs:
        _target(runs, builder)
    _add_cases(objects, runs, builder, keys)
    for entry in objects.evals if not builder.cases else ():
        why = "the files have no rows for it, so there is nothing to ask"
        builder.part(f"{entry.place} {builder.name!r}", "no effect", why)
    stored = StoredEval(builder.name, keys, builder.metrics, criteria)
    made = runs_of(stored, runs, objects.items, [case["id"] for case in builder.cases])
    if objects.items:
        builder.part(f"{len(objects.items)} output items", "kept", f"results of {count(len(made), 'run')}")
        check_agreement(stored, made, builder)
    return made


def _created(entry: ApiObject) -> float:
    created = entry.data.get("created_at")
    return created if is_number(created) else 0.0


def _rows_of(runs: Sequence[ApiObject]) -> Iterator[Any]:
    for entry in runs:
        for row in list_or_empty(_source(entry).get("content")):
            yield dict_or_empty(row).get("item")


def _source(entry: ApiObject) -> Data:
    return dict_or_empty(dict_or_empty(entry.data["data_source"]).get("source"))


def _add_export(objects: ApiObjects, builder: ImportBuilder, results: ImportBuilder, keys: EvalKeys) -> list[Run]:
    """Add the tests and results of a run that evalmark has exported; it is one run, with all its targets."""
    for entry in objects.runs:
        source = entry.data["data_source"]
        if isinstance(model := source.get("model"), str) and model:
            _add_model(model, builder)
        _prompt(source, entry, builder)
        for row, item in _rows(entry, objects):
            builder.add(_case(row, item, builder, keys))
    results.name = builder.name
    counts: dict[Path, int] = {}
    for found in objects.items:
        number = counts[found.file] = counts.get(found.file, -1) + 1
        native = native_of(found.data, builder.name, number, keys.expected or None)
        results.results.append(result_from(native, found.data.get(REST), found.place))
    if objects.items:
        results.part(f"{len(objects.items)} output items", "kept", "results of a run")
    if not builder.cases:
        for found in objects.items:
            builder.add(case_data_of(_item(found, "datasource_item"), keys.expected or None))
    return []


def _eval(entry: ApiObject, builder: ImportBuilder, keys: EvalKeys, options: ImportOptions) -> None:
    criteria = entry.data["testing_criteria"]
    if not isinstance(criteria, list):
        raise PlacedError(entry.part("testing_criteria"), "`$.testing_criteria` is not a list.")
    if isinstance(name := entry.data.get("name"), str) and name:
        builder.name = name
    for number, criterion in enumerate(criteria):
        at = ("testing_criteria", number)
        if not isinstance(criterion, dict):
            raise PlacedError(entry.part(*at), f"`{json_path(at)}` is not an object.")
        read_criterion(criterion, f"{entry.part(*at)} {json_path(at)}", builder, keys, options)


def _check_run(entry: ApiObject) -> None:
    if not isinstance(entry.data["data_source"], dict):
        raise PlacedError(entry.part("data_source"), "`$.data_source` is not an object.")


def _target(runs: Sequence[ApiObject], builder: ImportBuilder) -> None:
    """Add the model, the settings and the prompt of the newest run; older prompts are files beside the suite."""
    newest = next((run for run in reversed(runs) if _model(run.data["data_source"])), None)
    if newest is None:
        return
    source = newest.data["data_source"]
    model = _model(source)
    _add_model(model, builder)
    builder.part(f"{newest.place} model", "kept", f"the model under test is {builder.models[-1]}")
    others = {other for run in runs if (other := _model(run.data["data_source"])) not in ("", model)}
    if others:
        builder.remark(f"Earlier runs asked {', '.join(sorted(others))}; evalmark run asks another model with --model.")
    _settings(source, newest, builder)
    _prompt(source, newest, builder)
    _older_prompts([run for run in runs if run is not newest], builder)


def _model(source: Mapping[str, Any]) -> str:
    """Return the model that a run asked, with its provider; empty if the run has given outputs."""
    target = dict_or_empty(source.get("target"))
    if isinstance(deployed := target.get("model"), str) and deployed:
        return deployed if "/" in deployed else f"azure/{deployed}"
    model = source.get("model")
    return "" if not isinstance(model, str) or not model else model if "/" in model else f"openai/{model}"


def _add_model(model: str, builder: ImportBuilder) -> None:
    named = model if "/" in model else f"openai/{model}"
    if named not in builder.models:
        builder.models.append(named)


def _settings(source: Data, entry: ApiObject, builder: ImportBuilder) -> None:
    target = dict_or_empty(source.get("target"))
    parameters = dict_or_empty(source.get("sampling_params")) | dict_or_empty(target.get("sampling_params"))
    for name, value in parameters.items():
        if value is None or name == "response_format":
            continue
        if name in _SETTINGS:
            builder.settings[_SETTINGS[name]] = value
            builder.part(f"{entry.place} sampling_params.{name}", "kept", f"the setting {_SETTINGS[name]}")
        elif value:
            builder.part(f"{entry.place} sampling_params.{name}", "left out", "the suite would send it in no request")


def _prompt(source: Data, entry: ApiObject, builder: ImportBuilder) -> None:
    name = f"{entry.place} input_messages"
    try:
        prompt = _prompt_text(source, builder.name, entry.place)
    except GraderError as error:
        builder.lacks_prompt = True
        builder.part(name, "left out", f"it {error}")
        return
    if prompt is not None:
        builder.add_prompt(prompt, name)


def _prompt_text(source: Data, name: str, place: str) -> PromptText | None:
    """Return the prompt of a run; None if it has none.

    Raises:
        GraderError: it has something else than texts.
    """
    template = dict_or_empty(source.get("input_messages")).get("template")
    if not isinstance(template, list) or not template:
        return None
    messages = [
        {"role": role, "content": text.replace("{{ item.", _VARIABLE).replace(_VARIABLE, "{{")}
        for role, text in messages_in(template)
    ]
    form = dict_or_empty(dict_or_empty(source.get("sampling_params")).get("response_format"))
    more: Data = {}
    if form.get("type") == "json_schema":
        more = {"responseFormat": "json_schema", "jsonSchema": form.get("json_schema")}
    return PromptText(name=name, messages=messages, more=more, place=place)


def _older_prompts(runs: Sequence[ApiObject], builder: ImportBuilder) -> None:
    """Copy the prompts of earlier runs that differ from the suite's into a folder beside it."""
    seen = [prompt.messages for prompt in builder.prompts]
    for run in runs:
        try:
            prompt = _prompt_text(run.data["data_source"], builder.name, run.place)
        except GraderError:
            continue
        if prompt is None or prompt.messages in seen:
            continue
        seen.append(prompt.messages)
        stem = file_name(str(run.data.get("name") or run.data.get("id") or "earlier"))
        path = f"earlier/{stem}-{len(seen)}.prompt.yml"
        builder.files[path] = yaml_text(prompt_data(prompt))
        builder.part(f"{run.place} input_messages", "kept", f"{path}; the suite asks with the newest run's prompt")


def _add_cases(objects: ApiObjects, runs: Sequence[ApiObject], builder: ImportBuilder, keys: EvalKeys) -> None:
    """Add the cases of the runs' data, else those of the output items; of cases with one id, that of the newest run."""
    files = {entry.file.stem for entry in objects.rows}
    named = {file_of(run.data) for run in runs}
    for run in reversed(runs):
        for row, item in _rows(run, objects):
            _add_case(_case(row, item, builder, keys), builder)
    for entry in objects.rows:
        if entry.file.stem not in named:
            _add_case(_case(entry.data, _item(entry, "item"), builder, keys), builder)
    order = {str(run.data.get("id")): number for number, run in enumerate(reversed(runs))}
    for entry in sorted(
        objects.items, key=lambda one: (order.get(str(one.data.get("run_id")), len(order)), _position(one))
    ):
        output = native_of(entry.data, "", 0, None)["output"].get("value")
        row = {"sample": {"output_text": output}}
        _add_case(_case(row, _item(entry, "datasource_item"), builder, keys), builder)
    for entry in [] if objects.items else runs:
        kind, file = _source(entry).get("type"), file_of(entry.data)
        if kind != "file_content" and file not in files:
            why = f"rows of the type {kind!r:.40} stay at the service; download the file {file} or the output items"
            builder.part(f"{entry.place} data_source", "left out", why)


def _add_case(case: Data, builder: ImportBuilder) -> None:
    if case["id"] not in builder.seen:
        builder.seen.add(case["id"])
        builder.cases.append(case)


def _position(entry: ApiObject) -> float:
    number = entry.data.get("datasource_item_id")
    return number if is_number(number) else 0.0


def _rows(run: ApiObject, objects: ApiObjects) -> Iterator[tuple[Data, Data]]:
    """Yield the rows of a run's data, each with its item."""
    for number, row in enumerate(list_or_empty(_source(run).get("content"))):
        at = ("data_source", "source", "content", number)
        if not isinstance(row, dict) or not isinstance(row.get("item"), dict):
            raise PlacedError(run.part(*at), f"`{json_path((*at, 'item'))}` is not an object.")
        yield row, row["item"]
    if name := file_of(run.data):
        yield from ((entry.data, _item(entry, "item")) for entry in objects.rows if entry.file.stem == name)


def _item(entry: ApiObject, key: str) -> Data:
    item = entry.data[key]
    if not isinstance(item, dict):
        raise PlacedError(entry.part(key), f"`$.{key}` is not an object.")
    return item


def _case(row: Mapping[str, Any], item: Data, builder: ImportBuilder, keys: EvalKeys) -> Data:
    """Return the fields of a case, with its output if no model is asked."""
    case = keys.case(item)
    output = item.get(keys.graded) if keys.graded else dict_or_empty(row.get("sample")).get("output_text")
    return case | ({"answer": output} if isinstance(output, str) and not builder.models else {})
