"""Where a test stands among the cases of a run, and what pytest is told of it."""

from pathlib import Path
from typing import Any

import pytest

from evalmark.evals import EvalCase
from evalmark.values import Case, Result

from .marked import Mark, read_mark

CASE = pytest.StashKey[EvalCase]()
"""The case of a marked test."""
VERDICT = pytest.StashKey[str]()
EXPECTED = pytest.StashKey[int]()
"""How many expectations a test has had so far."""
_WORST_FIRST = ("error", "fail", "unscored", "pass", "ungated")


def note(item: pytest.Item, result: Result) -> None:
    """Tell pytest's reports of the scores of a test, JUnit XML for one."""
    for score in result.scores:
        value = score.status if score.value is None else round(score.value, 6)
        item.user_properties.append((f"score.{score.name}", value))
    verdicts = (result.verdict, item.stash.get(VERDICT, "ungated"))
    item.stash[VERDICT] = min(verdicts, key=_WORST_FIRST.index)


def mark_of(item: pytest.Item) -> Mark:
    """What the marker of a test says; nothing where it has none.

    Raises:
        ConfigError: it says what nobody understands.
    """
    marker = item.get_closest_marker("evalmark")
    return Mark() if marker is None else read_mark(marker, item.nodeid)


def suite_of(item: pytest.Item) -> str:
    """What the cases of a test go by in the run."""
    return mark_of(item).suite or item.nodeid.partition("::")[0]


def case_of(item: pytest.Item) -> Case:
    """The row that a test is for, or the test itself as a case; the same for all repeats."""
    row, _ = _param(item)
    if isinstance(row, Case):
        return row
    name = getattr(item, "originalname", None) or item.name
    others = item.name.removeprefix(name) if mark_of(item).repeat == 1 else ""
    return Case(id=f"{name}{others}", place=_place(item))


def target_of(item: pytest.Item) -> str:
    """What a marked test is under test as: its name where it shares its rows with others, else nothing of its own.

    The tests of one suite are then one group of cases in every report.
    """
    return str(getattr(item, "originalname", item.name)) if isinstance(_param(item)[0], Case) else ""


def repeat_of(item: pytest.Item) -> int:
    """Which repeat a test is, from 0."""
    return _param(item)[1]


def _param(item: pytest.Item) -> tuple[Any, int]:
    callspec = getattr(item, "callspec", None)
    found: tuple[Any, int] = callspec.params.get("evalmark_case", (None, 0)) if callspec is not None else (None, 0)
    return found


def _place(item: pytest.Item) -> str:
    file, line, _ = item.location
    return f"{file}:{line + 1}" if line is not None else Path(file).name
