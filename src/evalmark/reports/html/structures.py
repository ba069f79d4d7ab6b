"""JSON, chat messages and tool calls as safe HTML."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from markupsafe import Markup

from evalmark.core.values.plain_data import plain

from .escaping import inner_text
from .markdown import draw_markdown

_NESTING = 20
"""Most levels that are drawn; a value with more is shown as text."""
_INLINE = 60
"""Longest object or list in characters that is shown in one line."""
_ARGUMENTS = ("arguments", "args", "input")
"""Names of the arguments of a tool call in common formats."""
_CALL_TYPES = ("function", "function_call", "tool_call", "tool_use")


class DrawnStructure(NamedTuple):
    """A value as HTML, and whether all of it is shown."""

    html: Markup
    is_cut: bool


class _Number(str):
    """A number of a JSON text, with the digits that it was written with."""

    __slots__ = ()


class _Members(tuple[tuple[str, Any], ...]):
    """The members of a JSON object, repeated names included."""

    __slots__ = ()


class _ToolCall(NamedTuple):
    name: str
    arguments: Any
    others: Mapping[str, Any]
    """Further fields, such as its id."""


def draw_structure(value: Any, longest: int) -> DrawnStructure | None:
    """Draw an object, a list, or a text with JSON as chat messages, tool calls or JSON.

    Args:
        value: any value.
        longest: the most characters of its texts to show.

    Returns:
        None for other values and texts, and for those with too many levels.

    >>> draw_structure([{"role": "user", "content": "Where is *my* parcel?"}], 100).html
    Markup('<div class="message"><p class="role">user</p><p>Where is <em>my</em> parcel?</p></div>')
    >>> draw_structure('{"id": 1e2}', 100).html
    Markup('<div class="json">{<b>"id"</b>: 1e2}</div>')
    """
    parsed = _parsed(value) if isinstance(value, str) else plain(value)
    if not isinstance(parsed, _Members | Mapping | list) or _depth(parsed) > _NESTING:
        return None
    drawing = _Drawing(longest)
    html = drawing.structure(parsed)
    return DrawnStructure(html, is_cut=drawing.budget < 0)


def _parsed(text: str) -> Any:
    """Parse a text as JSON if it is an object, or a list that is more than a reference such as [1]; else None."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]") or (bare[0] == "[" and len(bare) <= _INLINE and "{" not in bare):
        return None
    try:
        return json.loads(
            bare, object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except (ValueError, RecursionError):
        return None


def _depth(value: Any) -> int:
    """Count the levels of a structure, up to one more than are drawn."""
    level, depth = [value], 0
    while level and depth <= _NESTING:
        depth += 1
        level = [inner for one in level for _, inner in _members(one)]
    return depth


def _members(value: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the members of an object with their names, or the items of a list."""
    if isinstance(value, _Members):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((None, item) for item in value)


def _fields(value: Any) -> dict[str, Any]:
    """Return the members of an object; empty for anything else, and if a name is repeated."""
    if not isinstance(value, _Members | Mapping):
        return {}
    pairs = list(_members(value))
    fields = {str(name): member for name, member in pairs}
    return fields if len(fields) == len(pairs) else {}


def _is_message(value: Any) -> bool:
    fields = _fields(value)
    return isinstance(fields.get("role"), str) and ("content" in fields or bool(fields.get("tool_calls")))


def _tool_call(value: Any) -> _ToolCall | None:
    """Return the parts of a tool call; None for anything else.

    >>> _tool_call({"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}})
    _ToolCall(name='find', arguments='{}', others={'id': 'c1'})
    """
    fields = _fields(value)
    if fields.get("type") in _CALL_TYPES:
        del fields["type"]
    if inner := _fields(fields.get("function")):
        fields = {name: one for name, one in fields.items() if name != "function"} | inner
    arguments = next((name for name in _ARGUMENTS if name in fields), None)
    if arguments is None or not isinstance(fields.get("name"), str):
        return None
    return _ToolCall(fields.pop("name"), fields.pop(arguments), fields)


@dataclass
class _Drawing:
    """Draws values until their texts have used the budget."""

    budget: int
    """Characters that may still be drawn; negative as soon as something was cut."""

    def structure(self, value: Any) -> Markup:
        """Draw messages, tool calls or JSON."""
        fields = _fields(value)
        inner = fields["messages"] if list(fields) == ["messages"] else value
        items = inner if isinstance(inner, list) else [inner]
        if items and all(map(_is_message, items)):
            return self._each(items, self._message)
        if items and all(map(_tool_call, items)):
            return self._each(items, self._call)
        return Markup('<div class="json">{}</div>').format(self._json(value))

    def _each(self, items: Sequence[Any], draw: Callable[[Any], Markup]) -> Markup:
        """Draw items until the budget is used."""
        drawn = [draw(item) for item in takewhile(lambda _: self.budget > 0, items)]
        if len(drawn) < len(items):
            self.budget = -1
            drawn.append(Markup("<p>…</p>"))
        return Markup("").join(drawn)

    def _message(self, message: Any) -> Markup:
        fields = _fields(message)
        role, content, calls = (
            self._cut(fields.pop("role")),
            fields.pop("content", None),
            fields.pop("tool_calls", None),
        )
        parts = [self._each(content if isinstance(content, list) else [content], self._part)] if content else []
        parts += [self.structure(part) for part in (calls, fields) if part]
        return Markup('<div class="message"><p class="role">{}</p>{}</div>').format(
            inner_text(role), Markup("").join(parts)
        )

    def _part(self, part: Any) -> Markup:
        """Draw a part of the content of a message."""
        fields = _fields(part)
        text = fields.get("text") if set(fields) == {"type", "text"} else part
        if not isinstance(text, str):
            return self.structure(part)
        structure = _parsed(text)
        if structure is not None and _depth(structure) <= _NESTING:
            return self.structure(structure)
        shown = self._cut(text)
        return draw_markdown(shown) or Markup("<p>{}</p>").format(inner_text(shown))

    def _call(self, value: Any) -> Markup:
        call = _tool_call(value)
        assert call is not None  # noqa: S101  the caller checked it
        parsed = _parsed(call.arguments) if isinstance(call.arguments, str) else None
        parts = [self._json(call.arguments if parsed is None or _depth(parsed) > _NESTING else parsed)]
        parts += [self._json(call.others)] if call.others else []
        each = Markup("").join(Markup('<div class="json">{}</div>').format(part) for part in parts)
        return Markup('<div class="call"><b>{}</b>{}</div>').format(inner_text(self._cut(call.name)), each)

    def _json(self, value: Any) -> Markup:
        """Draw a value as JSON: short ones in one line, others with a line for each member."""
        if not isinstance(value, _Members | Mapping | list):
            return self._scalar(value)
        start, end = ("[", "]") if isinstance(value, list) else ("{", "}")
        members = list(_members(value))
        parts = [self._member(name, member) for name, member in takewhile(lambda _: self.budget > 0, members)]
        if len(parts) < len(members):
            self.budget = -1
            parts.append(Markup("…"))
        line = Markup(", ").join(parts)
        if len(line.striptags()) <= _INLINE and "<div>" not in line:
            return Markup("{}{}{}").format(start, line, end)
        rows = Markup("").join(
            Markup("<div>{}{}</div>").format(part, "," if number < len(parts) else "")
            for number, part in enumerate(parts, start=1)
        )
        return Markup("{}{}{}").format(start, rows, end)

    def _member(self, name: str | None, value: Any) -> Markup:
        if name is None:
            return self._json(value)
        return Markup("<b>{}</b>: {}").format(
            inner_text(self._cut(json.dumps(name, ensure_ascii=False))), self._json(value)
        )

    def _scalar(self, value: Any) -> Markup:
        """Draw a text, a number or a literal; each line of a text is on a line of its own."""
        if isinstance(value, _Number) or not isinstance(value, str):
            return inner_text(self._cut(value if isinstance(value, _Number) else json.dumps(value)))
        lines = (json.dumps(line, ensure_ascii=False)[1:-1] for line in value.split("\n"))
        return Markup("<i>{}</i>").format(inner_text(self._cut('"' + "\\n\n".join(lines) + '"')))

    def _cut(self, text: str) -> str:
        shown = text[: max(0, self.budget)]
        self.budget -= len(text)
        return shown if len(shown) == len(text) else f"{shown}…"
