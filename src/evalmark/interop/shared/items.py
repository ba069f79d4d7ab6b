"""Convert cases to flat mappings of variables, as most formats have them, and back."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint, plain
from evalmark.inputs.datasets.fields import field_of
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.prompts.templates.prompt import Prompt
from evalmark.scoring.binding.text import text_of

OURS = ("id", "expected", "contexts", "history", "tags", "metadata")
"""Fields of a case beside its input variables."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY_NAMES = ReadOptions()


def inputs_of(case: Case, prompt: Prompt | None = None) -> dict[str, Any]:
    """Return the template variables of a case: the parts of a mapping, else the whole input under one name.

    The prompt's defaults are included, since other tools have none.
    """
    variables = plain(case.input)
    prompt_inputs = prompt.inputs if prompt else ()
    if not (
        isinstance(variables, dict) and variables and all(_NAME.fullmatch(key) and key not in OURS for key in variables)
    ):
        open_ones = [one for one in prompt_inputs if one.required] or [*prompt_inputs]
        variables = {open_ones[0].name if open_ones else "input": variables}
    return variables | {
        one.name: "" if one.default is None else plain(one.default)
        for one in prompt_inputs
        if not one.required and one.name not in (*variables, *OURS)
    }


def input_from(variables: Mapping[str, Any]) -> Any:
    """Make a case's input from variables: the value of a single one named `input`, else all of them.

    >>> input_from({"input": "Where is Oslo?"}), input_from({"city": "Oslo"})
    ('Where is Oslo?', {'city': 'Oslo'})
    """
    if not variables:
        return None
    return variables["input"] if list(variables) == ["input"] else dict(variables)


def item_of(case: Case, prompt: Prompt | None = None) -> dict[str, Any]:
    """Convert a case to one flat object: id, input variables, and the other fields."""
    more = {
        "expected": plain(case.expected),
        "contexts": None if case.contexts is None else list(case.contexts),
        "history": [{"role": turn.role, "content": text_of(turn.content)} for turn in case.history] or None,
        "tags": list(case.tags) or None,
        "metadata": plain(case.metadata) or None,
    }
    return {
        "id": case.id,
        **inputs_of(case, prompt),
        **{key: value for key, value in more.items() if value is not None},
    }


def case_data_of(item: Mapping[str, Any], expected: str | None = None, ours: bool = True) -> dict[str, Any]:
    """Return the fields of the case in a flat object; keys that are no fields become input variables.

    Args:
        item: the object.
        expected: the key of the reference answer, if the format defines it.
        ours: whether keys such as `contexts` may be fields of the case.
    """
    fields = {name: item[name] for name in OURS if ours and _fits(name, item.get(name))}
    if expected is None and "expected" not in fields:
        expected = next((key for key in item if key not in fields and field_of(key, _ANY_NAMES) == "expected"), None)
    if expected is not None and item.get(expected) is not None:
        fields["expected"] = item[expected]
    variables = {key: value for key, value in item.items() if key not in fields and key != expected}
    case = {"id": fields.pop("id", None) or generated_row_id(item), **fields}
    return case if not variables else {**case, "input": input_from(variables)}


def _fits(name: str, value: Any) -> bool:
    if name in ("contexts", "tags"):
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    if name == "history":
        return isinstance(value, list) and all(map(_is_turn, value))
    if name == "metadata":
        return isinstance(value, dict)
    return value is not None if name == "expected" else isinstance(value, str) and value != ""


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"role", "content"} and isinstance(value["role"], str)


def list_or_empty(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def list_or_one(value: Any) -> list[Any]:
    """Return a list unchanged, any other value as the only item of one, and nothing for None.

    >>> list_or_one([1, 2]), list_or_one("x"), list_or_one(None)
    ([1, 2], ['x'], [])
    """
    return value if isinstance(value, list) else [] if value is None else [value]


def texts_of(value: Any) -> list[str]:
    """Return the texts of a setting that is one text, a list or None."""
    return [value] if isinstance(value, str) else [str(text) for text in value or ()]


def dict_or_empty(value: Any) -> dict[str, Any]:
    """Return the value if it is a dict, else an empty dict."""
    return value if isinstance(value, dict) else {}


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether the value is a number; booleans are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def generated_row_id(item: Any) -> str:
    """Generate the id of a row from its content."""
    return fingerprint("row", item)[:12]


def unique_names(ids: Iterable[str]) -> list[str]:
    """Make names unique by adding numbers to duplicates.

    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    taken: set[str] = set()
    names = []
    for name in ids:
        number, unique = 2, name
        while unique in taken:
            unique, number = f"{name}-{number}", number + 1
        taken.add(unique)
        names.append(unique)
    return names
