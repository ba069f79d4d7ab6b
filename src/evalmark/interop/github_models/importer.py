"""Import prompt files of GitHub Models as suites, and output of `gh models eval --json` as runs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.serialization import yaml_text
from evalmark.interop.github_models.exporter import native_of
from evalmark.interop.shared.assertions import KEY
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import (
    ImportBuilder,
    MetricDraft,
    PromptText,
    combine_imports,
    read_side_file,
)
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import case_data_of, is_number, list_or_empty, unique_names
from evalmark.interop.shared.results import REST, SIDE, result_from
from evalmark.prompts.templates.frontmatter import is_text
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.prompt_files import parse_prompt, read_prompt
from evalmark.prompts.templates.template import MAX_TEMPLATE_CHARS
from evalmark.scoring.binding.text import text_of

Data = dict[str, Any]
_PROMPTS = (".yml", ".yaml")
_WHOLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_KEPT = ("name", "description", "model", "modelParameters", "responseFormat", "jsonSchema", "messages")
_BUILT_IN = {
    "github/similarity": (
        "similarity",
        True,
        "How close is the meaning of the output to the example of a good output?",
    ),
    "github/coherence": ("coherence", False, "How well do the sentences of the output hang together, as one text?"),
    "github/fluency": ("fluency", False, "How well is the output written: grammar, choice of words, ease of reading?"),
    "github/relevance": ("relevance", False, "How far does the output answer what was asked, and keep to it?"),
    "github/groundedness": (
        "groundedness",
        True,
        "How far does all that the output says follow from the example beside it?",
    ),
}
"""GitHub's own evaluators: the quality, whether they see the expected answer, and the question in evalmark's words."""


def import_github_models(path: Path) -> ImportResult:
    """Import a `.prompt.yml` file with its test data and evaluators, or the results in a `.json` file.

    From a folder, all such files are imported; prompts with different messages or evaluators become separate suites.

    Raises:
        ConfigError: a file cannot be read, or there is no file of GitHub Models.
    """
    results = ImportBuilder(side=read_side_file(folder_of(path)))
    groups: dict[str, ImportBuilder] = {}
    for file in _files(path):
        document = load_document(file, is_text)
        data = document.data
        if isinstance(data, dict) and "testResults" in data:
            _results(document, data, results)
        elif isinstance(data, dict) and "messages" in data:
            alike = canonical({key: value for key, value in data.items() if key not in ("model", "testData")})
            _prompt(document, data, groups.setdefault(alike, ImportBuilder()))
        elif file == path:
            raise PlacedError(f"{file}:1", "has neither `messages`, as a prompt of GitHub Models, nor `testResults`.")
    if not (groups or results.results or results.parts):
        raise PlacedError(str(path), "has no prompt file and no results of GitHub Models.")
    named = unique_names(builder.name for builder in groups.values())
    return combine_imports(dict(zip(named, groups.values(), strict=True)), results)


def _files(path: Path) -> list[Path]:
    return [file for file in files_of(path, (*_PROMPTS, ".json")) if file == path or file.name != SIDE]


def _prompt(document: Document, data: Data, builder: ImportBuilder) -> None:
    place = document.place_of()
    prompt = _read(document, data)
    if not builder.prompts:
        builder.name = prompt.name
    if isinstance(model := data.get("model"), str) and model and model not in builder.models:
        builder.models.append(model)
        builder.part(f"{place} model", "kept", f"the model {model}; it has to be available to you")
    _messages(data, prompt.name, place, builder)
    _evaluators(document, data, builder)
    for number, row in enumerate(_list(document, data, "testData")):
        if not isinstance(row, dict):
            raise PlacedError(document.place_of(("testData", number)), f"`$.testData[{number}]` is not a mapping.")
        builder.add(_case(row, data))
    for key in [name for name in data if name not in (*_KEPT, "testData", "evaluators")]:
        builder.part(f"{document.place_of((key,))} {key}", "left out", "prompts of GitHub Models have no such key")


def _case(row: Data, data: Data) -> Data:
    """Convert a row of the test data to a case, with the checks that depend on its variables."""
    case = case_data_of(row)
    strings = [evaluator for evaluator in data.get("evaluators") or () if isinstance(evaluator.get("string"), dict)]
    own = [check for evaluator in strings if (check := _check_of_row(evaluator, row)) is not None]
    return {**case, "metadata": {**case.get("metadata", {}), KEY: own}} if own else case


def _check_of_row(evaluator: Data, row: Data) -> Data | None:
    """Return a row's check by an evaluator with variables in its text; None if there is no such check."""
    key, text = _text_of(evaluator["string"])
    if not _is_of_rows(key, text) or any(name not in row for name in _WHOLE.findall(text)):
        return None
    name = str(evaluator.get("name") or "evaluator")
    draft, _ = _check(name, key, _WHOLE.sub(lambda slot: text_of(row[slot[1]]), text), expected=False)
    return None if draft is None else {draft.scorer: {**draft.settings, "name": name}}


def _is_of_rows(key: str, text: str) -> bool:
    """Return whether an evaluator searches a different text in each row, other than the expected answer."""
    names, is_whole = set(_WHOLE.findall(text)), "{{" not in _WHOLE.sub("", text)
    is_expected = key in ("equals", "contains") and text.strip("{} ") == "expected"
    return bool(names) and is_whole and "completion" not in names and not is_expected


def _read(document: Document, data: Data) -> Prompt:
    """Read the prompt; its file may be larger than the limit for prompts, because of the test data."""
    if document.path.stat().st_size <= MAX_TEMPLATE_CHARS:
        return read_prompt(document.path)
    return parse_prompt(yaml_text({key: data[key] for key in _KEPT if key in data}), document.path)


def _messages(data: Data, name: str, place: str, builder: ImportBuilder) -> None:
    more = {key: data[key] for key in _KEPT if key in data and key not in ("name", "messages", "model")}
    messages = [{"role": str(m["role"]), "content": str(m["content"])} for m in data["messages"]]
    builder.add_prompt(PromptText(name=name, messages=messages, more=more, place=place), f"{place} messages")


def _evaluators(document: Document, data: Data, builder: ImportBuilder) -> None:
    names = {draft.name for draft in builder.metrics}
    for number, evaluator in enumerate(_list(document, data, "evaluators")):
        at = ("evaluators", number)
        if not isinstance(evaluator, dict):
            raise PlacedError(document.place_of(at), f"`{json_path(at)}` is not a mapping.")
        if str(evaluator.get("name")) not in names:
            _evaluator(evaluator, f"{document.place_of(at)} {json_path(at)}", builder)


def _list(document: Document, data: Data, key: str) -> list[Any]:
    found = data.get(key)
    if found is not None and not isinstance(found, list):
        raise PlacedError(document.place_of((key,)), f"`$.{key}` is not a list.")
    return found or []


def _evaluator(evaluator: Data, place: str, builder: ImportBuilder) -> None:
    name = str(evaluator.get("name") or "evaluator")
    what = f"{place} {name!r}"
    if isinstance(evaluator.get("string"), dict):
        draft, why = _string(name, evaluator["string"])
    elif isinstance(evaluator.get("llm"), dict):
        draft, why = _judge_metric(name, evaluator["llm"])
    else:
        draft, why = _built_in(name, str(evaluator.get("uses", "")))
    if draft is None:
        builder.part(what, "left out", why)
        return
    if draft not in builder.metrics:
        builder.metrics.append(draft)
    builder.part(what, "kept", f"{'a metric file' if draft.file else draft.scorer}{f'; {why}' if why else ''}")


def _text_of(string: Data) -> tuple[str, str]:
    """Return the kind and the text of a `string` evaluator; the first one that is set counts."""
    texts = ((key, string.get(key)) for key in ("equals", "contains", "startsWith", "endsWith"))
    return next(((key, text) for key, text in texts if isinstance(text, str) and text), ("", ""))


def _string(name: str, string: Data) -> tuple[MetricDraft | None, str]:
    key, text = _text_of(string)
    if not text:
        return None, "it names no text to search"
    if _is_of_rows(key, text):
        return MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"), "each case has its text"
    if "{{" in text and text.strip("{} ") != "expected":
        return None, "it searches a text made from more than the variables of a row"
    return _check(name, key, text, expected="{{" in text)


def _check(name: str, key: str, text: str, *, expected: bool) -> tuple[MetricDraft | None, str]:
    if key == "contains":
        settings: Data = {"ignore_case": True} | ({} if expected else {"all": [text]})
        return MetricDraft(name=name, scorer="contains", settings=settings), ""
    if key == "equals" and expected:
        return MetricDraft(name=name, scorer="equals"), ""
    pattern = {"equals": "{}", "startsWith": "^{}", "endsWith": r"{}\Z"}[key].format(re.escape(text))
    settings = {"pattern": pattern} | ({"full": True} if key == "equals" else {"ignore_case": True})
    return MetricDraft(name=name, scorer="regex", settings=settings), ""


def _judge_metric(name: str, judge: Data) -> tuple[MetricDraft | None, str]:
    rows = [row for row in list_or_empty(judge.get("choices")) if isinstance(row, dict)]
    worths = {str(row.get("choice")): row.get("score") for row in rows}
    numbers = [worth for worth in worths.values() if is_number(worth)]
    if len(worths) < 2 or len(numbers) != len(worths) or not all(0 <= n <= 1 for n in numbers):
        return None, "it needs at least two choices, each with a score from 0 to 1"
    texts = [
        _slots(text)
        for text in (judge.get("systemPrompt"), judge.get("prompt"))
        if isinstance(text, str) and text.strip()
    ]
    if not any("{{output}}" in text for text in texts):
        return None, "its prompt has no {{completion}}, so nothing would be judged"
    above = [n for n in numbers if n > 0]
    file = {
        "metric_description": name,
        "config": {"needs_history": False, "needs_example_output": any("{{expected}}" in text for text in texts)},
        "score": {"type": "choice", "description": "the choice that fits", "choices": worths},
        "threshold": min(above) if above else 1.0,
        "template": texts,
    }
    return MetricDraft(name=name, file=file, judge=_model(judge.get("modelId"))), ""


def _slots(text: str) -> str:
    names = {"completion": "{{output}}", "expected": "{{expected}}"}
    parts = _WHOLE.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = parts[at].replace("{{", "{").replace("}}", "}").replace("{%", "{ %").replace("%}", "% }")
    parts[1::2] = [names.get(name, "\0") for name in parts[1::2]]
    head, slot, rest = "".join(parts).partition("\0")
    return head + ("{{input}}" if slot else "") + rest.replace("\0", "(in the input above)")


def _model(value: Any) -> str:
    return (
        value
        if isinstance(value, str) and "/" in value
        else f"openai/{value}"
        if isinstance(value, str) and value
        else ""
    )


def _built_in(name: str, uses: str) -> tuple[MetricDraft | None, str]:
    if uses not in _BUILT_IN:
        return None, f"there is no evaluator {uses!r:.60}" if uses else "it has neither `string`, `llm` nor `uses`"
    looks_at, expected, question = _BUILT_IN[uses]
    file = {
        "config": {"needs_history": False, "needs_example_output": expected},
        "metric_description": question,
        "score": {"type": "scale", "description": f"1 is no {looks_at}, 5 is the best there is", "min": 1, "max": 5},
        "threshold": 0.5,
    }
    return MetricDraft(
        name=name, file=file
    ), "it asks the same as GitHub's metric with an evalmark prompt, so scores will differ"


def _results(document: Document, data: Mapping[str, Any], builder: ImportBuilder) -> None:
    rows = data["testResults"]
    if not isinstance(rows, list):
        raise PlacedError(document.place_of(("testResults",)), "`$.testResults` is not a list.")
    name = str(data.get("name") or "imported")
    target = str(data.get("model") or "")
    if builder.name == "imported":
        builder.name = name
    for number, row in enumerate(rows):
        place = document.place_of(("testResults", number))
        if not isinstance(row, dict) or not isinstance(row.get("testCase"), dict):
            raise PlacedError(place, f"`$.testResults[{number}].testCase` is not a mapping.")
        builder.results.append(result_from(native_of(row, name, target, number), row.get(REST), place))
    builder.part(f"{document.path}: {len(rows)} test results", "kept", "results of a run")
