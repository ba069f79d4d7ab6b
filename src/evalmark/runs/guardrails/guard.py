"""A guard in front of a user: every answer is checked, and what does not pass is logged, asked for again or held back."""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from evalmark.core.errors import ConfigError
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
    """One answer of a guarded function, and what the checks say of it."""

    returned: Any
    output: Output
    scores: tuple[Score, ...]
    issues: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Guard:
    """Scorers in front of a user: they judge every answer before it is shown.

    >>> guard = Guard(["is_json", lambda output: len(output) < 80])
    >>> guard("The capital of Norway, as JSON?", '{"city": "Oslo"}').passed
    True

    One guard serves any number of threads and event loops; nothing of an answer stays with it.

    Raises:
        ConfigError: a check cannot be used or lacks its judge, or a setting is none.
    """

    checks: Sequence[Check] = field(kw_only=False)
    """Names, `{name: settings}`, functions or scorers; all have to pass."""
    on_fail: OnFail = "log"
    """`log`: let the answer through. `retry`: ask the function again, and take the best of its answers.
    `fallback`: put `fallback` in its place. `block`: raise `BlockedError`. All log a warning."""
    max_passes: int = 1
    """How often `retry` asks again, at most."""
    then: FinalAction = "log"
    """What `retry` does where the best answer does not pass either."""
    fallback: Any = None
    """What is shown in the place of an answer that does not pass."""
    fail_open: bool = False
    """Let pass what a check cannot judge, or breaks on; otherwise that counts as not passed."""
    embeddings: Embeddings = None
    """The embedding model of the checks that ask for one; loaded at the first answer and kept for the next.
    One behind a server is opened and closed with each answer."""
    judge: Judge = None
    """The chat model of the checks that ask for one. One that is named is opened and closed with each answer."""
    timeout: float | None = None
    """Seconds that each check may take; one that takes longer counts as broken."""
    watch: Callable[[GuardVerdict], object] | None = None
    """Is told each verdict before the answer goes on, e.g. to count."""

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
        """Judge one answer that is there already; nothing can be asked again, so `retry` does what `then` says.

        `answer` is a text, or an `Output` with contexts and metadata of its own.

        Raises:
            BlockedError: it does not pass and is to be held back.
            ConfigError: the contexts are no texts, or a model cannot be found.
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
        """`guard(question, answer)` on the caller's own loop."""
        call = GuardedCall(
            question=question, contexts=None if contexts is None else context_texts(contexts), run_id=run_id
        )
        return self._decided(call, (await self._tried(call, answer, None),))[0]

    def wrap(self, function: Callable[..., Any], *, verdicts: bool = False) -> Callable[..., Any]:
        """The function behind this guard, plain or async as it was; `@guard.wrap` does as well.

        It takes what it took and returns what it returned, or the fallback; with `verdicts`, the whole
        `GuardVerdict`. The question is its parameter `question`, `query`, `input`, `prompt` or `message`,
        else its first. Contexts are read from its parameter `contexts`, or from what it returns: an
        `Output`, or anything with `answer` and `contexts`. A parameter `issues` gets what was wrong
        with the last answer when it is asked again.

        Raises:
            ConfigError: it takes no question, or gives its answer piece by piece.
        """
        name = getattr(function, "__name__", type(function).__name__)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"Guard: {name} is a stream; a guard has to see the whole answer. Gather it first.")
        asked = _GuardedFunction(function, question_parameter(function, name), _takes_issues(function))
        guarded = _awaiting(self, asked, verdicts) if _is_async(function) else _plain(self, asked, verdicts)
        return functools.wraps(function)(guarded)

    async def _tried(self, call: GuardedCall, returned: Any, seconds: float | None) -> GuardedAttempt:
        output = read_output(returned, seconds)
        scores = await self._bound.scores(call.case(), output)
        issues = tuple(issue for score in scores for issue in issues_of(score, self.fail_open))
        return GuardedAttempt(returned, output, scores, issues)

    def _more(self, tries: Sequence[GuardedAttempt]) -> bool:
        """Whether the function is to be asked once more."""
        if not tries:
            return True
        return self.on_fail == "retry" and bool(tries[-1].issues) and len(tries) <= self.max_passes

    def _decided(self, call: GuardedCall, tries: Sequence[GuardedAttempt]) -> tuple[GuardVerdict, Any]:
        """The verdict, and what the function is to return: of several answers the first of those with the fewest issues.

        Raises:
            BlockedError: it is to be held back.
        """
        best = min(tries, key=lambda one: len(one.issues))
        action = self.then if self.on_fail == "retry" else self.on_fail
        falls_back = bool(best.issues) and action == "fallback"
        verdict = GuardVerdict(
            passed=not best.issues,
            answer=self.fallback if falls_back else best.output.value,
            issues=best.issues,
            scores=best.scores,
            passes=len(tries) - 1,
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
    """A function behind a guard."""

    function: Callable[..., Any]
    question: str
    """The parameter that holds the question."""
    issues: Literal["", "offered", "needed"]
    """Whether it takes the issues of its last answer."""

    def named(self, named: Mapping[str, Any], tries: Sequence[GuardedAttempt]) -> dict[str, Any]:
        """The keyword arguments of the next call."""
        if not self.issues or (not tries and (self.issues == "offered" or "issues" in named)):
            return dict(named)
        return {**named, "issues": list(tries[-1].issues) if tries else []}


def _plain(guard: Guard, asked: _GuardedFunction, verdicts: bool) -> Callable[..., Any]:
    def guarded(*args: Any, **named: Any) -> Any:
        call = read_call(asked.function, asked.question, args, named)
        tries: list[GuardedAttempt] = []
        while guard._more(tries):
            started = time.perf_counter()
            # Outside of any event loop of ours: the function may well run one of its own.
            returned = asked.function(*args, **asked.named(named, tries))
            tries.append(run_sync(guard._tried(call, returned, time.perf_counter() - started)))
        verdict, returned = guard._decided(call, tries)
        return verdict if verdicts else returned

    return guarded


def _awaiting(guard: Guard, asked: _GuardedFunction, verdicts: bool) -> Callable[..., Any]:
    async def guarded(*args: Any, **named: Any) -> Any:
        call = read_call(asked.function, asked.question, args, named)
        tries: list[GuardedAttempt] = []
        while guard._more(tries):
            started = time.perf_counter()
            returned = await asked.function(*args, **asked.named(named, tries))
            tries.append(await guard._tried(call, returned, time.perf_counter() - started))
        verdict, returned = guard._decided(call, tries)
        return verdict if verdicts else returned

    return guarded


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _takes_issues(function: Callable[..., Any]) -> Literal["", "offered", "needed"]:
    parameter = inspect.signature(function).parameters.get("issues")
    if parameter is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return ""
    return "needed" if parameter.default is parameter.empty else "offered"


def _faults(guard: Guard) -> list[str]:
    """What is wrong with the settings of a guard."""
    uses_fallback = "fallback" in (guard.on_fail, guard.then)
    whole = isinstance(guard.max_passes, int) and not isinstance(guard.max_passes, bool)
    seconds = guard.timeout is None or (isinstance(guard.timeout, int | float) and guard.timeout > 0)
    judge = guard.judge is None or isinstance(guard.judge, ChatModel) or (isinstance(guard.judge, str) and guard.judge)
    listed = isinstance(guard.checks, list | tuple) and guard.checks
    checks = (
        (listed, "`checks` has to be a list of scorers, with at least one in it."),
        (guard.on_fail in get_args(OnFail), f"`on_fail` is {guard.on_fail!r}; it can be {_or(OnFail)}."),
        (guard.then in get_args(FinalAction), f"`then` is {guard.then!r}; it can be {_or(FinalAction)}."),
        (guard.then == "log" or guard.on_fail == "retry", "`then` says what `retry` ends with; set on_fail='retry'."),
        (whole and guard.max_passes >= 1, f"`max_passes` is {guard.max_passes!r}; it has to be 1 or more."),
        (not uses_fallback or guard.fallback is not None, "name what is to be shown: fallback='…'."),
        (
            uses_fallback or guard.fallback is None,
            "`fallback` is never shown; set on_fail='fallback' or then='fallback'.",
        ),
        (isinstance(guard.fail_open, bool), f"`fail_open` is {guard.fail_open!r}; it is True or False."),
        (seconds, f"`timeout` is {guard.timeout!r}; it has to be a number of seconds above 0, or None."),
        (judge, "`judge` is no chat model and no name of one."),
        (guard.watch is None or callable(guard.watch), "`watch` cannot be called; pass a function of a verdict."),
    )
    return [f"Guard: {fault}" for fine, fault in checks if not fine]


def _or(words: Any) -> str:
    *first, last = (repr(word) for word in get_args(words))
    return f"{', '.join(first)} or {last}"


def _log(call: GuardedCall, best: GuardedAttempt, verdict: GuardVerdict, failed: Sequence[str], action: str) -> None:
    """One line of figures and names; reasons may quote an answer, so they are not in it."""
    LOG.log(
        logging.INFO if verdict.passed else logging.WARNING,
        "guard run_id=%r question=%d characters, answer=%d characters, asked again=%d, scores=%s, not passed=%s, %s",
        call.run_id,
        len(text_of(call.question)),
        len(text_of(best.output.value)),
        verdict.passes,
        {score.name: score.status if score.value is None else round(score.value, 4) for score in best.scores},
        list(failed),
        "passed" if verdict.passed else action,
    )
