"""Fill promptfoo's variables into the texts of a test."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from evalmark.prompts.templates.interpreter import RenderBudget, render_template
from evalmark.prompts.templates.template import BrokenTemplateError

from .assertion_requests import UnsupportedAssertionError
from .javascript.values import from_python, json_text, to_python, to_text
from .templates import converted, variables_of

_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\s*\|\s*dump)?)\s*-?\}\}")
_RAW = ("{% raw %}", "{% endraw %}")
_BRACES = re.compile(r"\{\{|\{%|\{#")


def fill_variables(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill in the variables of a text, or of the texts in a list, as promptfoo does; a missing one is empty.

    Raises:
        UnsupportedAssertionError: the template does what evalmark's templates cannot, or a variable is not plain.
    """
    if isinstance(value, list):
        return [fill_variables(item, variables) for item in value]
    if not isinstance(value, str) or without_raw_marks(value) != value:
        return without_raw_marks(value)
    parts = _VARIABLE.split(value)
    if any(_BRACES.search(part) for part in parts[::2]):
        return _rendered(value, variables)
    for at, name in enumerate(parts[1::2]):
        parts[2 * at + 1] = _variable(name, variables)
    return "".join(parts)


def _variable(name: str, variables: Mapping[str, Any]) -> str:
    """Return the text of a variable, or of a part of one."""
    if name.startswith("env.") or (name in ("output", "rubric") and name not in variables):
        raise UnsupportedAssertionError(f"it fills in {name!r:.40}, which is no variable of the test")
    if name in ("true", "false"):
        return name
    path, is_dumped, _ = name.partition("|")
    content = _content(path.strip(), variables)
    if content is None:
        return ""
    if is_dumped:
        return str(to_python(json_text(from_python(content))))
    if not isinstance(content, (str, int, float)):
        raise UnsupportedAssertionError(f"it fills in the variable {name!r:.40}, which is neither a text nor a number")
    return js_text(content)


def _content(path: str, variables: Mapping[str, Any]) -> Any:
    """Return the part of a variable at a path such as `a.b`; None if there is none."""
    content: Any = variables
    for key in path.split("."):
        if isinstance(content, (str, list)):
            raise UnsupportedAssertionError(
                f"it fills in {path!r:.40}, a property that texts and lists have in JavaScript"
            )
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _rendered(value: str, variables: Mapping[str, Any]) -> str:
    """Fill in a template with filters, conditions or loops, which mean the same in promptfoo's template language."""
    if why := _differs(value, variables):
        raise UnsupportedAssertionError(f"it is a template that {why}")
    try:
        message = render_template(converted(value), dict(variables), RenderBudget(), _shown)
    except BrokenTemplateError as fault:
        raise UnsupportedAssertionError(f"it is a template that does more than fill in variables: {fault}") from None
    if message.missing or not all(isinstance(piece, str) for piece in message.pieces):
        missing = ", ".join(message.missing) or "a picture"
        raise UnsupportedAssertionError(f"it is a template that needs {missing}, which the test does not have")
    return "".join(map(str, message.pieces))


def _differs(template: str, variables: Mapping[str, Any]) -> str:
    """Return what a template does that means something else in JavaScript; empty if nothing does."""
    used = [variables[name] for name in variables_of(template) if name in variables]
    if re.search(r"\|\s*dump\b", template):
        return "writes data as JSON"
    if any(map(_has_empty, used)):
        return "uses an empty list or mapping, which is true in JavaScript"
    if re.search(r"[^=!]==[^=]|!=[^=]", template) and any(map(_has_number, used)):
        return "compares with `==`, for which a number equals its text in JavaScript; write `===`"
    return ""


def change_in_prompt(template: str, tests: Iterable[Mapping[str, Any]]) -> str:
    """Return how the text of a prompt differs from that of promptfoo for some of the tests; empty if it does not.

    Args:
        template: The converted template.
        tests: The variables of each test.

    >>> change_in_prompt("{{ a }}", [{"a": "x"}]), change_in_prompt("{{ a }}", [{"a": [1, 2]}])
    ('', 'lists, mappings and numbers such as 1.0 are written as JSON')
    """
    names, paths = variables_of(template), [path.strip() for path in _VARIABLE.findall(template)]
    has_choice = re.search(r"\b(?:if|elif|or|and|not)\b", template)
    is_loose = re.search(r"==|!=", template)
    is_asked = re.search(r"\bis\s+(?:not\s+)?(?:un)?defined\b", template)
    changes = {"a variable that a test lacks is an empty text, which is `defined`"} if is_asked else set[str]()
    for values in tests:
        used = [values[name] for name in names if name in values]
        if any(_is_written_as_json(path, values) for path in paths):
            changes.add("lists, mappings and numbers such as 1.0 are written as JSON")
        if "tojson" in template and any(isinstance(value, (Mapping, list, tuple)) for value in used):
            changes.add("JSON is written with spaces after commas and colons")
        if has_choice and any(map(_has_empty, used)):
            changes.add("an empty list or mapping counts as false in conditions")
        if is_loose and any(map(_has_number, used)):
            changes.add("`==` never takes a number for equal to its text")
    return "; ".join(sorted(changes))


def _is_written_as_json(path: str, variables: Mapping[str, Any]) -> bool:
    content: Any = variables
    for key in path.split("."):
        content = content.get(key) if isinstance(content, Mapping) else None
    is_number = isinstance(content, float) and js_text(content) != str(content)
    return is_number or isinstance(content, (Mapping, list, tuple))


def _has_empty(value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else None
    return inner is not None and (not inner or any(map(_has_empty, inner)))


def _has_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"\s*[-+]?[0-9.]*(?:e[-+]?[0-9]+)?\s*", value, re.IGNORECASE))
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else None
    return True if inner is None else any(map(_has_number, inner))


def _shown(value: Any) -> str:
    """Return the text of a value within a template.

    Raises:
        TypeError: JavaScript writes it in another form.
    """
    if isinstance(value, (Mapping, list)):
        raise TypeError
    return js_text(value)


def js_text(value: Any) -> str:
    """Format a value as JavaScript does.

    >>> js_text(True), js_text(2.0), js_text("x")
    ('true', '2', 'x')
    """
    return value if isinstance(value, str) else to_text(from_python(value))


def with_raw_marks(value: Any) -> Any:
    """Protect texts with braces from promptfoo's templating by Nunjucks raw marks."""
    if isinstance(value, str):
        return f"{_RAW[0]}{value}{_RAW[1]}" if _BRACES.search(value) and "endraw" not in value else value
    if isinstance(value, list):
        return [with_raw_marks(item) for item in value]
    return {key: with_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value


def without_raw_marks(value: Any) -> Any:
    """Remove the marks that `with_raw_marks` adds.

    >>> without_raw_marks(with_raw_marks(["{{x}}", 1])), with_raw_marks("{{x}}")
    (['{{x}}', 1], '{% raw %}{{x}}{% endraw %}')
    """
    if isinstance(value, str):
        is_raw = value.startswith(_RAW[0]) and value.endswith(_RAW[1]) and value.count("endraw") == 1
        return value[len(_RAW[0]) : -len(_RAW[1])] if is_raw else value
    if isinstance(value, list):
        return [without_raw_marks(item) for item in value]
    return {key: without_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value
