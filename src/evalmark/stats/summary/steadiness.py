"""Summarizes how consistent a judge is, and why it gave no score."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.score import Score
from evalmark.stats.inference.intervals import Share
from evalmark.stats.inference.means import share

from .summary import Steadiness

KINDS = 20
"""The largest number of different reasons; later ones are counted as `other`."""
OTHERS = "other"
_LONGEST = 200


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
class SteadinessCounts:
    """Collects the details of a metric's scores that tell how they were judged."""

    flipped: FlagShare = field(default_factory=FlagShare)
    order_decided: FlagShare = field(default_factory=FlagShare)
    weighting: Counter[str] = field(default_factory=Counter)
    unscored: Counter[str] = field(default_factory=Counter)

    def add(self, score: Score, case: int) -> None:
        detail: Mapping[str, Any] = score.detail
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
