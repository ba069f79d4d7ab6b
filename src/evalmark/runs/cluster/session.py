"""A run on Ray: connect to the cluster, send the plan, run trials on its workers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import ModuleType

from evalmark.core.protocols import EmbeddingCache
from evalmark.core.settings import Settings
from evalmark.runs.engine.work import Engine, EngineOutcome, Limits, ResultCallback, Work
from evalmark.runs.planning.models import ModelGateway
from evalmark.runs.planning.plan import BoundPlan, Plan

from .coordinator import CoordinatorConfig, run_on_workers
from .payload import JobSpec, Payload, embedder_spec, job_spec, make_payload
from .ray_connection import ClusterAddress, connect
from .ray_workers import cpu_count, ray_pool
from .remote_calls import CallProxy
from .services import SharedServices

WORKER_WINDOW = 256
"""The scoring window of one worker: small, so that a lost worker repeats little work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSession:
    """A connected cluster and what its workers get."""

    ray: ModuleType
    job: JobSpec
    payload: Payload
    embedder: Payload | None
    workers: int

    def engine(self, gateway: ModelGateway, bound: BoundPlan, cache: EmbeddingCache) -> Engine:
        """Return an engine that runs trials on the workers of the cluster.

        It raises NoWorkersError if no worker can be started, or if all end before any trial finishes.
        """
        each = self.job.limits

        async def run(
            work: Work, limits: Limits = each, *, stop: asyncio.Event | None = None, watch: ResultCallback | None = None
        ) -> EngineOutcome:
            async with ray_pool(self.ray, self.payload, self.embedder, self.workers) as pool:
                services = SharedServices(work.tools, cache, bound.embedder)
                config = CoordinatorConfig(
                    pool=pool, calls=CallProxy(gateway), services=services, max_items=2 * each.jobs + each.window
                )
                return await run_on_workers(work, limits, config, stop=stop, watch=watch)

        return run


@asynccontextmanager
async def open_session(
    cluster: ClusterAddress, plan: Plan, settings: Settings, limits: Limits
) -> AsyncIterator[ClusterSession]:
    """Connect to a cluster and prepare what its workers get, before the run starts.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster cannot be used, or the plan cannot be sent to its workers.
    """
    connection = connect(cluster)
    ray = await asyncio.to_thread(connection.__enter__)
    try:
        workers = min(settings.workers or cpu_count(ray), limits.jobs)
        each = replace(limits, jobs=limits.jobs // workers, window=min(limits.window, WORKER_WINDOW))
        job = job_spec(plan, each)
        payload = make_payload(job, settings, ray.cloudpickle)
        embedder = None
        if job.pooled and plan.embedder is not None:
            embedder = make_payload(embedder_spec(plan.embedder), settings, ray.cloudpickle)
        yield ClusterSession(ray=ray, job=job, payload=payload, embedder=embedder, workers=workers)
    finally:
        await asyncio.to_thread(connection.__exit__, None, None, None)
