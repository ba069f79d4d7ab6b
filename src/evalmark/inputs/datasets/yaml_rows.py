"""Read rows of YAML files: a list, or an object with a list."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.text import read_text, text_chunks

from .fields import typed_as_text
from .rows import DatasetFile, DatasetRow
from .wrapper import LIST_KEYS, check_row, no_rows_error, open_wrapper

if TYPE_CHECKING:
    from evalmark.inputs.documents import strict_yaml
else:
    strict_yaml = LazyModule("evalmark.inputs.documents.strict_yaml")


def yaml_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a YAML list one by one; an object with a list is read whole."""
    is_text = typed_as_text(source.options)
    chunks = text_chunks(source.path, source.options.encoding)
    for item in strict_yaml.yaml_items(chunks, source.name, is_text=is_text, notes=source.notes):
        if not item.in_list:
            break
        yield DatasetRow(item.line, 0, item.value)
    else:
        return
    if not isinstance(item.value, dict):
        raise PlacedError(f"{source.name}:{item.line}", "a list of cases was expected: `- input: …`.")
    yield from _wrapped(source)


def yaml_header(source: DatasetFile) -> None:
    """Read the header of a YAML file into `source.header`."""
    chunks = text_chunks(source.path, source.options.encoding)
    first = next(strict_yaml.yaml_items(chunks, source.name, is_text=typed_as_text(source.options)), None)
    if first is not None and not first.in_list and isinstance(first.value, dict):
        source.header |= {name: value for name, value in first.value.items() if name not in LIST_KEYS}


def _wrapped(source: DatasetFile) -> Iterator[DatasetRow]:
    lines: dict[DataPath, int] = {}
    text = read_text(source.path, source.options.encoding)
    data: dict[str, Any] = strict_yaml.parse_yaml(text, source.name, is_text=typed_as_text(source.options), lines=lines)
    key = next((key for key in LIST_KEYS if isinstance(data.get(key), list)), None)
    if key is None:
        raise no_rows_error(source, data)
    source.header |= {name: value for name, value in data.items() if name != key}
    open_wrapper(source)
    for number, value in enumerate(data[key]):
        row = DatasetRow(lines.get((key, number), 1), 0, value)
        yield row._replace(value=check_row(source, row))
