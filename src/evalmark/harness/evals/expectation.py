"""`expect(x).to_eval(...)`: scores one case inside any test or script."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from os import environ
from pathlib import Path
from typing import Any, Unpack

from evalmark.core.context.trial_context import current_tools
from evalmark.core.errors import ConfigError
from evalmark.core.settings import load_settings
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending
from evalmark.runs.engine.work import AnsweredTrial
from evalmark.runs.planning.judges import ScorerLike
from evalmark.runs.planning.plan import model_of
from evalmark.runs.session.run_session import PreparedPlan, RunSession
from evalmark.storage.store.store import Store, open_store

from .eval_plan import prepare_eval
from .eval_spec import DEFAULT_TIMEOUT, EvalSpec, ExpectOptions, check_options, short_path
from .failure import EvalFailedError, failure_message
from .pytest_run import PytestRun, current_pytest_run
from .thresholds import UNSET


@dataclass(frozen=True, slots=True)
class Expectation:
    """An input; `to_eval` runs a task on it and scores the output."""

    input: Any

    def to_eval(self, expected: Any, task: Any, *scorers: ScorerLike, **options: Unpack[ExpectOptions]) -> Result:
        """Run the task on the input once, score its output, and raise unless every score passes.

        Inside a running event loop the task gets a loop of its own in a thread; there, prefer `to_eval_async`.

        Args:
            expected: The reference output for the scorers, or None.
            task: A function, sync or async, that gets the input and returns text, JSON or an `Output`.
            scorers: One scorer or more, as separate arguments: names, `{name: settings}`, functions, objects.
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
        eval_spec = _eval_of(expected, task, scorers, options)
        pytest_run = _current()
        if pytest_run is None:
            return _require_pass(*run_sync(_run_standalone(eval_spec, self._case(expected), RunSession.run_one)))
        pytest_run.begin()
        prepared, trial = _ready(eval_spec, self._case(expected), pytest_run)
        part = pytest_run.loop.run(_part(pytest_run.run_session, prepared, trial))
        pytest_run.keep(part)
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
        # `_eval_of` is called here, since a coroutine does not know the line that created it
        return self._evaluate_async(expected, _eval_of(expected, task, scorers, options))

    async def _evaluate_async(self, expected: Any, eval_spec: EvalSpec) -> Result:
        __tracebackhide__ = True
        pytest_run = _current()
        if pytest_run is None:
            return _require_pass(*await _run_standalone(eval_spec, self._case(expected), _run_here))
        pytest_run.begin()
        prepared, trial = _ready(eval_spec, self._case(expected), pytest_run)
        before = pytest_run.run_session.spending()
        item: Trial | AnsweredTrial = trial
        if model_of(prepared.bound.target) is None:  # models are called on the loop of the run, which has their limits
            output = await pytest_run.run_session.call_target(prepared, trial)
            item = AnsweredTrial(trial=trial, output=output)
        judging = pytest_run.loop.start(_part(pytest_run.run_session, prepared, item, before))
        part = await asyncio.wrap_future(judging)
        pytest_run.keep(part)
        return _require_pass(prepared, next(iter(part.results)))

    def _case(self, expected: Any) -> Case:
        return Case(id="expect", input=self.input, expected=expected)


def expect(input: Any) -> Expectation:  # noqa: A002  what users call it
    """Choose the input of an expectation, in a test or in a script.

    Args:
        input: The input of the task.

    Returns:
        The expectation; `to_eval` or `to_eval_async` runs it.

    >>> from evalmark import expect
    >>> expect("a").to_eval("A", str.upper, "equals").verdict
    'pass'
    """
    return Expectation(input)


def _current() -> PytestRun | None:
    """Return the pytest run that stores the result; None outside of tests, and inside a trial, which is stored as a whole."""
    pytest_run, tools = current_pytest_run(), current_tools()
    return None if pytest_run is None or (tools is not None and tools is not pytest_run.tools) else pytest_run


def _eval_of(expected: Any, task: Any, scorers: Sequence[ScorerLike], options: ExpectOptions) -> EvalSpec:
    """Return the expectation as an eval of one case; raises ConfigError where an argument cannot be used."""
    __tracebackhide__ = True
    frame = sys._getframe(2)
    file, line = frame.f_code.co_filename, frame.f_lineno
    place = f"{short_path(file)}:{line}"
    check_options(f"{place}: to_eval()", options, ExpectOptions)
    if not scorers:
        raise ConfigError(f"{place}: to_eval() has no scorers; name at least one: to_eval(expected, task, scorer).")
    for scorer in scorers:
        if isinstance(scorer, (int, float)):
            raise ConfigError(f"{place}: to_eval() got the number {scorer!r} as a scorer; write threshold={scorer!r}.")
        if isinstance(scorer, (list, tuple)):
            raise ConfigError(
                f"{place}: to_eval() takes scorers as separate arguments: to_eval(expected, task, first, second)."
            )
    fields: dict[str, Any] = {"timeout": DEFAULT_TIMEOUT, **options}
    return EvalSpec(name="expect", data=(), task=task, scorers=tuple(scorers), file=file, line=line, **fields)


def _ready(eval_spec: EvalSpec, case: Case, pytest_run: PytestRun) -> tuple[PreparedPlan, Trial]:
    """Prepare the expectation as a part of the running test."""
    __tracebackhide__ = True
    if eval_spec.threshold is UNSET:
        eval_spec = replace(eval_spec, threshold=pytest_run.threshold)
    trial = pytest_run.trial(replace(case, place=eval_spec.place))
    prepared = prepare_eval(replace(eval_spec, name=trial.dataset), [trial.case], pytest_run.run_session)
    return prepared, replace(trial, target=prepared.bound.target.name)


async def _part(
    run_session: RunSession,
    prepared: PreparedPlan,
    item: Trial | AnsweredTrial,
    before: Sequence[Spending] | None = None,
) -> Run:
    """Run a trial and return its result and its spending as a part of the run; on its event loop."""
    before = run_session.spending() if before is None else before
    result = await run_session.run_one(prepared, item)
    return prepared.part([result], run_session.spent_since(before))


async def _run_here(run_session: RunSession, prepared: PreparedPlan, trial: Trial) -> Result:
    """Run a trial with the task on the caller's own loop and in its context."""
    output = await run_session.call_target(prepared, trial)
    return await run_session.run_one(prepared, AnsweredTrial(trial=trial, output=output))


async def _run_standalone(
    eval_spec: EvalSpec, case: Case, run: Callable[[RunSession, PreparedPlan, Trial], Awaitable[Result]]
) -> tuple[PreparedPlan, Result]:
    """Run an expectation outside of a test: its result is not stored, but its model calls are, so they can be replayed."""
    opened: list[Store] = []

    def store() -> Store:
        if not opened:
            opened.append(open_store(settings.store))
        return opened[0]

    pytest_run = current_pytest_run()
    settings = load_settings(environ, Path.cwd()) if pytest_run is None else pytest_run.run_session.settings
    run_session = RunSession(settings, store)
    try:
        prepared = prepare_eval(eval_spec, [case], run_session, refuse_missing_judge=True)
        trial = Trial(case=case, dataset=eval_spec.name, target=prepared.bound.target.name)
        return prepared, await run(run_session, prepared, trial)
    finally:
        await run_session.close()
        for one in opened:
            one.close()


def _require_pass(prepared: PreparedPlan, result: Result) -> Result:
    __tracebackhide__ = True
    if (message := failure_message(result, [scorer.metric for scorer in prepared.bound.scorers])) is not None:
        raise EvalFailedError(message, result)
    return result
