"""Convert providers of promptfoo that are scripts to commands; the scripts are copied, and nothing runs during the import."""

import ast
import re
import shlex
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import Document
from evalmark.inputs.documents.files import allowed_path, open_file
from evalmark.inputs.documents.text import MAX_ROW
from evalmark.inputs.secrets.fields import secret_paths
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.import_options import ImportOptions

from .settings import ProviderRow, UnsupportedProviderError

Data = dict[str, Any]
FOLDER = "providers"
"""The folder of the scripts beside the suite."""
_PYTHON, _NODE = (".py",), (".js", ".mjs", ".cjs")
_SCRIPT = re.compile(
    r"(?:file://|python:)?(?P<path>.+?\.(?:py|js|mjs|cjs|ts|mts|cts|rb|go))(?::(?P<function>[A-Za-z_]\w*))?$"
)
_NEIGHBOUR = re.compile(r"""(?:from|import|require\()\s*\(?\s*['"](\.{1,2}/[^'"]+)['"]""")
MOST_FILES = 200
"""The most scripts that are copied for one provider."""


def script_target(
    provider: ProviderRow, prompt: Any, document: Document, builder: ImportBuilder, options: ImportOptions
) -> tuple[Data, list[str]]:
    """Return the command of a script, and the variables that it uses beside the prompt.

    Args:
        provider: the provider.
        prompt: the prompt as templates over the input.
        document: the config, under whose folder the script lies.
        builder: the import, which gets copies of the script and the scripts that it imports.
        options: the code that may be imported.

    Raises:
        UnsupportedProviderError: the user did not name the script, or it cannot be read or run.
    """
    folder = document.path.parent
    request: Data = {"prompt": prompt, "options": {"config": _without_secrets(provider.config)}}
    request["context"] = {"vars": "{{ input }}"}
    if provider.name.startswith("exec:"):
        program = provider.name.removeprefix("exec:").strip()
        _refuse_secrets(program)
        scripts = _scripts_in(program, folder)
        if not (options.allows() or (scripts and all(map(options.allows, scripts)))):
            raise UnsupportedProviderError("it is a program; look at it, and allow it with --code all")
        request, runner = {"program": program, **request}, "run_python.py"
    else:
        path, function = _script(provider.name, folder)
        if not options.allows(path):
            name = path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path.name
            raise UnsupportedProviderError(f"it is code; look at {name}, and name it with --code {folder / name}")
        scripts, runner = [path], "run_python.py" if path.suffix in _PYTHON else "run_node.mjs"
        request = {"script": path.relative_to(folder.resolve()).as_posix(), "function": function, **request}
    for path in scripts:
        _copy(path, folder.resolve(), builder)
    text = (package_files("evalmark.interop.promptfoo") / "runners" / runner).read_text(encoding="utf-8")
    builder.files[f"{FOLDER}/{runner}"] = text
    builder.part(
        provider.where,
        "changed",
        f"a command that runs copies of its scripts in {FOLDER}; files that they read stay behind",
    )
    return {"command": [f"./{FOLDER}/{runner}"], "stdin": request, "output": "$.output"}, []


def _script(name: str, folder: Path) -> tuple[Path, str]:
    match = _SCRIPT.match(name)
    if match is None or Path(match["path"]).suffix not in (*_PYTHON, *_NODE):
        raise UnsupportedProviderError("it is code in a language that evalmark does not run; use --map-provider")
    try:
        path = allowed_path(match["path"], folder, folder, is_code=True)
    except DataError as error:
        raise UnsupportedProviderError(f"its script cannot be read: {error}") from None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UnsupportedProviderError("its script does not lie under the folder of the config")
    return path.resolve(), match["function"] or "call_api"


def _scripts_in(program: str, folder: Path) -> list[Path]:
    """Return the scripts that a command names; they lie under the folder of the config."""
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise UnsupportedProviderError(f"its command cannot be divided into words: {error}") from None
    paths = [(folder / word).resolve() for word in words if Path(word).suffix]
    return [path for path in paths if path.is_file() and path.is_relative_to(folder.resolve())]


def _copy(path: Path, folder: Path, builder: ImportBuilder) -> None:
    """Copy a script and, from the folder of the config, those that it imports."""
    waiting, seen = [path], {path}
    while waiting:
        script = waiting.pop()
        text = _text_of(script)
        builder.files[f"{FOLDER}/{script.relative_to(folder).as_posix()}"] = text
        for other in _imported(script, text):
            if other not in seen and other.is_relative_to(folder) and other.is_file():
                seen.add(other)
                waiting.append(other)
        if len(seen) > MOST_FILES:
            raise UnsupportedProviderError(f"it imports more than {MOST_FILES} scripts")


def _text_of(script: Path) -> str:
    try:
        with open_file(script) as opened:
            return opened.read(MAX_ROW).decode("utf-8")
    except (DataError, OSError, UnicodeDecodeError) as error:
        raise UnsupportedProviderError(f"its script cannot be read: {error}") from None


def _imported(script: Path, text: str) -> list[Path]:
    """Return where the modules that a script imports would be, if they lie beside it."""
    if script.suffix not in _PYTHON:
        beside = [(script.parent / name).resolve() for name in _NEIGHBOUR.findall(text)]
        return [path if path.suffix else path.with_suffix(ending) for path in beside for ending in _NODE]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module or "", *(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)]
    stems = [script.parent.joinpath(*name.split(".")) for name in names if name]
    return [
        path for stem in stems for path in (stem.with_suffix(".py"), stem / "__init__.py", stem.parent / "__init__.py")
    ]


def _refuse_secrets(program: str) -> None:
    """Refuse a command with a secret in an option such as `--token`, or in a variable before it."""
    names = re.findall(r"(?:^|\s)-*([\w-]+)(?:=|\s+)(?=[^\s$-])", program)
    if found := next((name for name in names if any(secret_paths({name: ""}))), ""):
        raise UnsupportedProviderError(
            f"its command contains a secret after {found!r:.40}; read it from the environment"
        )


def _without_secrets(config: Data) -> Data:
    secret = {where[0] for where in secret_paths(config)}
    return {key: value for key, value in config.items() if key not in secret}
