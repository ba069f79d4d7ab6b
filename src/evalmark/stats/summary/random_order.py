"""The random order in which a run that may stop early asks its cases, and its results in just that order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result
from evalmark.stats.inference.argument_checks import check_arguments

CasePosition = tuple[str, int]
"""A case of a run: its dataset, and where it stands in it."""


@check_arguments
def random_order(places: Iterable[CasePosition], seed: int) -> list[CasePosition]:
    """The places in a random order that rests on the seed.

    The order of two of them does not depend on which others there are: rows that are added to a dataset stand between
    those that were there, which keep theirs.

    >>> random_order([("a", 0), ("a", 1), ("a", 2), ("a", 3)], seed=7)
    [('a', 1), ('a', 2), ('a', 0), ('a', 3)]
    """
    return sorted(places, key=lambda place: (_lot(place, seed), place))


def _lot(place: CasePosition, seed: int) -> bytes:
    name, position = place
    return blake2b(f"{seed}/{position}/{name}".encode(errors="surrogatepass"), digest_size=16).digest()


class OrderedResults:
    """Hands on the results of whole cases in the order in which they were drawn, not in that in which they came back.

    Fast answers come first, and may be better or worse than slow ones; so a case waits until all before it are there.
    """

    def __init__(
        self,
        trials: Mapping[CasePosition, int],
        order: Sequence[CasePosition],
        take: Callable[[Sequence[Result]], None],
    ) -> None:
        """`trials` says how many results a case has."""
        self._trials, self._order, self._take = trials, order, take
        self._waiting: dict[CasePosition, list[Result]] = {}
        self._next = 0
        self.left = sum(trials.values())
        """Results that have not come back."""
        self.met: set[CasePosition] = set()
        """Cases of which some result is there."""

    def add(self, results: Iterable[Result]) -> None:
        """Results that came back, in any order; those of cases that were not drawn are passed over."""
        for result in results:
            place = result.trial.dataset, result.trial.position
            if place in self._trials:
                self._waiting.setdefault(place, []).append(_lean(result))
                self.met.add(place)
                self.left -= 1
        while self._next < len(self._order) and self._is_whole(self._order[self._next]):
            self._take(self._waiting.pop(self._order[self._next]))
            self._next += 1

    def _is_whole(self, place: CasePosition) -> bool:
        return len(self._waiting.get(place, ())) >= self._trials[place]


def _lean(result: Result) -> Result:
    """What a gate looks at, without the texts: many results may wait for a slow one."""
    case = result.trial.case
    scores = tuple(
        replace(score, reason="", detail={}, raw=score.raw if isinstance(score.raw, int | float) else None)
        for score in result.scores
    )
    about = Case(id=case.id, tags=case.tags, metadata=case.metadata)
    return Result(trial=replace(result.trial, case=about), output=Output(error=result.output.error), scores=scores)
