"""Runs of a share of the cases: which rows are part of a shard."""

from evalmark.core.values.run import Shard
from evalmark.inputs.datasets.sharding import ShardAssignment, shard_sizes
from evalmark.runs.planning.check import PlanCheck
from evalmark.runs.planning.plan import Plan

from .options import RunOptions


def shard_assignment(plan: Plan, shard: Shard | None) -> ShardAssignment | None:
    """Return what assigns rows to a shard; None where all rows are run.

    The turns of a conversation need those before them, so where there are any, a dataset stays whole.
    """
    names = [source.info.name for source in plan.sources] if _is_whole(plan) else None
    return None if shard is None else ShardAssignment(shard, names)


def _is_whole(plan: Plan) -> bool:
    return "conversation" in plan.modes


def shard_faults(plan: Plan, shard: Shard | None) -> list[str]:
    """Return why a plan cannot be split, or why a shard cannot be scored again, one sentence each."""
    found = []
    if plan.kept is not None and plan.kept.shard is not None:  # scored again, it would look like a whole run
        found.append(
            f"run {plan.kept.id} is shard {plan.kept.shard} and holds a share of the cases only; make one run of all shards "
            "with evalmark merge, and rescore that."
        )
    if shard is not None and plan.until_decided:
        found.append(
            f"{plan.suite or plan.name}: a run that stops once its gate is decided looks at all cases, and shard {shard} is "
            "a share of them; leave out either `until_decided` or the shard."
        )
    return found


def planned_row_counts(plan: Plan, options: RunOptions, checked: PlanCheck) -> list[int | None]:
    """Return how many rows of each dataset are run; None where the check has not read the dataset to its end."""
    found = [None if options.only is not None else checked.rows.get(source.info.name) for source in plan.sources]
    rows = [count if count is None or options.limit is None else min(count, options.limit) for count in found]
    return rows if options.shard is None else shard_sizes(rows, options.shard, whole=_is_whole(plan))
