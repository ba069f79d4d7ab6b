"""A first-in, first-out queue of callers that wait for a shared resource."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from evalmark.core.errors import EvalmarkError

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Serves callers in the order of their arrival; a cancelled caller does not block the others.

    `serve` takes what a request needs and returns True, or returns False if the caller has to wait; an error that it raises
    goes to that caller. `undo` returns what was taken for a caller that was cancelled right after it was served.
    """

    def __init__(self, serve: Callable[[T], bool], undo: Callable[[T], None]) -> None:
        self._serve, self._undo = serve, undo
        self._waiting: deque[tuple[asyncio.Future[None], T]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def try_acquire(self, request: T, *, first: bool = False) -> bool:
        """Serve a request now if nobody waits before it; return whether it was served. Raises what `serve` raises."""
        return (first or not self._waiting) and self._serve(request)

    async def acquire(self, request: T, *, first: bool = False) -> None:
        """Wait until a request is served; `first` puts it before all others. Raises what `serve` raises."""
        if self.try_acquire(request, first=first):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.insert(0 if first else len(self._waiting), (turn, request))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._undo(request)
            self.advance()
            raise

    def advance(self) -> None:
        """Serve the waiting requests that can be served now; call it after each change of the resource."""
        while self._waiting:
            turn, request = self._waiting[0]
            if not turn.done():
                try:
                    if not self._serve(request):
                        return
                except EvalmarkError as error:
                    turn.set_exception(error)
                else:
                    turn.set_result(None)
            self._waiting.popleft()
