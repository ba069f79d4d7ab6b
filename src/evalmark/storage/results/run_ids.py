"""Creates ids of runs, and resolves references such as `last~1`."""

import difflib
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from random import Random

from evalmark.core.errors import ConfigError

_FURTHEST = 10**18
"""More runs than a store can hold; SQLite can still count it."""
_NAME = re.compile(r"[^\W_][\w.+=-]{0,79}")
_TAG = re.compile(r"[^\s,=\x00-\x1f]{1,80}(=[^\s,\x00-\x1f]{0,200})?")
_ID = re.compile(r"[0-9]{8}-[0-9]{6}|20[0-9]{2,6}\Z|20[0-9]{6}-[0-9]*\Z")
"""An id of a run, or the start of one."""
_RESERVED = ("last", "last-green", "newest", "none", "runs", "sessions")
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without letters and digits that look alike


def new_run_id(now: datetime | None = None, random: Random | None = None) -> str:
    """Return a new id, which sorts by time and can be read aloud.

    >>> new_run_id(datetime(2026, 11, 21, 14, 32, 5, tzinfo=UTC), Random(1))
    '20261121-143205-6mwu'
    """
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    choose = (random or secrets.SystemRandom()).choice
    return f"{moment:%Y%m%d-%H%M%S}-{''.join(choose(_LETTERS) for _ in range(4))}"


def split_reference(reference: str) -> tuple[str, int]:
    """Split a reference to a run into its base and how many runs it goes back from the newest one.

    >>> split_reference("last~2"), split_reference("nightly"), split_reference("last~")
    (('last', 2), ('nightly', 0), ('last~', 0))
    """
    base, tilde, count = reference.rpartition("~")
    if not (tilde and count.isascii() and count.isdigit()):
        return reference, 0
    return base, min(int(count[:19]), _FURTHEST)


def is_suite_reference(reference: str) -> bool:
    """Tell whether a reference names the newest runs of a suite file.

    >>> is_suite_reference("evals/support.yaml~1"), is_suite_reference("evals.db")
    (True, False)
    """
    return split_reference(reference)[0].lower().endswith((".yaml", ".yml", ".json"))


def parse_run_name(text: str) -> str:
    """Return the name that a user gives a run.

    Raises:
        ConfigError: it could be taken for an id, a file or another reference.
    """
    if not (isinstance(text, str) and _NAME.fullmatch(text)):
        raise ConfigError(
            f"run name {text!r}: a name has at most 80 letters, digits and . _ + = - characters, and begins with a letter "
            "or a digit."
        )
    if text.lower() in _RESERVED or _ID.match(text) or is_suite_reference(text) or text.lower().endswith(".db"):
        raise ConfigError(
            f"run name {text!r}: this could be taken for another reference to a run; choose another name."
        )
    return text


def parse_run_tags(texts: str | Iterable[str]) -> tuple[str, ...]:
    """Return the tags that a user gives a run, each once; a text is one tag.

    Raises:
        ConfigError: one is neither a word nor `key=value`.
    """
    tags = (texts,) if isinstance(texts, str) or not isinstance(texts, Iterable) else tuple(dict.fromkeys(texts))
    for tag in tags:
        if not (isinstance(tag, str) and _TAG.fullmatch(tag)):
            raise ConfigError(f"tag {tag!r}: write a word or key=value, without spaces, commas and control characters.")
    return tags


def similar_ids(reference: str, ids: list[str]) -> list[str]:
    """Return similar ids, or the newest ones; `ids` are sorted newest first."""
    return difflib.get_close_matches(reference, ids, n=3, cutoff=0.5) or ids[:3]
