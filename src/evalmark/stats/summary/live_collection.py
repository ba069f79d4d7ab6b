"""Collects the results of a run while it goes on, so that its summary need not read them back from the store."""

import heapq
import math
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any

from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.storage.results.stored_results import decode_result, encode_result

from .collection import WORST_TRIALS, CollectedResults, empty_collection

ResultOrder = tuple[int, int, int, str]
"""Where the store returns a result: dataset, position, repeat, target."""

_SCALARS = frozenset((NoneType, bool))
_MAX_INT = 1 << 63
_MAX_DEPTH = 20
MAX_WAITING = 5_000
"""Results that may wait for an earlier one."""


class LiveCollection:
    """Collects results in the order in which the store returns them, whatever the order of their arrival.

    A result waits until all results before it have arrived. So the numbers and their rounding are those of
    `collect`. Only new runs of single cases can be collected: the trials of each dataset have to start in the order of
    their positions. If too many results wait for a slow one, nothing is collected, so that memory does not grow.
    """

    def __init__(self) -> None:
        self._collected: CollectedResults | None = None
        self._datasets: dict[str, int] = {}
        self._expected: list[ResultOrder] = []
        """A heap of the trials that started and are not collected."""
        self._arrived: dict[ResultOrder, Result] = {}
        self._latest = (0, 0)
        """Dataset and position of the latest trial that started; others of its case may follow."""

    def start(self, run: Run, worst: int = WORST_TRIALS) -> None:
        """Begin with the header of the run; `worst` is the number of trials to review that are kept."""
        self._collected = empty_collection(run, worst)
        self._datasets = {info.name: number for number, info in enumerate(run.datasets)}

    def expect(self, trial: Trial) -> None:
        """Note that a trial starts; called for all trials in their order, after `start`."""
        if self._collected is None:
            return
        order = self._order(trial)
        self._latest = order[:2]
        heapq.heappush(self._expected, order)

    def add(self, results: Sequence[Result]) -> None:
        """Add stored results of trials that started, in any order."""
        if self._collected is None:
            return
        for result in results:
            self._arrived[self._order(result.trial)] = result
        while self._expected and self._expected[0] in self._arrived and self._expected[0][:2] < self._latest:
            self._collect(self._arrived.pop(heapq.heappop(self._expected)))
        if len(self._arrived) > MAX_WAITING:
            self._collected = None
            self._arrived.clear()

    def finish(self) -> CollectedResults | None:
        """Return what was collected, without trials that were stopped; None if nothing was."""
        for order in sorted(self._arrived):
            self._collect(self._arrived[order])
        self._arrived.clear()
        if self._collected is not None:
            self._collected.review.replace_results(_stored)
        return self._collected

    def _collect(self, result: Result) -> None:
        if self._collected is not None:
            self._collected.add(as_stored(result))

    def _order(self, trial: Trial) -> ResultOrder:
        return self._datasets[trial.dataset], trial.position, trial.repeat, trial.target


def as_stored(result: Result) -> Result:
    """Return the result with the numbers and texts that the store returns; most results have them already."""
    case, output = result.trial.case, result.output
    values = [case.input, case.expected, case.metadata, *case.tags, output.error, output.seconds, output.waited]
    for score in result.scores:
        values += (score.raw, score.value, score.passed, score.reason, score.detail)
    return result if _are_plain(values) else _stored(result)


def _stored(result: Result) -> Result:
    return decode_result(encode_result(result).row)


def _are_plain(values: Iterable[Any], depth: int = 0) -> bool:
    """Return whether the store returns exactly these values."""
    for value in values:
        kind = type(value)
        if kind is str:
            is_plain = value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
        elif kind is float:
            is_plain = math.isfinite(value)
        elif kind is int:
            is_plain = abs(value) < _MAX_INT
        elif kind is dict or kind is list:
            parts = (*value, *value.values()) if kind is dict else value
            is_plain = not value or (depth < _MAX_DEPTH and _are_plain(parts, depth + 1))
        else:
            is_plain = kind in _SCALARS
        if not is_plain:
            return False
    return True
