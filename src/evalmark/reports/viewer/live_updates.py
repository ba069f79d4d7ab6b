"""Progress of running runs, and whether a page has changed.

A script requests the page again with the version that it was made with. The request waits until the page has changed, or for
some seconds, after which it gets a 304 response. This needs no second route to protect.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import NotFoundError, StoreError
from evalmark.core.money import money
from evalmark.core.text import count
from evalmark.core.values.run import Run
from evalmark.core.values.session import seconds_between
from evalmark.core.values.spending import total_spending
from evalmark.reports.text.titles import planned_of
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.parameters import parse_count
from evalmark.reports.viewer.urls.paths import decode_name, encode_name, run_path
from evalmark.storage.queries.progress import RunProgress, StoreVersion

from .page_context import PageContext
from .store_view import StoreView

_TOO_SOON = 3.0
"""Seconds before a pace is shown."""
LONGEST_WAIT = 20.0
"""Seconds that a request waits at most."""
MOST_WAITING = 4
"""Requests that wait at once: browsers open six connections to a host, and other pages need some of them."""
_CHECKED_EVERY = 0.2
"""Seconds between two looks at the version of the store."""
_CONNECTED_EVERY = 1.0
"""Seconds between two looks whether the client is still there."""
_LEAST_PAUSE = 0.5
"""Seconds between two looks at the same page."""
_SHARE = 10
"""The pause after a look, as a multiple of the time that the look took."""


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


class ChangeSignal:
    """Lets requests wait, without a thread each, until the store changes or something is computed.

    One task looks at the version of both for all of them. When too many wait, the first one is let go.
    """

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._reader: StoreVersion | None = None
        self._waiting: dict[asyncio.Future[None], tuple[str, float]] = {}
        """For each waiting request the version that it knows, and the earliest time for the next look."""
        self._watching: asyncio.Task[None] | None = None
        self._is_stopped = False

    async def version(self) -> str:
        """Return the version of the store and of what was computed from it, to be read before the page.

        Raises:
            StoreError: the store cannot be read.
        """
        return await run_in_threadpool(self._read)

    async def wait(
        self, known: str, times: tuple[float, float], is_disconnected: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Wait until the version is another one than `known`.

        Args:
            known: the version before the page was made.
            times: the earliest and the latest time of the next look, by `time.monotonic`.
            is_disconnected: tells whether the client is gone.

        Returns:
            Whether to look at the page again.
        """
        if self._is_stopped:
            return False
        while len(self._waiting) >= MOST_WAITING:
            self._release(next(iter(self._waiting)), changed=False)
        own: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[own] = known, times[0]
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        while not own.done() and (left := times[1] - time.monotonic()) > 0 and not await is_disconnected():
            await asyncio.wait([own], timeout=min(left, _CONNECTED_EVERY))
        self._waiting.pop(own, None)
        return own.done() and not own.cancelled()

    def stop(self) -> None:
        """Let all requests go and close the store's file, because the server ends."""
        self._is_stopped = True
        if self._reader is not None:
            self._reader.close()
        for waiting in list(self._waiting):
            self._release(waiting, changed=False)

    async def _watch(self) -> None:
        while self._waiting:
            try:
                version = await self.version()
            except StoreError:
                version = ""  # the page reports why
            for waiting, (known, earliest) in list(self._waiting.items()):
                if version != known and time.monotonic() >= earliest:
                    self._release(waiting, changed=True)
            await asyncio.sleep(_CHECKED_EVERY)

    def _release(self, waiting: "asyncio.Future[None]", *, changed: bool) -> None:
        del self._waiting[waiting]
        if changed:
            waiting.set_result(None)
        else:
            waiting.cancel()

    def _read(self) -> str:
        if self._is_stopped:
            return ""
        if self._reader is None:
            self._reader = self._view.store.version()
        return f"{self._view.figures.finished} {self._reader.read()}"


async def follow(page: Callable[[Request], Response], changes: ChangeSignal, request: Request) -> Response:
    """Make a page that a script follows: a request that prefers to wait is answered once the page has changed.

    The header is `Prefer: wait=SECONDS` of RFC 7240. `Server-Timing` is how long the page took, without waiting.
    """
    seconds = _preferred_wait(request)
    latest = time.monotonic() + seconds
    while True:
        known = await changes.version() if seconds else ""
        began = time.monotonic()
        response = await run_in_threadpool(page, request)
        took = time.monotonic() - began
        response.headers["Server-Timing"] = f"page;dur={1_000 * took:.0f}"
        earliest = began + took + max(_LEAST_PAUSE, _SHARE * took)
        if response.status_code != 304 or earliest >= latest:
            return response
        if not await changes.wait(known, (earliest, latest), request.is_disconnected):
            return response


def _preferred_wait(request: Request) -> float:
    """Return the seconds that a request wants to wait, at most `LONGEST_WAIT`."""
    name, _, value = request.headers.get("prefer", "").partition("=")
    seconds = parse_count(value.strip()) if name.strip().lower() == "wait" else None
    return min(float(seconds or 0), LONGEST_WAIT)


def computed_mark(view: StoreView) -> str:
    """Return the version of a page that still lacks something that is being computed, to be read before the page is made."""
    return f"computed-{view.figures.finished}"


def run_mark(view: StoreView, stored: RunProgress) -> str:
    """Return the version of a running run's page, which changes with a request to stop it too."""
    return f"{stored.mark}-stopping" if view.store.stop_request(stored.run) else stored.mark


def live_update(view: StoreView, run: Run, stored: RunProgress, done: int) -> LiveUpdate:
    """Return the update state of a running run's page."""
    planned = planned_of(run, done)
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
        raise HTTPException(409, context.view.sentence_of(fault)) from fault
    if not accepted and run.status == "running":
        raise HTTPException(409, "This run cannot be stopped here: end its process, with Ctrl+C in its terminal.")
    return RedirectResponse(run_path(run.id), status_code=303)
