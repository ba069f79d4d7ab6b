"""Where a run is kept: the store, or memory for runs that nobody wants to keep."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from evalmark.core.errors import StoreError
from evalmark.core.foreign.copying import copy_value
from evalmark.core.protocols import CallLog, CompletedTrials, EmbeddingCache, Sink, ToolLog
from evalmark.core.values.call import Call, Reply
from evalmark.core.values.case import Output
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending
from evalmark.core.values.tool import ToolRecording
from evalmark.storage.results.masking import masked_result

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors


class RunStore(EmbeddingCache, Protocol):
    """What a run asks of the place where it is kept."""

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
    """The run with these results in the order that every report has them in."""
    order = {info.name: number for number, info in enumerate(run.datasets)}

    def place(result: Result) -> tuple[int, int, int, str]:
        trial: Trial = result.trial
        return order[trial.dataset], trial.position, trial.repeat, trial.mode

    return replace(run, results=tuple(sorted(results, key=place)))


class MemoryRunStore:
    """Keeps one run, as long as it lives."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._results: list[Result] = []
        self._calls = _Calls()
        self._tools = _Tools()

    def start(self, run: Run) -> None:
        """Take the header of the run."""
        self._run = run

    def add(self, runs: Sequence[Run]) -> None:
        """Take a whole run; of several, the last one."""
        for run in runs:
            self._run, self._results = run, [*map(masked_result, run.results)]

    def resume(self, run_id: str, *, retry_errors: bool = False) -> Run:
        """Raises StoreError: nothing outlives memory."""
        raise StoreError(f"run {run_id!r} cannot be resumed without a store; name one with `store=`.")

    def recorded(self, run_id: str, *, retry_errors: bool = False) -> CompletedTrials:
        """Nothing is recorded before the run."""
        return NothingRecorded()

    def sink(self, run_id: str) -> Sink:
        """The ledger is its own sink."""
        return self

    async def write(self, results: Sequence[Result]) -> None:
        """Keep the results."""
        self._results.extend(results)

    def amend(self, run: Run) -> None:
        """Take the header anew."""
        self._run = run

    def finish(self, run: Run) -> None:
        """Take the final header."""
        self._run = run

    def run(self, reference: str) -> Run:
        """The run with its results in order."""
        if self._run is None:
            raise StoreError("no run was started.")
        return with_results(self._run, self._results)

    def runs(self, limit: int | None = None) -> Sequence[Run]:
        """The one run, once it has been started."""
        return [] if self._run is None else [self.run(self._run.id)]

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """No vectors are kept: the embedder asks for each text once in a run anyway."""
        return {}

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Forget the vectors."""

    def call_log(self, run_id: str | None = None) -> CallLog:
        """Calls are kept as long as the ledger: two cases with the same request share one call."""
        return self._calls

    def tool_log(self, run_id: str | None = None) -> ToolLog:
        """What tools gave is kept as long as the ledger."""
        return self._tools

    def interrupted_calls(self, run_id: str) -> int | None:
        """No requests: what memory kept is gone with its process."""
        return 0

    def spending(self, run_id: str) -> tuple[Spending, ...]:
        """Nothing was spent before the run."""
        return ()


class ScratchRunStore(MemoryRunStore):
    """Keeps one run as long as it lives, so that no list of runs shows it, and asks the store for what was asked before."""

    def __init__(self, store: RunStore) -> None:
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


class NothingRecorded:
    """The recorded trials of a run that has none."""

    def __call__(self, trial: Trial) -> bool:
        return False

    def output(self, trial: Trial) -> Output | None:
        return None


class _Calls:
    """A journal in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, Call] = {}

    async def find(self, key: str) -> Reply | None:
        call = self._kept.get(key)
        return None if call is None else call.replayed

    async def identities(self) -> list[str]:
        return list({call.identity: None for call in self._kept.values()})

    async def sending(self, key: str) -> None:
        """Nobody resumes what only memory knows."""

    async def keep(self, call: Call) -> None:
        if call.can_be_replayed:
            self._kept[call.key] = call


class _Tools:
    """A journal of tools in memory; a dictionary does each of its steps for one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[str, ToolRecording] = {}

    def find(self, key: str) -> ToolRecording | None:
        found = self._kept.get(key)
        return None if found is None else _copied(found)

    def keep(self, recording: ToolRecording, *, anew: bool = False) -> ToolRecording:
        mine = _copied(recording)
        if anew:
            self._kept[recording.key] = mine
        return _copied(self._kept.setdefault(recording.key, mine))


def _copied(recording: ToolRecording) -> ToolRecording:
    """The recording with a result of its own, which whoever gets it may change."""
    return replace(recording, result=copy_value(recording.result))
