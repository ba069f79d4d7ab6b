"""A run on Ray, from the plan to its outcome."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import ModuleType

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.protocols import EmbeddingCache, ToolLog
from evalmark.core.settings import Settings
from evalmark.runs.engine.pipeline import Engine, EngineOutcome, Limits, Work
from evalmark.runs.engine.result_writer import ResultCallback
from evalmark.runs.planning.models import ModelGateway
from evalmark.runs.planning.plan import BoundPlan, Plan

from .coordinator import CoordinatorConfig, run_on_workers
from .payload import JobSpec, Payload, embedder_spec, job_spec, make_payload
from .ray_connection import ClusterAddress, connect
from .ray_workers import RayWorkerPool, cpu_count
from .remote_calls import CallProxy
from .services import SharedServices

WORKER_WINDOW = 256
"""Trials that one hand judges at a time, so that little is done again when it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSession:
    """A cluster that is connected, and what its workers are told."""

    ray: ModuleType
    brief: JobSpec
    sent: Payload
    embedder: Payload | None
    hands: int

    def engine(self, door: ModelGateway, bound: BoundPlan, cache: EmbeddingCache) -> Engine:
        """What runs trials with the workers of the cluster, as `run_trials` would do here.

        It raises CrewError where no worker can be had, or all of them end before they have done anything.
        """
        each = self.brief.limits

        async def run(
            work: Work, limits: Limits = each, *, stop: asyncio.Event | None = None, watch: ResultCallback | None = None
        ) -> EngineOutcome:
            crew = RayWorkerPool(self.ray, self.sent, self.embedder, self.hands)
            await crew.check_pool()
            offers = SharedServices(work.tools or ToolReplay(_nothing, "off"), cache, bound.embedder)
            duty = CoordinatorConfig(
                crew=crew, errands=CallProxy(door), offers=offers, room=2 * each.jobs + each.window
            )
            return await run_on_workers(work, limits, duty, stop=stop, watch=watch)

        return run


@asynccontextmanager
async def open_session(
    place: ClusterAddress, plan: Plan, settings: Settings, limits: Limits
) -> AsyncIterator[ClusterSession]:
    """The site of a run; nothing of the run is begun before it stands.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster cannot be used, or the plan cannot be sent to its workers.
    """
    connection = connect(place)
    ray = await asyncio.to_thread(connection.__enter__)
    try:
        hands = min(settings.workers or cpu_count(ray), limits.jobs)
        each = replace(limits, jobs=limits.jobs // hands, window=min(limits.window, WORKER_WINDOW))
        brief = job_spec(plan, each)
        sent = make_payload(brief, settings, ray.cloudpickle)
        embedder = None
        if brief.pooled and plan.embedder is not None:
            embedder = make_payload(embedder_spec(plan.embedder), settings, ray.cloudpickle)
        yield ClusterSession(ray=ray, brief=brief, sent=sent, embedder=embedder, hands=hands)
    finally:
        await asyncio.to_thread(connection.__exit__, None, None, None)


def _nothing() -> ToolLog:
    raise LookupError("no tool is recorded in this run")
