"""A run on Ray, from the plan to its outcome."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import ModuleType

from evalmark.core.context.replaying import ToolReplay
from evalmark.core.protocols import EmbeddingCache, ToolJournal
from evalmark.core.settings import Settings
from evalmark.runs.engine.line import Engine, Limits, Outcome, Work
from evalmark.runs.engine.recorder import Watch
from evalmark.runs.planning.models import Door
from evalmark.runs.planning.plan import Bound, Plan

from .brief import Brief, Pack, brief_for, for_pool, pack
from .desk import Duty, run_elsewhere
from .errands import Errands
from .offers import Offers
from .on_ray import RayCrew, processors
from .start import Where, connected

WINDOW = 256
"""Trials that one hand judges at a time, so that little is done again when it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A cluster that is connected, and what its workers are told."""

    ray: ModuleType
    brief: Brief
    sent: Pack
    embedder: Pack | None
    hands: int

    def engine(self, door: Door, bound: Bound, cache: EmbeddingCache) -> Engine:
        """What runs trials with the workers of the cluster, as `run_trials` would do here.

        It raises CrewError where no worker can be had, or all of them end before they have done anything.
        """
        each = self.brief.limits

        async def run(
            work: Work, limits: Limits = each, *, stop: asyncio.Event | None = None, watch: Watch | None = None
        ) -> Outcome:
            crew = RayCrew(self.ray, self.sent, self.embedder, self.hands)
            await crew.check_pool()
            offers = Offers(work.tools or ToolReplay(_nothing, "off"), cache, bound.embedder)
            duty = Duty(crew=crew, errands=Errands(door), offers=offers, room=2 * each.jobs + each.window)
            return await run_elsewhere(work, limits, duty, stop=stop, watch=watch)

        return run


@asynccontextmanager
async def opened(place: Where, plan: Plan, settings: Settings, limits: Limits) -> AsyncIterator[Site]:
    """The site of a run; nothing of the run is begun before it stands.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster cannot be used, or the plan cannot be sent to its workers.
    """
    connection = connected(place)
    ray = await asyncio.to_thread(connection.__enter__)
    try:
        hands = min(settings.workers or processors(ray), limits.jobs)
        each = replace(limits, jobs=limits.jobs // hands, window=min(limits.window, WINDOW))
        brief = brief_for(plan, each)
        sent = pack(brief, settings, ray.cloudpickle)
        embedder = None
        if brief.pooled and plan.embedder is not None:
            embedder = pack(for_pool(plan.embedder), settings, ray.cloudpickle)
        yield Site(ray=ray, brief=brief, sent=sent, embedder=embedder, hands=hands)
    finally:
        await asyncio.to_thread(connection.__exit__, None, None, None)


def _nothing() -> ToolJournal:
    raise LookupError("no tool is recorded in this run")
