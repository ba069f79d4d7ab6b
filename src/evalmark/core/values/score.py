"""What comes out: a score, and all that was found for one trial."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .case import Case, Output
from .plain_data import canonical, digest_of, fingerprint, length_prefixed

Status = Literal["scored", "unscored", "error", "skipped"]
Direction = Literal["higher", "lower"]
Verdict = Literal["pass", "fail", "error", "unscored", "ungated"]
Mode = Literal["single", "conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One scorer's word on one output."""

    name: str
    status: Status = "scored"
    """`unscored`: nothing to judge or no usable judgement; `error`: the scorer broke; `skipped`: not asked."""
    raw: Any = None
    """What the scorer said in its own unit (a cosine, a number of edits, 1 to 5, a truth value)."""
    value: float | None = None
    """The same from 0 to 1, or None where it cannot be said; never NaN."""
    direction: Direction = "higher"
    """Which way is better, for `raw` and `value` alike."""
    passed: bool | None = None
    """None when this score cannot pass or fail: it has no threshold, or it is unscored."""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A case, on a target, for the n-th time."""

    case: Case
    dataset: str = ""
    target: str = ""
    position: int = 0
    """Where the case stands in its dataset, counted from 0; orders every report."""
    repeat: int = 0
    mode: Mode = "single"
    """`conversation`: the rows of the dataset are turns, and this one was answered knowing those before it."""

    @property
    def id(self) -> str:
        """By which one trial of a run is told from the others: 12 hex digits, the same in a later run of the same."""
        return fingerprint("trial-1", self.dataset, self.case.id, self.target, self.repeat, self.mode)[:12]


def trial_ids(dataset: str, target: str, repeat: int, mode: Mode) -> Callable[[str], bytes]:
    """What gives the id of the trial of any case, as bytes that begin with it; sooner than by making trials.

    >>> of = trial_ids("", "app:answer", 0, "single")
    >>> of("a").hex()[:12] == Trial(case=Case(id="a", input=""), target="app:answer").id
    True
    """
    begin = digest_of(map(canonical, ("trial-1", dataset))).copy
    end = length_prefixed(map(canonical, (target, repeat, mode)))

    def of(case: str) -> bytes:
        digest = begin()
        text = canonical(case)
        digest.update(len(text).to_bytes(8, "big") + text.encode("ascii") + end)
        return digest.digest()

    return of


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All that was found for one trial."""

    trial: Trial
    output: Output
    scores: tuple[Score, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`error` before `fail` before `unscored` before `pass`; `ungated` when no score can pass."""
        states = {score.status for score in self.scores}
        passed = {score.passed for score in self.scores}
        if self.output.error is not None or "error" in states:
            return "error"
        if False in passed:
            return "fail"
        if "unscored" in states:
            return "unscored"
        return "pass" if True in passed else "ungated"

    @property
    def calls(self) -> tuple[str, ...]:
        """The keys of the model calls that the output and the scores name, the output's first."""
        found = [holder.get("calls") for holder in (self.output.metadata, *(score.detail for score in self.scores))]
        lists = [
            keys for keys in found if isinstance(keys, list | tuple)
        ]  # a target may mean something else by `calls`
        return tuple(dict.fromkeys(key for keys in lists for key in keys if isinstance(key, str)))
