"""A text with YAML at its head, taken apart."""

import re
from pathlib import Path
from typing import NamedTuple

from evalmark.inputs.documents.document import DataPath, Document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_yaml import parse_yaml

from .input_values import json_preview

_FENCE = re.compile(r"---[ \t]*")
_OTHER = re.compile(r"(---[ \t]*[A-Za-z]\w*|\+\+\+|;;;)[ \t]*")
"""Heads in other languages. Some tools run the one that says `---js`."""
TEXTS = frozenset(
    (
        *("name", "description", "version", "content", "inputs", "sample", "testSamples", "testData", "scenarios"),
        *("instructions", "tags", "authors", "evaluators"),
    )
)
"""Keys below which a YAML word is typed only where no letter of it gets lost."""


class PromptParts(NamedTuple):
    """A prompt file's head, its body, and the line in which the body begins."""

    head: Document
    body: str
    line: int


def is_text(key: str) -> bool:
    """Whether words below this key stay text where they could lose a letter."""
    return key in TEXTS


def split_frontmatter(text: str, path: Path) -> PromptParts:
    """The head and the body of a text; without a line `---` at its top all of it is body.

    A head begins with a line of exactly three hyphens and ends with the next one: longer rules, and such lines further
    down, belong to the body.

    Raises:
        DataError: the head is in another language, is never closed, or is no YAML mapping.
    """
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if _OTHER.fullmatch(lines[first]):
        raise PlacedError(
            f"{path}:{first + 1}",
            f"a head that begins with {json_preview(lines[first].strip())} is not read; write YAML between two lines of ---.",
        )
    if not _FENCE.fullmatch(lines[first]):
        return PromptParts(Document(path=path, data={}), text, 1)
    last = next((number for number, line in enumerate(lines[first + 1 :], first + 1) if _FENCE.fullmatch(line)), None)
    if last is None:
        raise PlacedError(
            f"{path}:{first + 1}", "the head that begins here is never closed; end it with a line of ---."
        )
    return PromptParts(_head(lines[first + 1 : last], first + 1, path), "\n".join(lines[last + 1 :]), last + 2)


def _head(lines: list[str], above: int, path: Path) -> Document:
    notes: list[str] = []
    places: dict[DataPath, int] = {}
    # Blank lines in the place of those above keep the numbers of the lines as they are in the file.
    text = "\n" * above + "\n".join(lines)
    data = parse_yaml(text, str(path), is_text=is_text, notes=notes.append, lines=places)
    if data is not None and not isinstance(data, dict):
        raise PlacedError(
            f"{path}:{above + 1}", f"the head is {json_preview(data)}; it takes a mapping, such as `name: …`."
        )
    return Document(path=path, data=data or {}, lines=places, notes=tuple(notes))
