"""Creates ids of runs, and resolves references such as `last~1`."""

import difflib
import secrets
from datetime import UTC, datetime
from random import Random

_FURTHEST = 10**18
"""More runs than a store can hold; SQLite can still count it."""
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without letters and digits that look alike


def new_run_id(now: datetime | None = None, random: Random | None = None) -> str:
    """Return a new id, which sorts by time and can be read aloud.

    >>> new_run_id(datetime(2026, 11, 21, 14, 32, 5, tzinfo=UTC), Random(1))
    '20261121-143205-6mwu'
    """
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    choose = (random or secrets.SystemRandom()).choice
    return f"{moment:%Y%m%d-%H%M%S}-{''.join(choose(_LETTERS) for _ in range(4))}"


def runs_back(reference: str) -> int | None:
    """Return how many runs before the newest one a reference denotes; None if it is not `last` or `last~N`.

    >>> runs_back("last"), runs_back("last~2"), runs_back("last~"), runs_back("2026")
    (0, 2, None, None)
    """
    word, tilde, count = reference.partition("~")
    if word != "last":
        return None
    if not tilde:
        return 0
    return min(int(count[:19]), _FURTHEST) if count.isascii() and count.isdigit() else None


def similar_ids(reference: str, ids: list[str]) -> str:
    """Return similar ids as text, or the newest ones; `ids` are sorted newest first."""
    found = difflib.get_close_matches(reference, ids, n=3, cutoff=0.5) or ids[:3]
    return ", ".join(found)
