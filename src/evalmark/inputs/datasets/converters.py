"""Convert the fields of rows to those of cases."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Example, ToolCall, Turn
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json

from .ids import FieldError, parse_id

_TEXT_KEYS = ("text", "content", "page_content")
_ROLES = {"human": "user", "ai": "assistant"}


def contexts_of(value: Any, cell: bool) -> tuple[str, ...]:
    """Convert passages: a list of texts (or of objects with a text), or one text."""
    return tuple(_passage(item) for item in _listed(value, cell))


def _passage(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[key] for key in _TEXT_KEYS if key in item), None)
    if not isinstance(item, str):
        raise FieldError(f"a context is a text, not {_kind(item)}")
    return item


def tags_of(value: Any, cell: bool) -> tuple[str, ...]:
    """Convert tags: a list, or one text; in a CSV cell also several separated by commas."""
    if cell and not value.startswith("["):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    tags = _listed(value, cell)
    if not all(isinstance(tag, (str, int)) for tag in tags):
        raise FieldError("tags are texts")
    return tuple(str(tag) for tag in tags)


def liked_of(value: Any, cell: bool) -> tuple[Example, ...]:
    """Convert further good answers."""
    return tuple(Example(value=item, liked=True) for item in _listed(value, cell))


def disliked_of(value: Any, cell: bool) -> tuple[Example, ...]:
    """Convert bad answers."""
    return tuple(Example(value=item, liked=False) for item in _listed(value, cell))


def labelled_of(value: Any, cell: bool) -> tuple[Example, ...]:
    """Convert examples of the form `{label: 1, value: …}`: 1 is liked, 0 disliked."""
    items = _listed(value, cell)
    if not all(isinstance(item, Mapping) and "label" in item and "value" in item for item in items):
        raise FieldError(
            "these are not examples of the form {label: 0 or 1, value: …}; "
            "set expected='outputs' or answer='outputs' if the column holds those"
        )
    for item in items:
        if item["label"] not in (0, 1):
            raise FieldError(f"a label is 0 or 1, not {item['label']!r}")
    return tuple(Example(value=item["value"], liked=bool(item["label"])) for item in items)


def history_of(value: Any, cell: bool) -> tuple[Turn, ...]:
    """Convert earlier turns: `{role, content}` each, or pairs of question and answer."""
    turns: list[Turn] = []
    for item in _listed(value, cell):
        if isinstance(item, Mapping) and "role" in item and ("content" in item or "text" in item):
            role = str(item["role"])
            turns.append(Turn(role=_ROLES.get(role, role), content=item.get("content", item.get("text"))))
        elif isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
            turns += (Turn(role="user", content=item[0]), Turn(role="assistant", content=item[1]))
        else:
            raise FieldError("a turn is {role, content}, or a pair of question and answer")
    return tuple(turns)


def tool_calls_of(value: Any, cell: bool) -> tuple[ToolCall, ...]:
    """Convert tool calls: a name, arguments as a mapping or JSON text, the result, and an optional id."""
    return tuple(_tool_call(item) for item in _listed(value, cell))


def _tool_call(item: Any) -> ToolCall:
    if isinstance(item, str):
        return ToolCall(name=item)
    call = item.get("function", item) if isinstance(item, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise FieldError("a tool call has a name")
    arguments = _first(call, "arguments", "args", "input_parameters", "input")
    if isinstance(arguments, str):
        arguments = _parsed(arguments, "the arguments of a tool call")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise FieldError("the arguments of a tool call are a mapping")
    fields = {**item, **call}  # the result may be beside the `function`
    identity, error = _first(fields, "id", "call_id", "tool_call_id"), fields.get("error")
    return ToolCall(
        name=call["name"],
        arguments=arguments or {},
        result=_first(fields, "result", "output"),
        error=None if error is None else str(error),
        id="" if identity is None else str(identity),
    )


def metadata_of(value: Any, cell: bool) -> Mapping[str, Any]:
    """Convert metadata: a mapping; in a cell, its JSON text."""
    metadata = _parsed(value, "metadata") if cell else value
    if not isinstance(metadata, Mapping):
        raise FieldError(f"metadata are a mapping, not {_kind(metadata)}")
    return metadata


def ideal_of(value: Any, cell: bool) -> tuple[Any, ...]:
    """Convert a list of answers, any of which is correct."""
    answers = tuple(_listed(value, cell))
    if not answers:
        raise FieldError("the list is empty; leave the field out where no answer is known")
    return answers


def _id(value: Any, cell: bool) -> str | None:
    return parse_id(value)


CONVERTERS: Mapping[str, Callable[[Any, bool], Any]] = {
    "id": _id,
    "ideal": ideal_of,
    "contexts": contexts_of,
    "retrieved": contexts_of,
    "tool_calls": tool_calls_of,
    "history": history_of,
    "tags": tags_of,
    "split": tags_of,
    "liked": liked_of,
    "disliked": disliked_of,
    "outputs": labelled_of,
    "metadata": metadata_of,
}
"""Fields that are converted; `input`, `expected` and `answer` are unchanged."""


def _listed(value: Any, cell: bool) -> Sequence[Any]:
    """Return a list unchanged, and one value as a list of one; parse the JSON list of a cell."""
    if cell and value.startswith(("['", "[\\'")):
        raise FieldError('this is a list as Python prints it; write it as JSON: ["…", "…"]')
    if cell and value.startswith(('["', "[{", "[[", "[]")):
        value = _parsed(value, "the list")
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return value
    return (value,)


def _parsed(text: str, what: str) -> Any:
    try:
        return parse_json(text, "")
    except PlacedError as fault:
        raise FieldError(f"{what} cannot be read: {fault.message.rstrip('.')}") from None


def _first(row: Mapping[str, Any], *keys: str) -> Any:
    return next((row[key] for key in keys if key in row), None)


def _kind(value: Any) -> str:
    """Name the type of a value for messages.

    >>> _kind(None), _kind([1]), _kind(1.5)
    ('null', 'a list', 'a number')
    """
    names = {
        dict: "a mapping",
        list: "a list",
        str: "a text",
        bool: "a truth value",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)
