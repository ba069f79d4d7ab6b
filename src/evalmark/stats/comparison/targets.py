"""Two targets of one run, by the names that somebody gives them."""

from collections.abc import Sequence

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.stats.inference.argument_checks import check_arguments

_NAMED = 10
"""Targets that a fault names."""


@check_arguments
def two_targets(run: Run, target: str, against: str) -> tuple[str, str]:
    """The two, where the run has both; results are read only where its header does not say so.

    Raises:
        ConfigError: the run has no such target, or both are the same.
    """
    if target == against:
        raise ConfigError(f"compare: --target and --against are both {target!r}; name two targets of {run.id}.")
    wanted, known = (target, against), run.target.split(", ")
    if not set(wanted) <= set(known):
        known = list(dict.fromkeys(result.trial.target for result in run.results))
    missing = [name for name in wanted if name not in known]
    if missing:
        called = " and no target ".join(map(repr, missing))
        raise ConfigError(f"compare: {run.id} has no target {called}; {_there_are(known)}.")
    return wanted


def _there_are(known: Sequence[str]) -> str:
    if not known:
        return "it has no result"
    more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
    return f"it has {', '.join(map(repr, known[:_NAMED]))}{more}"
