"""Small JSON and YAML files, read whole, with the line of every value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule

from .errors import PlacedError
from .json_walk import walk_json
from .strict_json import parse_json
from .text import read_text

if TYPE_CHECKING:
    from evalmark.inputs.documents import strict_yaml
else:
    strict_yaml = LazyModule("evalmark.inputs.documents.strict_yaml")

DataPath = tuple[str | int, ...]
"""The keys and positions that lead to a value, from the top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The data of a JSON or YAML file, with the line of every value."""

    path: Path
    data: Any
    lines: Mapping[DataPath, int] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    """Remarks for the user, one sentence each: words that were read as text."""

    def place_of(self, where: DataPath = ()) -> str:
        """Return `file:line` of the value at a path, or of its nearest parent with a known line."""
        while where and where not in self.lines:
            where = where[:-1]
        return f"{self.path}:{self.lines.get(where, 1)}"


def load_document(path: Path, is_text: Callable[[str], bool] = lambda key: False) -> Document:
    """Read a `.json` file as JSON, and any other as YAML.

    Args:
        path: the file.
        is_text: tells for a key whether the words in its value stay text, whatever they look like.

    Raises:
        DataError: the file cannot be opened, decoded or parsed, or is larger than 32 MiB.
    """
    return document_of(read_text(path), path, is_text)


def document_of(text: str, path: Path, is_text: Callable[[str], bool] = lambda key: False) -> Document:
    """Parse the text of the file `path`.

    Raises:
        DataError: the text cannot be parsed.
    """
    place = str(path)
    if not text.strip():
        raise PlacedError(place, "is empty.")
    if path.name.lower().removesuffix(".gz").endswith(".json"):
        return Document(path=path, data=parse_json(text, place), lines=_json_lines(text))
    notes: list[str] = []
    lines: dict[DataPath, int] = {}
    data = strict_yaml.parse_yaml(text, place, is_text=is_text, notes=notes.append, lines=lines)
    return Document(path=path, data=data, lines=lines, notes=tuple(notes))


def _json_lines(text: str) -> dict[DataPath, int]:
    lines: dict[DataPath, int] = {}
    line, counted = 1, 0
    for step in walk_json(text):
        line, counted = line + text.count("\n", counted, step.offset), step.offset
        lines.setdefault(step.path, line)
    return lines
