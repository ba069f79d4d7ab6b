"""The result of a test case, as its user sees it and as the run stores it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.values.score import Score
from evalmark.scoring.binding.score_conversion import as_scores
from evalmark.scoring.binding.scores import unscored

from .labeled import TestCase


@dataclass(frozen=True, kw_only=True)
class TestCaseResult:
    """The judgement of one result.

    Args:
        test_case: The case.
        passed: Whether the case passes.
        score: From 0 to 1, higher is better; None without a score.
        evaluation_method: The name of the strategy.
        evaluation_metadata: Details of the strategy, such as its thresholds.
        generated_result: What the tested function returned.
        reasoning: Why the result has this score.
        error_description: The error, if there is no result or it could not be judged.
        order: The number of the case in the test, from 1.
        response_time_ms: How long the tested function took; None if none was called.
        activity_id: Accepted for PromptWatch's sake, and unused; so are `llm_prompt` and `conversation_session_id`.

    Example:
        >>> from evalmark.unit_tests import TestCase, TestCaseResult
        >>> case = TestCase(inputs={"text": "a"}, outputs=[{"label": 1, "value": "A"}])
        >>> TestCaseResult(test_case=case, passed=True, score=0.9).score
        0.9
    """

    __test__: ClassVar[bool] = False  # pytest would take the class for tests
    test_case: TestCase
    passed: bool
    score: float | None = None
    evaluation_method: str | None = None
    evaluation_metadata: Mapping[str, Any] | None = None
    generated_result: Any = None
    reasoning: str | None = None
    error_description: str | None = None
    order: int | None = None
    response_time_ms: float | None = None
    activity_id: str | None = None
    llm_prompt: Any = None
    conversation_session_id: str | None = None


class PendingResult:
    """A result that may still be judged; reading a field waits for the judgement."""

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[], TestCaseResult]) -> None:
        self._wait = wait

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python looks up on any object, for example to copy it
            raise AttributeError(name)
        return getattr(self._wait(), name)

    def __repr__(self) -> str:
        return repr(self._wait())


def score_of(result: Any, name: str, test_case: TestCase) -> Score:
    """Return the result of a user's evaluator as a score; NaN becomes unscored.

    Raises:
        ConfigError: it is not a TestCaseResult, or that of another case.
    """
    if not isinstance(result, TestCaseResult):
        raise ConfigError(
            f"the evaluator {name} returned {result!r:.100}; its `evaluate` has to return a TestCaseResult."
        )
    if result.test_case != test_case:
        raise ConfigError(
            f"the evaluator {name} returned the result of another case; pass the test case it was called with to TestCaseResult."
        )
    passed = result.passed.item() if hasattr(result.passed, "item") else result.passed
    if result.error_description:
        return Score(name=name, status="error", reason=result.error_description)
    if not isinstance(passed, bool):
        return unscored(name, f"the evaluator returned passed={passed!r:.100}, which is neither True nor False")
    judgement = {
        "score": passed if result.score is None else result.score,
        "passed": passed,
        "reason": result.reasoning or "",
    }
    try:
        (score,) = as_scores(judgement, name)
    except TypeError:
        return unscored(name, _not_a_score(result))
    if score.status != "scored":
        reason = score.reason if not result.reasoning else f"{_not_a_score(result)}; its reasoning: {result.reasoning}"
        return replace(score, reason=reason)
    return replace(score, detail={**score.detail, **(result.evaluation_metadata or {})})


def _not_a_score(result: TestCaseResult) -> str:
    return f"the evaluator returned the score {result.score!r:.100}, which is not a number from 0 to 1"


def validated_result(result: TestCaseResult, score: Score) -> TestCaseResult:
    """Return an evaluator's result with an invalid score removed; such a case does not pass."""
    if score.status == "scored":
        return replace(result, passed=bool(score.passed))
    return replace(result, passed=False, score=None, reasoning=score.reason)
