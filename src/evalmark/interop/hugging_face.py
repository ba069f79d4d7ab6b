"""Import a dataset of Hugging Face, from the hub or from a folder, as a file of cases.

The file is written once, with the revision that was read, so that runs are repeatable and fetch nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.lazy import need
from evalmark.core.text import count, one_line
from evalmark.inputs.datasets.parquet_rows import plain_value
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.serialization import json_line
from evalmark.interop.shared.import_result import ImportedPart, ImportResult
from evalmark.interop.shared.items import generated_row_id

T = TypeVar("T")
PREFIX = "hf:"
OPTIONS = ("split", "config", "revision", "limit", "input", "expected")
"""What may follow the name, as `?split=test&limit=100`."""
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "question_id", "task_id", "uid"),
    "input": (
        "input",
        "question",
        "prompt",
        "query",
        "instruction",
        "problem",
        "text",
        "sentence",
        "document",
        "messages",
    ),
    "expected": (
        *("expected", "expected_output", "reference", "target", "answer", "answers", "ground_truth", "solution"),
        *("completion", "response", "output", "summary", "highlights", "label"),
    ),
    "contexts": ("contexts", "context", "passages", "passage", "retrieved_contexts"),
}
"""For each field of a case, the names of columns that hold it; the first one found counts."""
_MEDIA = ("Image", "Audio", "Video", "Pdf")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    """A dataset, and which part of it is read."""

    name: str
    options: Mapping[str, str]

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return self.name.startswith((".", "/", "~"))

    @property
    def limit(self) -> int | None:
        text = self.options.get("limit")
        if text is not None and not (text.isdecimal() and 0 < int(text) < 1_000_000_000):
            raise ConfigError(f"{PREFIX}{self.name}: limit={text} is not a number of rows.")
        return None if text is None else int(text)


def import_hugging_face(path: Path) -> ImportResult:
    """Read a dataset row by row, without downloading the whole of it, and convert its rows to cases.

    Args:
        path: `hf:OWNER/NAME?split=test`, with further options of `OPTIONS`; `hf:./FOLDER` for a folder of this machine.

    Raises:
        ConfigError: the address is invalid, or a column that it names does not exist.
        DataError: the dataset cannot be read.
        MissingExtraError: `datasets` is not installed.
    """
    address = parse_address(str(path))
    dataset, revision = _loaded(address)
    features: Mapping[str, Any] = dataset.features or {}
    columns = _chosen(address, list(features) or list(next(iter(dataset), {})))
    names = {name: feature.names for name, feature in features.items() if hasattr(feature, "int2str")}
    media = [name for name, feature in features.items() if type(feature).__name__ in _MEDIA]
    try:
        rows = [*cases_of(islice(dataset, address.limit), columns, names, media)]
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise PlacedError(str(path), f"cannot be read: {one_line(str(error), 200)}.") from None
    if not rows:
        raise PlacedError(str(path), "has no rows.")
    return ImportResult(
        files={"cases.jsonl": "".join(map(json_line, rows))},
        parts=tuple(_parts(columns, list(features), names, media)),
        remarks=(
            f"{count(len(rows), 'case')}; name the file in a suite: `datasets: [cases.jsonl]`.",
            *([f"Read at revision {revision}."] if revision else []),
        ),
    )


def parse_address(text: str) -> _Address:
    """Read an address.

    >>> parse_address("hf:owner/name?split=test&limit=10").options
    {'split': 'test', 'limit': '10'}

    Raises:
        ConfigError: it is not one.
    """
    name, _, query = text.removeprefix(PREFIX).partition("?")
    if not text.startswith(PREFIX) or not name.strip("/. "):
        raise ConfigError(f"{text}: write {PREFIX}OWNER/NAME?split=test, or {PREFIX}./FOLDER.")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for key, value in options.items():
        if key not in OPTIONS or not value:
            raise ConfigError(f"{text}: {key}={value} is no option; those are {', '.join(OPTIONS)}, each with a value.")
    return _Address(name=name, options=options)


def _loaded(address: _Address) -> tuple[Any, str]:
    """Open the dataset for streaming; return it with its revision, which is empty for a folder. No code of the dataset runs."""
    library, hub = need("datasets", "hf"), need("huggingface_hub", "hf")
    config, revision = address.options.get("config"), address.options.get("revision")
    place = f"{PREFIX}{address.name}"
    if not address.is_local:
        revision = str(_opened(place, lambda: hub.HfApi().dataset_info(address.name, revision=revision)).sha or "")
    if (split := address.options.get("split")) is None:
        splits = _opened(place, lambda: library.get_dataset_split_names(address.name, config, revision=revision))
        if len(splits) != 1:
            raise ConfigError(f"{place}: has the splits {', '.join(splits)}; name one, such as ?split={splits[-1]}.")
        split = splits[0]
    options = {"split": split, "revision": revision, "streaming": True}
    return _opened(place, lambda: library.load_dataset(address.name, config, **options)), revision or ""


def _opened(place: str, open_it: Callable[[], T]) -> T:
    try:
        return open_it()
    except Exception as error:  # noqa: BLE001  the library raises errors of many kinds, those of its connections too
        raise DataError(f"{place}: cannot be opened: {type(error).__name__}: {one_line(str(error), 300)}") from None


def _chosen(address: _Address, names: list[str]) -> dict[str, str]:
    """Return the column of each field of a case."""
    columns: dict[str, str] = {}
    for field, known in _COLUMNS.items():
        column = address.options.get(field) if field in ("input", "expected") else None
        if column is not None and column not in names:
            raise ConfigError(f"{PREFIX}{address.name}: has no column {column!r}; its columns are {', '.join(names)}.")
        column = column or next((name for name in known if name in names and name not in columns.values()), None)
        if column is not None:
            columns[field] = column
    if "input" not in columns:
        raise ConfigError(
            f"{PREFIX}{address.name}: none of its columns is known to be the input: {', '.join(names)}. "
            "Name it: ?input=COLUMN"
        )
    return columns


def cases_of(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str], names: Mapping[str, list[str]], media: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Convert rows to rows of a file of cases.

    Args:
        rows: the rows, by column.
        columns: the column of each field of a case.
        names: the names of the classes of columns whose values are their numbers.
        media: columns with images and the like, which are left out.
    """
    left_out = {*media}
    for number, row in enumerate(rows):
        data = {
            key: names[key][value] if key in names and type(value) is int and 0 <= value < len(names[key]) else value
            for key, value in row.items()
            if key not in left_out
        }
        data = {key: plain_value(value) for key, value in data.items()}
        case = {field: data.pop(column, None) for field, column in columns.items()}
        yield _case(case, data, number)


def _case(case: dict[str, Any], others: dict[str, Any], number: int) -> dict[str, Any]:
    if "messages" in others or _is_chat(case["input"]):
        case = _from_chat(case)
    if isinstance(answers := case.get("expected"), dict) and isinstance(answers.get("text"), list):  # as SQuAD has them
        case["expected"] = answers["text"][0] if answers["text"] else None
    if isinstance(contexts := case.get("contexts"), str):
        case["contexts"] = [contexts]
    elif contexts is not None and not (isinstance(contexts, list) and all(isinstance(item, str) for item in contexts)):
        others["context"] = case.pop("contexts")
    identity = case.pop("id", None)
    row = {
        "id": str(identity) if identity not in (None, "") else generated_row_id({"row": number, "input": case["input"]})
    }
    row |= {key: value for key, value in case.items() if value is not None}
    return row | ({"metadata": others} if others else {})


def _is_chat(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(turn, dict) and "role" in turn for turn in value)


def _from_chat(case: dict[str, Any]) -> dict[str, Any]:
    """Divide a conversation: its last reply is expected, the question before it is the input, the rest its history."""
    turns = [{"role": str(turn["role"]), "content": turn.get("content")} for turn in case["input"]]
    if turns[-1]["role"] == "assistant" and case.get("expected") is None:
        case = {**case, "expected": turns.pop()["content"]}
    if not turns:
        return case
    return {**case, "input": turns[-1]["content"], "history": turns[:-1] or None}


def _parts(
    columns: Mapping[str, str], every: list[str], names: Mapping[str, list[str]], media: list[str]
) -> Iterator[ImportedPart]:
    fields = {column: field for field, column in columns.items()}
    for name in every:
        if name in media:
            yield ImportedPart(
                name=name, outcome="left out", to="images, sounds and the like cannot be in a file of cases"
            )
        elif name in names:
            to = f"{fields.get(name, 'metadata')}; the names of its classes instead of their numbers"
            yield ImportedPart(name=name, outcome="changed", to=to)
        else:
            yield ImportedPart(name=name, outcome="kept", to=fields.get(name, "in the metadata of its case"))
