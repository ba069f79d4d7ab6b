"""`expect(x).to_eval(...)`: scores one case inside any test or script."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from os import environ
from pathlib import Path
from typing import Any, TypedDict, Unpack

from evalmark.core.context.trial_context import current_tools
from evalmark.core.errors import ConfigError
from evalmark.core.settings import load_settings
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending
from evalmark.runs.engine.pipeline import AnsweredTrial
from evalmark.runs.planning.judges import ScorerLike
from evalmark.runs.session.run_session import PreparedPlan, RunSession
from evalmark.storage.store.store import Store, open_store

from .eval_plan import prepare_eval
from .eval_spec import DEFAULT_TIMEOUT, EvalSpec, Judges, short_path
from .failure import EvalFailedError, failure_message
from .session import EvalSession
from .session import current_session as current_session
from .thresholds import UNSET, Threshold


class ExpectOptions(TypedDict, total=False):
    """Options of `to_eval` besides the expected output, the task and the scorers."""

    threshold: Threshold
    """What each score has to reach: for all scorers, or `{name: number}`; None: nothing can fail."""
    judge: Judges
    """Who judges, for scorers that ask a chat model; else EVALMARK_JUDGE."""
    embeddings: str | Callable[..., Any]
    """The embedding model, for scorers that need one; else the one in the settings."""
    timeout: float | None
    """Seconds the task may take, 60 unless said otherwise; None: as long as it wants."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """An input whose output is about to be scored."""

    input: Any

    def to_eval(self, expected: Any, task: Any, *scorers: ScorerLike, **options: Unpack[ExpectOptions]) -> Result:
        """Run the task on the input once, score its output, and raise unless every score passes.

        Inside a running event loop the task gets a loop of its own in a thread; there, prefer `to_eval_async`.

        Args:
            expected: What the scorers compare with, or None.
            task: A function, sync or async, that gets the input and returns text, JSON or an `Output`.
            scorers: At least one, one after the other: names, `{name: settings}`, functions, objects.
            options: By name: `threshold`, `judge`, `embeddings` and `timeout`; see `ExpectOptions`.

        Returns:
            The result, with the output and all scores.

        >>> from evalmark import expect
        >>> expect("ping").to_eval("pong", lambda text: "pong", "equals").verdict
        'pass'

        Raises:
            EvalFailedError: a score is too low or missing, or the task or a scorer failed; an AssertionError.
            ConfigError: no scorer is named, or something cannot be used; the task was not run.
        """
        __tracebackhide__ = True
        described = _eval_of(expected, task, scorers, options)
        current = _current()
        if current is None:
            return _require_pass(*run_sync(_run_standalone(described, self._case(expected), RunSession.run_one)))
        current.begin()
        prepared, trial = _ready(described, self._case(expected), current)
        part = current.loop.run(_part(current.run_session, prepared, trial))
        current.keep(part)
        return _require_pass(prepared, next(iter(part.results)))

    def to_eval_async(
        self, expected: Any, task: Any, *scorers: ScorerLike, **options: Unpack[ExpectOptions]
    ) -> Coroutine[Any, Any, Result]:
        """Run `to_eval` with the task on the caller's own event loop; to be awaited.

        Args:
            expected: As in `to_eval`.
            task: As in `to_eval`.
            scorers: As in `to_eval`.
            options: As in `to_eval`.

        Returns:
            A coroutine that returns the result.

        Raises:
            ConfigError: no scorer is named, or something cannot be used; raised at once, not when it is awaited.
        """
        __tracebackhide__ = True
        # called here, since a coroutine does not know the line that made it
        return self._awaited(expected, _eval_of(expected, task, scorers, options))

    async def _awaited(self, expected: Any, described: EvalSpec) -> Result:
        __tracebackhide__ = True
        current = _current()
        if current is None:
            return _require_pass(*await _run_standalone(described, self._case(expected), _run_here))
        current.begin()
        prepared, trial = _ready(described, self._case(expected), current)
        before = current.run_session.spending()
        output = await current.run_session.call_target(prepared, trial)
        judging = current.loop.start(
            _part(current.run_session, prepared, AnsweredTrial(trial=trial, output=output), before)
        )
        part = await asyncio.wrap_future(judging)
        current.keep(part)
        return _require_pass(prepared, next(iter(part.results)))

    def _case(self, expected: Any) -> Case:
        return Case(id="expect", input=self.input, expected=expected)


def expect(input: Any) -> Expectation:  # noqa: A002  what users call it
    """Start an expectation about one input, in a test or in a script.

    Args:
        input: What the task gets.

    Returns:
        The expectation; `to_eval` or `to_eval_async` runs it.

    >>> from evalmark import expect
    >>> expect("a").to_eval("A", str.upper, "equals").verdict
    'pass'
    """
    return Expectation(input)


def _current() -> EvalSession | None:
    """Return the session that keeps results here; None outside of tests, and inside a trial, which is kept as a whole."""
    current, tools = current_session(), current_tools()
    return None if current is None or (tools is not None and tools is not current.tools) else current


def _eval_of(expected: Any, task: Any, scorers: Sequence[ScorerLike], options: ExpectOptions) -> EvalSpec:
    """Return the expectation as an eval of one case; raises ConfigError where an argument cannot be used."""
    __tracebackhide__ = True
    frame = sys._getframe(2)
    file, line = frame.f_code.co_filename, frame.f_lineno
    place = f"{short_path(file)}:{line}"
    if unknown := sorted(set(options) - set(ExpectOptions.__annotations__)):
        known = ", ".join(ExpectOptions.__annotations__)
        raise ConfigError(f"{place}: to_eval() has no option {unknown[0]!r}; it knows {known}.")
    if not scorers:
        raise ConfigError(
            f"{place}: to_eval() has no scorers, so nothing would be judged; name one: to_eval(expected, task, scorer)."
        )
    for scorer in scorers:
        if isinstance(scorer, (int, float)):
            raise ConfigError(f"{place}: to_eval() got the number {scorer!r} as a scorer; write threshold={scorer!r}.")
        if isinstance(scorer, (list, tuple)):
            raise ConfigError(
                f"{place}: to_eval() takes scorers one after the other, in no list: to_eval(expected, task, first, second)."
            )
    given: dict[str, Any] = {"timeout": DEFAULT_TIMEOUT, **options}
    return EvalSpec(name="expect", data=(), task=task, scorers=tuple(scorers), file=file, line=line, **given)


def _ready(described: EvalSpec, case: Case, current: EvalSession) -> tuple[PreparedPlan, Trial]:
    """Prepare the expectation as part of the test that is running."""
    __tracebackhide__ = True
    if described.threshold is UNSET:
        described = replace(described, threshold=current.threshold)
    trial = current.trial(replace(case, place=described.place))
    prepared = prepare_eval(replace(described, name=trial.dataset), [trial.case], current.run_session)
    return prepared, replace(trial, target=prepared.bound.target.name)


async def _part(
    session: RunSession, prepared: PreparedPlan, item: Trial | AnsweredTrial, before: Sequence[Spending] | None = None
) -> Run:
    """Run a trial and return its result and its spending as a part of the run; on the loop of the session."""
    before = session.spending() if before is None else before
    result = await session.run_one(prepared, item)
    return prepared.part([result], session.spent_since(before))


async def _run_here(session: RunSession, prepared: PreparedPlan, trial: Trial) -> Result:
    """Run a trial with the task on the caller's own loop and in its context."""
    output = await session.call_target(prepared, trial)
    return await session.run_one(prepared, AnsweredTrial(trial=trial, output=output))


async def _run_standalone(
    described: EvalSpec, case: Case, run: Callable[[RunSession, PreparedPlan, Trial], Awaitable[Result]]
) -> tuple[PreparedPlan, Result]:
    """Run an expectation outside of a test: its result is not stored, but its model calls are, so that none is paid twice."""
    opened: list[Store] = []

    def store() -> Store:
        if not opened:
            opened.append(open_store(settings.store))
        return opened[0]

    current = current_session()
    settings = load_settings(environ, Path.cwd()) if current is None else current.run_session.settings
    session = RunSession(settings, store)
    try:
        prepared = prepare_eval(described, [case], session)
        trial = Trial(case=case, dataset=described.name, target=prepared.bound.target.name)
        return prepared, await run(session, prepared, trial)
    finally:
        await session.close()
        for one in opened:
            one.close()


def _require_pass(prepared: PreparedPlan, result: Result) -> Result:
    __tracebackhide__ = True
    if (why := failure_message(result, [scorer.metric for scorer in prepared.bound.scorers])) is not None:
        raise EvalFailedError(why, result)
    return result
