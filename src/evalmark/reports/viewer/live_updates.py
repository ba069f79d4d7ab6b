"""Progress of running runs, and whether a page has changed.

A script requests the page again with the version that it was made with, and gets a 304 response while nothing has changed.
This needs one request at the page's own address: no open connection for each tab, and no second route to protect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import NotFoundError, StoreError
from evalmark.core.money import money
from evalmark.core.text import count
from evalmark.core.values.run import Run
from evalmark.core.values.session import seconds_between
from evalmark.core.values.spending import total_spending
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.paths import decode_name, encode_name, run_path
from evalmark.stats.summary.summarise import planned_trials
from evalmark.storage.queries.progress import RunProgress

from .page_context import PageContext
from .store_view import StoreView

_TOO_SOON = 3.0
"""Seconds before a pace is shown."""


def progress(done: int, planned: int | None, seconds: float | None) -> str:
    """Format progress, pace and remaining time of a run, as far as known.

    `seconds` since the start; None if they do not show the pace.

    >>> progress(120, 480, 60.0)
    '120 of 480 trials · 2 a second · about 3 min left'
    >>> progress(1, None, None)
    '1 trial so far'
    """
    parts = [f"{count(done, 'trial')} so far" if planned is None else f"{done:,} of {count(planned, 'trial')}"]
    pace = done / seconds if seconds is not None and seconds >= _TOO_SOON else 0.0
    if pace:
        parts.append(f"{pace:z.3g} a second" if pace >= 1 else f"{60 * pace:z.2g} a minute")
    if pace and planned is not None and done < planned:
        parts.append(f"about {_roughly((planned - done) / pace)} left")
    return " · ".join(parts)


def _roughly(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_400 else f"{seconds / 3_600:z.2g} h"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopForm:
    """The form that stops a run."""

    run: str
    """The run, as the form sends it."""
    by: str = ""
    """Who requested it; empty if it is not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUpdate:
    """State of a page that updates itself while a run goes on."""

    mark: str
    """Version of the page's content."""
    text: str
    ended: str
    """Message when nothing is running any more."""
    done: int | None = None
    planned: int | None = None
    """Planned trials, if known."""
    stop: StopForm | None = None
    """The form that stops the run; None for a list, a store opened for reading, and a run that cannot be stopped here."""


def not_modified(request: Request, mark: str) -> Response | None:
    """Return a 304 response if the page is unchanged, else None."""
    if request.headers.get("if-none-match") == f'"{mark}"':
        return Response(status_code=304)
    return None


def run_mark(view: StoreView, stored: RunProgress) -> str:
    """Return the version of a running run's page, which changes with a request to stop it too."""
    return f"{stored.mark}-stopping" if view.store.stop_request(stored.run) else stored.mark


def live_update(view: StoreView, run: Run, stored: RunProgress, done: int) -> LiveUpdate:
    """Return the update state of a running run's page."""
    planned = planned_trials(run, len(run.target.split(", ")))
    if planned is not None and done > planned:  # the dataset has changed since the plan was made
        planned = None
    # A resumed run has a break, so its start does not show the pace.
    since = seconds_between(run.created, datetime.now(UTC).isoformat()) if stored.passes == 1 else None
    text = progress(done, planned, since)
    if (cost := total_spending(view.spending(run)).cost) is not None:
        text += f" · {money(cost)} so far"
    by = view.store.stop_request(run.id) if view.store.is_writable else None
    stop = None if by is None else StopForm(run=encode_name(run.id), by=by)
    return LiveUpdate(
        mark=run_mark(view, stored), text=text, ended="The run has ended.", done=done, planned=planned, stop=stop
    )


def stop(context: PageContext, request: Request) -> Response:
    """Request that the run of a form stops, and go back to its page."""
    form: Mapping[str, str] = request.scope[FORM]
    run_id = decode_name(form.get("run", ""))
    by = context.author(request) or "somebody"
    try:
        run = context.view.store.run(run_id)
        accepted = context.view.store.request_stop(run.id, by)
    except NotFoundError:
        raise
    except StoreError as fault:
        raise HTTPException(409, str(fault)) from fault
    if not accepted and run.status == "running":
        raise HTTPException(409, "This run cannot be stopped here: end its process, with Ctrl+C in its terminal.")
    return RedirectResponse(run_path(run.id), status_code=303)
