"""Strict YAML: one document of plain data, in which words stay words."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from yaml.events import SequenceEndEvent, SequenceStartEvent

from .errors import PlacedError
from .json_walk import Path
from .yaml_builder import YamlBuilder, document_events, line_of


class YamlItem(NamedTuple):
    """One item of a YAML list, or the whole of a document that is no list."""

    line: int
    value: Any
    in_list: bool


def _no_text(key: str) -> bool:
    return False


def _silent(note: str) -> None:
    return None


_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML does not allow in a text, not even in quotes."""


class TextStream:
    """Pieces of text as the stream that PyYAML reads from."""

    def __init__(self, chunks: Iterator[str], place: str) -> None:
        self._chunks = chunks
        self._place = place
        self._line = 1

    def read(self, size: int) -> str:
        """The next piece, whatever its size; empty at the end."""
        piece = next((chunk for chunk in self._chunks if chunk), "")
        if bad := _FORBIDDEN.search(piece):
            line = self._line + piece.count("\n", 0, bad.start())
            letter = f"U+{ord(bad[0]):04X}"
            raise PlacedError(
                f"{self._place}:{line}", f"not valid YAML: the control character {letter} may not stand here."
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
    """The data of a YAML text.

    A word is typed where YAML 1.1 and 1.2 agree (`true`, `null`, `12`, `0.5`); `no`, `1:30`, `010`, dates
    and `1e3` stay text, which is said once in `notes`. Below a key for which `is_text` holds, a word
    is typed only if no letter of it gets lost. `lines`, if given, is filled with the line of every value.

    >>> parse_yaml("a: no", "x.yaml")
    {'a': 'no'}

    Raises:
        DataError: no YAML, several documents, a key twice, a circle, too many aliases, too deep a nest, a tag.
    """
    builder = YamlBuilder(document_events(TextStream(iter((text,)), place), place), place, is_text=is_text, notes=notes)
    builder.lines = lines
    first = next(builder.events, None)
    if first is None:
        return None
    value = builder.build(first)
    for _ in builder.events:  # a second document is refused on the way to the end
        pass
    return value


def yaml_items(
    chunks: Iterator[str],
    place: str,
    *,
    is_text: Callable[[str], bool] = _no_text,
    notes: Callable[[str], None] = _silent,
) -> Iterator[YamlItem]:
    """The items of a YAML list one by one, in memory for the longest; a document that is no list comes whole.

    Raises:
        DataError: as `parse_yaml`; nothing after the faulty place can be read.
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
