"""The verdict of a guard: scores, and the issues in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardVerdict:
    """Whether an answer passed a guard, and the answer to show.

    Args:
        passed: whether there are no issues.
        answer: the answer to show: the answer, the best of several, or the fallback.
        issues: one sentence per issue of the checked answer, in the order of the checks.
        scores: the scores of the checks.
        passes: the number of retries.
        is_fallback: whether `answer` is the fallback.

    Example:
        >>> GuardVerdict(passed=False, answer="", issues=("is_json: the output '' is not JSON",)).passes
        0
    """

    passed: bool
    answer: Any
    issues: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    passes: int = 0
    is_fallback: bool = False


class BlockedError(EvalmarkError):
    """A guard blocked an answer. The message names the failed checks, not the answer.

    Args:
        verdict: the verdict, with the blocked answer.
        failed: the names of the failed checks.

    Example:
        >>> str(BlockedError(GuardVerdict(passed=False, answer="no"), ["is_json"]))
        'The guard blocked the answer: it did not pass is_json.'
    """

    def __init__(self, verdict: GuardVerdict, failed: Sequence[str]) -> None:
        super().__init__(f"The guard blocked the answer: it did not pass {', '.join(failed)}.")
        self.verdict = verdict

    @property
    def issues(self) -> tuple[str, ...]:
        """The issues of the verdict."""
        return self.verdict.issues


def issues_of(score: Score, fail_open: bool = False) -> list[str]:
    """Return the issues of a score; none if it passes.

    A score that does not decide counts as an issue, unless `fail_open`.

    >>> issues_of(Score(name="short", value=0.0, passed=False)), issues_of(Score(name="short", status="error"), True)
    (['short: the answer fails'], [])
    """
    if score.status == "scored" and score.passed is not None:
        return [] if score.passed else [f"{score.name}: {issue}" for issue in _issue_texts(score)]
    return [] if fail_open else [f"{score.name}: {_undecided_text(score)}"]


def _issue_texts(score: Score) -> Sequence[str]:
    several = score.detail.get("issues")
    if isinstance(several, list | tuple) and several and all(isinstance(issue, str) for issue in several):
        return several
    if score.reason:
        return [score.reason]
    return ["the answer fails" if score.value in (None, 0, 1) else f"the score {score.value:z.3g} fails"]


def _undecided_text(score: Score) -> str:
    if score.status == "scored":
        return f"the score {score.raw if score.value is None else f'{score.value:z.3g}'} has no pass threshold"
    status = {"error": "the check failed with an error", "unscored": "the check gave no score"}
    word = status.get(score.status, score.status)
    return f"{word}: {score.reason}" if score.reason else word
