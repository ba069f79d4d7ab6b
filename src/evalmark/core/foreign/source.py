"""Normalize the source code of a function or class for a fingerprint: parsed, without comments and formatting."""

import ast
import inspect
import io
import linecache
import re
import sys
import tokenize
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

Parsed = TypeVar("Parsed")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FORMATTING = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def parsed_source(thing: Callable[..., Any], *, docstrings: bool = True) -> str:
    """Return the code of a function or class without comments and formatting, and without docstrings if requested.

    The docstring of a class is kept if its metaclass is not from the standard library: frameworks such as pydantic and
    DSPy send it to a model. Docstrings are also kept if the code reads `__doc__`.

    Raises:
        OSError: there is no source file.
        TypeError: the object is built in.
    """
    if getattr(thing, "__name__", "") == "<lambda>":
        return _lambda(thing)
    source = _class_source(thing) if inspect.isclass(thing) else ""
    source = source or _retry(lambda: inspect.getsource(thing))
    try:
        tree = _parse(f"if 1:\n{source}" if source[:1].isspace() else source)
    except SyntaxError:  # a fragment, say of a notebook cell
        return _tokens(source)
    if not docstrings and "__doc__" not in source:
        _drop_docstrings(tree, keep=_has_own_metaclass(thing))
    return ast.unparse(tree)


def _parse(source: str) -> ast.Module:
    return _retry(lambda: ast.parse(source))


def _retry(parse: Callable[[], Parsed]) -> Parsed:
    """Call a function that parses source code, also while another thread does.

    Until 3.11.7, Python 3.11 counts the depth of the tree for all threads together, and then raises SystemError at
    random (https://github.com/python/cpython/issues/106905).
    """
    for _ in range(20):
        try:
            return parse()
        except SystemError:
            continue
    return parse()


def _class_source(thing: type) -> str:
    """Return the source of a class that a module defines once, at its top level; empty for others.

    `inspect.getsource` visits the whole module for each of its classes, and then tokenizes the class.
    """
    file = inspect.getsourcefile(thing)
    name = thing.__qualname__
    if file is None or hasattr(thing, "__wrapped__") or not name.isidentifier():
        return ""
    linecache.checkcache(file)
    lines = linecache.getlines(file, getattr(sys.modules.get(thing.__module__), "__dict__", None))
    source = "".join(lines)
    if len(re.findall(rf"^[ \t]*class[ \t]+{name}\b", source, re.MULTILINE)) != 1:
        return ""
    first, last = _class_lines(source).get(name, (0, 0))
    return "".join(lines[first:last])


@lru_cache(maxsize=8)
def _class_lines(source: str) -> dict[str, tuple[int, int]]:
    """Return the lines of each class at the top level of a module."""
    try:
        body = _parse(source).body
    except SyntaxError:
        return {}
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {
        node.name: (min([node.lineno, *(part.lineno for part in node.decorator_list)]) - 1, node.end_lineno or 0)
        for node in classes
    }


def _has_own_metaclass(thing: object) -> bool:
    return inspect.isclass(thing) and type(thing).__module__.partition(".")[0] not in sys.stdlib_module_names


def _drop_docstrings(tree: ast.AST, *, keep: bool) -> None:
    """Remove the docstrings of all definitions; with `keep`, except that of the outermost class."""
    for node in ast.walk(tree):
        if not isinstance(node, Definition) or ast.get_docstring(node, clean=False) is None:
            continue
        if keep and isinstance(node, ast.ClassDef):
            keep = False
            continue
        node.body = node.body[1:] or [ast.Pass()]


def _lambda(thing: Any) -> str:
    """Return all lambdas that begin on the same line, since `inspect` often returns an unparsable fragment there."""
    inner = inspect.unwrap(thing)
    lines, _ = inspect.findsource(inner)
    found = _lambdas("".join(lines)).get(inner.__code__.co_firstlineno)
    return "\n".join(found) if found else _tokens(inspect.getsource(inner))


@lru_cache(maxsize=8)
def _lambdas(source: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    try:
        tree = _parse(source)
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(ast.unparse(node))
    return found


def _tokens(source: str) -> str:
    """Return the tokens of a fragment without comments and line breaks; the text itself if it cannot be tokenized."""
    try:
        tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in _FORMATTING]
    except (tokenize.TokenError, SyntaxError):
        return source
    return " ".join(tokens)
