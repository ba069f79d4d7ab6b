"""Times as runs and recordings have them: ISO 8601."""

from datetime import datetime


def seconds_between(began: str, ended: str) -> float | None:
    """Seconds from one moment to a later one; None where one of them is none, or says no zone, or clocks disagree.

    >>> seconds_between("2026-11-21T10:15:00Z", "2026-11-21T10:16:30Z")
    90.0
    >>> seconds_between("2026-11-21T10:15:00Z", "soon"), seconds_between("2026-11-21T10:15:00Z", "2026-11-21T10:14:00Z")
    (None, None)
    """
    try:
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None
