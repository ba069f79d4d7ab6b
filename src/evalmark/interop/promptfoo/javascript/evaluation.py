"""Compute a parsed program of JavaScript, within limits of steps, depth and memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .global_functions import CONSTANTS, CONSTRUCTORS, FUNCTIONS, MEMBERS, VALUES
from .methods import method_of, property_of
from .operators import compute_binary
from .sequence_methods import MAX_ITEMS
from .support import check_support
from .syntax import nodes_of, parse_javascript
from .tokens import Node, UnsupportedJavascriptError
from .values import (
    UNDEFINED,
    LimitError,
    ThrownError,
    from_python,
    items_of,
    keys_of,
    limited,
    make_pattern,
    strictly_equal,
    to_integer,
    to_number,
    to_text,
    to_units,
    truthy,
    type_error,
    type_of,
)

MAX_STEPS = 500_000
MAX_DEPTH = 60
"""Functions that call each other."""


class _Break(Exception):  # noqa: N818  control flow, as in the language
    pass


class _Continue(Exception):  # noqa: N818  control flow, as in the language
    pass


class _Return(Exception):  # noqa: N818  control flow, as in the language
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Missing(Exception):  # noqa: N818  ends a chain with `?.`
    pass


@dataclass(frozen=True, slots=True)
class Program:
    """A checked program: the body of a function with some parameters."""

    body: Node
    parameters: tuple[str, ...]

    def properties_of(self, parameter: str) -> list[str]:
        """Return the properties of a parameter that the program reads.

        Raises:
            UnsupportedJavascriptError: The parameter is used in another way.
        """
        found: list[str] = []
        uses = sum(node == ("name", parameter) for node in nodes_of(self.body))
        for node in nodes_of(self.body):
            if node[0] == "member" and node[1] == ("name", parameter) and node[2][0] == "value":
                found.append(str(node[2][1]))
                uses -= 1
        for target, value in (pair for node in nodes_of(self.body) if node[0] == "declare" for pair in node[1]):
            if value == ("name", parameter) and target[0] == "object-pattern":
                found += [str(item[0]) for item in target[1]]
                uses -= 1
        if uses > 0:
            raise UnsupportedJavascriptError(f"it uses {parameter!r} as a whole")
        return found

    def __call__(self, *arguments: Any) -> Any:
        """Compute the program with plain data of Python, and return a value of JavaScript.

        Raises:
            ThrownError: The program throws an error.
            LimitError: It takes too many steps, too much memory, or uses what is not supported.
        """
        scope = Scope({name: from_python(value) for name, value in zip(self.parameters, arguments, strict=True)})
        try:
            _Computation().run(self.body, scope)
        except _Return as returned:
            return returned.value
        except (_Break, _Continue):
            raise LimitError("a loop is left where there is none") from None
        except RecursionError:
            raise LimitError("its functions call each other too deeply") from None
        return UNDEFINED


@dataclass(slots=True)
class Scope:
    """The variables of a block."""

    values: dict[str, Any] = field(default_factory=dict)
    outer: "Scope | None" = None

    def holder(self, name: str) -> "Scope | None":
        scope: Scope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.outer
        return scope


def read_program(text: str, parameters: tuple[str, ...]) -> Program:
    """Parse the body of a function, and check that all it uses is supported.

    Raises:
        UnsupportedJavascriptError: It is not; the text says what.
    """
    body = parse_javascript(to_units(text))
    check_support(body, parameters)
    return Program(body, parameters)


class _Computation:
    """Computes one program; counts the steps."""

    def __init__(self) -> None:
        self.steps = 0
        self.depth = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise LimitError(f"it takes more than {MAX_STEPS:,} steps")

    # Statements.

    def run(self, node: Node | None, scope: Scope) -> None:
        if node is not None:
            self.step()
            _RUN[node[0]](self, node, scope)

    def run_block(self, node: Node, scope: Scope) -> None:
        self.run_all(node[1], Scope(outer=scope))

    def run_all(self, statements: list[Node], scope: Scope) -> None:
        for statement in statements:
            if statement[0] == "declare-function":
                scope.values[statement[1][1]] = self.value(statement[1], scope)
        for statement in statements:
            self.run(statement, scope)

    def run_do(self, node: Node, scope: Scope) -> None:
        self.value(node[1], scope)

    def run_declare(self, node: Node, scope: Scope) -> None:
        for target, value in node[1]:
            self.bind(target, UNDEFINED if value is None else self.value(value, scope), scope)

    def run_if(self, node: Node, scope: Scope) -> None:
        self.run(node[2] if truthy(self.value(node[1], scope)) else node[3], scope)

    def run_return(self, node: Node, scope: Scope) -> None:
        raise _Return(UNDEFINED if node[1] is None else self.value(node[1], scope))

    def run_throw(self, node: Node, scope: Scope) -> None:
        raise ThrownError(self.value(node[1], scope))

    def run_break(self, node: Node, scope: Scope) -> None:
        raise _Break

    def run_continue(self, node: Node, scope: Scope) -> None:
        raise _Continue

    def run_for(self, node: Node, scope: Scope) -> None:
        _, first, condition, step, body = node
        inner = Scope(outer=scope)
        self.run(first, inner)
        while condition is None or truthy(self.value(condition, inner)):
            self.step()
            try:
                self.run(body, inner)
            except _Break:
                return
            except _Continue:
                pass
            if step is not None:
                self.value(step, inner)

    def run_for_each(self, node: Node, scope: Scope) -> None:
        values = self.value(node[2], scope)
        if node[0] == "for-in":
            items: list[Any] = (
                list(map(str, range(len(values)))) if isinstance(values, (list, str)) else keys_of(values)
            )
        else:
            items = items_of(values)
        for item in items:
            self.step()
            inner = Scope(outer=scope)
            self.bind(node[1], item, inner)
            try:
                self.run(node[3], inner)
            except _Break:
                return
            except _Continue:
                continue

    def run_try(self, node: Node, scope: Scope) -> None:
        _, body, name, handler, last = node
        try:
            try:
                self.run(body, scope)
            except ThrownError as error:
                if handler is None:
                    raise
                inner = Scope(outer=scope)
                if name is not None:
                    self.bind(name, error.value, inner)
                self.run(handler, inner)
        finally:
            self.run(last, scope)

    def run_switch(self, node: Node, scope: Scope) -> None:
        value, cases = self.value(node[1], scope), node[2]
        inner = Scope(outer=scope)
        begin = next(
            (at for at, (test, _) in enumerate(cases) if test and strictly_equal(self.value(test, inner), value)),
            next((at for at, (test, _) in enumerate(cases) if test is None), len(cases)),
        )
        try:
            for _, body in cases[begin:]:
                self.run_all(body, inner)
        except _Break:
            return

    def bind(self, target: Node, value: Any, scope: Scope) -> None:
        """Declare the names of a target with the parts of a value."""
        kind = target[0]
        if kind == "name":
            scope.values[target[1]] = value
        elif kind == "default":
            self.bind(target[1], self.value(target[2], scope) if value is UNDEFINED else value, scope)
        elif kind == "list-pattern":
            self.bind_list(target[1], items_of(value), scope)
        else:
            self.bind_object(target[1], value, scope)

    def bind_list(self, targets: list[Any], items: list[Any], scope: Scope) -> None:
        for at, target in enumerate(targets):
            if target is not None and target[0] == "rest":
                self.bind(target[1], items[at:], scope)
            elif target is not None:
                self.bind(target, items[at] if at < len(items) else UNDEFINED, scope)

    def bind_object(self, targets: list[Any], value: Any, scope: Scope) -> None:
        if value is None or value is UNDEFINED:
            raise type_error(f"{to_text(value)} has no properties")
        taken = set()
        for target in targets:
            if target[0] == "rest":
                rest = {key: item for key, item in value.items() if key not in taken} if isinstance(value, dict) else {}
                self.bind(target[1], rest, scope)
            else:
                taken.add(target[0])
                self.bind(target[1], property_of(value, target[0]), scope)

    # Expressions.

    def value(self, node: Node, scope: Scope) -> Any:
        self.step()
        return _VALUE[node[0]](self, node, scope)

    def of_name(self, node: Node, scope: Scope) -> Any:
        name = node[1]
        holder = scope.holder(name)
        if holder is not None:
            return holder.values[name]
        if name in VALUES:
            return VALUES[name]
        if name in FUNCTIONS:
            return _Global(FUNCTIONS[name])
        raise ThrownError({"name": "ReferenceError", "message": f"{name} is not defined"})

    def of_template(self, node: Node, scope: Scope) -> str:
        return limited("".join(to_text(self.value(part, scope)) for part in node[1]))

    def of_list(self, node: Node, scope: Scope) -> list[Any]:
        return self.arguments(node[1], scope)

    def arguments(self, parts: list[Node], scope: Scope) -> list[Any]:
        items: list[Any] = []
        for part in parts:
            items += items_of(self.value(part[1], scope)) if part[0] == "spread" else [self.value(part, scope)]
        if len(items) > MAX_ITEMS:
            raise LimitError("a list grows too long")
        return items

    def of_object(self, node: Node, scope: Scope) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for entry in node[1]:
            if entry[0] == "spread":
                value = self.value(entry[1], scope)
                made |= value if isinstance(value, dict) else {}
            else:
                made[to_text(self.value(entry[0], scope))] = self.value(entry[1], scope)
        return made

    def of_regex(self, node: Node, scope: Scope) -> Any:
        return make_pattern(node[1], node[2])

    def of_function(self, node: Node, scope: Scope) -> Any:
        return _Closure(self, node, scope)

    def call_closure(self, node: Node, outer: Scope, given: list[Any]) -> Any:
        self.step()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LimitError("its functions call each other too deeply")
        scope = Scope(outer=outer)
        try:
            self.bind_list(node[2], given, scope)
            self.run(node[3], scope)
        except _Return as returned:
            return returned.value
        finally:
            self.depth -= 1
        return UNDEFINED

    def call(self, function: Any, given: list[Any]) -> Any:
        if not callable(function):
            raise type_error(f"{type_of(function)} is not a function")
        return function(given)

    def of_call(self, node: Node, scope: Scope) -> Any:
        _, called, parts, is_optional = node
        if called[0] == "member":
            return self.call_member(called, parts, is_optional, scope)
        function = self.value(called, scope)
        if is_optional and (function is None or function is UNDEFINED):
            raise _Missing
        return self.call(function, self.arguments(parts, scope))

    def call_member(self, called: Node, parts: list[Node], is_optional: bool, scope: Scope) -> Any:
        _, whole, key, skips = called
        if whole[0] == "name" and whole[1] in MEMBERS and scope.holder(whole[1]) is None:
            function = MEMBERS[whole[1]].get(key[1]) if key[0] == "value" else None
            if function is None:
                raise LimitError(f"a function of {whole[1]} is not supported")
            return function(self.arguments(parts, scope), self.call)
        value = self.value(whole, scope)
        if skips and (value is None or value is UNDEFINED):
            raise _Missing
        name = self.value(key, scope)
        own = property_of(value, name)
        if own is not UNDEFINED:
            return self.call(own, self.arguments(parts, scope))
        method = method_of(value, to_text(name))
        if method is not None:
            return method(value, self.arguments(parts, scope), self.call)
        if is_optional:
            raise _Missing
        raise type_error(f"{to_text(name)} is not a function")

    def of_member(self, node: Node, scope: Scope) -> Any:
        _, whole, key, skips = node
        if whole[0] == "name" and whole[1] in CONSTANTS and scope.holder(whole[1]) is None:
            return CONSTANTS[whole[1]].get(key[1], UNDEFINED)
        value = self.value(whole, scope)
        if skips and (value is None or value is UNDEFINED):
            raise _Missing
        return property_of(value, self.value(key, scope))

    def of_chain(self, node: Node, scope: Scope) -> Any:
        try:
            return self.value(node[1], scope)
        except _Missing:
            return UNDEFINED

    def of_new(self, node: Node, scope: Scope) -> Any:
        return CONSTRUCTORS[node[1]](self.arguments(node[2], scope))

    def of_unary(self, node: Node, scope: Scope) -> Any:
        sign = node[1]
        if sign == "typeof" and node[2][0] == "name" and node[2][1] in MEMBERS:
            return "object"
        value = self.value(node[2], scope)
        if sign == "!":
            return not truthy(value)
        if sign == "typeof":
            return type_of(value)
        if sign == "void":
            return UNDEFINED
        return -to_number(value) if sign == "-" else to_number(value)

    def of_logic(self, node: Node, scope: Scope) -> Any:
        left = self.value(node[2], scope)
        is_done = {"&&": not truthy(left), "||": truthy(left), "??": left is not None and left is not UNDEFINED}
        return left if is_done[node[1]] else self.value(node[3], scope)

    def of_choose(self, node: Node, scope: Scope) -> Any:
        return self.value(node[2] if truthy(self.value(node[1], scope)) else node[3], scope)

    def of_sequence(self, node: Node, scope: Scope) -> Any:
        self.value(node[1], scope)
        return self.value(node[2], scope)

    def of_binary(self, node: Node, scope: Scope) -> Any:
        return compute_binary(node[1], self.value(node[2], scope), self.value(node[3], scope))

    def of_assign(self, node: Node, scope: Scope) -> Any:
        _, sign, target, right = node
        if sign in ("&&", "||", "??"):
            value = self.value(("logic", sign, target, right), scope)
        elif sign:
            value = compute_binary(sign, self.value(target, scope), self.value(right, scope))
        else:
            value = self.value(right, scope)
        self.store(target, value, scope)
        return value

    def of_update(self, node: Node, scope: Scope) -> Any:
        _, sign, when, target = node
        before = to_number(self.value(target, scope))
        after = before + (1 if sign == "++" else -1)
        self.store(target, after, scope)
        return before if when == "after" else after

    def store(self, target: Node, value: Any, scope: Scope) -> None:
        if target[0] == "name":
            holder = scope.holder(target[1])
            if holder is None:
                raise ThrownError({"name": "ReferenceError", "message": f"{target[1]} is not defined"})
            holder.values[target[1]] = value
            return
        whole, key = self.value(target[1], scope), self.value(target[2], scope)
        if isinstance(whole, dict):
            whole[to_text(key)] = value
        elif isinstance(whole, list) and isinstance(key, float) and 0 <= key <= len(whole):
            whole[to_integer(key) : to_integer(key) + 1] = [value]
        else:
            raise LimitError("an assignment to such a value is not supported")


@dataclass(frozen=True, slots=True)
class _Closure:
    """A function of the program."""

    computation: _Computation
    node: Node
    scope: Scope

    def __call__(self, given: list[Any]) -> Any:
        return self.computation.call_closure(self.node, self.scope, given)


@dataclass(frozen=True, slots=True)
class _Global:
    """A built-in function as a value."""

    function: Callable[[list[Any]], Any]

    def __call__(self, given: list[Any]) -> Any:
        return self.function(given)


_RUN: Mapping[str, Callable[[_Computation, Node, Scope], None]] = {
    "block": _Computation.run_block,
    "do": _Computation.run_do,
    "declare": _Computation.run_declare,
    "declare-function": lambda computation, node, scope: None,
    "if": _Computation.run_if,
    "return": _Computation.run_return,
    "throw": _Computation.run_throw,
    "break": _Computation.run_break,
    "continue": _Computation.run_continue,
    "for": _Computation.run_for,
    "for-of": _Computation.run_for_each,
    "for-in": _Computation.run_for_each,
    "try": _Computation.run_try,
    "switch": _Computation.run_switch,
}
_VALUE: Mapping[str, Callable[[_Computation, Node, Scope], Any]] = {
    "value": lambda computation, node, scope: node[1],
    "name": _Computation.of_name,
    "template": _Computation.of_template,
    "list": _Computation.of_list,
    "object": _Computation.of_object,
    "regex": _Computation.of_regex,
    "function": _Computation.of_function,
    "call": _Computation.of_call,
    "member": _Computation.of_member,
    "chain": _Computation.of_chain,
    "new": _Computation.of_new,
    "unary": _Computation.of_unary,
    "logic": _Computation.of_logic,
    "choose": _Computation.of_choose,
    "sequence": _Computation.of_sequence,
    "binary": _Computation.of_binary,
    "assign": _Computation.of_assign,
    "update": _Computation.of_update,
}
