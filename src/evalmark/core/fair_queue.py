"""Callers who wait in turn: first come, first served, and nobody who gives up holds the others up."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from evalmark.core.errors import EvalmarkError

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Lets callers go on in the order in which they came, each as soon as it may.

    `serve` takes what the first one asks for and says True, or says False: not yet. An error that it raises is that
    caller's. `undo` gives back what was taken for a caller who was cancelled in that very moment.
    """

    def __init__(self, serve: Callable[[T], bool], undo: Callable[[T], None]) -> None:
        self._serve, self._undo = serve, undo
        self._waiting: deque[tuple[asyncio.Future[None], T]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def at_once(self, wanted: T, *, first: bool = False) -> bool:
        """Whether the caller may go on without waiting; then it has what it asked for. Raises what `serve` raises."""
        return (first or not self._waiting) and self._serve(wanted)

    async def wait(self, wanted: T, *, first: bool = False) -> None:
        """Return when it is this caller's turn; `first` goes before all others. Raises what `serve` raises."""
        if self.at_once(wanted, first=first):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.insert(0 if first else len(self._waiting), (turn, wanted))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._undo(wanted)
            self.move()
            raise

    def move(self) -> None:
        """Let everyone go on who may: to be called whenever something has changed."""
        while self._waiting:
            turn, wanted = self._waiting[0]
            if not turn.done():
                try:
                    if not self._serve(wanted):
                        return
                except EvalmarkError as error:
                    turn.set_exception(error)
                else:
                    turn.set_result(None)
            self._waiting.popleft()
