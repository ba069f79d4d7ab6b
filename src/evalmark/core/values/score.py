"""Trials, scores and results."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .case import Case, Output
from .notebook import NotebookValue
from .plain_data import canonical, digest_of, fingerprint, length_prefixed

Status = Literal["scored", "unscored", "error", "skipped"]
Direction = Literal["higher", "lower"]
Verdict = Literal["pass", "fail", "error", "unscored", "ungated"]
Mode = Literal["single", "conversation"]
VerdictListener = Callable[[Counter[Verdict]], None]
"""Called with the number of new results by verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of one output by one scorer.

    >>> score = Score(name="citations", raw=3, value=0.75, passed=True, reason="3 of 4 lead somewhere")
    >>> score.status, score.direction
    ('scored', 'higher')
    """

    name: str
    status: Status = "scored"
    """`unscored`: nothing to score or no usable verdict; `error`: the scorer failed; `skipped`: not applicable."""
    raw: Any = None
    """The score in the scorer's own unit (a cosine, a number of edits, 1 to 5, a boolean)."""
    value: float | None = None
    """The score from 0 to 1; None if unknown; never NaN."""
    direction: Direction = "higher"
    """Which way is better, for `raw` and `value` alike."""
    passed: bool | None = None
    """None if this score cannot pass or fail: it has no threshold, or it is unscored."""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One repeat of a case on a target."""

    case: Case
    dataset: str = ""
    target: str = ""
    position: int = 0
    """The position of the case in its dataset, from 0; orders every report."""
    repeat: int = 0
    mode: Mode = "single"
    """`conversation`: the rows of the dataset are turns, and the target knew the earlier ones."""

    @property
    def id(self) -> str:
        """The id of the trial within a run: 12 hex digits, the same in every run of the same case and target."""
        return fingerprint("trial-1", self.dataset, self.case.id, self.target, self.repeat, self.mode)[:12]


def trial_ids(dataset: str, target: str, repeat: int, mode: Mode) -> Callable[[str], bytes]:
    """Return a function from a case id to bytes that begin with the trial's id; faster than making `Trial` objects.

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
class Result(NotebookValue):
    """The output and the scores of one trial."""

    trial: Trial
    output: Output
    scores: tuple[Score, ...] = ()

    def __repr__(self) -> str:
        """Return one line, without the output."""
        scores = {score.name: score.status if score.value is None else score.value for score in self.scores}
        return f"Result(case={self.trial.case.id!r}, verdict={self.verdict!r}, scores={scores!r})"

    @property
    def verdict(self) -> Verdict:
        """The verdict: `error` before `fail` before `unscored` before `pass`; `ungated` if no score can pass."""
        if self.output.error is not None:
            return "error"
        verdict: Verdict = "ungated"
        for score in self.scores:
            if score.status == "error":
                return "error"
            if score.passed is not None and not score.passed:
                verdict = "fail"
            elif verdict != "fail" and score.status == "unscored":
                verdict = "unscored"
            elif verdict == "ungated" and score.passed:
                verdict = "pass"
        return verdict

    @property
    def calls(self) -> tuple[str, ...]:
        """The call log keys of the model calls of the output and the scores, the output's first."""
        found = [holder.get("calls") for holder in (self.output.metadata, *(score.detail for score in self.scores))]
        lists = [
            keys for keys in found if isinstance(keys, list | tuple)
        ]  # a target may use `calls` for something else
        return tuple(dict.fromkeys(key for keys in lists for key in keys if isinstance(key, str)))
