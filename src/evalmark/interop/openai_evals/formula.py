"""The formula of a `multi` grader: arithmetic on the scores of its graders."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

_MOST_CHARS = 1_000
_MOST_POWER = 1_000.0
_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "min": min,
        "max": max,
        "abs": abs,
        "floor": math.floor,
        "ceil": math.ceil,
        "exp": math.exp,
        "sqrt": math.sqrt,
        "log": math.log,
    }
)
_OPERATORS: Mapping[type, Callable[..., Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.Pow: lambda base, power: base ** max(-_MOST_POWER, min(_MOST_POWER, power)),
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
    }
)


class FormulaError(Exception):
    """A formula cannot be read, or gives no number; the text completes a sentence."""


def check_formula(formula: Any, names: set[str]) -> None:
    """Check that a formula is arithmetic on these names.

    Raises:
        FormulaError: it is not.
    """
    for node in ast.walk(_parsed(formula)):
        if isinstance(node, ast.Call):
            _check_call(node)
        elif isinstance(node, ast.Name) and node.id not in names and node.id not in _FUNCTIONS:
            raise FormulaError(f"uses {node.id!r:.60}, which none of its graders is called")
        elif isinstance(node, ast.Constant) and type(node.value) not in (int, float):
            raise FormulaError("has something else than numbers")
        elif not isinstance(node, (*_NODES, *_OPERATORS)):
            raise FormulaError("has something else than + - * / ^ and functions")


_NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.expr_context)


def _check_call(node: ast.Call) -> None:
    if not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords and node.args):
        raise FormulaError("calls something else than " + ", ".join(_FUNCTIONS))


def formula_value(formula: str, scores: Mapping[str, float]) -> float:
    """Return the value of a formula that `check_formula` accepts.

    >>> formula_value("0.5 * a + max(b, 0.1) ^ 2", {"a": 1.0, "b": 0.5})
    0.75

    Raises:
        FormulaError: it divides by zero, or its value is not a finite number.
    """
    try:
        value = float(_value(_parsed(formula).body, scores))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise FormulaError(f"has no value for {dict(scores)}: {error}") from None
    if not math.isfinite(value):
        raise FormulaError(f"has no finite value for {dict(scores)}")
    return value


def _parsed(formula: Any) -> ast.Expression:
    if not isinstance(formula, str) or len(formula) > _MOST_CHARS:
        raise FormulaError(f"is not a text of up to {_MOST_CHARS:,} characters")
    try:
        return ast.parse(formula.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"cannot be read: {formula!r:.80}") from None


def _value(node: ast.expr, scores: Mapping[str, float]) -> Any:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, scores), _value(node.right, scores))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, scores))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*(_value(part, scores) for part in node.args))
    return scores[node.id] if isinstance(node, ast.Name) else getattr(node, "value", math.nan)
