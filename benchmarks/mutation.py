"""Where a small mistake can be put into a Python module, and where the same mistake belongs after code was moved and renamed."""

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, partial
from types import CodeType

FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SUMS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax", "fmax": "fmin"}
NEGATED_ELSEWHERE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose flip is the same mistake as the negated condition."""
NO_CODE = ("annotation", "returns", "decorator_list", "type_params", "type_comment", "ctx", "msg")
"""Fields of a node that hold types, messages, or nothing that a test could see."""
OPTIONS = {"strict", "repr", "kw_only", "slots", "frozen", "stacklevel"}
"""Arguments that change nothing for correct callers."""
TEXT_FUNCTIONS = {"__repr__", "__str__", "__getattr__", "__dir__"}
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
BUILTINS = {name for name in dir(builtins) if not name.startswith("_")}


@dataclass(frozen=True)
class Place:
    """A node of a module that a mutant changes."""

    operator: str
    change: str
    node: ast.expr | ast.stmt
    statement: ast.stmt
    apply: Callable[[], object]
    """Changes the tree of the module."""

    @cached_property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """What it looks like without names, the whole statement first, then the expression alone."""
        own = (self.operator, self.change, shape(self.node, header=True))
        return (*own, shape(self.statement, header=True)), own


@dataclass(frozen=True)
class Unit:
    """A function, a method, or a statement outside all functions."""

    file: str
    name: str
    node: ast.stmt
    places: tuple[Place, ...] = field(repr=False)

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]

    @cached_property
    def shape(self) -> str:
        return shape(self.node)

    @cached_property
    def words(self) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", self.shape)


def units(file: str, source: str) -> list[Unit]:
    """The parts of a module that can be mutated, in its order."""
    return [Unit(file, name, node, tuple(places(node, node))) for name, node in _parts(ast.parse(source).body, "")]


def compiled(file: str, source: str, change: Callable[[ast.Module, list[Place]], object]) -> CodeType:
    """The code of a module after a change of its tree."""
    tree = ast.parse(source)
    change(tree, [place for _, node in _parts(tree.body, "") for place in places(node, node)])
    code: CodeType = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    return code


def record(tree: ast.Module, wanted: dict[int, ast.stmt], function: str) -> None:
    """Have a function called with a number whenever one of the numbered statements is about to be executed."""
    calls: dict[int, list[ast.stmt]] = {}
    for number, statement in wanted.items():
        calls.setdefault(id(statement), []).append(ast.parse(f"{function}({number})").body[0])
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and any(id(part) in calls for part in value):
                setattr(node, name, [new for part in value for new in (*calls.get(id(part), ()), part)])


def _parts(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _parts(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in TEXT_FUNCTIONS:
                yield prefix + node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.If | ast.Try | ast.For):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            name = target.id if isinstance(target, ast.Name) else "<module>"
            if name != "__all__" and "TYPE_CHECKING" not in ast.dump(node):
                yield prefix + name, node


def places(node: ast.AST, statement: ast.stmt) -> Iterator[Place]:
    """All mutants below a node, in the order of the code."""
    if isinstance(node, ast.IfExp) and (is_text(node.body) or is_text(node.orelse)):
        return  # a choice of words
    statement = node if isinstance(node, ast.stmt) else statement
    if isinstance(node, ast.expr | ast.stmt):
        for operator, change, apply in _changes(node):
            yield Place(operator, change, node, statement, apply)
    for child in _children(node):
        yield from places(child, statement)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are code; wording and types are left out."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.keyword) and node.arg in OPTIONS:
        return
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
        return
    for name, value in ast.iter_fields(node):
        if name not in NO_CODE:
            yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST))


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


Change = tuple[str, str, Callable[[], object]]
"""Operator, what becomes what, and how to do it."""


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            if flipped := FLIPS.get(type(op)):
                yield "comparison", _to(op, flipped()), partial(node.ops.__setitem__, index, flipped())
    elif isinstance(node, ast.Call):
        name = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node.func), "")
        if (old := getattr(node.func, name, "")) in EXTREMES:
            yield "min/max", f"{old} to {EXTREMES[old]}", partial(setattr, node.func, name, EXTREMES[old])
    else:
        yield from _new_operator(node)
        yield from _new_value(node)


def _new_operator(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SUMS:
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
            if not any(map(is_text, sides)):
                yield "arithmetic", _to(op, SUMS[type(op)]()), partial(setattr, node, "op", SUMS[type(op)]())
        case ast.BoolOp(op=op):
            new = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", _to(op, new), partial(setattr, node, "op", new)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", "not to nothing", partial(setattr, node, "operand", ast.UnaryOp(ast.Not(), operand))


def _new_value(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            new = not value if isinstance(value, bool) else value + 1
            yield "constant", f"{value} to {new}", partial(setattr, node, "value", new)
        case ast.Return(value=ast.expr() as value) if ast.dump(value) != "Constant(value=None)":
            yield "return", "value to None", partial(setattr, node, "value", ast.Constant(None))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _is_flipped_below(test):
            yield "condition", "negated", partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))


def _is_flipped_below(test: ast.AST) -> bool:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return isinstance(test.ops[0], NEGATED_ELSEWHERE)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _to(old: ast.AST, new: ast.AST) -> str:
    return f"{type(old).__name__} to {type(new).__name__}"


def shape(node: ast.AST, *, header: bool = False) -> str:
    """A node as text, without names, wording and types; `header`: of a compound statement what stands before its body.

    >>> shape(ast.parse("def f(a, b: int): return max(a.x, 2) + b").body[0])
    'FunctionDef(arguments(arg() arg()) Return(BinOp(Call(max Attribute(_) 2) Add() _)))'
    """
    if is_text(node) or isinstance(node, ast.Name | ast.Constant | ast.Raise | ast.Import | ast.ImportFrom):
        return _word(node)
    kind = "Assign" if isinstance(node, ast.AnnAssign) else type(node).__name__
    extreme = node.attr + " " if isinstance(node, ast.Attribute) and node.attr in EXTREMES else ""
    parts = []
    for name, value in ast.iter_fields(node):
        if name not in NO_CODE and not (header and name in BODIES and isinstance(value, list)):
            listed = value if isinstance(value, list) else [value]
            parts += [shape(part) for part in listed if isinstance(part, ast.AST) and not _is_docstring(part)]
    return f"{kind}({extreme}{' '.join(parts)})"


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id if node.id in BUILTINS else "_"
    if is_text(node):
        return "text"
    return repr(node.value) if isinstance(node, ast.Constant) else type(node).__name__


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and is_text(node.value)


@dataclass(frozen=True)
class Found:
    """A mutant in the code of today: the place's number in its file, and how sure it is that it is the same mutant."""

    file: str
    unit: str
    number: int
    how: str


class Finder:
    """Finds the mutants of old code in new code, in which functions were moved and renamed."""

    def __init__(self, sources: dict[str, str], moved: dict[str, str]) -> None:
        self._files = {file: units(file, source) for file, source in sources.items()}
        self._all = [unit for found in self._files.values() for unit in found]
        self._moved = moved

    def find(self, old: list[Unit], unit: Unit, place: Place) -> Found | str:
        """Where a mutant of a unit (one of those of its old file) is today, or why it could not be found again."""
        new = self._same(old, unit) or self._similar(unit)
        if new is None:
            return "no function is like it"
        index, how = self._place(unit, new, unit.places.index(place))
        if index is None:
            return f"its expression is not in {new.file}:{new.name} any more"
        before = sum(len(other.places) for other in _until(self._files[new.file], new))
        return Found(new.file, new.name, before + index, how)

    def _same(self, old: list[Unit], unit: Unit) -> Unit | None:
        there = self._moved.get(unit.file, unit.file)
        near = [one for one in self._files.get(there, ()) if one.shape == unit.shape]
        named = [one for one in near if one.last_name == unit.last_name]
        twins = [one for one in old if one.shape == unit.shape]
        if len(near) == len(twins):
            return near[twins.index(unit)]
        if len(named) == 1:
            return named[0]
        far = [one for one in self._all if one.shape == unit.shape and one not in near]
        named = [one for one in far if one.last_name == unit.last_name]
        if len(named) == 1:
            return named[0]
        return far[0] if len(far) == len(twins) == 1 and len(unit.words) > 40 else None

    def _similar(self, unit: Unit) -> Unit | None:
        there = self._moved.get(unit.file, unit.file)
        near = self._files.get(there, [])
        by_name = [one for one in self._all if one.last_name == unit.last_name and type(one.node) is type(unit.node)]
        for candidates, least in (
            ([one for one in near if one in by_name], 0.5),
            (near, 0.7),
            (by_name, 0.6),
            (self._all, 0.85),
        ):
            rated = ((_likeness(unit, one, least), one) for one in candidates if type(one.node) is type(unit.node))
            likeness, best = max(rated, key=lambda pair: pair[0], default=(0.0, None))
            if likeness >= least:
                return best
        return None

    @staticmethod
    def _place(unit: Unit, new: Unit, index: int) -> tuple[int | None, str]:
        if unit.shape == new.shape and len(unit.places) == len(new.places):
            return index, "same"
        for level in (0, 1):
            wanted = unit.places[index].keys[level]
            before = [n for n, one in enumerate(unit.places) if one.keys[level] == wanted]
            after = [n for n, one in enumerate(new.places) if one.keys[level] == wanted]
            if after and len(before) == len(after):
                return after[before.index(index)], "similar"
        return None, ""


def _likeness(one: Unit, other: Unit, least: float) -> float:
    compared = SequenceMatcher(None, one.words, other.words, autojunk=False)
    if compared.real_quick_ratio() < least or compared.quick_ratio() < least:
        return 0.0
    return compared.ratio()


def _until(found: list[Unit], last: Unit) -> Iterator[Unit]:
    for unit in found:
        if unit is last:
            return
        yield unit
