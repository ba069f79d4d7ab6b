"""Strict YAML: one document of plain data, in which ambiguous words stay text."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from yaml.events import SequenceEndEvent, SequenceStartEvent

from .errors import PlacedError
from .json_walk import Path
from .yaml_builder import YamlBuilder, document_events, line_of


class YamlItem(NamedTuple):
    """One item of a YAML list, or the whole document if it is not a list."""

    line: int
    value: Any
    in_list: bool


def _no_text(key: str) -> bool:
    return False


def _silent(note: str) -> None:
    return None


_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML does not allow, not even in quotes."""


class TextStream:
    """A text stream for PyYAML, made from pieces of text."""

    def __init__(self, chunks: Iterator[str], place: str) -> None:
        self._chunks = chunks
        self._place = place
        self._line = 1

    def read(self, size: int) -> str:
        """Return the next piece, of any size; empty at the end."""
        piece = next((chunk for chunk in self._chunks if chunk), "")
        if bad := _FORBIDDEN.search(piece):
            line = self._line + piece.count("\n", 0, bad.start())
            letter = f"U+{ord(bad[0]):04X}"
            raise PlacedError(
                f"{self._place}:{line}", f"not valid YAML: the control character {letter} is not allowed."
            )
        self._line += piece.count("\n")
        return piece


def parse_yaml(
    text: str,
    place: str,
    *,
    is_text: Callable[[str], bool] = _no_text,
    notes: Callable[[str], None] = _silent,
    lines: dict[Path, int] | None = None,
) -> Any:
    """Parse a YAML text.

    Plain words get a type if YAML 1.1 and 1.2 agree on it (`true`, `null`, `12`, `0.5`). `no`, `1:30`, `010`, dates and
    `1e3` stay text.

    Args:
        text: the whole document.
        place: the name of the file, for messages.
        is_text: tells for a key whether words in its value get a type only if no character is lost.
        notes: called once for each kind of word that stays text.
        lines: filled with the line of every value, if given.

    >>> parse_yaml("a: no", "x.yaml")
    {'a': 'no'}

    Raises:
        DataError: invalid YAML, several documents, a duplicate key, a cycle, too many aliases, too deep nesting, a tag.
    """
    builder = YamlBuilder(document_events(TextStream(iter((text,)), place), place), place, is_text=is_text, notes=notes)
    builder.lines = lines
    first = next(builder.events, None)
    if first is None:
        return None
    value = builder.build(first)
    for _ in builder.events:  # reading to the end refuses a second document
        pass
    return value


def yaml_items(
    chunks: Iterator[str],
    place: str,
    *,
    is_text: Callable[[str], bool] = _no_text,
    notes: Callable[[str], None] = _silent,
) -> Iterator[YamlItem]:
    """Yield the items of a YAML list one by one; a document that is not a list is yielded whole.

    Raises:
        DataError: as `parse_yaml`; the rest of the file cannot be read.
    """
    builder = YamlBuilder(document_events(TextStream(chunks, place), place), place, is_text=is_text, notes=notes)
    first = next(builder.events, None)
    if first is None:
        return
    if not isinstance(first, SequenceStartEvent):
        yield YamlItem(line_of(first), builder.build(first), in_list=False)
    else:
        yield from _list(builder, first)
    for _ in builder.events:
        pass


def _list(builder: YamlBuilder, first: SequenceStartEvent) -> Iterator[YamlItem]:
    if first.anchor is not None:
        raise builder.fault(first, "the list itself has an anchor; leave it out.")
    for event in builder.events:
        if isinstance(event, SequenceEndEvent):
            return
        yield YamlItem(line_of(event), builder.build(event), in_list=True)
