"""A journal for tests: keeps calls as long as it lives."""

import asyncio
from dataclasses import dataclass, field

from evalmark.errors import StoreFullError
from evalmark.values import Call


@dataclass(frozen=True, slots=True)
class MemoryJournal:
    """Keeps every call in the order they came; `full_after` calls it says the disk is full.

    >>> import asyncio
    >>> journal = MemoryJournal()
    >>> asyncio.run(journal.sending("a key"))
    >>> asyncio.run(journal.find("a key")), journal.under_way
    (None, {'a key'})
    """

    full_after: int | None = None
    seconds: float = 0.0
    """How long each `keep` takes, as a disk would."""
    calls: list[Call] = field(default_factory=list)
    """All that were kept, those that others took the place of included."""
    sent: list[str] = field(default_factory=list)
    """The key of every request that was said to go out."""
    under_way: set[str] = field(default_factory=set)
    """Keys of requests that went out and did not come back: what a resumed run would repeat."""
    _kept: dict[str, Call] = field(default_factory=dict)

    async def find(self, key: str) -> Call | None:
        """The call with this key, if its reply may stand for the truth."""
        call = self._kept.get(key)
        return call if call is not None and call.can_be_replayed else None

    async def sending(self, key: str) -> None:
        """Note that a request is about to go out; the same one twice counts once."""
        self.sent.append(key)
        self.under_way.add(key)

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
        self.under_way.discard(call.key)
        earlier = self._kept.get(call.key)
        if earlier is None or call.can_be_replayed or not earlier.can_be_replayed:
            self._kept[call.key] = call
