"""The marker `evalmark` and its arguments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import pytest

from evalmark.core.case_titles import case_title
from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case
from evalmark.harness.evals.thresholds import UNSET, Threshold
from evalmark.inputs.datasets.options import BadRow

from .skips import node_name


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalMarker:
    """The arguments of `@pytest.mark.evalmark(...)`."""

    suite: str = ""
    """The dataset name of the cases; by default the file of the test."""
    data: Any = None
    """Cases, as `describe_eval` takes them: the test runs for each; None: the test is the case."""
    scorers: Sequence[Any] = ()
    """The scorers of the logged output, run at the end of the test."""
    repeat: int = 1
    threshold: Threshold = UNSET
    judge: Any = None


def read_marker(marker: pytest.Mark, place: str) -> EvalMarker:
    """Return the marker's arguments.

    Raises:
        ConfigError: one is unknown or invalid.
    """
    names = [f.name for f in fields(EvalMarker)]
    if marker.args:
        raise ConfigError(f"{place}: @pytest.mark.evalmark takes its arguments by name: {', '.join(names)}.")
    if unknown := sorted(set(marker.kwargs) - set(names)):
        raise ConfigError(
            f"{place}: @pytest.mark.evalmark has no argument {unknown[0]!r}; its arguments are {', '.join(names)}."
        )
    mark = EvalMarker(
        **{name: value for name, value in marker.kwargs.items() if value is not None or name == "threshold"}
    )
    if isinstance(mark.repeat, bool) or not isinstance(mark.repeat, int) or mark.repeat < 1:
        raise ConfigError(f"{place}: repeat has to be a whole number of at least 1; found {mark.repeat!r}.")
    return mark


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRow:
    """The row and repeat of one test of a marked test function."""

    row: Case | BadRow | None = None
    """None: the test is the case."""
    repeat: int = 0
    name: str = ""
    """The name of the row and the repeat in the id of the test."""


def marked_rows(rows: Sequence[Case | BadRow | None], repeats: int) -> list[MarkedRow]:
    """Return an entry for each row and repeat; a row that is not a case has one."""
    names = Counter[str]()
    labels = ["" if row is None else case_name(row, names) for row in rows]
    return [
        MarkedRow(row=row, repeat=repeat, name="-".join(filter(None, (label, str(repeat + 1) if repeats > 1 else ""))))
        for repeat in range(repeats)
        for row, label in zip(rows, labels, strict=True)
        if not (repeat and isinstance(row, BadRow))
    ]


def case_name(row: Case | BadRow, names: Counter[str]) -> str:
    """Return the name of a case: its id, or its input where the id is generated; numbered where two are equal."""
    if isinstance(row, BadRow):
        text = "data" if row.last else row.place.rpartition(": ")[2]
    else:
        text = case_title(row.id, row.input)
    first = name = node_name(text) or "case"
    while names[name]:
        names[first] += 1
        name = f"{first}-{names[first]}"
    names[name] += 1
    return name
