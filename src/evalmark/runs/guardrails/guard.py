"""`Guard`: check every answer of a function, and log, retry, replace or block those that fail."""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.foreign.threads import is_async_callable
from evalmark.core.protocols import ChatModel
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.text import text_of

from .assess import Passage
from .checks import Check, Checks, Embeddings, Judge, bind_checks
from .guarded_call import GuardedCall, context_texts, question_parameter, read_call, read_output
from .verdicts import BlockedError, GuardVerdict, issues_of

LOG = logging.getLogger("evalmark.quality")

OnFail = Literal["log", "retry", "fallback", "block"]
FinalAction = Literal["log", "fallback", "block"]


class GuardedAttempt(NamedTuple):
    """One return value of a guarded function, with its scores and issues."""

    returned: Any
    output: Output
    scores: tuple[Score, ...]
    issues: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Guard:
    """Check answers with scorers before they are shown.

    A guard has no state of its own: any number of threads and event loops can share it.

    Args:
        checks: scorer names, `{name: settings}`, functions or scorers; all have to pass.
        on_fail: what happens to an answer that fails. `log`: return it. `retry`: call the function again, and use the
            best answer. `fallback`: return `fallback` instead. `block`: raise `BlockedError`. All of them log a warning.
        max_passes: the maximum number of retries.
        then: what `retry` does if the best answer fails too.
        fallback: the replacement for an answer that fails.
        fail_open: whether an answer passes a check that fails with an error or gives no result.
        embeddings: the embedding model of the checks; loaded once, or opened for each answer if it is behind a server.
        judge: the judge model of the checks; a named one is opened for each answer.
        timeout: time limit of each check in seconds; a check that takes longer counts as failed with an error.
        watch: a callback that gets each verdict before the answer is returned.

    Raises:
        ConfigError: a check cannot be used or lacks its judge, or a setting is invalid.

    Example:
        >>> guard = Guard(["is_json", lambda output: len(output) < 80])
        >>> guard("The capital of Norway, as JSON?", '{"city": "Oslo"}').passed
        True
    """

    checks: Sequence[Check] = field(kw_only=False)
    on_fail: OnFail = "log"
    max_passes: int = 1
    then: FinalAction = "log"
    fallback: Any = None
    fail_open: bool = False
    embeddings: Embeddings = None
    judge: Judge = None
    timeout: float | None = None
    watch: Callable[[GuardVerdict], object] | None = None

    def __post_init__(self) -> None:
        if faults := _faults(self):
            raise ConfigError.of(faults)
        _ = self._bound

    @functools.cached_property
    def _bound(self) -> Checks:
        return bind_checks("Guard", self.checks, self.embeddings, self.judge, self.timeout)

    def __call__(
        self,
        question: Any,
        answer: Any,
        contexts: Sequence[str | Passage] | None = None,
        *,
        run_id: str | None = None,
    ) -> GuardVerdict:
        """Check an existing answer. It cannot be retried, so `retry` does what `then` says.

        Args:
            question: The user's question.
            answer: A text, or an `Output` with its own contexts and metadata.
            contexts: The retrieved texts, or objects with a `text`.
            run_id: An id for the log line.

        Returns:
            The verdict, with the answer to show.

        Raises:
            BlockedError: the answer fails, and the guard blocks.
            ConfigError: the contexts are not texts, or a model cannot be found.
        """
        return run_sync(self.check(question, answer, contexts, run_id=run_id))

    async def check(
        self,
        question: Any,
        answer: Any,
        contexts: Sequence[str | Passage] | None = None,
        *,
        run_id: str | None = None,
    ) -> GuardVerdict:
        """Check an existing answer, as calling the guard does, on the caller's event loop."""
        call = GuardedCall(
            question=question, contexts=None if contexts is None else context_texts(contexts), run_id=run_id
        )
        return self._decide(call, (await self._attempt(call, answer, None),))[0]

    def wrap(self, function: Callable[..., Any], *, verdicts: bool = False) -> Callable[..., Any]:
        """Wrap a plain or async function, so that its answers are checked; also works as the decorator `@guard.wrap`.

        The question is the parameter `question`, `query`, `input`, `prompt` or `message`, or else the first one.
        Contexts are the parameter `contexts`, or those of the return value: an `Output`, or an object with `answer` and
        `contexts`. On a retry, a parameter `issues` gets the issues of the last answer.

        Args:
            function: The function to guard.
            verdicts: Whether the wrapped function returns the `GuardVerdict` instead of the answer.

        Returns:
            A function with the same parameters, which returns the answer, the fallback or the verdict.

        Raises:
            ConfigError: the function takes no question, or streams its answer.
        """
        name = getattr(function, "__name__", type(function).__name__)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"Guard: {name} streams its answer; a guard needs the whole answer. Collect it first.")
        guarded_function = _GuardedFunction(function, question_parameter(function, name), _takes_issues(function))
        guarded = (
            _awaiting(self, guarded_function, verdicts)
            if is_async_callable(function)
            else _plain(self, guarded_function, verdicts)
        )
        return functools.wraps(function)(guarded)

    async def _attempt(self, call: GuardedCall, returned: Any, seconds: float | None) -> GuardedAttempt:
        output = read_output(returned, seconds)
        scores = await self._bound.scores(call.case(), output)
        issues = tuple(issue for score in scores for issue in issues_of(score, self.fail_open))
        return GuardedAttempt(returned, output, scores, issues)

    def _calls_again(self, attempts: Sequence[GuardedAttempt]) -> bool:
        """Return whether to call the function again."""
        if not attempts:
            return True
        return self.on_fail == "retry" and bool(attempts[-1].issues) and len(attempts) <= self.max_passes

    def _decide(self, call: GuardedCall, attempts: Sequence[GuardedAttempt]) -> tuple[GuardVerdict, Any]:
        """Return the verdict and the return value: of several answers, the first with the fewest issues.

        Raises:
            BlockedError: the answer fails, and the guard blocks.
        """
        best = min(attempts, key=lambda one: len(one.issues))
        action = self.then if self.on_fail == "retry" else self.on_fail
        falls_back = bool(best.issues) and action == "fallback"
        verdict = GuardVerdict(
            passed=not best.issues,
            answer=self.fallback if falls_back else best.output.value,
            issues=best.issues,
            scores=best.scores,
            passes=len(attempts) - 1,
            is_fallback=falls_back,
        )
        failed = [score.name for score in best.scores if issues_of(score, self.fail_open)]
        _log(call, best, verdict, failed, action)
        if self.watch is not None:
            self.watch(verdict)
        if failed and action == "block":
            raise BlockedError(verdict, failed)
        return verdict, self.fallback if falls_back else best.returned


class _GuardedFunction(NamedTuple):
    """A guarded function."""

    function: Callable[..., Any]
    question: str
    """The parameter with the question."""
    issues: Literal["", "offered", "needed"]
    """Whether it has a parameter for the issues of the last answer."""

    def arguments(self, named: Mapping[str, Any], attempts: Sequence[GuardedAttempt]) -> dict[str, Any]:
        """Return the keyword arguments of the next call."""
        if not self.issues or (not attempts and (self.issues == "offered" or "issues" in named)):
            return dict(named)
        return {**named, "issues": list(attempts[-1].issues) if attempts else []}


def _plain(guard: Guard, target: _GuardedFunction, verdicts: bool) -> Callable[..., Any]:
    def guarded(*args: Any, **named: Any) -> Any:
        call = read_call(target.function, target.question, args, named)
        attempts: list[GuardedAttempt] = []
        while guard._calls_again(attempts):
            started = time.perf_counter()
            # Outside of an event loop, since the function may run its own.
            returned = target.function(*args, **target.arguments(named, attempts))
            attempts.append(run_sync(guard._attempt(call, returned, time.perf_counter() - started)))
        verdict, returned = guard._decide(call, attempts)
        return verdict if verdicts else returned

    return guarded


def _awaiting(guard: Guard, target: _GuardedFunction, verdicts: bool) -> Callable[..., Any]:
    async def guarded(*args: Any, **named: Any) -> Any:
        call = read_call(target.function, target.question, args, named)
        attempts: list[GuardedAttempt] = []
        while guard._calls_again(attempts):
            started = time.perf_counter()
            returned = await target.function(*args, **target.arguments(named, attempts))
            attempts.append(await guard._attempt(call, returned, time.perf_counter() - started))
        verdict, returned = guard._decide(call, attempts)
        return verdict if verdicts else returned

    return guarded


def _takes_issues(function: Callable[..., Any]) -> Literal["", "offered", "needed"]:
    parameter = signature_of(function).parameters.get("issues")
    if parameter is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return ""
    return "needed" if parameter.default is parameter.empty else "offered"


def _faults(guard: Guard) -> list[str]:
    """Return the errors of the settings of a guard."""
    uses_fallback = "fallback" in (guard.on_fail, guard.then)
    is_whole = isinstance(guard.max_passes, int) and not isinstance(guard.max_passes, bool)
    seconds = guard.timeout is None or (isinstance(guard.timeout, int | float) and guard.timeout > 0)
    judge = guard.judge is None or isinstance(guard.judge, ChatModel) or (isinstance(guard.judge, str) and guard.judge)
    listed = isinstance(guard.checks, list | tuple) and guard.checks
    checks = (
        (listed, "`checks` has to be a list of scorers, with at least one in it."),
        (guard.on_fail in get_args(OnFail), f"`on_fail` is {guard.on_fail!r}; it can be {_or(OnFail)}."),
        (guard.then in get_args(FinalAction), f"`then` is {guard.then!r}; it can be {_or(FinalAction)}."),
        (guard.then == "log" or guard.on_fail == "retry", "`then` works only with on_fail='retry'."),
        (is_whole and guard.max_passes >= 1, f"`max_passes` is {guard.max_passes!r}; it has to be 1 or more."),
        (not uses_fallback or guard.fallback is not None, "set the replacement: fallback='…'."),
        (
            uses_fallback or guard.fallback is None,
            "`fallback` is never used; set on_fail='fallback' or then='fallback'.",
        ),
        (isinstance(guard.fail_open, bool), f"`fail_open` is {guard.fail_open!r}; it is True or False."),
        (seconds, f"`timeout` is {guard.timeout!r}; it has to be a number of seconds above 0, or None."),
        (judge, "`judge` is neither a chat model nor the name of one."),
        (guard.watch is None or callable(guard.watch), "`watch` is not callable; pass a function of a verdict."),
    )
    return [f"Guard: {fault}" for is_valid, fault in checks if not is_valid]


def _or(words: Any) -> str:
    *first, last = (repr(word) for word in get_args(words))
    return f"{', '.join(first)} or {last}"


def _log(call: GuardedCall, best: GuardedAttempt, verdict: GuardVerdict, failed: Sequence[str], action: str) -> None:
    """Log one line of numbers and names, without reasons, since those may quote an answer."""
    LOG.log(
        logging.INFO if verdict.passed else logging.WARNING,
        "guard run_id=%r question=%d characters, answer=%d characters, retries=%d, scores=%s, not passed=%s, %s",
        call.run_id,
        len(text_of(call.question)),
        len(text_of(best.output.value)),
        verdict.passes,
        {score.name: score.status if score.value is None else round(score.value, 4) for score in best.scores},
        list(failed),
        "passed" if verdict.passed else action,
    )
