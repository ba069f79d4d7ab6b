"""Writes results in batches: while one batch is written, the next one gathers."""

import asyncio
from collections.abc import Callable, Sequence

from evalmark.core.protocols import Sink
from evalmark.core.values.score import Result
from evalmark.storage.results.masking import masked_result, masked_results_note

ResultCallback = Callable[[Sequence[Result]], None]
"""Called with results once they are durable."""


class ResultWriter:
    """Writes results of concurrent tasks in batches; a task waits while the queue is full."""

    def __init__(
        self, sink: Sink, watch: ResultCallback | None = None, window: int = 2_048, batch: int = 2_000
    ) -> None:
        self.recorded = 0
        """Results that are durable."""
        self._masked = 0
        self._sink, self._watch, self._batch = sink, watch, batch
        self._done: asyncio.Queue[Result | None] = asyncio.Queue(window)
        self._is_over = False

    async def put(self, result: Result) -> None:
        """Queue a result; waits while the queue is full."""
        await self._done.put(result)

    def end(self) -> None:
        """Announce the end without waiting: a sink that fails takes nothing off a full queue."""
        self._is_over = True
        if self._done.empty():
            self._done.put_nowait(None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the results, for a reader of the run."""
        return masked_results_note(self._masked)

    async def run(self) -> None:
        """Write until the end, each time what gathered while the last batch was written.

        Raises:
            StoreError: the sink could not write; what was acknowledged before is kept.
        """
        while not (self._is_over and self._done.empty()) and (first := await self._done.get()) is not None:
            batch = [first]
            while len(batch) < self._batch and not self._done.empty():
                if (result := self._done.get_nowait()) is not None:
                    batch.append(result)
            batch = [*map(masked_result, batch)]  # from here on, it leaves the process
            await self._sink.write(batch)
            self._masked += sum(result.output.masked for result in batch)
            self.recorded += len(batch)
            if self._watch is not None:
                self._watch(batch)
