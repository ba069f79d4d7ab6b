"""Check that all that a parsed program of JavaScript uses is supported."""

from collections.abc import Iterator
from typing import Any

from .global_functions import CONSTANTS, CONSTRUCTORS, GLOBALS, MEMBERS
from .methods import METHOD_NAMES
from .syntax import nodes_of
from .tokens import Node, UnsupportedJavascriptError
from .values import make_pattern


def check_support(body: Node, parameters: tuple[str, ...]) -> None:
    """Refuse names and methods that are neither declared nor supported.

    Raises:
        UnsupportedJavascriptError: One is; the text says which.
    """
    declared = {*parameters, *GLOBALS, *_declared_names(body)}
    for node in nodes_of(body):
        _check(node, declared)


def _declared_names(body: Node) -> Iterator[str]:
    for node in nodes_of(body):
        if node[0] == "function":
            yield node[1]
            for target in node[2]:
                yield from _target_names(target)
        elif node[0] == "declare":
            for target, _ in node[1]:
                yield from _target_names(target)
        elif node[0] in ("for-of", "for-in"):
            yield from _target_names(node[1])
        elif node[0] == "try" and node[2]:
            yield from _target_names(node[2])


def _target_names(target: Any) -> Iterator[str]:
    if target is None:
        return
    if target[0] == "name":
        yield target[1]
    elif target[0] in ("default", "rest"):
        yield from _target_names(target[1])
    elif target[0] == "list-pattern":
        for item in target[1]:
            yield from _target_names(item)
    else:
        for item in target[1]:
            yield from _target_names(item if item[0] == "rest" else item[1])


def _check(node: Node, declared: set[str]) -> None:
    kind = node[0]
    if kind == "name" and node[1] not in declared:
        raise UnsupportedJavascriptError(f"it uses {node[1]!r}")
    if kind == "new" and node[1] not in CONSTRUCTORS:
        raise UnsupportedJavascriptError(f"it makes a {node[1]!r}")
    if kind == "regex":
        try:
            make_pattern(node[1], node[2])
        except ValueError as error:
            raise UnsupportedJavascriptError(f"the pattern /{node[1]}/: {error}") from None
    if kind == "call" and node[1][0] == "member" and node[1][2][0] == "value":
        _check_method(node[1][1], node[1][2][1])
    if kind == "member" and node[1][0] == "name" and node[1][1] in MEMBERS and node[2][0] == "value":
        whole, name = node[1][1], node[2][1]
        if name not in MEMBERS[whole] and name not in CONSTANTS.get(whole, ()):
            raise UnsupportedJavascriptError(f"it uses {whole}.{name}")


def _check_method(whole: Node, name: Any) -> None:
    is_global = whole[0] == "name" and whole[1] in MEMBERS
    if not is_global and name not in METHOD_NAMES and isinstance(name, str):
        raise UnsupportedJavascriptError(f"it calls the method {name!r}")
