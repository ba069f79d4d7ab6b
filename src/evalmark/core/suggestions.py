"""Suggest a known name for an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], form: str = "{!r}", *, cutoff: float = 0.6) -> str:
    """Return a question that names the most similar known name; empty if none is similar.

    Args:
        name: the unknown name.
        known: the known names.
        form: how to write the known name.
        cutoff: the least similarity, from 0 to 1.

    >>> did_you_mean("colour", ["color", "size"]), did_you_mean("weight", ["color", "size"])
    ("did you mean 'color'?", '')
    """
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean {form.format(close[0])}?" if close else ""
