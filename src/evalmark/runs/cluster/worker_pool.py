"""What a desk asks of those who bring it hands."""

from collections.abc import Sequence
from typing import Protocol

from evalmark.core.errors import EvalmarkError

from .messages import ToCoordinator, ToWorker


class WorkerLostError(Exception):
    """A hand has ended, or cannot be reached any more; the text says why, as far as anybody knows."""


class NoWorkersError(EvalmarkError):
    """No hand can be had, or all of them end before they have done anything."""


class WorkerHandle(Protocol):
    """A hand, as the desk reaches it."""

    async def tell(self, messages: Sequence[ToWorker]) -> None:
        """Hand over messages, in order; when this returns they have arrived.

        Raises:
            HandLostError: the hand has ended.
        """
        ...

    async def listen(self) -> Sequence[ToCoordinator]:
        """What the hand has to say; waits until there is something.

        Raises:
            HandLostError: the hand has ended.
        """
        ...


class WorkerPool(Protocol):
    """Brings hands."""

    @property
    def size(self) -> int:
        """How many hands work at the same time."""
        ...

    async def hire(self) -> WorkerHandle:
        """A hand that is ready, in the place of none or of one that has ended.

        Raises:
            CrewError: there is none to be had.
            HandLostError: it ended while it was getting ready.
        """
        ...
