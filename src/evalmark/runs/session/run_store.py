"""Storage of a run: `RunStore` is the protocol, `MemoryRunStore` keeps a run in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from evalmark.core.errors import StoreError
from evalmark.core.foreign.copying import copy_value
from evalmark.core.protocols import CallLog, CompletedTrials, EmbeddingCache, Sink, ToolLog
from evalmark.core.values.call import Call, Reply
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending
from evalmark.storage.results.stored_results import masked_result

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.core.values.tool import ToolRecording


class RunStore(EmbeddingCache, Protocol):
    """Storage of a run."""

    def start(self, run: Run) -> None: ...

    def add(self, runs: Sequence[Run]) -> None: ...

    def resume(self, run_id: str, *, retry_errors: bool = False) -> Run: ...

    def recorded(self, run_id: str, *, retry_errors: bool = False) -> CompletedTrials: ...

    def sink(self, run_id: str) -> Sink: ...

    def amend(self, run: Run) -> None: ...

    def finish(self, run: Run) -> None: ...

    def run(self, reference: str) -> Run: ...

    def runs(self, limit: int | None = None) -> Sequence[Run]: ...

    def call_log(self, run_id: str | None = None) -> CallLog: ...

    def tool_log(self, run_id: str | None = None) -> ToolLog: ...

    def interrupted_calls(self, run_id: str) -> int | None: ...

    def spending(self, run_id: str) -> tuple[Spending, ...]: ...


def with_results(run: Run, results: Iterable[Result]) -> Run:
    """Return the run with these results, in the order of all reports."""
    order = {info.name: number for number, info in enumerate(run.datasets)}

    def place(result: Result) -> tuple[int, int, int, str]:
        trial: Trial = result.trial
        return order[trial.dataset], trial.position, trial.repeat, trial.mode

    return replace(run, results=tuple(sorted(results, key=place)))


class MemoryRunStore:
    """Keeps one run in memory."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._results: list[Result] = []
        self._calls = _Calls()
        self._tools = _Tools()

    def start(self, run: Run) -> None:
        """Keep the header of the run."""
        self._run = run

    def add(self, runs: Sequence[Run]) -> None:
        """Keep a whole run; of several, the last one."""
        for run in runs:
            self._run, self._results = run, [*map(masked_result, run.results)]

    def resume(self, run_id: str, *, retry_errors: bool = False) -> Run:
        """Raises StoreError: a run in memory cannot be resumed."""
        raise self._not_resumable(run_id)

    def recorded(self, run_id: str, *, retry_errors: bool = False) -> CompletedTrials:
        """Raises StoreError: a run in memory cannot be resumed."""
        raise self._not_resumable(run_id)

    def _not_resumable(self, run_id: str) -> StoreError:
        return StoreError(f"run {run_id!r} cannot be resumed without a store; name one with `store=`.")

    def sink(self, run_id: str) -> Sink:
        """Return itself."""
        return self

    async def write(self, results: Sequence[Result]) -> None:
        """Keep the results."""
        self._results.extend(results)

    def amend(self, run: Run) -> None:
        """Replace the header."""
        self._run = run

    def finish(self, run: Run) -> None:
        """Replace the header by the final one."""
        self._run = run

    def run(self, reference: str) -> Run:
        """Return the run with its results in order."""
        if self._run is None:
            raise StoreError("no run was started.")
        return with_results(self._run, self._results)

    def runs(self, limit: int | None = None) -> Sequence[Run]:
        """Return the one run, once it has started."""
        return [] if self._run is None else [self.run(self._run.id)]

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return no vectors: the embedder looks up each text once in a run anyway."""
        return {}

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Drop the vectors."""

    def call_log(self, run_id: str | None = None) -> CallLog:
        """Return a call log in memory, so that two cases with the same request share one call."""
        return self._calls

    def tool_log(self, run_id: str | None = None) -> ToolLog:
        """Return a log of tool calls in memory."""
        return self._tools

    def interrupted_calls(self, run_id: str) -> int | None:
        """Return 0: a run in memory is never resumed."""
        return 0

    def spending(self, run_id: str) -> tuple[Spending, ...]:
        """Return nothing: a run in memory has no earlier passes."""
        return ()


class ScratchRunStore(MemoryRunStore):
    """Keeps one run in memory, so that no list of runs shows it; its calls and vectors are cached in a store."""

    def __init__(self, store: RunStore) -> None:
        super().__init__()
        self._store = store

    def call_log(self, run_id: str | None = None) -> CallLog:
        """Return the call log of the store, so that each reply is paid for once."""
        return self._store.call_log()

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return the vectors that the store has."""
        return await self._store.get(fingerprint, texts)

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Put vectors into the store."""
        await self._store.put(fingerprint, vectors)


class _Calls:
    """A call log in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, Call] = {}

    async def find(self, key: str) -> Reply | None:
        call = self._kept.get(key)
        return None if call is None else call.replayed

    async def identities(self) -> list[str]:
        return list({call.identity: None for call in self._kept.values()})

    async def sending(self, key: str) -> None:
        """Do nothing: a run in memory is never resumed."""

    async def keep(self, call: Call) -> None:
        if call.can_be_replayed:
            self._kept[call.key] = call


class _Tools:
    """A log of tool calls in memory; safe for threads, since each step is one dictionary operation."""

    def __init__(self) -> None:
        self._kept: dict[str, ToolRecording] = {}

    def find(self, key: str) -> "ToolRecording | None":
        found = self._kept.get(key)
        return None if found is None else _copied(found)

    def keep(self, recording: "ToolRecording", *, overwrite: bool = False) -> "ToolRecording":
        mine = _copied(recording)
        if overwrite:
            self._kept[recording.key] = mine
        return _copied(self._kept.setdefault(recording.key, mine))


def _copied(recording: "ToolRecording") -> "ToolRecording":
    """Return the recording with a copy of its result, which the caller may change."""
    return replace(recording, result=copy_value(recording.result))
