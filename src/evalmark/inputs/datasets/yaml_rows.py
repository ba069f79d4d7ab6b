"""Rows of YAML files: a list, or an object with a list."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.faults import PlacedError
from evalmark.inputs.documents.text import read_text, text_chunks

from .fields import typed_as_text
from .rows import Reading, Row
from .wrapper import LIST_KEYS, check_row, no_rows, open_wrapper

if TYPE_CHECKING:
    from evalmark.inputs.documents import strict_yaml
else:
    strict_yaml = LazyModule("evalmark.inputs.documents.strict_yaml")


def yaml_rows(reading: Reading) -> Iterator[Row]:
    """The rows of a YAML list, one by one; an object with a list is read whole."""
    is_text = typed_as_text(reading.options)
    chunks = text_chunks(reading.path, reading.options.encoding)
    for item in strict_yaml.yaml_items(chunks, reading.name, is_text=is_text, notes=reading.notes):
        if not item.in_list:
            break
        yield Row(item.line, 0, item.value)
    else:
        return
    if not isinstance(item.value, dict):
        raise PlacedError(f"{reading.name}:{item.line}", "a list of cases was expected: `- input: …`.")
    yield from _wrapped(reading)


def yaml_header(reading: Reading) -> None:
    """What a YAML file says beside its rows, into `reading.header`."""
    chunks = text_chunks(reading.path, reading.options.encoding)
    first = next(strict_yaml.yaml_items(chunks, reading.name, is_text=typed_as_text(reading.options)), None)
    if first is not None and not first.in_list and isinstance(first.value, dict):
        reading.header |= {name: value for name, value in first.value.items() if name not in LIST_KEYS}


def _wrapped(reading: Reading) -> Iterator[Row]:
    lines: dict[DataPath, int] = {}
    text = read_text(reading.path, reading.options.encoding)
    data: dict[str, Any] = strict_yaml.parse_yaml(
        text, reading.name, is_text=typed_as_text(reading.options), lines=lines
    )
    key = next((key for key in LIST_KEYS if isinstance(data.get(key), list)), None)
    if key is None:
        raise no_rows(reading, data)
    reading.header |= {name: value for name, value in data.items() if name != key}
    open_wrapper(reading)
    for number, value in enumerate(data[key]):
        row = Row(lines.get((key, number), 1), 0, value)
        yield row._replace(value=check_row(reading, row))
