"""The input of an engine (trials, targets, scorers, limits), and its outcome."""

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
    """Trials whose target is called at the same time."""
    timeout: float | None = None
    """Time limit of one target call and of one scorer, in seconds; None: no limit."""
    window: int = 2_048
    """Trials that are scored at the same time, so that embedders and judges can work on large batches."""
    batch: int = 2_000
    """Results written at once, at the most."""
    write_interval: float = 0.0
    """Seconds from one write of results to the next, so that many share a transaction; less if many wait, or if a model call
    of a trial cannot be replayed."""
    grace: float = 10.0
    """Seconds that trials under way have to finish after a stop."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTurn:
    """A turn whose output is recorded already; later turns follow it."""

    case: Case
    output: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTrial:
    """A trial whose output is known; it is scored, and its target is not called."""

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
    """A Result is recorded unchanged and is not a turn."""


EngineItem = Trial | Result | AnsweredTrial | Conversation
"""A unit of work that one task processes from start to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The trials for an engine to run, with everything it needs for them."""

    trials: "Iterable[EngineItem] | AsyncIterator[EngineItem]"
    """A Result is recorded unchanged, for example that of a row that could not be read."""
    targets: Mapping[str, Target]
    """By the names that the trials give."""
    scorers: Sequence[Scorer]
    sink: Sink
    on_verdicts: VerdictListener | None = None
    """Called with the verdicts of results once they are durable."""
    turn_scorers: Sequence[Scorer] = ()
    """The scorers of turns of conversations."""
    tools: ToolReplay | None = None
    """Record/replay of the target's tool calls; None: the tools are called without it."""
    get_model: GetModel | None = None
    """Returns the chat models that the target names; None: it opens its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOutcome:
    """How a run of the engine ended."""

    recorded: int
    """Results that are durable."""
    stopped: bool
    """Whether trials were left out because of a stop."""
    reason: str = ""
    """Why no further model call was possible, if that stopped the run; else empty."""
    longest_block: float
    """The longest time, in seconds, that the event loop was blocked."""
    notes: tuple[str, ...] = ()
    """Remarks for readers of the run."""


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
