"""Sinks for tests: one that keeps everything in memory, one that breaks when told to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalmark.core.errors import StoreFullError
from evalmark.core.values.score import Result


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Keeps results in the order they came; `full_after` results it says the disk is full.

    >>> import asyncio
    >>> sink = MemorySink()
    >>> asyncio.run(sink.write([]))
    >>> sink.results
    []
    """

    full_after: int | None = None
    seconds: float = 0.0
    """How long each write takes, as a disk would."""
    results: list[Result] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    async def write(self, results: Sequence[Result]) -> None:
        """Keep the results, all or none.

        Raises:
            StoreFullError: they would be more than `full_after`.
        """
        await asyncio.sleep(self.seconds)
        if self.full_after is not None and len(self.results) + len(results) > self.full_after:
            raise StoreFullError("the disk is full")
        self.results.extend(results)
        self.batches.append(len(results))
