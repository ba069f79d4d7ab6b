"""Journals for tests: they keep calls as long as they live."""

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
    """Keeps every call in the order they came; `full_after` calls it says the disk is full.

    >>> import asyncio
    >>> journal = MemoryCallLog()
    >>> asyncio.run(journal.sending("a key"))
    >>> asyncio.run(journal.find("a key")), journal.in_flight
    (None, {'a key'})
    """

    full_after: int | None = None
    seconds: float = 0.0
    """How long each `keep` takes, as a disk would."""
    calls: list[Call] = field(default_factory=list)
    """All that were kept, those that others took the place of included."""
    sent: list[str] = field(default_factory=list)
    """The key of every request that was said to go out."""
    in_flight: set[str] = field(default_factory=set)
    """Keys of requests that went out and did not come back: what a resumed run would repeat."""
    _kept: dict[str, Call] = field(default_factory=dict)

    async def find(self, key: str) -> Reply | None:
        """The reply that is kept under this key, as one that is replayed; None where none may stand for the truth."""
        call = self._kept.get(key)
        return None if call is None else call.replayed

    async def identities(self) -> list[str]:
        """The models, each at its address, of which replies are kept that may stand for the truth."""
        return list({call.identity: None for call in self._kept.values() if call.can_be_replayed})

    async def sending(self, key: str) -> None:
        """Note that a request is about to go out; the same one twice counts once."""
        self.sent.append(key)
        self.in_flight.add(key)

    async def keep(self, call: Call) -> None:
        """Keep the call; one that cannot be replayed does not take the place of one that can.

        Raises:
            StoreFullError: it would be one more than `full_after`.
        """
        if self.seconds:
            # In a task of its own: who is cancelled meanwhile has paid for the call all the same.
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
    """Keeps what tools gave; of keys that are `damaged` it says so, and `full_after` recordings that the disk is full.

    >>> MemoryToolLog().find("a key") is None
    True
    """

    full_after: int | None = None
    damaged: set[str] = field(default_factory=set)
    kept: dict[str, ToolRecording] = field(default_factory=dict)
    """By key."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: str) -> ToolRecording | None:
        """The recording with this key, with a result that its caller may change.

        Raises:
            DamagedRecordingError: it is one of those that are damaged.
        """
        if key in self.damaged:
            raise DamagedRecordingError(f"the recorded tool call {key} is damaged (as it was told to be).")
        return deepcopy(self.kept.get(key))

    def keep(self, recording: ToolRecording, *, anew: bool = False) -> ToolRecording:
        """Keep the recording, unless a sound one is there and `anew` is not wanted; gives the one that is kept.

        Raises:
            StoreFullError: it would be one more than `full_after`.
        """
        with self._lock:
            if anew or recording.key in self.damaged or recording.key not in self.kept:
                if self.full_after is not None and len(self.kept) >= self.full_after:
                    raise StoreFullError("the disk is full")
                self.kept[recording.key] = deepcopy(recording)
                self.damaged.discard(recording.key)
            return deepcopy(self.kept[recording.key])


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
