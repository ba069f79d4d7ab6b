"""Call log, tool log and sink for tests, in memory."""

import asyncio
import threading
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from evalmark.core.errors import DamagedRecordingError, StoreFullError
from evalmark.core.values.call import Call, Reply
from evalmark.core.values.score import Result
from evalmark.core.values.tool import ToolRecording


@dataclass(frozen=True, slots=True)
class MemoryCallLog:
    """A call log in memory.

    Args:
        full_after: The number of calls after which it raises StoreFullError; None: never.
        seconds: The duration of each `keep`.

    Example:
        >>> import asyncio
        >>> call_log = MemoryCallLog()
        >>> asyncio.run(call_log.sending("a key"))
        >>> asyncio.run(call_log.find("a key")), call_log.in_flight
        (None, {'a key'})
    """

    full_after: int | None = None
    seconds: float = 0.0
    calls: list[Call] = field(default_factory=list)
    """All logged calls, replaced ones included."""
    sent: list[str] = field(default_factory=list)
    """The keys of all sent requests."""
    in_flight: set[str] = field(default_factory=set)
    """Keys of requests without an outcome yet."""
    _kept: dict[str, Call] = field(default_factory=dict)

    async def find(self, key: str) -> Reply | None:
        """Return the cached reply of a key; None if there is none that can be replayed."""
        call = self._kept.get(key)
        return None if call is None else call.replayed

    async def identities(self) -> list[str]:
        """Return the identities of the models with cached replies."""
        return list({call.identity: None for call in self._kept.values() if call.can_be_replayed})

    async def sending(self, key: str) -> None:
        """Note that a request is about to be sent."""
        self.sent.append(key)
        self.in_flight.add(key)

    async def keep(self, call: Call) -> None:
        """Log a call; one that cannot be replayed does not replace one that can.

        Raises:
            StoreFullError: `full_after` is reached.
        """
        if self.seconds:
            # In a task: the call is logged even if the caller is cancelled.
            await asyncio.shield(asyncio.get_running_loop().create_task(self._keep_slowly(call)))
        else:
            self._keep(call)

    async def _keep_slowly(self, call: Call) -> None:
        await asyncio.sleep(self.seconds)
        self._keep(call)

    def _keep(self, call: Call) -> None:
        if self.full_after is not None and len(self.calls) >= self.full_after:
            raise StoreFullError("the disk is full")
        self.calls.append(call)
        self.in_flight.discard(call.key)
        earlier = self._kept.get(call.key)
        if earlier is None or call.can_be_replayed or not earlier.can_be_replayed:
            self._kept[call.key] = call


@dataclass(frozen=True, slots=True)
class MemoryToolLog:
    """A log of tool calls in memory.

    Args:
        full_after: The number of recordings after which it raises StoreFullError; None: never.
        damaged: Keys whose recordings are damaged.

    Example:
        >>> MemoryToolLog().find("a key") is None
        True
    """

    full_after: int | None = None
    damaged: set[str] = field(default_factory=set)
    recordings: dict[str, ToolRecording] = field(default_factory=dict)
    """All recordings by key."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: str) -> ToolRecording | None:
        """Return a copy of the recording with this key; None if there is none.

        Raises:
            DamagedRecordingError: Its key is in `damaged`.
        """
        if key in self.damaged:
            raise DamagedRecordingError(f"the recorded tool call {key} is damaged (key in `damaged`).")
        return deepcopy(self.recordings.get(key))

    def keep(self, recording: ToolRecording, *, overwrite: bool = False) -> ToolRecording:
        """Store a recording, unless there is an undamaged one and `overwrite` is false; return the stored one.

        Raises:
            StoreFullError: `full_after` is reached.
        """
        with self._lock:
            if overwrite or recording.key in self.damaged or recording.key not in self.recordings:
                if self.full_after is not None and len(self.recordings) >= self.full_after:
                    raise StoreFullError("the disk is full")
                self.recordings[recording.key] = deepcopy(recording)
                self.damaged.discard(recording.key)
            return deepcopy(self.recordings[recording.key])


@dataclass(frozen=True, slots=True)
class MemorySink:
    """A sink in memory.

    Args:
        full_after: The number of results after which it raises StoreFullError; None: never.
        seconds: The duration of each write.

    Example:
        >>> import asyncio
        >>> sink = MemorySink()
        >>> asyncio.run(sink.write([]))
        >>> sink.results
        []
    """

    full_after: int | None = None
    seconds: float = 0.0
    results: list[Result] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    """The number of results of each write."""

    async def write(self, results: Sequence[Result]) -> None:
        """Store results, all or none.

        Raises:
            StoreFullError: There would be more than `full_after` results.
        """
        await asyncio.sleep(self.seconds)
        if self.full_after is not None and len(self.results) + len(results) > self.full_after:
            raise StoreFullError("the disk is full")
        self.results.extend(results)
        self.batches.append(len(results))
