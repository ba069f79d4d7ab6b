"""How two outputs differ: word by word, key by key, or too much to mark single words."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from rapidfuzz.distance import LCSseq

from evalmark.core.text import one_line
from evalmark.core.values.plain_data import canonical, plain

from .word_changes import TextPair, common_share, word_changes

_LEAST = 0.5
"""The least share of common words with which single words are marked."""
_LONGEST_VALUE = 400
_DEEPEST = 30
_MOST_FIELDS = 200
_MOST_ITEMS = 1_000
"""Items of a list that are aligned; longer lists are compared by position."""
_MISSING: Any = object()

FieldKind = Literal["added", "removed", "changed", "same"]


class FieldChange(NamedTuple):
    """A place in a JSON value, and what both sides have there."""

    path: str
    kind: FieldKind
    before: str
    now: str


class OutputChange(NamedTuple):
    """The difference of two outputs."""

    kind: Literal["same", "words", "fields", "apart"]
    """`words` and `fields` mark what differs; `apart`: less than half is common, so that both are shown unmarked."""
    words: TextPair | None = None
    fields: Sequence[FieldChange] = ()
    """The places that differ; of a long list the first 200."""
    unchanged: int = 0
    """How many places of the JSON values are equal."""
    left_out: int = 0
    """How many of the places that differ are not in `fields`."""
    is_reformatted: bool = False
    """Whether the words are the same, and only their Markdown differs."""


def output_change(before: Any, now: Any) -> OutputChange:
    """Compare two outputs: JSON objects and lists key by key, texts word by word if at least half of the words are common.

    >>> output_change('{"a": 1, "b": 2}', {"a": 1, "c": 3}).fields
    (FieldChange(path='b', kind='removed', before='2', now=''), FieldChange(path='c', kind='added', before='', now='3'))
    >>> output_change("It is 4,806 m high.", "It is 3,000 m high.").kind, output_change("Oslo", "No idea.").kind
    ('words', 'apart')
    """
    old, new = structure_of(before), structure_of(now)
    if old is not None and new is not None:
        return _field_changes(old, new)
    if canonical(plain(before)) == canonical(plain(now)):
        return OutputChange("same")
    if common_share(before, now) < _LEAST:
        return OutputChange("apart")
    return OutputChange("words", word_changes(before, now))


def structure_of(value: Any) -> dict[str, Any] | list[Any] | None:
    """Return a JSON object or list, also of a text that holds one; None for anything else."""
    if isinstance(value, str):
        if value.lstrip()[:1] not in ("{", "["):
            return None
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    found = plain(value)
    return found if isinstance(found, dict | list) and found else None


def _field_changes(old: Any, new: Any) -> OutputChange:
    changes: list[FieldChange] = []
    unchanged = left_out = 0
    for change in _changes("", old, new, 0):
        if change.kind == "same":
            unchanged += 1
        elif len(changes) < _MOST_FIELDS:
            changes.append(change)
        else:
            left_out += 1
    if not changes:
        return OutputChange("same")
    if not unchanged and not any(change.kind == "changed" and change.path for change in changes):
        return OutputChange("apart")
    return OutputChange("fields", fields=tuple(changes), unchanged=unchanged, left_out=left_out)


def _changes(path: str, old: Any, new: Any, depth: int) -> Iterator[FieldChange]:
    if depth < _DEEPEST and isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _changes(inner, old.get(key, _MISSING), new.get(key, _MISSING), depth + 1)
    elif depth < _DEEPEST and isinstance(old, list) and isinstance(new, list):
        for number, before, now in _aligned(old, new):
            yield from _changes(f"{path}[{number}]", before, now, depth + 1)
    elif old is _MISSING or new is _MISSING:
        yield FieldChange(path, "added" if old is _MISSING else "removed", _shown(old), _shown(new))
    else:
        is_same = canonical(old) == canonical(new)
        before, now = _shown(old), _shown(new)
        if before == now and not is_same:  # such as 7 and "7"
            before, now = (one_line(json.dumps(one, ensure_ascii=False), _LONGEST_VALUE) for one in (old, new))
        yield FieldChange(path, "same" if is_same else "changed", before, now)


def _aligned(old: list[Any], new: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Pair the items of two lists: equal ones with each other, what is between them by position.

    The number is the position in the list that has the item; in the earlier one if both have.
    """
    if len(old) > _MOST_ITEMS or len(new) > _MOST_ITEMS:
        yield from _side_by_side(old, new, 0, 0)
        return
    at, other = 0, 0
    for block in LCSseq.opcodes([canonical(item) for item in old], [canonical(item) for item in new]):
        if block.tag == "equal":
            yield from _side_by_side(old[at : block.src_start], new[other : block.dest_start], at, other)
            for number in range(block.src_start, block.src_end):
                yield number, old[number], old[number]
            at, other = block.src_end, block.dest_end
    yield from _side_by_side(old[at:], new[other:], at, other)


def _side_by_side(old: list[Any], new: list[Any], first: int, other: int) -> Iterator[tuple[int, Any, Any]]:
    for number, (before, now) in enumerate(zip_longest(old, new, fillvalue=_MISSING)):
        yield number + (other if before is _MISSING else first), before, now


def _shown(value: Any) -> str:
    if value is _MISSING:
        return ""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)
