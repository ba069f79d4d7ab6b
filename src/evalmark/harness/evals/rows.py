"""Reads the rows of an eval from its `data`; an error becomes a row that reports it."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.sync import run_sync
from evalmark.core.text import count, one_line
from evalmark.core.values.case import Case
from evalmark.inputs.datasets.case_builder import iter_cases
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
from evalmark.runs.engine.trial import describe_error

RowLike = Case | Mapping[str, Any] | str
Data = str | PathLike[str] | Iterable[RowLike] | AsyncIterator[RowLike] | Callable[[], Any]
"""A list, an iterator, the path of a dataset, or a sync or async function that gives one of these."""


def read_rows(data: Data, place: str) -> list[Case | BadRow]:
    """Return all rows; where reading fails, the rows before and a last one with the error. Never empty.

    A row that is not a case, or that repeats the id of an earlier one, is a `BadRow`.
    """
    rows: list[Case | BadRow] = []
    try:
        for row in _rows(data, place):
            rows.append(row)
    except EvalmarkError as error:
        rows.append(BadRow(place=place, message=str(error), last=True))
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code: the eval's data
        rows.append(
            BadRow(
                place=place,
                message=f"its data ended with an error after {count(len(rows), 'case')}: {describe_error(error)}",
                last=True,
            )
        )
    return rows or [BadRow(place=place, message="its data is empty; an eval needs at least one case.", last=True)]


def _rows(data: Any, place: str) -> Iterator[Case | BadRow]:
    if callable(data):
        data = data()
    if inspect.isawaitable(data):
        data = run_sync(_wait_for(data))
    if isinstance(data, (str, PathLike)):
        yield from read_cases(Path(data))
        return
    if isinstance(data, AsyncIterator):
        items, error = run_sync(_collect(data))
        yield from iter_cases(items, place)
        if error is not None:
            raise error
        return
    if not isinstance(data, Iterable) or isinstance(data, Mapping):
        raise ConfigError(
            f"{place}: its data is {one_line(repr(data), 60)}, which is not a list of cases; put the cases into a list."
        )
    yield from iter_cases(data, place)


async def _wait_for(data: Any) -> Any:
    return await data


async def _collect(data: AsyncIterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Return the items of an asynchronous iterator, and the exception that ended it."""
    items: list[Any] = []
    try:
        async for item in data:
            items.append(item)
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code: the eval's data
        return items, error
    return items, None
