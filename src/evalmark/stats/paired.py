"""Which cases of a run came out otherwise than in an earlier one, and whether that can be luck."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from evalmark.inference import sign_test
from evalmark.values import Result, Run

from .headline import left_out

SURE = 0.05
"""With a p below this, a change is called one."""

Key = tuple[str, str]
"""Dataset and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How the cases of one dataset compare; a case with repeats counts once, by the share of them that passed."""

    worse: tuple[str, ...]
    """Cases of which fewer repeats pass than before."""
    better: tuple[str, ...]
    same: int
    alone: int
    """Cases that could not be compared: new, gone, or not judged in one of the runs."""
    p: float | None
    """Of the exact two-sided sign test over the cases that changed; None where none did."""

    @property
    def outcome(self) -> Literal["better", "worse", "same", "cannot tell"]:
        """`same` only where no case changed; `cannot tell` where luck alone would often change as many."""
        if self.p is None:
            return "same" if self.same else "cannot tell"
        if self.p >= SURE:
            return "cannot tell"
        return "worse" if len(self.worse) > len(self.better) else "better"


def changes(run: Run, earlier: Run) -> Mapping[str, Changes]:
    """How each dataset of a run compares with the same one of an earlier run, paired by case.

    Trials that ended in an error, or that nobody could judge, are left out on both sides, and so are those of tests that
    stand beside the headline.
    """
    now, before = _shares(run.results), _shares(earlier.results)
    names = dict.fromkeys(dataset for dataset, _ in now)
    return {name: _changes({k for k in (now | before) if k[0] == name}, now, before) for name in names}


def _shares(results: Iterable[Result]) -> dict[Key, float | None]:
    """The share of the judged repeats of each case that passed; None where none was judged."""
    counts: defaultdict[Key, list[int]] = defaultdict(lambda: [0, 0])
    for result in results:
        if left_out(result.trial.case) is not None:
            continue
        passed_failed = counts[result.trial.dataset, result.trial.case.id]
        if result.verdict in ("pass", "fail"):
            passed_failed[result.verdict == "fail"] += 1
    return {key: passed / (passed + failed) if passed + failed else None for key, (passed, failed) in counts.items()}


def _changes(keys: Iterable[Key], now: Mapping[Key, float | None], before: Mapping[Key, float | None]) -> Changes:
    worse: list[str] = []
    better: list[str] = []
    same = alone = 0
    for key in sorted(keys):
        this, that = now.get(key), before.get(key)
        if this is None or that is None:
            alone += 1
        elif this == that:
            same += 1
        else:
            (worse if this < that else better).append(key[1])
    p = sign_test(len(worse), len(better))
    return Changes(worse=tuple(worse), better=tuple(better), same=same, alone=alone, p=p)
