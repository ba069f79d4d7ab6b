"""Connections that say nothing are not waited for: others on the machine could otherwise keep the pages' user out."""

import asyncio
import time
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class ViewerConnection(H11Protocol):
    """One that has to ask for something within ten seconds, and that goes first where there are too many."""

    patience: ClassVar[float] = 10.0
    """Seconds for the whole of what is asked, however slowly it comes."""

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
        self.connections.discard(self)  # it is counted until the loop has had a turn, and others ask meanwhile
        self.transport.abort()

    def _make_room(self) -> None:
        """Where no further one would be answered, give up the one that has been silent for the longest."""
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
