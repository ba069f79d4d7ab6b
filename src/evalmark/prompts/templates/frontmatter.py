"""Splits a file into its YAML front matter and its body."""

import re
from pathlib import Path
from typing import NamedTuple

from evalmark.inputs.documents.document import DataPath, Document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.findings import json_excerpt
from evalmark.inputs.documents.strict_yaml import parse_yaml

_FENCE = re.compile(r"---[ \t]*")
_OTHER = re.compile(r"(---[ \t]*[A-Za-z]\w*|\+\+\+|;;;)[ \t]*")
"""Front matter in other languages. Some tools execute `---js`."""
TEXTS = frozenset(
    (
        *("name", "description", "version", "content", "inputs", "sample", "testSamples", "testData", "scenarios"),
        *("instructions", "tags", "authors", "evaluators"),
    )
)
"""Keys whose values stay texts if YAML would change a character of them."""


class PromptParts(NamedTuple):
    """The front matter of a prompt file, its body, and the first line of the body."""

    frontmatter: Document
    body: str
    line: int


def is_text(key: str) -> bool:
    """Return whether values below this key stay text."""
    return key in TEXTS


def split_frontmatter(text: str, path: Path) -> PromptParts:
    """Split a text into front matter and body; without a line `---` at the top, all of it is body.

    Front matter starts with a line of exactly three hyphens and ends with the next one. Longer rules, and such lines
    further down, belong to the body.

    Raises:
        DataError: The front matter is in another language, is never closed, or is not a YAML mapping.
    """
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if _OTHER.fullmatch(lines[first]):
        raise PlacedError(
            f"{path}:{first + 1}",
            f"front matter that begins with {json_excerpt(lines[first].strip())} is not read; write YAML between two lines of ---.",
        )
    if not _FENCE.fullmatch(lines[first]):
        return PromptParts(Document(path=path, data={}), text, 1)
    last = next((number for number, line in enumerate(lines[first + 1 :], first + 1) if _FENCE.fullmatch(line)), None)
    if last is None:
        raise PlacedError(
            f"{path}:{first + 1}", "the front matter that begins here is never closed; end it with a line of ---."
        )
    return PromptParts(_frontmatter(lines[first + 1 : last], first + 1, path), "\n".join(lines[last + 1 :]), last + 2)


def _frontmatter(lines: list[str], above: int, path: Path) -> Document:
    notes: list[str] = []
    places: dict[DataPath, int] = {}
    # Blank lines in place of the lines above keep the line numbers of the file.
    text = "\n" * above + "\n".join(lines)
    data = parse_yaml(text, str(path), is_text=is_text, notes=notes.append, lines=places)
    if data is not None and not isinstance(data, dict):
        raise PlacedError(
            f"{path}:{above + 1}", f"the front matter is {json_excerpt(data)}; it takes a mapping, such as `name: …`."
        )
    return Document(path=path, data=data or {}, lines=places, notes=tuple(notes))
