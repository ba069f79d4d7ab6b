"""Read the top-level keys of a file without its rows."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from yaml.events import CollectionEndEvent, CollectionStartEvent, MappingStartEvent, ScalarEvent

from .errors import PlacedError
from .json_stream import JsonStream
from .strict_yaml import TextStream
from .text import text_chunks
from .yaml_builder import document_events


def top_keys(path: Path) -> Iterator[str]:
    """Yield the top-level keys of a JSON or YAML mapping, in order, as far as the file can be read.

    A list has none; for JSON lines, the keys of the first object are yielded. Faults are ignored, since the reader of
    the file reports them.
    """
    with contextlib.suppress(PlacedError):
        yield from _json_keys(path) if path.suffix.lower() == ".json" else _yaml_keys(path)


def _json_keys(path: Path) -> Iterator[str]:
    stream = JsonStream(text_chunks(path), str(path))
    for key in stream.members():
        yield key
        if stream.peek() == "[":
            for _ in stream.items():
                pass
        else:
            stream.value()


def _yaml_keys(path: Path) -> Iterator[str]:
    place = str(path)
    events = document_events(TextStream(text_chunks(path), place), place)
    if not isinstance(next(events, None), MappingStartEvent):
        return
    depth, is_key = 0, True
    for event in events:
        if depth == 0 and is_key and isinstance(event, ScalarEvent):
            yield event.value
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        is_key = is_key != (depth == 0)
