"""Where answers are judged that are no run of their own: their scores in memory, the calls and vectors in the store."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalmark.core.protocols import CallLog
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.storage.store.store import Store

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors


class Unlisted(MemoryRunStore):
    """Keeps one run as long as it lives, so that no list of runs shows it, and asks the store for what was asked before."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def call_log(self, run_id: str | None = None) -> CallLog:
        """That of the store: what came back is paid for once, whoever asks again."""
        return self._store.call_log()

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The vectors that the store knows."""
        return await self._store.get(fingerprint, texts)

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Put vectors into the store."""
        await self._store.put(fingerprint, vectors)
