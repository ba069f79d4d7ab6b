"""The template language: a subset of Jinja's syntax that is parsed but never compiled to Python.

Jinja compiles a template to Python and runs that in a sandbox that has been escaped several times. Here only its parser
is used. The syntax tree is checked against the list below and evaluated by `interpreter`: an attribute is a key of a
mapping, nothing can be called, and every step is counted.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from evalmark.core.values.plain_data import MAX_DEPTH

from .filters import FILTERS, TESTS

MAX_TEMPLATE_CHARS = 1 << 20
"""Characters of one message's template."""
MAX_NUMBER_BITS = 4_000
"""Bits of a whole number; Python cannot print much longer ones."""

ALLOWED_NODES: tuple[type[nodes.Node], ...] = (
    *(nodes.Output, nodes.TemplateData, nodes.If, nodes.For),
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Test, nodes.List, nodes.Tuple),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.CondExpr),
)
REFUSED_NODES = {
    nodes.Call: "a call",
    nodes.Macro: "{% macro %}",
    nodes.CallBlock: "{% call %}",
    nodes.Include: "{% include %}",
    nodes.Import: "{% import %}",
    nodes.FromImport: "{% from … import %}",
    nodes.Extends: "{% extends %}",
    nodes.Block: "{% block %}",
    nodes.Assign: "{% set %}",
    nodes.AssignBlock: "{% set %}",
    nodes.With: "{% with %}",
    nodes.FilterBlock: "{% filter %}",
    nodes.Scope: "{% autoescape %}",
    nodes.Concat: "joining with ~",
    nodes.Slice: "a slice",
    nodes.Dict: "a mapping in braces",
    nodes.BinExpr: "arithmetic",
    nodes.UnaryExpr: "arithmetic",
}
"""What messages call the most common other nodes; more specific types first."""
FEATURES = f"the template language has {{{{ variables }}}}, if, for, and the filters {', '.join(sorted(FILTERS))}"


class BrokenTemplateError(Exception):
    """A fault in a template; `line` counts from its first line, 1."""

    def __init__(self, line: int | None, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line or 1  # Jinja sets no line on some nodes
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A parsed template that contains only allowed nodes."""

    body: tuple[nodes.Node, ...]
    variables: tuple[tuple[str, int], ...]
    """The variables that it uses, each with the line of its first use."""


@lru_cache(maxsize=256)
def template_of(text: str) -> Template:
    """Parse and check a template.

    Raises:
        BrokenTemplateError: It is not a valid template, or contains something that is not allowed.
    """
    if len(text) > MAX_TEMPLATE_CHARS:
        raise BrokenTemplateError(
            1, f"the message has {len(text):,} characters; a template has at most {MAX_TEMPLATE_CHARS:,}."
        )
    tree = _parse(text)
    found: dict[str, int] = {}
    _check_all(tree.body, 0, frozenset(), found)
    return Template(body=tuple(tree.body), variables=tuple(found.items()))


@cache
def _syntax() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


def _parse(text: str) -> nodes.Template:
    try:
        return _syntax().parse(text)
    except RecursionError:
        raise BrokenTemplateError(1, "the template is nested too deeply.") from None
    except TemplateError as error:
        raw = (error.message or type(error).__name__).rstrip(".")
        advice = "Write other braces between {% raw %} and {% endraw %}."
        raise BrokenTemplateError(getattr(error, "lineno", 1), f"not a valid template: {raw}. {advice}") from None
    except (ValueError, OverflowError) as error:  # a number with too many digits, or an incomplete escape
        raise BrokenTemplateError(1, f"not a valid template: {error}.") from None


def _check_all(found: Iterable[nodes.Node | None], depth: int, bound: frozenset[str], free: dict[str, int]) -> None:
    for node in found:
        if node is not None:
            _check(node, depth + 1, bound, free)


def _check(node: nodes.Node, depth: int, bound: frozenset[str], free: dict[str, int]) -> None:
    """Reject nodes that are not allowed, and collect the variables."""
    if depth > MAX_DEPTH:
        raise BrokenTemplateError(node.lineno, f"nested deeper than {MAX_DEPTH} levels.")
    if not isinstance(node, ALLOWED_NODES):
        raise BrokenTemplateError(node.lineno, f"{_name_of(node)} is not allowed; {FEATURES}.")
    if isinstance(node, nodes.For):
        _check_loop(node, depth, bound, free)
        return
    _check_words(node)
    if isinstance(node, nodes.Name) and node.name not in bound:
        free.setdefault(node.name, node.lineno)
    _check_all(node.iter_child_nodes(), depth, bound, free)


def _name_of(node: nodes.Node) -> str:
    return next((name for kind, name in REFUSED_NODES.items() if isinstance(node, kind)), type(node).__name__)


def _check_words(node: nodes.Node) -> None:
    """Check names of attributes, filters and tests, and the types of constants."""
    word = node.name if isinstance(node, nodes.Name) else node.attr if isinstance(node, nodes.Getattr) else ""
    if word.startswith("__"):
        raise BrokenTemplateError(node.lineno, f"{word!r} begins with two underscores, which is not allowed.")
    if isinstance(node, nodes.Const) and _is_too_large(node.value):
        raise BrokenTemplateError(node.lineno, "a number is too large.")
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        raise BrokenTemplateError(node.lineno, f"there is no filter {node.name!r}; {FEATURES}.")
    if isinstance(node, nodes.Test) and node.name not in TESTS:
        raise BrokenTemplateError(
            node.lineno, f"there is no test `is {node.name}`; there are {', '.join(sorted(TESTS))}."
        )
    if isinstance(node, (nodes.Filter, nodes.Test)):
        _check_arguments(node)


def _is_too_large(value: Any) -> bool:
    """Return whether a constant is a number that cannot be printed; a hexadecimal one may have any length."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS


def _check_arguments(node: nodes.Filter | nodes.Test) -> None:
    least, most = FILTERS[node.name].arguments if isinstance(node, nodes.Filter) else (0, 0)
    if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs or not least <= len(node.args) <= most:
        amount = f"{least}" if least == most else f"{least} to {most}"
        raise BrokenTemplateError(node.lineno, f"{node.name!r} takes {amount} arguments without names.")


def _check_loop(node: nodes.For, depth: int, bound: frozenset[str], free: dict[str, int]) -> None:
    if node.recursive:
        raise BrokenTemplateError(node.lineno, f"a recursive loop is not allowed; {FEATURES}.")
    targets = targets_of(node)
    if "loop" in targets:
        raise BrokenTemplateError(node.lineno, "`loop` is reserved inside a loop; rename the item.")
    inner = bound | {*targets, "loop"}
    _check_all((node.iter, *node.else_), depth, bound, free)
    _check_all((node.test,), depth, bound | set(targets), free)
    _check_all(node.body, depth, inner, free)


def targets_of(node: nodes.For) -> tuple[str, ...]:
    """Return the loop variables of a `for`.

    Raises:
        BrokenTemplateError: The targets are not names.
    """
    found: list[Any] = node.target.items if isinstance(node.target, nodes.Tuple) else [node.target]
    if not all(isinstance(item, nodes.Name) and not item.name.startswith("__") for item in found):
        raise BrokenTemplateError(node.lineno, "loop variables must be plain names.")
    return tuple(item.name for item in found)
