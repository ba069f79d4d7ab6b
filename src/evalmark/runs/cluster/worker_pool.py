"""The protocols of a worker pool and its workers, and their errors."""

from collections.abc import Sequence
from typing import Protocol

from evalmark.core.errors import EvalmarkError

from .messages import ToCoordinator, ToWorker


class WorkerLostError(Exception):
    """A worker has ended or cannot be reached; the text says why, if known."""


class NoWorkersError(EvalmarkError):
    """No worker can be started, or all of them end before any trial finishes."""


class WorkerHandle(Protocol):
    """The coordinator's connection to a worker."""

    async def send(self, messages: Sequence[ToWorker]) -> None:
        """Send messages in order; when this returns, they have arrived.

        Raises:
            WorkerLostError: the worker has ended.
        """
        ...

    async def receive(self) -> Sequence[ToCoordinator]:
        """Wait for messages of the worker and return them.

        Raises:
            WorkerLostError: the worker has ended.
        """
        ...


class WorkerPool(Protocol):
    """Starts workers."""

    @property
    def size(self) -> int:
        """How many workers run at the same time."""
        ...

    async def start_worker(self) -> WorkerHandle:
        """Start a worker and wait until it is ready.

        Raises:
            NoWorkersError: no worker can be started.
            WorkerLostError: it ended while it started.
        """
        ...
