"""Each public name says what it does; functions also describe every argument and their result, and show an example."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, is_typeddict

import pytest

from .conftest import ROOT

PACKAGE = ROOT / "src" / "evalmark"
FILES = [PACKAGE / "__init__.py", *sorted(PACKAGE.glob("*.py")), *sorted(PACKAGE.glob("*/__init__.py"))]
MADE_BY_EVALMARK = {"CaseUnderTest", "OpenSession", "OpenSpan", "Store", "TestMemory", "Token", "UnitTestSession"}
"""Classes that users get and do not construct."""


def names() -> Iterator[Any]:
    """Every public function and class, once."""
    given = set()
    for file in FILES:
        if file.parent.name != "cli" and re.search(r"^__all__\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
            module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
            for name in module.__all__:
                found = getattr(module, name)
                if id(found) not in given and (inspect.isfunction(found) or inspect.isclass(found)):
                    given.add(id(found))
                    yield pytest.param(found, id=f"{module.__name__}.{name}")


NAMES = list(names())
FUNCTIONS = [one for one in NAMES if inspect.isfunction(one.values[0])]
CONSTRUCTED = [
    one
    for one in NAMES
    if inspect.isclass(one.values[0])
    and not issubclass(one.values[0], BaseException)
    and not dataclasses.is_dataclass(one.values[0])
    and not is_typeddict(one.values[0])
    and one.values[0].__name__ not in MADE_BY_EVALMARK
]


def section(docstring: str, title: str) -> str:
    """The text below a heading of a docstring, up to the next part."""
    found = re.search(rf"^{title}:\n((?:[ \t]+.*\n?|\n)+)", docstring, re.MULTILINE)
    return found[1] if found else ""


def test_there_are_public_names_to_look_at():
    assert len(FUNCTIONS) > 50
    assert len(CONSTRUCTED) > 5


@pytest.mark.parametrize("found", NAMES)
def test_a_name_is_described_in_a_sentence(found: Any):
    docstring = found.__doc__ or ""
    assert re.match(r"[A-Z`].{15,}", docstring.strip().partition("\n")[0]), docstring
    assert not docstring.startswith(f"{found.__name__}("), "a dataclass without a docstring"


@pytest.mark.parametrize("found", FUNCTIONS + CONSTRUCTED)
def test_every_argument_is_described(found: Any):
    arguments = [name.lstrip("*") for name in inspect.signature(found).parameters if name != "self"]
    described = section(inspect.getdoc(found) or "", "Args")
    assert [name for name in arguments if not re.search(rf"^\s+\*{{0,2}}{name}\b", described, re.MULTILINE)] == []


@pytest.mark.parametrize("found", FUNCTIONS)
def test_the_result_is_described(found: Any):
    if found.__annotations__.get("return") not in (None, "None"):
        docstring = inspect.getdoc(found) or ""
        assert section(docstring, "Returns") or section(docstring, "Yields")


@pytest.mark.parametrize("found", FUNCTIONS + CONSTRUCTED)
def test_there_is_an_example(found: Any):
    docstring = inspect.getdoc(found) or ""
    assert ">>> " in docstring or section(docstring, "Example")
