"""Reads the rows of an eval from its `data`; a fault becomes a row that reports it."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.sync import run_sync
from evalmark.core.text import count, one_line
from evalmark.core.values.case import Case
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import iter_cases, read_cases
from evalmark.runs.engine.trial import describe_error

RowLike = Case | Mapping[str, Any] | str
Data = str | PathLike[str] | Iterable[RowLike] | AsyncIterator[RowLike] | Callable[[], Any]
"""A list, an iterator, the path of a dataset, or a sync or async function that gives one of these."""


def read_rows(data: Data, place: str) -> list[Case | BadRow]:
    """Return all rows; where reading fails, the rows before and a last one that says why. Never empty.

    A row that cannot be a case, and one whose id an earlier one has, is a `BadRow` in its place.
    """
    rows: list[Case | BadRow] = []
    try:
        for row in _rows(data, place):
            rows.append(row)
    except EvalmarkError as fault:
        rows.append(BadRow(place=place, message=str(fault), last=True))
    except (Exception, SystemExit) as fault:  # noqa: BLE001  foreign code: the eval's data
        rows.append(
            BadRow(
                place=place,
                message=f"its data broke off after {count(len(rows), 'case')}: {describe_error(fault)}",
                last=True,
            )
        )
    return rows or [BadRow(place=place, message="its data is empty; an eval without cases shows nothing.", last=True)]


def _rows(data: Any, place: str) -> Iterator[Case | BadRow]:
    if callable(data):
        data = data()
    if inspect.isawaitable(data):
        data = run_sync(_awaited(data))
    if isinstance(data, (str, PathLike)):
        yield from read_cases(Path(data))
        return
    if isinstance(data, AsyncIterator):
        found, fault = run_sync(_gathered(data))
        yield from iter_cases(found, place)
        if fault is not None:
            raise fault
        return
    if not isinstance(data, Iterable) or isinstance(data, Mapping):
        raise ConfigError(
            f"{place}: its data is {one_line(repr(data), 60)}, which is no list of cases; put them into one."
        )
    yield from iter_cases(data, place)


async def _awaited(data: Any) -> Any:
    return await data


async def _gathered(data: AsyncIterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Return the items of an asynchronous iterator, and the exception that ended it."""
    found: list[Any] = []
    try:
        async for item in data:
            found.append(item)
    except (Exception, SystemExit) as fault:  # noqa: BLE001  foreign code: the eval's data
        return found, fault
    return found, None
