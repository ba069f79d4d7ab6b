"""What a guard found of an answer: the scores of its checks, and the issues in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardVerdict:
    """Whether an answer passed the checks of a guard, and what is to be shown."""

    passed: bool
    """There are no issues."""
    answer: Any
    """What to show: the answer, the best one where the function was asked again, or the fallback."""
    issues: tuple[str, ...] = ()
    """One sentence for each thing that is wrong with the answer that was judged, check by check."""
    scores: tuple[Score, ...] = ()
    """What the checks said of it."""
    passes: int = 0
    """How often the function was asked again; 0 where its first answer was the last."""
    is_fallback: bool = False
    """Whether `answer` is the fallback."""


class BlockedError(EvalmarkError):
    """An answer that did not pass is not to be shown. The message names the checks, never the answer."""

    def __init__(self, verdict: GuardVerdict, failed: Sequence[str]) -> None:
        super().__init__(f"The answer did not pass {', '.join(failed)}, and the guard does not let it through.")
        self.verdict = verdict
        """What was found; its `answer` is the one that was held back."""

    @property
    def issues(self) -> tuple[str, ...]:
        """Those of the verdict."""
        return self.verdict.issues


def issues_of(score: Score, fail_open: bool = False) -> list[str]:
    """What a score says against an answer; nothing where it passed.

    What does not say whether the answer passes counts against it, unless `fail_open`.

    >>> issues_of(Score(name="short", value=0.0, passed=False)), issues_of(Score(name="short", status="error"), True)
    (['short: the answer does not pass'], [])
    """
    if score.status == "scored" and score.passed is not None:
        return [] if score.passed else [f"{score.name}: {said}" for said in _issue_texts(score)]
    return [] if fail_open else [f"{score.name}: {_undecided(score)}"]


def _issue_texts(score: Score) -> Sequence[str]:
    several = score.detail.get("issues")
    if isinstance(several, list | tuple) and several and all(isinstance(issue, str) for issue in several):
        return several
    if score.reason:
        return [score.reason]
    return ["the answer does not pass" if score.value in (None, 0, 1) else f"{score.value:z.3g} does not pass"]


def _undecided(score: Score) -> str:
    if score.status == "scored":
        return f"the score {score.raw if score.value is None else f'{score.value:z.3g}'} has no threshold to pass"
    word = {"error": "the check broke", "unscored": "the check could not judge"}.get(score.status, score.status)
    return f"{word}: {score.reason}" if score.reason else word
