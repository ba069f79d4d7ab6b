"""Where trials run: in this process, in worker processes, or on a cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import EmbeddingCache
from evalmark.core.settings import Settings
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import Engine, Limits
from evalmark.runs.planning.models import ModelGateway
from evalmark.runs.planning.plan import BoundPlan, Plan
from evalmark.runs.targets.service import ServiceTarget

if TYPE_CHECKING:
    from evalmark.runs.cluster import ray_connection
    from evalmark.runs.cluster import session as site_module
    from evalmark.runs.isolation import engine
else:
    site_module = LazyModule("evalmark.runs.cluster.session")
    ray_connection = LazyModule("evalmark.runs.cluster.ray_connection")
    engine = LazyModule("evalmark.runs.isolation.engine")

EngineFactory = Callable[[ModelGateway, BoundPlan, EmbeddingCache], Engine]
"""Makes the engine of a run from its gateway, its bound plan and its vector cache."""


@asynccontextmanager
async def open_engine(plan: Plan, settings: Settings, limits: Limits) -> AsyncIterator[EngineFactory]:
    """Open the engine that the settings name; it is ready before the run begins.

    Raises:
        MissingExtraError: the settings name Ray, and it is not installed.
        ConfigError: the setting `on` is invalid, the cluster cannot be used, or the plan cannot be sent to workers.
    """
    if settings.isolate and settings.on != "local":
        raise ConfigError(
            f"--isolate starts workers on this machine, and --on {settings.on} elsewhere; use one of them."
        )
    if settings.isolate and plan.rescored is None:
        async with engine.open_engine(plan.targets, settings.replay) as isolated:
            yield lambda gateway, bound, cache: isolated
        return
    if settings.on == "local":
        yield lambda gateway, bound, cache: run_trials
        return
    if any(isinstance(target, ServiceTarget) for target in plan.targets) and plan.rescored is None:
        raise ConfigError(
            f"--on {settings.on}: HTTP services and commands are called by this machine only; leave --on out."
        )
    address = ray_connection.parse_cluster_address(settings.on, is_trusted=settings.trust_cluster)
    async with site_module.open_session(address, plan, settings, limits) as cluster:
        yield cluster.engine
