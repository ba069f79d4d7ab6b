"""Stops a run when somebody requests it in the store, as the viewer does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from evalmark.core.errors import StoreError
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.store.store import Store

INTERVAL = 2.0
"""Seconds between two looks at the store."""


class StopRequest:
    """Who requested that a run stops, if anybody did."""

    def __init__(self) -> None:
        self.by = ""


@asynccontextmanager
async def stop_on_request(store: RunStore, run_id: str, stop: asyncio.Event) -> AsyncIterator[StopRequest]:
    """Look for requests to stop a run while the block runs; on the first one, set `stop`.

    A store that cannot be read at the moment is asked again later: the run itself finds out if it cannot be written.
    """
    request = StopRequest()
    if not isinstance(store, Store):
        yield request
        return
    store.accept_stops(run_id)

    async def watch() -> None:
        while not request.by:
            await asyncio.sleep(INTERVAL)
            with suppress(StoreError):
                by: str | None = await asyncio.to_thread(store.stop_request, run_id)
                request.by = by or ""
        stop.set()

    watching = asyncio.create_task(watch())
    try:
        yield request
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
