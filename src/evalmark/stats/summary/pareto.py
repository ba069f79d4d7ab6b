"""Computes the cost of each target's outputs, and which targets are Pareto-optimal in cost and quality."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from evalmark.core.values.score import Result
from evalmark.stats.inference.argument_checks import check_arguments

PriceLookup = Callable[[Collection[str]], Mapping[str, tuple[str, float | None]]]
"""Returns the model and the cost in US dollars of each call with one of these keys; the cost is None if it is unknown."""
_AT_ONCE = 2_000
"""Calls whose prices are looked up together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCost:
    """The cost of one target's outputs: its own calls, without those of judges."""

    target: str
    trials: int
    priced: int
    """Trials whose calls all have a known price."""
    uncalled: int
    """Trials without a known call: the target calls no model, or not through evalmark."""
    total: float | None
    """US dollars of the priced trials, as if nothing had been cached; None without priced trials."""
    models: tuple[str, ...]
    """The names of the models."""

    @property
    def cost(self) -> float | None:
        """The mean cost of a priced trial in US dollars; None without priced trials."""
        return None if self.total is None else self.total / self.priced

    @property
    def unpriced(self) -> int:
        """Trials with a call of unknown price."""
        return self.trials - self.priced - self.uncalled


@dataclass(slots=True)
class _Target:
    trials: int = 0
    uncalled: int = 0
    costs: list[float] = field(default_factory=list)
    models: set[str] = field(default_factory=set)


class CostCollector:
    """Collects the costs of targets in one pass over the results."""

    def __init__(self, prices: PriceLookup) -> None:
        self._prices = prices
        self._targets: dict[str, _Target] = {}
        self._waiting: list[tuple[_Target, tuple[str, ...]]] = []
        self._keys = 0

    def add(self, result: Result) -> None:
        """Add a result."""
        target = self._targets.setdefault(result.trial.target, _Target())
        target.trials += 1
        keys = own_calls(result)
        if not keys:
            target.uncalled += 1
            return
        self._waiting.append((target, keys))
        self._keys += len(keys)
        if self._keys >= _AT_ONCE:
            self._look_up()

    def found(self) -> tuple[TargetCost, ...]:
        """Return the cost of each target, in the order of the results."""
        self._look_up()
        return tuple(
            TargetCost(
                target=name,
                trials=one.trials,
                priced=len(one.costs),
                uncalled=one.uncalled,
                total=math.fsum(one.costs) if one.costs else None,
                models=tuple(sorted(one.models)),
            )
            for name, one in self._targets.items()
        )

    def _look_up(self) -> None:
        prices = self._prices({key for _, keys in self._waiting for key in keys})
        for target, keys in self._waiting:
            calls = [prices[key] for key in keys if key in prices]
            if not calls:  # only tool calls
                target.uncalled += 1
                continue
            target.models |= {model for model, _ in calls if model}
            costs = [cost for _, cost in calls if cost is not None]
            if len(costs) == len(calls):
                target.costs.append(math.fsum(costs))
        self._waiting, self._keys = [], 0


def own_calls(result: Result) -> tuple[str, ...]:
    """Return the keys of the calls that produced an output, without those of judges."""
    keys = result.output.metadata.get("calls")
    found = keys if isinstance(keys, list | tuple) else ()
    return tuple(dict.fromkeys(key for key in found if isinstance(key, str)))


@check_arguments
def pareto_optimal(points: Sequence[tuple[float, float]], *, lower: bool = False) -> list[bool]:
    """Return for each (cost, quality) whether no other point costs no more, is no worse, and differs.

    With `lower`, lower quality values are better.

    >>> pareto_optimal([(1, 0.7), (2, 0.9), (3, 0.8), (1, 0.7)])
    [True, True, False, True]
    """
    sign = -1 if lower else 1
    signed = [(cost, sign * quality) for cost, quality in points]
    return [not any(_beats(other, one) for other in signed) for one in signed]


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] >= other[1]
