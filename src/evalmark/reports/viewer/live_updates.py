"""What a page says of a run under way, and whether there is anything new since it was made.

A script asks for the page itself again, with the mark that it was made with, and is answered 304 while that still holds. One
request a look, at the address where the page stands anyway: nothing to hold open for each tab, no second route to guard, and
a viewer that was away for an hour is up to date with the next answer.
"""

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.values.moments import seconds_between
from evalmark.core.values.run import Run
from evalmark.reports.text.progress import progress
from evalmark.stats.summary.summarise import planned_trials
from evalmark.storage.queries.progress import RunProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """How a page under way is followed, and what it says of how far things are."""

    mark: str
    """Of what the page shows; another one as soon as there is something new."""
    said: str
    ended: str
    """What is said once nothing is under way any more."""
    done: int | None = None
    of: int | None = None
    """How many trials there will be, where that is known."""


def unchanged(request: Request, mark: str) -> Response | None:
    """What to answer a page that asks for itself again, where nothing is new; None where there is."""
    if request.headers.get("if-none-match") == f'"{mark}"':
        return Response(status_code=304)
    return None


def following(run: Run, standing: RunProgress, done: int, now: datetime) -> Live:
    """How the page of a run under way is followed."""
    of = planned_trials(run, len(run.target.split(", ")))
    if of is not None and done > of:  # what is read now is another dataset than the one that was looked at before
        of = None
    # The time between two passes of a run says nothing of its pace.
    said = progress(done, of, seconds_between(run.created, now.isoformat()) if standing.passes == 1 else None)
    return Live(mark=standing.mark, said=said, ended="The run has ended.", done=done, of=of)
