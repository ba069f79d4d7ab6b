"""Read rows of Parquet and Arrow files."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file

from .csv_rows import check_columns
from .rows import DatasetFile, DatasetRow

_BATCH = 256
"""The number of rows converted at once."""
_ARROW_FILE = b"ARROW1"
"""The beginning of the file format; the stream format has none."""


def parquet_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a Parquet file, read in batches; NaN becomes a missing value, since pandas writes it for one."""
    parquet = need("pyarrow.parquet", "parquet")
    with (
        _faults(source, "Parquet"),
        open_file(source.path) as opened,
        parquet.ParquetFile(opened, pre_buffer=False) as file,
    ):
        check_columns(source, file.schema_arrow.names)
        yield from _rows(file.iter_batches(batch_size=_BATCH, use_threads=False), source)


def arrow_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of an Arrow file, in the stream or the file format, as `datasets` and Feather write them."""
    ipc = need("pyarrow.ipc", "parquet")
    with _faults(source, "Arrow"), open_file(source.path) as opened:
        is_file = opened.read(len(_ARROW_FILE)) == _ARROW_FILE
        opened.seek(0)
        with (ipc.open_file if is_file else ipc.open_stream)(opened) as file:
            check_columns(source, file.schema.names)
            batches = map(file.get_batch, range(file.num_record_batches)) if is_file else file
            yield from _rows((part for batch in batches for part in _parts(batch)), source)


def _parts(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, _BATCH):
        yield batch.slice(start, _BATCH)


def _rows(batches: Iterable[Any], source: DatasetFile) -> Iterator[DatasetRow]:
    source.unit = "row "
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield DatasetRow(number, 0, _row(row, source, number))


@contextmanager
def _faults(source: DatasetFile, kind: str) -> Iterator[None]:
    try:
        yield
    except (need("pyarrow", "parquet").ArrowException, OSError, ValueError) as error:
        first = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise PlacedError(source.name, f"cannot be read as {kind}: {first}.") from None


def _row(row: dict[str, Any], source: DatasetFile, number: int) -> Any:
    try:
        return {key: plain_value(value, 1) for key, value in row.items()}
    except ValueError as fault:
        return PlacedError(source.place(number), f"{fault}.")


def plain_value(value: Any, depth: int = 1) -> Any:
    """Convert a value to JSON data; dates, decimals and the like become text, NaN becomes None.

    Raises:
        ValueError: it is nested too deeply, is infinite, or holds bytes that are no UTF-8.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {str(key): plain_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item, depth + 1) for item in value]
    return str(value)


def _number(value: float) -> float | None:
    if math.isinf(value):
        raise ValueError("an infinite number cannot be stored")
    return None if math.isnan(value) else value
