"""What an engine runs, with its limits, and how the run of an engine ended."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.context.trial_context import GetModel
from evalmark.core.protocols import Scorer, Sink, Target
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result, Trial, VerdictListener

ResultCallback = Callable[[Sequence[Result]], None]
"""Called with results once they are durable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many trials run at once, and for how long."""

    jobs: int = 10
    """Trials being answered."""
    timeout: float | None = None
    """Time limit of one target call and of one scorer, in seconds; None: no limit."""
    window: int = 2_048
    """Trials being judged; what lets embedders and judges gather large batches."""
    batch: int = 2_000
    """Results written at once, at the most."""
    grace: float = 10.0
    """Seconds that trials under way get to finish once a stop was asked for."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTurn:
    """A turn whose output is recorded already; later turns build on it."""

    case: Case
    output: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTrial:
    """A trial whose output is known, and only scored; its target is not called."""

    trial: Trial
    output: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Trials that run one after the other; each case has the earlier turns in its history.

    A turn that got no answer is not part of the history of later ones.
    """

    target: str
    """Name of the target."""
    turns: Iterable[Trial | Result | AnsweredTurn | AnsweredTrial]
    """A Result is recorded as it is, and is no turn."""


EngineItem = Trial | Result | AnsweredTrial | Conversation
"""A unit of work that one task processes from start to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an engine runs, with everything it needs."""

    trials: "Iterable[EngineItem] | AsyncIterator[EngineItem]"
    """A Result is recorded as it is: a row that could not be read, say."""
    targets: Mapping[str, Target]
    """By the names that the trials give."""
    scorers: Sequence[Scorer]
    sink: Sink
    on_verdicts: VerdictListener | None = None
    """Called with the verdicts of results once they are durable."""
    turn_scorers: Sequence[Scorer] = ()
    """Those that judge the turns of conversations."""
    tools: ToolReplay | None = None
    """Record/replay of the target's tool calls; None: the tools are called without it."""
    get_model: GetModel | None = None
    """Where the target gets chat models that it asks for by name; None: it opens its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOutcome:
    """How a run of the engine ended."""

    recorded: int
    """Results that are durable."""
    stopped: bool
    """True when a stop left trials out."""
    reason: str = ""
    """Why no further call could be made, where that is what stopped the run."""
    longest_block: float
    """The longest time, in seconds, that something kept the event loop to itself."""
    notes: tuple[str, ...] = ()
    """What else a reader of the run should know."""


class Engine(Protocol):
    """Runs trials: `run_trials`, or an implementation that runs them elsewhere."""

    async def __call__(
        self,
        work: Work,
        limits: Limits = ...,
        *,
        stop: asyncio.Event | None = None,
        watch: ResultCallback | None = None,
    ) -> EngineOutcome: ...
