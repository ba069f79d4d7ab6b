"""Import promptfoo's configs as suites, and its results (versions 2 and 3) as runs."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import canonical, plain
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path, open_file, path_kind
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.inputs.documents.text import MAX_ROW, read_text
from evalmark.interop.shared.assertions import CHECKS, JUDGED, KEY
from evalmark.interop.shared.folders import file_in, files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft, PromptText, read_side_file
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult, PartOutcome
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, input_from, list_or_empty
from evalmark.interop.shared.model_names import CODE, from_promptfoo
from evalmark.interop.shared.results import SIDE

from .assertions import (
    JUDGES,
    AssertionRequest,
    UnsupportedAssertionError,
    python_file,
    read_assertion,
    reference_of,
    row_checks,
)
from .results import add_results, read_results
from .tests import Test, tests_of

Data = dict[str, Any]
_TABLES = (".csv", ".jsonl", ".xlsx", ".xls")
_TEXTS = (".txt", ".json", ".md", ".yaml", ".yml", ".prompt", ".j2", *_TABLES)
_DATA = re.compile(r'\{(?![{%#]).*\}$|\[\s*(["{\[\]0-9-]|true|false|null).*\]$|\[\s*\]$', re.DOTALL)
"""Texts that promptfoo reads as JSON."""
CONFIGS = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
_CODE_KEYS = ("extensions", "nunjucksFilters", "assertScoringFunction", "derivedMetrics")
_WITHOUT_EFFECT = (
    "env",
    "sharing",
    "outputPath",
    "tracing",
    "writeLatestResults",
    "commandLineOptions",
    "$schema",
    "tags",
    "metadata",
)
_KNOWN = (
    "assertionTemplates",
    "description",
    "prompts",
    "providers",
    "targets",
    "tests",
    "scenarios",
    "defaultTest",
    "evaluateOptions",
)
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed", "stop": "stop"}
_OF_TEST = ("description", "metadata", "providerOutput", "options")
_NO_EFFECT = ("label", "delay", "apiKey", "apiKeyEnvar", "maxRetries", "organization")
"""Keys of a provider that do not change its replies."""
_NO_EFFECT_OPTIONS = ("disableVarExpansion", "disableDefaultAsserts", "disableConversationVar", "runSerially")
_OF_ASSERTIONS = ("transform", "postprocess", "rubricPrompt", "factuality", "provider")
"""Options of a test that its assertions use."""


def import_promptfoo(path: Path, options: ImportOptions = DEFAULT_OPTIONS) -> ImportResult:
    """Import the config or results in a file, or both in a folder.

    Nothing in the files is run. An assertion that is code is left out, unless the options allow it.

    Args:
        path: the file or folder.
        options: the code that may be imported.

    Raises:
        DataError: a file cannot be read, or is not one of promptfoo's.
    """
    builder = ImportBuilder(name="imported tests", side=read_side_file(folder_of(path)))
    files = _files(path)
    contents = {file: read_results(file) if file.suffix.lower() == ".json" else None for file in files}
    configs = [
        document for file in files if contents[file] is None and _is_config((document := load_document(file)).data)
    ]
    results = [one for one in contents.values() if one is not None]
    if not (configs or results):
        raise PlacedError(
            str(path), "is neither a config of promptfoo (with `prompts`, or `tests`) nor a file of its results."
        )
    for document in configs:
        _config(document, document.data, (), builder, options)
    for one in results:
        if not builder.cases and isinstance(one.config, dict):
            inner = Document(path=one.path, data={"config": one.config})
            _config(inner, one.config, ("config",), builder, options)
        add_results(one, builder)
    return builder.imported()


def _files(path: Path) -> list[Path]:
    if path_kind(path) != "folder":
        return [path]
    files = [file for name in CONFIGS if (file := file_in(path, name)) is not None][:1]
    return files + [file for file in files_of(path, (".json",)) if file.name not in (*CONFIGS, SIDE)]


def _is_config(data: Any) -> bool:
    return isinstance(data, dict) and bool({"prompts", "tests", "providers", "targets", "scenarios"} & data.keys())


def _config(
    document: Document, data: Data, at: tuple[str, ...], builder: ImportBuilder, options: ImportOptions
) -> None:
    if isinstance(description := data.get("description"), str) and description.strip():
        builder.name = description.strip().splitlines()[0]
    tests = list(tests_of(document, data, at, builder))
    if tests and all(isinstance(test.fields.get("providerOutput"), str) for test in tests):
        builder.part(f"{document.place_of(at)} prompts, providers", "no effect", "every test brings its output")
    else:
        _prompts(document, data.get("prompts"), (*at, "prompts"), builder)
        _providers(document, data, at, builder)
    evaluation = data.get("evaluateOptions")
    if isinstance(evaluation, dict) and type(repeat := evaluation.get("repeat")) is int and repeat > 1:
        builder.options["repeat"] = repeat
    for key in data:
        where = f"{document.place_of((*at, key))} {key}"
        if key in _CODE_KEYS and data[key]:
            builder.part(where, "left out", "it is code")
        elif key in _WITHOUT_EFFECT:
            builder.part(where, "no effect", "it changes neither the requests nor the scores")
        elif key not in _KNOWN:
            builder.part(where, "left out", "evalmark does not support it")
    _tests(tests, builder, options, document.path.parent)


# Prompts.


def _prompts(document: Document, value: Any, at: tuple[str, ...], builder: ImportBuilder) -> None:
    rows = [value] if isinstance(value, str) else value
    if isinstance(rows, dict):
        rows = [{"raw": f"file://{file}", "label": label} for file, label in rows.items()]
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        _one_prompt(document, row, (*at, number), builder)
    if value is None:  # promptfoo's default
        builder.prompts.append(PromptText(name="prompt-1", messages=[{"role": "user", "content": "{{prompt}}"}]))


def _one_prompt(document: Document, row: Any, at: tuple[str | int, ...], builder: ImportBuilder) -> None:
    where = f"{document.place_of(at)} {json_path(at)}"
    prompt = row if isinstance(row, dict) else {"raw": row}
    text, label = prompt.get("raw") or prompt.get("id"), prompt.get("label")
    if not isinstance(text, str) or not text.strip():
        raise PlacedError(document.place_of(at), f"`{json_path(at)}` is not a prompt.")
    if (text.startswith(CODE) and not text.startswith("file://")) or text.lower().partition(":")[0].endswith(CODE):
        _drop_prompt(where, "left out", "a prompt that is made by code is code", builder)
        return
    for more in [key for key in prompt if key not in ("raw", "id", "label", "display")]:
        builder.part(f"{where} {more}", "left out", "evalmark does not support it for one prompt")
    for part in _texts(text, document, where, builder):
        messages = _messages(part)
        if isinstance(messages, str):
            _drop_prompt(where, "left out", messages, builder)
            continue
        name = str(label) if label else f"prompt-{len(builder.prompts) + 1}"
        builder.prompts.append(PromptText(name=name, messages=messages, place=where))
        builder.part(where, "kept", "a prompt file")


def _drop_prompt(where: str, outcome: PartOutcome, why: str, builder: ImportBuilder) -> None:
    """Record a prompt that cannot be imported."""
    builder.part(where, outcome, why)
    builder.lacks_prompt = True


def _texts(text: str, document: Document, where: str, builder: ImportBuilder) -> list[str]:
    """Return the prompts of a text, or of the file that it names."""
    name = text.removeprefix("file://")
    is_name = "\n" not in text and name.lower().endswith(_TEXTS)
    if name == text and not is_name:
        return [text]
    if name.lower().partition(":")[0].endswith((".py", ".js", ".cjs", ".mjs", ".ts")):
        _drop_prompt(where, "left out", "a prompt that is made by code is code", builder)
        return []
    if name.lower().endswith(_TABLES):
        _drop_prompt(where, "left out", "tables of prompts are not supported; write each prompt in the config", builder)
        return []
    folder = document.path.parent
    try:
        file = allowed_path(name, folder, folder)
        if file.suffix in (".yaml", ".yml"):
            return [json.dumps(load_document(file).data)]
        read = read_text(file)
    except DataError as error:
        _drop_prompt(where, "left out", f"its file cannot be read: {error}", builder)
        return []
    parts = [part.strip() for part in f"\n{read}\n".split("\n---\n")] if file.suffix == ".txt" else [read]
    return [part for part in parts if part]


def _messages(text: str) -> list[dict[str, str]] | str:
    """Return the messages of a prompt (a chat in JSON or YAML, or one user message), or the reason why there are none."""
    is_yaml = text.strip().startswith("- role:")
    is_data = is_yaml or bool(_DATA.match(text.strip()))
    try:
        data = parse_yaml(text, "prompt") if is_yaml else parse_json(text, "prompt")
    except DataError:
        if is_data:
            return "it is a chat that is valid only after its variables are filled in"
        return [{"role": "user", "content": text}]
    if not isinstance(data, (list, dict)):
        return [{"role": "user", "content": text}]
    rows = data if isinstance(data, list) else []
    if not rows or not all(isinstance(m, dict) and m.keys() <= {"role", "content"} and "role" in m for m in rows):
        return "it is a list of messages, and not every message has a role and a content"
    if not all(isinstance(m["role"], str) and isinstance(m.get("content"), str) for m in rows):
        return "one of its messages contains more than text, such as a picture"
    return [{"role": m["role"], "content": m["content"]} for m in rows]


# Providers.


def _providers(document: Document, data: Data, at: tuple[str, ...], builder: ImportBuilder) -> None:
    key = "targets" if "targets" in data else "providers"
    providers = data.get(key)
    settings: list[Data] = []
    for number, row in enumerate([providers] if isinstance(providers, (str, dict)) else list_or_empty(providers)):
        where = f"{document.place_of((*at, key, number))} {json_path((*at, key, number))}"
        name, config = _provider(row)
        model = from_promptfoo(name)
        if model is None:
            is_code = name.startswith(CODE) or name.lower().partition(":")[0].endswith(CODE)
            why = (
                "it is code; name a Python function as the target"
                if is_code
                else "evalmark does not support this provider"
            )
            builder.part(where, "left out", f"{name!r:.60}: {why}")
            continue
        builder.models.append(model)
        builder.part(where, "kept", f"the model {model}")
        settings.append({_SETTINGS[k]: v for k, v in config.items() if k in _SETTINGS and v is not None})
        more = row if isinstance(row, dict) and "id" in row else {}
        for other in (
            *(key for key in more if key not in ("id", "config")),
            *(k for k in config if k not in _SETTINGS),
        ):
            is_idle = other in _NO_EFFECT
            why = (
                "it changes no output"
                if is_idle
                else "keys and addresses belong in the environment, settings in the suite"
            )
            builder.part(f"{where} {other}", "no effect" if is_idle else "left out", why)
    if settings and all(canonical(row) == canonical(settings[0]) for row in settings):
        builder.settings = settings[0]
    elif any(settings):
        why = "the models have different settings, and a suite has one for all: write a suite for each"
        builder.part(f"{document.place_of((*at, key))} {key}", "left out", why)


def _provider(row: Any) -> tuple[str, Data]:
    if isinstance(row, str):
        return row, {}
    if isinstance(row, dict) and isinstance(row.get("id"), str):
        return row["id"], dict_or_empty(row.get("config"))
    if isinstance(row, dict) and len(row) == 1:
        name, inner = next(iter(row.items()))
        return str(name), dict_or_empty(dict_or_empty(inner).get("config"))
    return str(plain(row))[:60], {}


# Tests.


def _tests(tests: Sequence[Test], builder: ImportBuilder, options: ImportOptions, folder: Path) -> None:
    """Add the cases and metrics; assertions of all tests become metrics, others go to the cases' metadata."""
    requests: list[list[AssertionRequest]] = []
    rows: list[Data] = []
    all_given = all(isinstance(test.fields.get("providerOutput"), str) for test in tests)
    for test in tests:
        if why := test.lost or _excluded_reason(test, all_given):
            builder.part(test.place, "left out", why)
            continue
        draft = _requests_of(test, builder, options, folder)
        rows.append(_row(test, reference_of(draft), builder))
        requests.append(draft)
    shared = _shared(requests, rows)
    for one in shared.values():
        name = one.name or one.scorer
        builder.metrics.append(
            MetricDraft(name=name, scorer=one.scorer, settings=one.settings, threshold=one.threshold, judge=one.judge)
        )
    for row, draft in zip(rows, requests, strict=True):
        unshared = [one for one in draft if canonical(one.shape) not in shared]
        row_requests = [one for one in unshared if _fits_metadata(one, row)]
        if row_requests:
            row.setdefault("metadata", {})[KEY] = row_checks(row_requests, row.get("expected"))
        _note_outcomes(draft, [one for one in unshared if one not in row_requests], builder)
        builder.add(row)
    _own_scorers(builder)


def _note_outcomes(draft: Sequence[AssertionRequest], lost: Sequence[AssertionRequest], builder: ImportBuilder) -> None:
    """Record the outcomes of a test's assertions."""
    for one in draft:
        if one in lost:
            why = "only some tests have it, or with other settings, but in evalmark it scores all cases of a suite"
            builder.part(one.where, "left out", why)
        else:
            builder.part(one.where, "kept", one.scorer)


def _excluded_reason(test: Test, all_given: bool) -> str:
    """Return why a test cannot be in the suite; empty if it can."""
    if test.fields.get("providerOutput") is None or all_given:
        return ""
    return "its output is given, and a suite has given outputs for all cases or for none"


def _requests_of(test: Test, builder: ImportBuilder, options: ImportOptions, folder: Path) -> list[AssertionRequest]:
    requests: list[AssertionRequest] = []
    for assertion, where in test.asserts:
        if (file := python_file(assertion)) is not None and options.allows(folder / file[0]):
            _python(assertion, file, where, builder, folder)
            continue
        try:
            request = read_assertion(assertion, test.variables, test.options)
        except UnsupportedAssertionError as refused:
            builder.part(f"{where} ({assertion['type']})", "left out", refused.why)
            continue
        if "weight" in assertion:
            builder.part(f"{where} weight", "no effect", "whether a test passes does not depend on it")
        requests.append(replace(request, where=f"{where} ({assertion['type']})"))
    return requests


def _python(assertion: Data, file: tuple[str, str], where: str, builder: ImportBuilder, folder: Path) -> None:
    """Add a function in a file that the user named; the file is copied."""
    path, function = folder / file[0], file[1]
    try:
        with open_file(path) as opened:
            text = opened.read(MAX_ROW).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlacedError(str(path), f"cannot be read: {error}.") from None
    if builder.files.setdefault(path.name, text) != text:
        builder.part(f"{where} (python)", "left out", f"another file has the name {path.name}; rename one of them")
        return
    settings: Data = {"file": path.name, "function": function}
    if isinstance(least := assertion.get("threshold"), (int, float)):
        settings["least"] = float(least)
    if all(dict(draft.settings) != settings for draft in builder.metrics):
        name = str(assertion.get("metric") or function)
        builder.metrics.append(MetricDraft(name=name, scorer="evalmark.scorers:PythonAssertion", settings=settings))
    builder.part(f"{where} (python)", "kept", f"the function {function} of {path.name}, which scores every case")


def _row(test: Test, expected: Any, builder: ImportBuilder) -> Data:
    fields = test.fields
    metadata = dict(dict_or_empty(fields.get("metadata")))
    if isinstance(text := fields.get("description"), str) and text:
        metadata = {"description": text, **metadata}
    if metadata:
        builder.part(f"{test.place} metadata", "kept", "in the metadata of its case")
    for key in [name for name in fields if name not in _OF_TEST and fields[name] is not None]:
        builder.part(f"{test.place} {key}", *_outcome_of(key))
    for key in [name for name in test.options if name not in (*_NO_EFFECT_OPTIONS, *_OF_ASSERTIONS)]:
        builder.part(f"{test.place} options.{key}", "left out", "evalmark does not support it for one test")
    row: Data = {
        "id": str(
            metadata.pop("id", "") or generated_row_id(test.variables)
        ),  # equal to the id in the results of this test
        "input": input_from(test.variables),
    }
    row |= {"expected": expected} if expected is not None else {}
    row |= {"answer": fields["providerOutput"]} if isinstance(fields.get("providerOutput"), str) else {}
    return row | ({"metadata": metadata} if metadata else {})


def _outcome_of(key: str) -> tuple[PartOutcome, str]:
    """Return the outcome of a key of a test."""
    if key == "assertScoringFunction":
        return "left out", "it is code"
    if key == "threshold":
        return "left out", "promptfoo passes a test by its mean score; in evalmark each metric has to pass"
    return "left out", "evalmark does not support it for one test"


def _shared(requests: Sequence[Sequence[AssertionRequest]], rows: Sequence[Data]) -> dict[str, AssertionRequest]:
    """Return the assertions that every test has, compared with its own reference answer."""
    counts: dict[str, int] = {}
    first: dict[str, AssertionRequest] = {}
    twice: set[str] = set()
    for draft, row in zip(requests, rows, strict=True):
        expected = canonical(row.get("expected"))
        mine: set[str] = set()
        for one in draft:
            key = canonical(one.shape)
            if key in mine:
                twice.add(key)  # they compare with different answers, but a case has only one
            elif one.expected is None or canonical(one.expected) == expected:
                counts[key] = counts.get(key, 0) + 1
                first.setdefault(key, one)
            mine.add(key)
    return {key: one for key, one in first.items() if counts[key] == len(rows) and key not in twice}


def _fits_metadata(one: AssertionRequest, row: Data) -> bool:
    """Return whether a check can be in a case's metadata."""
    base = one.scorer.removeprefix("not-")
    same = one.expected is None or canonical(one.expected) == canonical(row.get("expected"))
    is_check = base in CHECKS and (same or base in ("equals", "contains", "structured_output"))
    return is_check or (base in JUDGED and same and not one.judge)


def _own_scorers(builder: ImportBuilder) -> None:
    scorers = [name for row in builder.cases for item in row.get("metadata", {}).get(KEY, ()) for name in item]
    if any(name.removeprefix("not-") in CHECKS for name in scorers):
        builder.metrics.append(MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"))
    if any(name in JUDGES for name in scorers):
        builder.metrics.append(MetricDraft(name="judged_assertions", scorer="evalmark.scorers:JudgedAssertions"))
