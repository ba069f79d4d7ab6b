"""Selects what to review first: the worst trials of a run, and the worst scores of each metric."""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from evalmark.core.values.score import Result, Score, Trial
from evalmark.scoring.binding.text import text_of

from .summary import WorstScore

ROWS = 5
"""Worst scores kept for each metric."""
_LONGEST = 1_000
"""Characters of a reason; a label may have a tenth of it."""
_RANK = {"fail": 0, "error": 1, "unscored": 2, "ungated": 3}


@dataclass(slots=True)
class WorstTrials:
    """The few worst trials of a run."""

    limit: int
    seen: int = 0
    heap: list[tuple[int, float, int, Result]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.seen += 1
        if (verdict := result.verdict) == "pass" or not self.limit:
            return
        goodness = _goodness(result, failed=verdict == "fail")
        if verdict == "ungated" and goodness == 1:
            return
        # negated, so that the heap drops the best of the worst; `seen` keeps the order of the run
        entry = (-_RANK[verdict], -goodness, -self.seen, result)
        if len(self.heap) < self.limit:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)

    def in_order(self) -> Sequence[tuple[int, Result]]:
        """Return the trials with their numbers, counted from 1 in the order of the run."""
        return [(-seen, result) for *_, seen, result in sorted(self.heap, key=itemgetter(0, 1, 2), reverse=True)]


@dataclass(slots=True)
class WorstScores:
    """The few worst scores of one metric; of equal scores, the first ones."""

    seen: int = 0
    heap: list[tuple[float, int, WorstScore]] = field(default_factory=list)

    def add(self, score: Score, trial: Trial, number: float) -> None:
        """Add a score; `number` orders the scores in the direction of the metric, and NaN is ignored."""
        badness = -number if score.direction == "higher" else number
        perfect = score.value is not None and score.value == (score.direction == "higher")
        if perfect or math.isnan(badness):
            return
        self.seen += 1
        if len(self.heap) == ROWS and badness <= self.heap[0][0]:
            return
        entry = (badness, -self.seen, _row(score, trial))
        if len(self.heap) < ROWS:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heapreplace(self.heap, entry)

    def in_order(self) -> tuple[WorstScore, ...]:
        return tuple(entry[-1] for entry in sorted(self.heap, key=itemgetter(0, 1), reverse=True))


def _row(score: Score, trial: Trial) -> WorstScore:
    said = isinstance(score.raw, (int, float)) or (isinstance(score.raw, str) and len(score.raw) <= _LONGEST // 10)
    return WorstScore(
        case=trial.case.id,
        position=trial.position,
        repeat=trial.repeat,
        raw=score.raw if said else None,
        value=score.value if score.value is not None and math.isfinite(score.value) else None,
        passed=score.passed,
        reason=score.reason[:_LONGEST],
        asked=text_of(trial.case.input)[: _LONGEST // 10] if trial.case.has_generated_id else "",
    )


def _least_support(result: Result) -> float | None:
    """Return the lowest similarity of a sentence to its closest context; None without sentence comparisons.

    For ungated trials it separates bad outputs from good ones better than the mean of all scores;
    `examples/rag/by_kind.py` measures that.
    """
    rows = [row for score in result.scores for row in score.detail.get("sentences", ()) if isinstance(row, Mapping)]
    found = [row.get("similarity") for row in rows]
    return min((number for number in found if isinstance(number, float)), default=None)


def _goodness(result: Result, *, failed: bool) -> float:
    """Return the worst failed score from 0 to 1; without one, the least support, or the mean of all scores."""
    values = [(s, s.value if s.direction == "higher" else 1 - s.value) for s in result.scores if s.value is not None]
    if failed:
        return min((value for score, value in values if score.passed is False), default=0)
    if (support := _least_support(result)) is not None:
        return support
    return math.fsum(value for _, value in values) / len(values) if values else 0
