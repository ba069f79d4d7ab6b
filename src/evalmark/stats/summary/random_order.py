"""The random order of cases in a run that may stop early, and their results in that order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result
from evalmark.stats.inference.argument_checks import check_arguments

CasePosition = tuple[str, int]
"""The dataset of a case and its position in it."""


@check_arguments
def random_order(places: Iterable[CasePosition], seed: int) -> list[CasePosition]:
    """Sort positions in a random order that depends on the seed.

    The order of two positions does not depend on the others, so rows added to a dataset do not change the order
    of existing ones.

    >>> random_order([("a", 0), ("a", 1), ("a", 2), ("a", 3)], seed=7)
    [('a', 1), ('a', 2), ('a', 0), ('a', 3)]
    """
    return sorted(places, key=lambda place: (_random_key(place, seed), place))


def _random_key(place: CasePosition, seed: int) -> bytes:
    name, position = place
    return blake2b(f"{seed}/{position}/{name}".encode(errors="surrogatepass"), digest_size=16).digest()


class OrderedResults:
    """Passes on the results of complete cases in the random order, not in the order of their arrival.

    Fast outputs arrive first, and may be better or worse than slow ones. So a case waits until all cases before
    it are complete.
    """

    def __init__(
        self,
        trials: Mapping[CasePosition, int],
        order: Sequence[CasePosition],
        take: Callable[[Sequence[Result]], None],
    ) -> None:
        """`trials` maps each case to its number of results."""
        self._trials, self._order, self._take = trials, order, take
        self._waiting: dict[CasePosition, list[Result]] = {}
        self._next = 0
        self.left = sum(trials.values())
        """Results that have not arrived."""
        self.met: set[CasePosition] = set()
        """Cases with at least one result."""

    def add(self, results: Iterable[Result]) -> None:
        """Add results in any order; results of other cases are ignored."""
        for result in results:
            case = result.trial.dataset, result.trial.position
            if case in self._trials:
                self._waiting.setdefault(case, []).append(_without_texts(result))
                self.met.add(case)
                self.left -= 1
        while self._next < len(self._order) and self._is_whole(self._order[self._next]):
            self._take(self._waiting.pop(self._order[self._next]))
            self._next += 1

    def _is_whole(self, place: CasePosition) -> bool:
        return len(self._waiting.get(place, ())) >= self._trials[place]


def _without_texts(result: Result) -> Result:
    """Return the result without the texts that a gate does not need, to save memory."""
    case = result.trial.case
    scores = tuple(
        replace(score, reason="", detail={}, raw=score.raw if isinstance(score.raw, int | float) else None)
        for score in result.scores
    )
    about = Case(id=case.id, tags=case.tags, metadata=case.metadata)
    return Result(trial=replace(result.trial, case=about), output=Output(error=result.output.error), scores=scores)
