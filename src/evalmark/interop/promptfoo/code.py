"""Take along the code of assertions that the user allows: files and inline code in Python and JavaScript."""

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.files import allowed_path, open_file
from evalmark.interop.shared.assertions import CODE as CODE_ENTRY
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.items import is_number

from .assertion_requests import AssertionRequest, AssertionScope, UnsupportedAssertionError
from .assertion_values import code_file, is_inline
from .assertions import refuse_secrets, transforms_in
from .scorers import function_body
from .variables import fill_variables

PYTHON = "evalmark.scorers:PythonAssertion"
NODE = "evalmark.scorers:NodeAssertion"
_MAX_BYTES = 4 << 20
_OF_RESPONSE = re.compile(r"\b(?:provider|providerResponse|logProbs|trace|metadata|prompt)\b")
"""Keys of promptfoo's context that evalmark has not, or with another content."""
_IMPORTS = (
    re.compile(r"^\s*(?:from\s+\.?([A-Za-z_]\w*)[\w.]*\s+import|import\s+([A-Za-z_]\w*))", re.MULTILINE),
    re.compile(r"""(?:require\(\s*|from\s+|import\s+)["'](\.\.?/[^"']+)["']"""),
)


def allowed_code(
    assertion: Mapping[str, Any], scope: AssertionScope, options: ImportOptions, builder: ImportBuilder
) -> AssertionRequest | None:
    """Return the request for a function that the user allows, and take its file along; None if it is no code, or not allowed.

    Raises:
        UnsupportedAssertionError: the file cannot be taken along.
    """
    base = str(assertion.get("type")).removeprefix("not-")
    value, folder = assertion.get("value"), scope.folder
    if base not in ("python", "javascript") or not isinstance(value, str) or folder is None:
        return None
    refuse_secrets(assertion)
    named = code_file(value)
    is_python = named is not None and named[0].endswith(".py")
    if named is not None and options.allows(folder / named[0]):
        file, function = _copied(named[0], folder, options, builder), named[1] or ("get_assert" if is_python else "")
    elif is_inline(value) and options.allows():
        is_python = base == "python"
        code = str(fill_variables(value, scope.variables))
        file, function = _written(code, builder) if is_python else (_written_javascript(code, builder), "")
    else:
        return None
    is_known = _OF_RESPONSE.search(builder.files[file]) is None
    settings = {
        "file": file,
        "function": function,
        "least": float(assertion["threshold"]) if is_number(assertion.get("threshold")) else None,
        "config": assertion.get("config"),
        "transform": [*transforms_in(scope.options), *transforms_in(assertion)],
        "negated": str(assertion["type"]).startswith("not-") or None,
    }
    return AssertionRequest(
        scorer=PYTHON if is_python else NODE,
        settings={key: setting for key, setting in settings.items() if setting},
        name=str(assertion.get("metric") or _usual_name(base, named)),
        change=""
        if is_known
        else "the context has `vars`, `config`, `test` and the input as `prompt`, and nothing of the provider",
    )


def _usual_name(base: str, named: tuple[str, str] | None) -> str:
    """Return the name of a metric whose assertion has none: that of its function or file, or the type of inline code."""
    return base if named is None else named[1] or Path(named[0]).stem


def is_code(request: AssertionRequest) -> bool:
    """Tell whether a request calls a function in a file."""
    return request.scorer in (PYTHON, NODE)


def code_entry(request: AssertionRequest, name: str) -> dict[str, Any]:
    """Return the entry by which a row asks for a function of the suite."""
    return {CODE_ENTRY: {"name": name}}


def _copied(name: str, folder: Path, options: ImportOptions, builder: ImportBuilder) -> str:
    """Take a file along, and the allowed files beside it that it imports; return its new name."""
    try:
        path = allowed_path(name, folder, folder, is_code=True)
        with open_file(path) as opened:
            text = opened.read(_MAX_BYTES).decode("utf-8")
    except (DataError, OSError, UnicodeDecodeError) as fault:
        raise UnsupportedAssertionError(f"its file cannot be read: {fault}") from None
    if builder.files.setdefault(path.name, text) != text:
        raise UnsupportedAssertionError(f"another file has the name {path.name}; rename one of them")
    for other in _imported(path, text):
        if other.name not in builder.files and options.allows(other):
            _copied(str(other.relative_to(folder.resolve())), folder, options, builder)
        elif other.name not in builder.files:
            builder.remark(f"{path.name} imports {other.name}; name it with --code too, or the assertion will fail.")
    return path.name


def _imported(path: Path, text: str) -> list[Path]:
    """Return the files beside a file that it imports."""
    python, node = _IMPORTS
    if path.suffix == ".py":
        names = [f"{first or second}.py" for first, second in python.findall(text)]
    else:
        names = [name if Path(name).suffix else f"{name}{path.suffix}" for name in node.findall(text)]
    found = [path.parent / name for name in dict.fromkeys(names)]
    return [file.resolve() for file in found if file.is_file() and file.resolve().parent == path.parent.resolve()]


def _written(code: str, builder: ImportBuilder) -> tuple[str, str]:
    """Write inline Python as a function of a module; return its file and name.

    The name of the module has a hash of the code, since a process can import one module of a name.
    """
    lines = code.rstrip("\n")
    body = textwrap.dedent(lines) if "\n" in lines else f"return {lines.strip()}"
    name = f"promptfoo_assertion_{fingerprint(builder.name, body)[:8]}.py"
    builder.files[name] = (
        '"""Inline Python of a promptfoo config."""\n\nimport json\nimport math\nimport re\n\n\n'
        f"def get_assert(output, context):\n{textwrap.indent(body, '    ')}\n"
    )
    return name, "get_assert"


def _written_javascript(code: str, builder: ImportBuilder) -> str:
    """Write inline JavaScript as a module; return its file."""
    text = f"module.exports = async (output, context) => {{\n{function_body(code)}\n}};\n"
    number = 1
    while (name := f"promptfoo_assertion_{number}.cjs") in builder.files and builder.files[name] != text:
        number += 1
    builder.files[name] = text
    return name
