"""A look at the top of a file, without reading its rows."""

from pathlib import Path

from yaml.events import CollectionEndEvent, CollectionStartEvent, MappingStartEvent, ScalarEvent

from .faults import PlacedError
from .json_stream import JsonStream
from .strict_yaml import TextStream
from .text import text_chunks
from .yaml_build import document_events


def has_key(path: Path, key: str) -> bool:
    """Whether a JSON or YAML file is a mapping with this key at its top.

    The answer is no for a list, for text that cannot be read that far, and for one JSON object a line:
    what is wrong with a file is for its reader to say.
    """
    try:
        return _json_has(path, key) if path.suffix.lower() == ".json" else _yaml_has(path, key)
    except PlacedError:
        return False


def _json_has(path: Path, key: str) -> bool:
    stream = JsonStream(text_chunks(path), str(path))
    for found in stream.members():
        if found == key:
            return True
        if stream.peek() == "[":
            for _ in stream.items():
                pass
        else:
            stream.value()
    return False


def _yaml_has(path: Path, key: str) -> bool:
    place = str(path)
    events = document_events(TextStream(text_chunks(path), place), place)
    if not isinstance(next(events, None), MappingStartEvent):
        return False
    depth, is_key = 0, True
    for event in events:
        if depth == 0 and is_key and isinstance(event, ScalarEvent) and event.value == key:
            return True
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        is_key = is_key != (depth == 0)
    return False
