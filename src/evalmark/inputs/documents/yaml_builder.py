"""Build plain data from YAML events, without recursion, within size limits, and with the line of every value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentEndEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from evalmark.core.values.plain_data import MAX_DEPTH

from .errors import PlacedError, excerpt
from .json_walk import Path, json_path
from .text import MAX_ROW
from .yaml_scalar import AmbiguousWord, ScalarError, scalar_value

MAX_ALIASES = 100
"""The most aliases (`*name`) in one row, or in one document that is not a list."""
MAX_NODES = 1_000_000
"""The most values in one row with all aliases expanded."""

_MERGE = "<<"
_TAGS = {
    ScalarEvent: ("tag:yaml.org,2002:str", "!"),
    SequenceStartEvent: ("tag:yaml.org,2002:seq", "!"),
    MappingStartEvent: ("tag:yaml.org,2002:map", "!"),
}


@dataclass(slots=True)
class ExpandedSize:
    """The size of a value with all aliases expanded."""

    nodes: int = 0
    letters: int = 0


@dataclass(slots=True)
class _YamlFrame:
    """One open list or mapping."""

    value: Any
    line: int
    anchor: str | None
    before: ExpandedSize
    """The size counted when it opened."""
    as_text: bool
    key: str | int | None = None
    keys: dict[str, int] = field(default_factory=dict)
    """The line of every key."""
    merged: dict[str, Any] | None = None
    """The fields that a merge key (`<<`) brings, once there is one."""


class YamlBuilder:
    """Builds values from the events of a document."""

    def __init__(
        self,
        events: Iterator[Event],
        place: str,
        *,
        is_text: Callable[[str], bool],
        notes: Callable[[str], None],
    ) -> None:
        self.events = events
        self.lines: dict[Path, int] | None = None
        """If it is a dictionary, it is filled with the line of every value."""
        self._place = place
        self._is_text = is_text
        self._notes = notes
        self._noted: set[tuple[str, str]] = set()
        self._anchors: dict[str, tuple[Any, ExpandedSize]] = {}
        self._weight = ExpandedSize()
        self._aliases = 0
        self._stack: list[_YamlFrame] = []

    def build(self, event: Event) -> Any:
        """Build the whole value that starts with this event.

        Raises:
            DataError: something in it is refused.
        """
        self._weight, self._aliases = ExpandedSize(), 0
        self._stack = []
        while True:
            if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
                self._open(event)
            else:
                value = self._close() if isinstance(event, CollectionEndEvent) else self._leaf(event)
                if not self._stack:
                    return value
                self._attach(value, event)
            event = next(self.events)

    def fault(self, event: Event, message: str) -> PlacedError:
        """Make a fault at the place of an event."""
        column = event.start_mark.column + 1 if event.start_mark else 1
        return PlacedError(f"{self._place}:{line_of(event)}:{column}", message)

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        self._check_tag(event)
        if len(self._stack) >= MAX_DEPTH:
            raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels.")
        if self._stack and self._wants_key():
            raise self.fault(
                event, 'a list or mapping cannot be a key; write a text, and a template in quotes: "{{…}}".'
            )
        self._count(event, 1, 0)
        self._remember(event)
        is_mapping = isinstance(event, MappingStartEvent)
        self._stack.append(
            _YamlFrame(
                value={} if is_mapping else [],
                line=line_of(event),
                anchor=event.anchor,
                before=ExpandedSize(self._weight.nodes, self._weight.letters),
                as_text=self._in_text(),
                key=None if is_mapping else 0,
            )
        )

    def _close(self) -> Any:
        frame = self._stack.pop()
        if frame.merged is not None:
            frame.value = frame.merged | frame.value
        if frame.anchor is not None:
            now, before = self._weight, frame.before
            weight = ExpandedSize(now.nodes - before.nodes + 1, now.letters - before.letters)
            self._anchors[frame.anchor] = (frame.value, weight)
        return frame.value

    def _leaf(self, event: Event) -> Any:
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if not isinstance(event, ScalarEvent):
            raise self.fault(event, "a value was expected.")
        value = event.value if self._stack and self._wants_key() else self._scalar(event)
        self._count(event, 1, len(event.value))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, ExpandedSize(1, len(event.value)))
        self._remember(event)
        return value

    def _alias(self, event: AliasEvent) -> Any:
        name = event.anchor
        if any(frame.anchor == name for frame in self._stack):
            where = json_path(self._path())
            raise self.fault(event, f"*{name} at {where} refers to a value that contains it: a cycle.")
        if name not in self._anchors:
            raise self.fault(event, f"*{name} names nothing; there is no &{name} above.")
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise self.fault(event, f"more than {MAX_ALIASES} aliases (*{name}); write the values out.")
        value, weight = self._anchors[name]
        self._count(event, weight.nodes, weight.letters)
        if self._wants_key() and not isinstance(value, str):
            raise self.fault(event, f"*{name} is not a text, so it cannot be a key.")
        self._check_depth(event, value)
        return value

    def _check_depth(self, event: Event, value: Any) -> None:
        """Check the depth of an alias's value at its place."""
        levels, layer = len(self._stack), [value]
        while layer := [x for x in layer if isinstance(x, (dict, list))]:
            levels += 1
            if levels > MAX_DEPTH:
                raise self.fault(event, f"nested deeper than {MAX_DEPTH} levels.")
            layer = [item for x in layer for item in (x.values() if isinstance(x, dict) else x)]

    def _attach(self, value: Any, event: Event) -> None:
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
            frame.key = len(frame.value)
        elif frame.key is None:
            frame.key = self._new_key(frame, value, event)
        else:
            if frame.key == _MERGE and frame.merged is not None:
                frame.merged = self._merged(value, event)
            else:
                frame.value[frame.key] = value
            frame.key = None

    def _new_key(self, frame: _YamlFrame, key: str, event: Event) -> str:
        line = line_of(event)
        if key in frame.keys:
            raise self.fault(
                event,
                f"the key {excerpt(key)} occurs a second time; the first one is in line {frame.keys[key]}. Remove one of them.",
            )
        frame.keys[key] = line
        if key == _MERGE and isinstance(event, ScalarEvent) and not event.style:
            frame.merged = {}
        return key

    def _merged(self, value: Any, event: Event) -> dict[str, Any]:
        """Return the fields of a mapping, or of a list of mappings, of which the first one with a key counts."""
        fields: dict[str, Any] = {}
        for mapping in value if isinstance(value, list) else [value]:
            if not isinstance(mapping, dict):
                raise self.fault(event, "the value of a merge key (<<) must be a mapping, or a list of mappings.")
            fields |= {key: item for key, item in mapping.items() if key not in fields}
        return fields

    def _scalar(self, event: ScalarEvent) -> Any:
        self._check_tag(event)
        if event.style or event.tag is not None:
            return event.value
        try:
            value = scalar_value(event.value, self._in_text())
        except ScalarError as refused:
            raise self.fault(event, f"{refused} (at {json_path(self._path())}).") from None
        if isinstance(value, AmbiguousWord):
            self._note(event, value)
            return value.text
        return value

    def _note(self, event: Event, doubt: AmbiguousWord) -> None:
        """Note, once for each kind of word, that it stays text."""
        kind = (type(doubt.older).__name__, type(doubt.newer).__name__)
        if kind in self._noted:
            return
        self._noted.add(kind)
        others = [
            f"YAML {version} reads {value if isinstance(value, (bool, int, float)) else 'a date'}"
            for version, value in (("1.1", doubt.older), ("1.2", doubt.newer))
            if value != doubt.text
        ]
        self._notes(
            f"{self._place}:{line_of(event)}: {doubt.text} is kept as the text {doubt.text!r} "
            f"({' and '.join(others)}), and so are words like it; quotes make that plain."
        )

    def _check_tag(self, event: NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in _TAGS[type(event)]:
            raise self.fault(event, f"the tag {excerpt(tag)} is not supported; remove it (data is never code).")

    def _count(self, event: Event, nodes: int, letters: int) -> None:
        self._weight.nodes += nodes
        self._weight.letters += letters
        if self._weight.nodes > MAX_NODES:
            raise self.fault(event, f"more than {MAX_NODES:,} values, aliases written out; split the file.")
        if self._weight.letters > MAX_ROW:
            raise self.fault(event, f"more than {MAX_ROW >> 20} MiB of text, aliases written out; split the file.")

    def _wants_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _in_text(self) -> bool:
        """Tell whether the next value belongs to a field typed as text."""
        if not self._stack:
            return False
        frame = self._stack[-1]
        return frame.as_text or (isinstance(frame.key, str) and self._is_text(frame.key))

    def _path(self) -> Path:
        return tuple(frame.key for frame in self._stack if frame.key is not None)

    def _remember(self, event: Event) -> None:
        if self.lines is not None and not self._wants_key():
            self.lines.setdefault(self._path(), line_of(event))


def line_of(event: Event) -> int:
    """Return the line in which an event starts, from 1."""
    return int(event.start_mark.line) + 1 if event.start_mark else 1


def document_events(source: Any, place: str) -> Iterator[Event]:
    """Yield the events of the only document in a text or stream.

    Raises:
        DataError: the text is not valid YAML, or has several documents.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parsed = yaml.parse(source, Loader=loader)
    try:
        next(parsed)  # the stream starts
        if isinstance(next(parsed), StreamEndEvent):
            return
        for event in parsed:
            if isinstance(event, DocumentEndEvent):
                break
            yield event
        if not isinstance(more := next(parsed), StreamEndEvent):
            where = f"{place}:{line_of(more)}"
            raise PlacedError(where, "a second YAML document starts here; write one list in one document.")
    except yaml.YAMLError as error:
        raise yaml_fault(error, place) from None


def yaml_fault(error: yaml.YAMLError, place: str) -> PlacedError:
    """Convert an error of PyYAML to a fault with its place in the file."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return PlacedError(place, f"not valid YAML: {getattr(error, 'reason', None) or error}.")
    mark = error.problem_mark or error.context_mark
    where = place if mark is None else f"{place}:{mark.line + 1}:{mark.column + 1}"
    reason = " ".join(part for part in (error.problem, error.context) if part)
    advice = next((sentence for words, sentence in _ADVICE.items() if words in reason), "")
    return PlacedError(where, f"not valid YAML: {reason}.{advice}")


_ADVICE = {
    "mapping values are not allowed": " Check the indentation of this line and the one before, and put a text with a colon in quotes.",
    "found character that cannot start any token": " Indent with spaces, not with a tab, and put a text that begins with @, ` or % in quotes.",
    "did not find expected key": " Check the indentation of this line, and that its quotes are closed.",
    "did not find expected '-' indicator": " Check the indentation of this line.",
    "while parsing a flow": " Close the bracket or brace that is open.",
    "while scanning a quoted scalar": " Close the quote that is open.",
}
"""What to do, by words of the parser's reason."""
