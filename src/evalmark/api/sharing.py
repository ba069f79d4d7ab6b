"""A run that asks a share of the cases: which rows are its own, and what it cannot be."""

from typing import TYPE_CHECKING

from evalmark.cases import Deal, share
from evalmark.errors import ConfigError
from evalmark.plans import Checked, Plan
from evalmark.values import Run, Shard

if TYPE_CHECKING:
    from .conduct import Conduct


def deal_of(plan: Plan, shard: Shard | None) -> Deal | None:
    """What says which rows fall to a shard; None where all rows are asked.

    The turns of a conversation need those before them, so where there are any, a dataset stays whole.
    """
    names = [source.info.name for source in plan.sources] if _is_whole(plan) else None
    return None if shard is None else Deal(shard, names)


def _is_whole(plan: Plan) -> bool:
    return "conversation" in plan.modes


def shard_faults(plan: Plan, shard: Shard | None) -> list[str]:
    """What keeps a plan from being divided, one sentence each."""
    if shard is None or not plan.until_decided:
        return []
    fault = (
        f"{plan.suite or plan.name}: a run that stops once its gate is decided looks at all cases, and shard {shard} is a "
        "share of them; leave out either `until_decided` or the shard."
    )
    return [fault]


def refuse_other_share(kept: Run, shard: Shard | None) -> None:
    """Say that a run which is taken up asks another share of the cases than is wanted now.

    Raises:
        ConfigError: it does.
    """
    if str(kept.shard) == str(shard):
        return
    asks = "all cases" if kept.shard is None else f"shard {kept.shard} of them"
    wanted = "all" if shard is None else f"shard {shard}"
    advice = "leave --shard out" if kept.shard is None else f"say --shard {kept.shard}"
    raise ConfigError(f"run {kept.id} asks {asks}, and {wanted} is wanted now; {advice}, or leave --resume out.")


def rows_asked(plan: Plan, conduct: "Conduct", checked: Checked) -> list[int | None]:
    """How many rows of each dataset will be asked, where the check has met them all; else None."""
    found = [None if conduct.only is not None else checked.rows.get(source.info.name) for source in plan.sources]
    rows = [count if count is None or conduct.limit is None else min(count, conduct.limit) for count in found]
    return rows if conduct.shard is None else share(rows, conduct.shard, whole=_is_whole(plan))
