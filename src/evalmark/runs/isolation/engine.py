"""The engine that runs targets in worker processes; everything else stays in the process of the run."""

import asyncio
import os
import sys
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from evalmark.core.context.tool_replay import ToolMode, TrialTools
from evalmark.core.context.trial_context import TrialContext, current_trial_context, trial_context
from evalmark.core.foreign.import_guard import user_import_paths
from evalmark.core.protocols import Target
from evalmark.core.text import count as counted
from evalmark.core.values.case import Case, Output
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import EngineOutcome, Limits, ResultCallback, Work
from evalmark.runs.targets.function import ClassTarget

from .messages import RunCase
from .pool import ProcessPool, WorkerProcess
from .worker_setup import UserTarget, WorkerConfig, recipes_for

_CONVERSATIONS = count(1)
_USUAL = Limits()


@asynccontextmanager
async def open_engine(targets: Sequence[Target], tools: ToolMode) -> AsyncIterator["IsolatedEngine"]:
    """Open an engine for these targets: start the first worker, and end all workers afterwards.

    Raises:
        ConfigError: a target cannot be pickled, or cannot be loaded in a worker process.
    """
    recipes = recipes_for(targets)
    workers = ProcessPool(
        WorkerConfig(recipes=recipes, tools=tools, parent=os.getpid(), path=(*sys.path,), users=user_import_paths())
    )
    try:
        if recipes:
            workers.give_back(await workers.take())
        yield IsolatedEngine(workers)
    finally:
        await workers.close()


@dataclass(frozen=True, slots=True)
class IsolatedEngine:
    """Runs trials with targets in worker processes."""

    workers: ProcessPool

    async def __call__(
        self,
        work: Work,
        limits: Limits = _USUAL,
        *,
        stop: asyncio.Event | None = None,
        watch: ResultCallback | None = None,
    ) -> EngineOutcome:
        """Run trials, as `run_trials` does."""
        targets = {name: self._around(target) for name, target in work.targets.items()}
        outcome = await run_trials(replace(work, targets=targets), limits, stop=stop, watch=watch)
        lost = self.workers.lost_ones()
        note = f"Worker processes ended between cases, {counted(len(lost), 'time')}: {', '.join(lost)}."
        return replace(outcome, notes=(*outcome.notes, note)) if lost else outcome

    def _around(self, target: Target) -> Target:
        if isinstance(target, ClassTarget):
            return IsolatedClass(target.name, self.workers)
        return IsolatedTarget(target.name, self.workers) if isinstance(target, UserTarget) else target


@dataclass(frozen=True, slots=True)
class IsolatedTarget:
    """A target that runs in any free worker process."""

    name: str
    workers: ProcessPool

    async def __call__(self, case: Case) -> Output:
        """Call the target in a worker. Raises WorkerDiedError if the worker ends."""
        uses = current_trial_context()
        worker = await _free_worker(self.workers, uses)
        try:
            return await worker.run(RunCase(self.name, case, uses.repeat, None), uses)
        finally:
            self.workers.give_back(worker)


class IsolatedClass(IsolatedTarget):
    """A target class in worker processes, with a new object for each row and each conversation."""

    def new_conversation(self) -> Target:
        """Return a target that keeps one object in one worker for the turns of a conversation."""
        return _IsolatedConversation(self.name, self.workers)


@dataclass(slots=True, weakref_slot=True, eq=False)
class _IsolatedConversation:
    """One object in one worker for all turns. If the worker ends, a new object gets the answered turns again."""

    name: str
    workers: ProcessPool
    answered: list[Case] = field(default_factory=list)
    _number: int = 0
    _worker: WorkerProcess | None = None

    async def __call__(self, case: Case) -> Output:
        """Call the object in its worker. Raises WorkerDiedError if the worker ends."""
        uses = current_trial_context()
        if self._worker is None or not self._worker.is_usable:
            await self._begin(uses)
        output = await self._ask(case, uses)
        if output.error is None:
            self.answered.append(case)
        return output

    async def _begin(self, uses: TrialContext) -> None:
        worker = self._worker = await _free_worker(self.workers, uses)
        weakref.finalize(self, self.workers.give_back, worker).atexit = False
        self._number = next(_CONVERSATIONS)
        for case in self.answered:
            tools = None if uses.tools is None else TrialTools(uses.tools.replay, case.input)
            again = TrialContext(uses.repeat, tools, uses.get_model)
            with trial_context(again):
                await self._ask(case, again)

    async def _ask(self, case: Case, uses: TrialContext) -> Output:
        assert self._worker is not None  # noqa: S101  `_begin` has set it
        return await self._worker.run(RunCase(self.name, case, uses.repeat, self._number), uses)


async def _free_worker(workers: ProcessPool, uses: TrialContext) -> WorkerProcess:
    """Return a free worker; its start does not count as time of the case."""
    with uses.waiting():
        return await workers.take()
