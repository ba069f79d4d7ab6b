"""The result of a test case, as its user sees it and as the run keeps it."""

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
    """The judgement of one result: `score` and `passed`, and how they came about."""

    __test__: ClassVar[bool] = False  # pytest would take the class for tests
    test_case: TestCase
    passed: bool
    score: float | None = None
    """From 0 to 1, the more the better; None when there is none."""
    evaluation_method: str | None = None
    evaluation_metadata: Mapping[str, Any] | None = None
    generated_result: Any = None
    reasoning: str | None = None
    error_description: str | None = None
    """What went wrong, where there is no result to judge or it could not be judged."""
    order: int | None = None
    """Which case of the test it was, from 1."""
    response_time_ms: float | None = None
    """How long the tested function took; None when none was called."""
    activity_id: str | None = None
    llm_prompt: Any = None
    conversation_session_id: str | None = None


class PendingResult:
    """A result that may still be judged; reading a field waits for the judgement."""

    __slots__ = ("_found",)

    def __init__(self, found: Callable[[], TestCaseResult]) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of any object, when it copies one say
            raise AttributeError(name)
        return getattr(self._found(), name)

    def __repr__(self) -> str:
        return repr(self._found())


def score_of(found: Any, name: str, test_case: TestCase) -> Score:
    """Return the result of a user's evaluator as a score; NaN becomes unscored.

    Raises:
        ConfigError: it gave no TestCaseResult, or that of another case.
    """
    if not isinstance(found, TestCaseResult):
        raise ConfigError(f"the evaluator {name} gave {found!r:.100}; its `evaluate` has to give a TestCaseResult.")
    if found.test_case != test_case:
        raise ConfigError(
            f"the evaluator {name} gave the result of another case; pass the test case it was called with to TestCaseResult."
        )
    passed = found.passed.item() if hasattr(found.passed, "item") else found.passed
    if found.error_description:
        return Score(name=name, status="error", reason=found.error_description)
    if not isinstance(passed, bool):
        return unscored(name, f"the evaluator gave passed={passed!r:.100}, which is neither True nor False")
    said = {"score": passed if found.score is None else found.score, "passed": passed, "reason": found.reasoning or ""}
    try:
        (score,) = as_scores(said, name)
    except TypeError:
        return unscored(name, _not_a_score(found))
    if score.status != "scored":
        reason = score.reason if not found.reasoning else f"{_not_a_score(found)}; it said: {found.reasoning}"
        return replace(score, reason=reason)
    return replace(score, detail={**score.detail, **(found.evaluation_metadata or {})})


def _not_a_score(found: TestCaseResult) -> str:
    return f"the evaluator gave the score {found.score!r:.100}, which is not a number from 0 to 1"


def validated_result(found: TestCaseResult, score: Score) -> TestCaseResult:
    """Return an evaluator's result with an invalid score removed; such a case does not pass."""
    if score.status == "scored":
        return replace(found, passed=bool(score.passed))
    return replace(found, passed=False, score=None, reasoning=score.reason)
