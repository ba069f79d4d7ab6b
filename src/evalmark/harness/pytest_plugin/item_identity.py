"""The case, suite, target and repeat of a test."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.core.values.case import Case
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score
from evalmark.harness.evals.eval_case import TEST, EvalCase
from evalmark.harness.evals.failure import limit_of
from evalmark.inputs.datasets.options import BadRow
from evalmark.reports.text.numbers import value_beside

from .marker import EvalMarker, MarkedRow, read_marker

CASE = pytest.StashKey[EvalCase]()
"""The case of a marked test."""
VERDICT = pytest.StashKey[str]()
SHOWN_SCORES = pytest.StashKey[list[str]]()
"""The scores of a test, each with its name."""
EXPECTED = pytest.StashKey[int]()
"""The number of expectations in a test so far."""
IDENTIFIED_CASE = pytest.StashKey[Case]()
"""The case of a marked test, with an id that is unique in its suite."""
_WORST_FIRST = ("error", "fail", "unscored", "pass", "ungated")


def record_scores(item: pytest.Item, result: Result, metrics: Iterable[Metric]) -> None:
    """Add the scores of a test to pytest's reports, such as JUnit XML, and to the line of its verdict."""
    by_name = {metric.name: metric for metric in metrics}
    for score in result.scores:
        value = score.status if score.value is None else round(score.value, 6)
        item.user_properties.append((f"score.{score.name}", value))
        if score.name != TEST and value != "skipped":
            item.stash.setdefault(SHOWN_SCORES, []).append(f"{score.name} {_shown(score, by_name.get(score.name))}")
    verdicts = (result.verdict, item.stash.get(VERDICT, "ungated"))
    item.stash[VERDICT] = min(verdicts, key=_WORST_FIRST.index)


def _shown(score: Score, metric: Metric | None) -> str:
    limit = None if score.passed is None else limit_of(score, metric)
    return score.status if score.value is None else value_beside(score.value, limit)


def marker_of(item: pytest.Item) -> EvalMarker:
    """Return the arguments of a test's marker; the defaults where it has none.

    Raises:
        ConfigError: an argument is unknown or invalid.
    """
    marker = item.get_closest_marker("evalmark")
    return EvalMarker() if marker is None else read_marker(marker, item.nodeid)


def suite_of(item: pytest.Item) -> str:
    """Return the dataset name of a test's cases."""
    return marker_of(item).suite or item.nodeid.partition("::")[0]


def case_of(item: pytest.Item) -> Case:
    """Return the row of a test, or the test itself as a case; the same for all repeats."""
    if IDENTIFIED_CASE in item.stash:
        return item.stash[IDENTIFIED_CASE]
    row, others = row_of(item).row, _others(item)
    if isinstance(row, Case):
        return replace(row, id=f"{row.id}{others}")
    if isinstance(row, BadRow):
        return Case(id=f"{row_of(item).name}{others}", place=row.place)
    return Case(id=f"{owner_of(item).partition('::')[2]}{others}", place=_place(item))


def row_of(item: pytest.Item) -> MarkedRow:
    """Return the row and repeat of a test."""
    callspec = getattr(item, "callspec", None)
    row = None if callspec is None else callspec.params.get("evalmark_case")
    return row if isinstance(row, MarkedRow) else MarkedRow()


def target_of(item: pytest.Item) -> str:
    """Return the target of a marked test: its name where it has rows, else an empty text.

    The tests of one suite are then one group of cases in every report.
    """
    return "" if row_of(item).row is None else _function(item)


def owner_of(item: pytest.Item) -> str:
    """Return the function of a test, with class and file, as pytest writes it."""
    return item.nodeid.removesuffix(item.name) + _function(item)


def _function(item: pytest.Item) -> str:
    return str(getattr(item, "originalname", None) or item.name)


def _others(item: pytest.Item) -> str:
    """Return the test's other parameters, in brackets; pytest puts ours last."""
    name = row_of(item).name
    rest = item.name.removeprefix(_function(item)).removeprefix("[").removesuffix("]")
    if name:
        rest = "" if rest == name else rest.removesuffix(f"-{name}")
    return f"[{rest}]" if rest else ""


def _place(item: pytest.Item) -> str:
    file, line, _ = item.location
    return f"{file}:{line + 1}" if line is not None else Path(file).name
