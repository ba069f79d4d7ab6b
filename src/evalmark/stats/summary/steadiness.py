"""Summarizes how consistent a judge is, and why it gave no score."""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.score import Score
from evalmark.stats.inference.intervals import Share
from evalmark.stats.inference.means import share

from .summary import Steadiness

KINDS = 20
"""The largest number of different reasons; later ones are counted as `other`."""
OTHERS = "other"
_LONGEST = 200
_SLACK = 1e-6
"""The largest difference by rounding between the mean of verdicts and the mean of their scores."""


@dataclass(slots=True)
class FlagShare:
    """Collects yes or no for outputs, with their cases."""

    values: "array[int]" = field(default_factory=lambda: array("b"))
    cases: "array[int]" = field(default_factory=lambda: array("Q"))

    def add(self, flag: object, case: int) -> None:
        """Add a boolean; other values are ignored."""
        if isinstance(flag, bool):
            self.values.append(flag)
            self.cases.append(case)

    def share(self, clustered: bool, level: float) -> Share | None:
        """Return the share of yes; None without values."""
        cases: Sequence[int] | None = self.cases if clustered else None
        return share(self.values, cases, level) if self.values else None


@dataclass(slots=True)
class VerdictSpread:
    """Sums the squared differences of repeated verdicts of a judge from their mean for each output."""

    squares: float = 0.0
    degrees: int = 0
    scores: int = 0
    verdicts: int = 0
    shares: float = 0.0
    """The sum over scores of 1 / number of verdicts."""
    raw_means: float = 0.0
    values: float = 0.0

    def add(self, score: Score) -> None:
        """Add the verdicts of a score that is their plain mean; other scores are ignored."""
        verdicts = score.detail.get("verdicts")
        if not isinstance(verdicts, list) or len(verdicts) < 2 or score.value is None:
            return
        if score.detail.get("weighting") == "logprobs":
            return
        numbers = [number for one in verdicts if (number := finite_number(one)) is not None]
        if len(numbers) < len(verdicts):
            return
        centre = math.fsum(numbers) / len(numbers)
        self.squares += math.fsum((number - centre) ** 2 for number in numbers)
        self.degrees += len(numbers) - 1
        self.scores += 1
        self.verdicts += len(numbers)
        self.shares += 1 / len(numbers)
        self.raw_means += centre
        self.values += score.value

    def variance(self, low: float, high: float) -> float | None:
        """Return the variance of a single verdict, converted from a scale with these ends to values from 0 to 1.

        None without repeated verdicts, or if the mean of the verdicts is not that of the values.
        """
        if not self.degrees:
            return None
        difference = (self.raw_means / self.scores - low) / (high - low) - self.values / self.scores
        return None if abs(difference) > _SLACK else self.squares / self.degrees / (high - low) ** 2


@dataclass(slots=True)
class SteadinessCounts:
    """Collects the details of a metric's scores that tell how they were judged."""

    flipped: FlagShare = field(default_factory=FlagShare)
    order_decided: FlagShare = field(default_factory=FlagShare)
    weighting: Counter[str] = field(default_factory=Counter)
    unscored: Counter[str] = field(default_factory=Counter)
    verdicts: VerdictSpread = field(default_factory=VerdictSpread)

    def add(self, score: Score, case: int) -> None:
        detail: Mapping[str, Any] = score.detail
        self.verdicts.add(score)
        self.flipped.add(detail.get("flipped"), case)
        if isinstance(consistent := detail.get("order_consistent"), bool):
            self.order_decided.add(not consistent, case)
        _count(self.weighting, detail.get("weighting"))
        if score.status == "unscored":
            _count(self.unscored, detail.get("unscored"))

    def steadiness(self, clustered: bool, level: float) -> Steadiness:
        return Steadiness(
            flipped=self.flipped.share(clustered, level),
            order_decided=self.order_decided.share(clustered, level),
            weighting=dict(self.weighting.most_common()),
            unscored=dict(self.unscored.most_common()),
        )


def _count(counts: Counter[str], text: object) -> None:
    if isinstance(text, str) and text:
        kind = text[:_LONGEST]
        counts[kind if kind in counts or len(counts) < KINDS else OTHERS] += 1
