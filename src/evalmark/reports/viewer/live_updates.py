"""What a page says of a run under way, and whether there is anything new since it was made.

A script asks for the page itself again, with the mark that it was made with, and is answered 304 while that still holds. One
request a look, at the address where the page stands anyway: nothing to hold open for each tab, no second route to guard, and
a viewer that was away for an hour is up to date with the next answer.
"""

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.text import count
from evalmark.core.values.run import Run
from evalmark.core.values.session import seconds_between
from evalmark.stats.summary.summarise import planned_trials
from evalmark.storage.queries.progress import RunProgress

_TOO_SOON = 3.0
"""Seconds before a pace is shown."""


def progress(done: int, of: int | None, seconds: float | None) -> str:
    """Format progress, pace and remaining time of a run, as far as known.

    `seconds` since the start; None if they do not show the pace.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUpdate:
    """State of a page that updates itself while a run goes on."""

    mark: str
    """Version of the page's content."""
    said: str
    ended: str
    """Message when nothing is running any more."""
    done: int | None = None
    of: int | None = None
    """Planned trials, if known."""


def not_modified(request: Request, mark: str) -> Response | None:
    """Return a 304 response if the page is unchanged, else None."""
    if request.headers.get("if-none-match") == f'"{mark}"':
        return Response(status_code=304)
    return None


def live_update(run: Run, standing: RunProgress, done: int, now: datetime) -> LiveUpdate:
    """Return the update state of a running run's page."""
    of = planned_trials(run, len(run.target.split(", ")))
    if of is not None and done > of:  # what is read now is another dataset than the one that was looked at before
        of = None
    # The time between two passes of a run says nothing of its pace.
    said = progress(done, of, seconds_between(run.created, now.isoformat()) if standing.passes == 1 else None)
    return LiveUpdate(mark=standing.mark, said=said, ended="The run has ended.", done=done, of=of)
