"""How far a run under way has come."""

from evalmark.core.values.words import count

_TOO_SOON = 3.0
"""Seconds of a run that say nothing yet of its pace."""


def progress(done: int, of: int | None, seconds: float | None) -> str:
    """How far a run is, how fast it goes, and how long that would take it; of all that only what is known.

    `seconds` are those since its start; None where they say nothing of its pace.

    >>> progress(120, 480, 60.0)
    '120 of 480 trials · 2 a second · about 3 min left'
    >>> progress(1, None, None)
    '1 trial so far'
    """
    said = [f"{count(done, 'trial')} so far" if of is None else f"{done:,} of {count(of, 'trial')}"]
    pace = done / seconds if seconds is not None and seconds >= _TOO_SOON else 0.0
    if pace:
        said.append(f"{pace:z.3g} a second" if pace >= 1 else f"{60 * pace:z.2g} a minute")
    if pace and of is not None and done < of:
        said.append(f"about {_roughly((of - done) / pace)} left")
    return " · ".join(said)


def _roughly(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_400 else f"{seconds / 3_600:z.2g} h"
