"""Read and check the values and thresholds of assertions."""

import re
from collections.abc import Mapping
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.items import is_number

from .assertion_requests import AssertionScope, Data, UnsupportedAssertionError
from .variables import js_text, with_raw_marks

_QUOTED = re.compile(r'"((?:\\.|""|[^"\\])*)"\s*(?=,|$)', re.DOTALL)
LARGEST_NUMBER = 10**15
"""The limit of numbers in assertions, so that no sum or product of them becomes infinite."""
_CODE_FILE = re.compile(r"file://(?P<path>[^:]+\.(?:py|js|cjs|mjs|ts|cts|mts))(?::(?P<function>[A-Za-z_]\w*))?")


def is_inline(value: Any) -> bool:
    """Tell whether code stands in the config itself."""
    return isinstance(value, str) and not value.startswith(("file://", "package:"))


def value_or_file(value: Any, scope: AssertionScope) -> Any:
    """Return a value, or the content of the file that it names, in which promptfoo fills no variables."""
    if isinstance(value, list):
        return [value_or_file(item, scope) for item in value]
    if not isinstance(value, str) or is_inline(value):
        return value
    name = value.removeprefix("file://")
    if (
        scope.folder is None
        or value.startswith("package:")
        or not name.lower().endswith((".json", ".yaml", ".yml", ".txt", ".md"))
    ):
        raise UnsupportedAssertionError("its value is made by code, or is in a file that is not read")
    try:
        path = allowed_path(name, scope.folder, scope.folder)
        content = read_text(path).strip() if path.suffix.lower() in (".txt", ".md") else load_document(path).data
    except DataError as fault:
        raise UnsupportedAssertionError(f"its file cannot be read: {fault}") from None
    return with_raw_marks(content)


def code_file(value: Any) -> tuple[str, str] | None:
    """Return file and function of an assertion in a file of its own; None for other values."""
    match = _CODE_FILE.fullmatch(value) if isinstance(value, str) else None
    return (match["path"], match["function"] or "") if match else None


def is_negated(assertion: Mapping[str, Any]) -> bool:
    """Tell whether the type of an assertion begins with `not-`."""
    return str(assertion.get("type")).startswith("not-")


def joined_changes(*changes: str) -> str:
    """Join descriptions of changes, without empty ones."""
    return "; ".join(change for change in changes if change)


def check_number(assertion: Mapping[str, Any], key: str) -> None:
    """Refuse a number that cannot be computed with, such as infinity."""
    number = assertion.get(key)
    if number is not None and not (is_number(number) and -LARGEST_NUMBER < number < LARGEST_NUMBER):
        raise UnsupportedAssertionError(f"its `{key}` is not a number")


def threshold_of(assertion: Mapping[str, Any], default: float) -> float:
    """Return the threshold of an assertion, from 0 to 1, or the default."""
    least = assertion.get("threshold")
    share = default if least is None else _share(least)
    if share is None:
        raise UnsupportedAssertionError("its `threshold` is not a number from 0 to 1")
    return share


def _share(value: Any) -> float | None:
    return float(value) if is_number(value) and 0 <= value <= 1 else None


def text_value(value: Any) -> str:
    """Return the text of a value that is a text or a number; other values and empty ones are errors."""
    if value is None or value == "":
        raise UnsupportedAssertionError("it has no `value`")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnsupportedAssertionError("its `value` is not a text")
    return js_text(value)


def required_text(value: Any) -> str:
    """Return the value if it is a text; other values are errors."""
    if not isinstance(value, str):
        raise UnsupportedAssertionError("its `value` is not a text")
    return text_value(value)


def text_list(value: Any) -> list[str]:
    """Return the texts of a list, or of a text with commas."""
    items = [js_text(item) for item in value] if isinstance(value, list) else _between_commas(required_text(value))
    if not items or not all(items):
        raise UnsupportedAssertionError("it names no text, or an empty one")
    return items


def _between_commas(text: str) -> list[str]:
    """Split texts at commas; texts with commas are quoted."""
    texts: list[str] = []
    rest = text.lstrip(", \t\r\n")
    while rest:
        quoted = _QUOTED.match(rest)
        if rest.startswith('"') and quoted is None:
            raise UnsupportedAssertionError("a quote in its `value` is not closed, or is followed by other text")
        if quoted is not None:
            texts.append(re.sub(r'\\(["\\])|""', lambda sign: sign[1] or '"', quoted[1]))
            rest = rest[quoted.end() :]
        else:
            one, _, rest = rest.partition(",")
            texts.append(one.strip())
        rest = rest.lstrip(", \t\r\n")
    return texts


def json_schema_of(value: Any) -> Data | None:
    """Return the schema in a value, which may be a text with YAML; None if there is none.

    Raises:
        UnsupportedAssertionError: it is not a schema.
    """
    schema = _schema_in(value) if isinstance(value, str) and value.strip() else value
    if schema is None or schema in ("", {}):
        return None
    if not isinstance(schema, dict):
        raise UnsupportedAssertionError("its `value` is not a JSON Schema")
    return schema


def _schema_in(text: str) -> Any:
    try:
        return parse_yaml(text, "schema")
    except DataError as fault:
        raise UnsupportedAssertionError(f"its schema cannot be read: {fault}") from None
