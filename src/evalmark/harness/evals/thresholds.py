"""Thresholds of the scores of an eval: one for all scorers, or one each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean

if TYPE_CHECKING:
    from evalmark.runs.planning.plan import ScorerSpec

PERFECT = 1.0
"""The threshold where neither the eval nor the scorer sets one."""


class _Unset(Enum):
    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset.UNSET
"""Instead of a threshold: the scorer decides, and a score that it does not decide has to be perfect. None: nothing can fail."""
Limit = float | Literal[_Unset.UNSET] | None
Threshold = Limit | Mapping[str, Limit]
"""One threshold for all scorers, or one each by name."""


def with_thresholds(specs: "Sequence[ScorerSpec]", threshold: Threshold, place: str) -> "tuple[ScorerSpec, ...]":
    """Return the scorers with their thresholds.

    A number is the least value that passes (the most, where lower is better). None: scores are only recorded.
    Without one, a score that the scorer itself neither passes nor fails has to be perfect.

    Raises:
        ConfigError: a threshold is not a number from 0 to 1, or names a scorer that the eval does not have.
    """
    __tracebackhide__ = True
    if not isinstance(threshold, Mapping):
        return tuple(_with_threshold(one, threshold, place) for one in specs)
    names = {id(one): one.base or one.bound(None).name for one in specs}
    if unknown := [name for name in threshold if name not in names.values()]:
        advice = did_you_mean(str(unknown[0]), names.values()) or f"the scorers are {', '.join(names.values())}."
        raise ConfigError(
            f"{place}: there is a threshold for {unknown[0]!r}, which is not a scorer of this eval; {advice}"
        )
    return tuple(_with_threshold(one, threshold.get(names[id(one)], UNSET), place) for one in specs)


def _with_threshold(spec: "ScorerSpec", limit: Any, place: str) -> "ScorerSpec":
    __tracebackhide__ = True
    if limit is None:
        return replace(spec, threshold=None, decides=False)
    if limit is UNSET:
        return replace(spec, fallback_threshold=PERFECT)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 <= limit <= 1:
        raise ConfigError(
            f"{place}: the threshold {limit!r} is not a number from 0 to 1; None means that nothing can fail."
        )
    return spec if spec.threshold is not None else replace(spec, threshold=float(limit))
