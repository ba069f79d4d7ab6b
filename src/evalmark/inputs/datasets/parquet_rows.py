"""Read rows of Parquet files."""

import math
from collections.abc import Iterator
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file

from .csv_rows import check_columns
from .rows import DatasetFile, DatasetRow

_BATCH = 256
"""The number of rows converted at once."""


def parquet_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a Parquet file, read in batches; NaN becomes a missing value, since pandas writes it for one."""
    source.unit = "row "
    parquet = need("pyarrow.parquet", "parquet")
    arrow = need("pyarrow", "parquet")
    number = 0
    try:
        with open_file(source.path) as opened, parquet.ParquetFile(opened, pre_buffer=False) as file:
            check_columns(source, file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield DatasetRow(number, 0, _row(row, source, number))
    except (arrow.ArrowException, OSError, ValueError) as error:
        first = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise PlacedError(source.name, f"cannot be read as Parquet: {first}.") from None


def _row(row: dict[str, Any], source: DatasetFile, number: int) -> Any:
    try:
        return {key: _plain(value, 1) for key, value in row.items()}
    except ValueError as fault:
        return PlacedError(source.place(number), f"{fault}.")


def _plain(value: Any, depth: int) -> Any:
    """Convert a value to JSON data; dates, decimals and the like become text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return str(value)


def _number(value: float) -> float | None:
    if math.isinf(value):
        raise ValueError("an infinite number cannot be stored")
    return None if math.isnan(value) else value
