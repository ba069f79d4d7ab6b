"""The keys of all pages, from which the list is made that `?` opens; `keys.js` has them act."""

from typing import Literal, NamedTuple

KeyOf = Literal["", "labels", "viewer"]
"""Where a key acts: everywhere, where labels are given, or in the viewer alone."""


class Key(NamedTuple):
    """A key, or two of a kind, and what it does."""

    names: tuple[str, ...]
    does: str
    of: KeyOf = ""


KEYS = (
    Key(("j", "k"), "next and previous row, or case"),
    Key(("h", "l"), "previous and next answer of a row", "viewer"),
    Key(("Enter", "o"), "open it, or close what is open"),
    Key(("u", "d"), "label it good (thumb up) or bad (thumb down)", "labels"),
    Key(("c",), "write a comment", "labels"),
    Key(("s", "z"), "in a queue: skip, undo", "viewer"),
    Key(("n", "p"), "older and newer session", "viewer"),
    Key(("/",), "search"),
    Key(("Esc",), "leave a field"),
    Key(("?",), "this list"),
)
