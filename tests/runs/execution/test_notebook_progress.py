"""Progress of `evaluate` in a notebook: shown there only, replaced in place, and removed at the end."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace

import pytest

from evalmark import evaluate, evaluate_async
from evalmark.runs.execution import notebook_progress


class Handle:
    def __init__(self, shown):
        self._shown = shown

    def update(self, page):
        self._shown.append(page)


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows; IPython itself is a stand-in with the three names that are used."""
    pages = []

    def display(page, *, display_id):
        assert display_id is True
        pages.append(page)
        return Handle(pages)

    ipython, displays = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    displays.HTML, displays.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    monkeypatch.setattr(notebook_progress, "_SECONDS", 0.0)
    return pages


CASES = [{"input": text, "expected": text.upper()} for text in "abcd"]


def test_a_notebook_shows_one_line_that_ends_empty(shown):
    evaluate(CASES, str.upper, ["equals"], store=None, name="<letters>")
    assert "&lt;letters&gt;" in shown[0]
    assert '<progress value="0" max="4">' in shown[0]
    assert "4 of 4 · 4 passed" in shown[-2]
    assert shown[-1] == ""


def test_it_works_inside_a_running_loop_in_both_ways(shown):
    async def cell():
        return evaluate(CASES, str.upper, ["equals"], store=None), await evaluate_async(
            CASES, str.upper, ["equals"], store=None
        )

    first, second = asyncio.run(cell())
    assert len(first.results) == len(second.results) == 4
    assert shown.count("") == 2


def test_the_line_is_removed_after_an_error(shown):
    with pytest.raises(Exception, match="no scorer"):
        evaluate(CASES, str.upper, ["no scorer of this name"], store=None)
    assert shown in ([], [""])


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["plain Python", "IPython in a terminal"])
def test_nothing_is_shown_elsewhere(shown, monkeypatch, shell):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    evaluate(CASES, str.upper, ["equals"], store=None)
    assert shown == []
