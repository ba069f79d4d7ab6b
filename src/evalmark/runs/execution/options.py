"""`RunOptions`: how a plan is executed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.run import Run, Sample, Shard
from evalmark.core.values.score import Trial, VerdictListener
from evalmark.runs.engine.work import ResultCallback
from evalmark.runs.planning.check import PlanCheck
from evalmark.runs.session.run_store import RunStore

DEFAULTS = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a plan is executed; no option changes the output or the scores of a trial."""

    store: RunStore
    """The storage of the run: a store, or `MemoryRunStore()`."""
    settings: Settings = DEFAULTS
    resume: str | None = None
    """The id of the run to resume; None starts a new one."""
    retry_errors: bool = False
    """Whether a resumed run repeats trials that ended in an error."""
    limit: int | None = None
    """The most cases of each dataset; None: all."""
    only: Callable[[Case, str], bool] | None = None
    """Selects cases by case and dataset name; None: all."""
    sample: Sample | None = None
    """The random sample of these cases to run; None: all of them."""
    shard: Shard | None = None
    """The share of these cases to run; None: all of them."""
    given_name: str = ""
    """The user's name for this run; empty: none, or that of the resumed run."""
    tags: tuple[str, ...] = ()
    """The user's tags for this run; empty: none, or those of the resumed run."""
    stop: asyncio.Event | None = None
    """Set by the caller to end the run early."""
    baseline: Run | None = None
    """The earlier run to compare with while the run goes on, if it stops as soon as its gate is decided."""
    on_start: Callable[[Run, PlanCheck], None] | None = None
    """Called once, when all checks have passed and the run has its id."""
    on_trial: Callable[[Trial], None] | None = None
    """Called with each trial before it starts; not with turns of conversations and trials that are scored again."""
    on_results: ResultCallback | None = None
    """Called with results as soon as they are durable."""
    on_verdicts: VerdictListener | None = None
    """Called with their verdicts only."""

    @property
    def is_part(self) -> bool:
        """Whether cases may be left out."""
        return any(part is not None for part in (self.limit, self.only, self.sample, self.shard))
