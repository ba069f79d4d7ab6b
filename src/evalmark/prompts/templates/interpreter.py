"""Renders a parsed template: plain data only, with a limit on steps and size."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2 import nodes

from evalmark.core.values.case import Turn

from .filters import FILTERS, MAX_PROMPT_CHARS, FilterError, kind_of, text_of
from .template import BrokenTemplateError, targets_of, template_of

MAX_STEPS = 1_000_000
"""Template nodes evaluated for one prompt, loops included; texts count by length."""
CHARS_PER_STEP = 64


@dataclass(frozen=True, slots=True)
class MissingValue:
    """Stands for a variable, or a part of one, without a value."""

    name: str
    optional: bool = False
    """Whether the value may be missing; then nothing is rendered."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image within a message."""

    address: str


@dataclass(frozen=True, slots=True)
class Thread:
    """Conversation turns between messages."""

    turns: tuple[Turn, ...]


class TemplateText(str):
    """Text of the template itself."""

    __slots__ = ()


MessagePart = str | Image | Thread


@dataclass(slots=True)
class RenderBudget:
    """The steps and characters that are left for one prompt."""

    steps: int = MAX_STEPS
    letters: int = MAX_PROMPT_CHARS

    def spend(self, node: nodes.Node, steps: int) -> None:
        """Use some steps.

        Raises:
            BrokenTemplateError: The limit is reached.
        """
        self.steps -= steps
        if self.steps < 0:
            raise BrokenTemplateError(node.lineno, f"the loops need more than {MAX_STEPS:,} steps; give shorter lists.")


@dataclass(slots=True)
class MessageBuilder:
    """One message while it is rendered."""

    budget: RenderBudget
    pieces: list[MessagePart] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    """Required values that were missing, each with the line of its first use."""
    written: Callable[[Any], str] = text_of
    """The text of a value; a TypeError where it has none."""

    def say(self, node: nodes.Node, piece: MessagePart) -> None:
        """Append a part of the message.

        Raises:
            BrokenTemplateError: The prompt becomes too long.
        """
        if isinstance(piece, str):
            self.budget.letters -= len(piece)
            if self.budget.letters < 0:
                raise BrokenTemplateError(node.lineno, f"the prompt grows longer than {MAX_PROMPT_CHARS:,} characters.")
        self.pieces.append(piece)

    def needed(self, node: nodes.Node, value: Any) -> bool:
        """Return whether there is a value; record a required one that is missing."""
        if not isinstance(value, MissingValue):
            return True
        if not value.optional:
            self.missing.setdefault(value.name, node.lineno)
        return False


Scope = Mapping[str, Any]


def render_template(
    text: str, values: Scope, allowance: RenderBudget, written: Callable[[Any], str] = text_of
) -> MessageBuilder:
    """Fill the variables of a template in one pass; templates and roles inside values stay text.

    Args:
        text: The template.
        values: Its variables.
        allowance: The steps and characters that are left.
        written: Returns the text of a value; a TypeError refuses it.

    Raises:
        BrokenTemplateError: A value has a type that the template cannot use there, or a limit is reached.
    """
    message = MessageBuilder(allowance, written=written)
    _render_nodes(message, template_of(text).body, values)
    return message


def _render_nodes(message: MessageBuilder, body: Iterable[nodes.Node], scope: Scope) -> None:
    for node in body:
        message.budget.spend(node, 1)
        _STATEMENTS[type(node)](message, node, scope)


def _output(message: MessageBuilder, node: Any, scope: Scope) -> None:
    for part in node.nodes:
        if isinstance(part, nodes.TemplateData):
            message.say(part, TemplateText(part.data))
            continue
        value = _value(message, part, scope)
        if not message.needed(part, value):
            continue
        if isinstance(value, (Image, Thread)):
            message.say(part, value)
        elif value is None:
            raise BrokenTemplateError(part.lineno, "a value is null; pass a value, or use `default`.")
        else:
            message.say(part, _as_text(message, part, value))


def _as_text(message: MessageBuilder, node: Any, value: Any) -> str:
    try:
        return message.written(value)
    except TypeError:  # a list that contains an image
        raise BrokenTemplateError(node.lineno, "an image or a conversation cannot be part of a list.") from None


def _if(message: MessageBuilder, node: Any, scope: Scope) -> None:
    for branch in (node, *node.elif_):
        if _is_true(message, branch.test, scope):
            _render_nodes(message, branch.body, scope)
            return
    _render_nodes(message, node.else_, scope)


def _for(message: MessageBuilder, node: Any, scope: Scope) -> None:
    targets = targets_of(node)
    message.budget.spend(node, len(scope) // CHARS_PER_STEP)
    inner = dict(scope)
    rounds = []
    for item in _loop_items(message, node, scope):
        message.budget.spend(node, 1)
        named = _loop_variables(node, targets, item)
        inner |= named
        if node.test is None or _is_true(message, node.test, inner):
            rounds.append(named)
    for index, named in enumerate(rounds):
        last = index == len(rounds) - 1
        loop = {"index": index + 1, "index0": index, "first": index == 0, "last": last, "length": len(rounds)}
        inner |= {**named, "loop": loop}
        _render_nodes(message, node.body, inner)
    if not rounds:
        _render_nodes(message, node.else_, scope)


def _loop_items(message: MessageBuilder, node: Any, scope: Scope) -> list[Any]:
    found = _value(message, node.iter, scope)
    if not message.needed(node.iter, found):
        return []
    if isinstance(found, (list, dict)):
        return list(found)
    raise BrokenTemplateError(
        node.lineno, f"a loop takes a list or a mapping, and {_describe_expression(node.iter)} is {kind_of(found)}."
    )


def _loop_variables(node: Any, targets: tuple[str, ...], item: Any) -> dict[str, Any]:
    if not isinstance(node.target, nodes.Tuple):
        return {targets[0]: item}
    if not isinstance(item, list) or len(item) != len(targets):
        raise BrokenTemplateError(
            node.lineno, f"an item of the loop does not have the {len(targets)} parts that are named."
        )
    return dict(zip(targets, item, strict=True))


def _value(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    message.budget.spend(node, 1)
    return _EXPRESSIONS[type(node)](message, node, scope)


def _is_true(message: MessageBuilder, node: Any, scope: Scope) -> bool:
    value = _value(message, node, scope)
    return message.needed(node, value) and bool(value)


def _name(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    return scope[node.name] if node.name in scope else MissingValue(node.name)


def _list(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    return [item for part in node.items if message.needed(part, item := _value(message, part, scope))]


def _attribute(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    return _part(message, node, _value(message, node.node, scope), node.attr)


def _item(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    whole, key = _value(message, node.node, scope), _value(message, node.arg, scope)
    return (
        _part(message, node, whole, key)
        if message.needed(node.arg, key)
        else MissingValue(_describe_expression(node), optional=True)
    )


def _part(message: MessageBuilder, node: Any, whole: Any, key: Any) -> Any:
    """Return the value under a key of a mapping, or at an index of a list; data has no other parts."""
    if not message.needed(node.node, whole):
        return MissingValue(_describe_expression(node), optional=True)  # the missing whole is already recorded
    if isinstance(whole, dict) and isinstance(key, str):
        return whole[key] if key in whole else MissingValue(_describe_expression(node))
    if isinstance(whole, list) and type(key) is int:
        return whole[key] if 0 <= key < len(whole) else MissingValue(_describe_expression(node))
    raise BrokenTemplateError(
        node.lineno, f"{_describe_expression(node.node)} is {kind_of(whole)}, which has no part {text_of(key)!r:.60}."
    )


def _default(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    value = _value(message, node.node, scope)
    also_falsy = len(node.args) > 1 and _is_true(message, node.args[1], scope)
    if isinstance(value, MissingValue) or (also_falsy and not value):
        return _value(message, node.args[0], scope) if node.args else ""
    return value


def _filter(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    if node.name == "default":
        return _default(message, node, scope)
    value = _value(message, node.node, scope)
    arguments = [_value(message, part, scope) for part in node.args]
    present = [
        message.needed(part, item) for part, item in ((node.node, value), *zip(node.args, arguments, strict=True))
    ]
    if not all(present):
        return MissingValue(_describe_expression(node), optional=True)
    message.budget.spend(node, _steps_for(value))
    try:
        found = FILTERS[node.name].apply(value, *arguments)
    except FilterError as fault:
        raise BrokenTemplateError(node.lineno, f"the filter {node.name!r} {fault}.") from None
    except (TypeError, ValueError):  # images and conversations are not JSON
        raise BrokenTemplateError(
            node.lineno, f"the filter {node.name!r} cannot use {_describe_expression(node.node)}."
        ) from None
    message.budget.spend(node, _steps_for(found))
    return found


def _steps_for(value: Any) -> int:
    return len(value) // CHARS_PER_STEP if isinstance(value, (str, list, dict)) else 0


def _test(message: MessageBuilder, node: Any, scope: Scope) -> bool:
    value = _value(message, node.node, scope)
    if node.name == "none":
        return bool(message.needed(node.node, value) and value is None)
    is_missing = isinstance(value, MissingValue)
    return is_missing if node.name == "undefined" else not is_missing


def _and(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    left = _value(message, node.left, scope)
    return _value(message, node.right, scope) if message.needed(node.left, left) and left else left


def _or(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    left = _value(message, node.left, scope)
    return left if message.needed(node.left, left) and left else _value(message, node.right, scope)


def _choice(message: MessageBuilder, node: Any, scope: Scope) -> Any:
    if _is_true(message, node.test, scope):
        return _value(message, node.expr1, scope)
    return "" if node.expr2 is None else _value(message, node.expr2, scope)


def _compare(message: MessageBuilder, node: Any, scope: Scope) -> bool:
    left = _value(message, node.expr, scope)
    for operand in node.ops:
        right = _value(message, operand.expr, scope)
        if not (message.needed(node.expr, left) and message.needed(operand.expr, right)):
            return False
        message.budget.spend(node, _steps_for(left) + _steps_for(right))
        if not _compare_values(node, operand.op, left, right):
            return False
        left = right
    return True


def _compare_values(node: Any, word: str, left: Any, right: Any) -> bool:
    """Compare two plain values; lists and mappings can only be searched."""
    holder = word in ("in", "notin")
    if _is_plain(left) and (_is_plain(right) or (holder and isinstance(right, (list, dict)))):
        try:
            return _RELATIONS[word](left, right)
        except TypeError:
            pass
    raise BrokenTemplateError(node.lineno, f"{kind_of(left)} and {kind_of(right)} cannot be compared in this way.")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _describe_expression(node: Any) -> str:
    """Return what a message calls an expression."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return f"{_describe_expression(node.node)}.{node.attr}"
    if isinstance(node, nodes.Getitem):
        key = node.arg.value if isinstance(node.arg, nodes.Const) else "…"
        return f"{_describe_expression(node.node)}.{key}"
    return "a value"


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: bool(a == b),
    "ne": lambda a, b: bool(a != b),
    "lt": lambda a, b: bool(a < b),
    "lteq": lambda a, b: bool(a <= b),
    "gt": lambda a, b: bool(a > b),
    "gteq": lambda a, b: bool(a >= b),
    "in": lambda a, b: a in b,
    "notin": lambda a, b: a not in b,
}
_STATEMENTS: dict[type, Callable[[MessageBuilder, Any, Scope], None]] = {
    nodes.Output: _output,
    nodes.If: _if,
    nodes.For: _for,
}
_EXPRESSIONS: dict[type, Callable[[MessageBuilder, Any, Scope], Any]] = {
    nodes.Name: _name,
    nodes.Const: lambda message, node, scope: node.value,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Getattr: _attribute,
    nodes.Getitem: _item,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: lambda message, node, scope: not _is_true(message, node.node, scope),
    nodes.CondExpr: _choice,
    nodes.Compare: _compare,
}
