"""HTTP connections with a deadline, so that silent clients cannot block the viewer."""

import asyncio
import time
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class ViewerConnection(H11Protocol):
    """A connection that is closed without a request in ten seconds, or first if there are too many."""

    patience: ClassVar[float] = 10.0
    """Seconds until a whole request must have arrived."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._deadline.cancel()

    def on_response_complete(self) -> None:
        if not self.transport.is_closing():
            self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._silent_since = time.monotonic()
        self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _give_up(self) -> None:
        self.connections.discard(self)  # otherwise it counts as open until the next iteration of the event loop
        self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection that has been silent longest if the limit is reached."""
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        silent = [
            one for one in self.connections if isinstance(one, ViewerConnection) and one is not self and one._is_silent
        ]
        if silent:
            min(silent, key=lambda one: one._silent_since)._give_up()

    @property
    def _is_silent(self) -> bool:
        return self.cycle is None or self.cycle.response_complete
