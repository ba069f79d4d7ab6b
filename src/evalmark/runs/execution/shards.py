"""Runs of one shard of the cases: which rows belong to the shard."""

from evalmark.core.values.run import Shard
from evalmark.inputs.datasets.sharding import ShardAssignment, shard_sizes
from evalmark.runs.planning.check import PlanCheck
from evalmark.runs.planning.plan import Plan

from .options import RunOptions


def shard_assignment(plan: Plan, shard: Shard | None) -> ShardAssignment | None:
    """Return the assignment of rows to a shard; None if the run is not sharded.

    If a metric scores conversations, datasets are assigned as a whole, since a turn needs the turns before it.
    """
    names = [source.info.name for source in plan.sources] if _is_whole(plan) else None
    return None if shard is None else ShardAssignment(shard, names)


def _is_whole(plan: Plan) -> bool:
    return "conversation" in plan.modes


def shard_faults(plan: Plan, shard: Shard | None) -> list[str]:
    """Return why a plan cannot be split, or why a shard cannot be scored again, one sentence each."""
    found = []
    if (
        plan.rescored is not None and plan.rescored.shard is not None
    ):  # if a shard were scored again, it would look like a whole run
        found.append(
            f"run {plan.rescored.id} is shard {plan.rescored.shard} and holds a share of the cases only; make one run of all shards "
            "with evalmark merge, and rescore that."
        )
    if shard is not None and plan.until_decided:
        found.append(
            f"{plan.suite or plan.name}: a run that stops once its gate is decided looks at all cases, and shard {shard} is "
            "a share of them; leave out either `until_decided` or the shard."
        )
    return found


def planned_row_counts(plan: Plan, options: RunOptions, checked: PlanCheck) -> list[int | None]:
    """Return how many rows of each dataset will run; None if the check has not read the dataset to its end."""
    found = [None if options.only is not None else checked.rows.get(source.info.name) for source in plan.sources]
    most = options.limit if options.sample is None else options.sample.size
    rows = [count if count is None or most is None else min(count, most) for count in found]
    return rows if options.shard is None else shard_sizes(rows, options.shard, whole=_is_whole(plan))
