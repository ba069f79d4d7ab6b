"""Import promptfoo's configs as suites, and its results (versions 2 and 3) as runs."""

from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import path_kind
from evalmark.interop.shared.folders import file_in, files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, read_side_file
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.results import SIDE

from .cases import add_tests
from .prompts import add_prompts, note_changes
from .providers import add_providers
from .results import add_results, read_results
from .sources import dereferenced
from .tests import named, tests_of

Data = dict[str, Any]
CONFIGS = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
_CODE_KEYS = ("extensions", "nunjucksFilters", "assertScoringFunction", "derivedMetrics")
_READ = (
    "description",
    "prompts",
    "providers",
    "targets",
    "tests",
    "scenarios",
    "defaultTest",
    "evaluateOptions",
    "env",
)
_WITHOUT_EFFECT = "it changes neither the requests nor the scores"


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
    contents = {file: read_results(file) if file.suffix.lower() in (".json", ".jsonl") else None for file in files}
    configs = [
        document
        for file in files
        if contents[file] is None and _is_config((document := dereferenced(load_document(file))).data)
    ]
    results = [one for one in contents.values() if one is not None]
    if not (configs or results):
        raise PlacedError(
            str(path), "is neither a config of promptfoo (with `prompts`, or `tests`) nor a file of its results."
        )
    if not results and all(_is_plan(document.data) for document in configs):
        raise PlacedError(
            configs[0].place_of(("redteam",)),
            "it is only a plan for red teaming, whose tests promptfoo generates when it runs; there is nothing to import.",
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


def _is_plan(data: Data) -> bool:
    return "redteam" in data and not (data.get("tests") or data.get("scenarios"))


def _config(
    document: Document, data: Data, at: tuple[str, ...], builder: ImportBuilder, options: ImportOptions
) -> None:
    if isinstance(description := data.get("description"), str) and description.strip():
        builder.name = description.strip().splitlines()[0]
    tests = named(list(tests_of(document, data, at, builder)))
    if tests and all(isinstance(test.fields.get("providerOutput"), str) for test in tests):
        builder.part(f"{document.place_of(at)} prompts, providers", "no effect", "every test brings its output")
    else:
        add_prompts(document, data.get("prompts"), (*at, "prompts"), builder)
        note_changes(builder, [test.variables for test in tests])
        add_providers(document, data, at, builder, options)
    evaluation = data.get("evaluateOptions")
    if isinstance(evaluation, dict) and type(repeat := evaluation.get("repeat")) is int and repeat > 1:
        builder.options["repeat"] = repeat
    for key in data:
        _note_key(key, data, f"{document.place_of((*at, key))} {key}", builder)
    add_tests(tests, builder, options, document.path.parent)


def _note_key(key: str, data: Data, where: str, builder: ImportBuilder) -> None:
    """Record what becomes of a key of the config that is not read."""
    if key in _CODE_KEYS and data[key]:
        builder.part(where, "left out", "it is code")
    elif key == "redteam" and _is_plan(data):
        builder.part(where, "left out", "promptfoo generates the tests of a red team when it runs")
    elif key == "env" and isinstance(data[key], dict):
        names = ", ".join(map(str, data[key]))
        builder.part(where, "no effect", f"set these variables yourself: {names:.200}")
    elif key not in _READ:
        builder.part(where, "no effect", _WITHOUT_EFFECT)
