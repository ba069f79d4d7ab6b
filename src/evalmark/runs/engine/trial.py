"""One trial: calls the target and the scorers; errors become part of the result."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Scorer, Target
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score

if TYPE_CHECKING:
    from . import tracebacks
else:
    tracebacks = LazyModule("evalmark.runs.engine.tracebacks")

T = TypeVar("T")

GRACE = 0.5
"""Grace period after cancellation, in seconds."""
MASKED = "a secret was masked in the stored output or case, so it cannot be scored; run the case again"
"""Why a stored output is not scored."""
LONGEST_REASON = 2_000
"""Characters kept of the text of an exception."""


async def call_target(target: Target, case: Case, within: float | None = None) -> Output:
    """Return the target's output for a case; an exception becomes an output with an error.

    `within` is the time limit in seconds; None: no limit. Time that the target's model calls spend in queues does not count.

    Raises:
        RunStoppedError: no further model call is possible in this run.
    """
    started, uses = time.perf_counter(), current_trial_context()
    output = await _call(target, case, within)
    tools = uses.tools
    if tools is not None and isinstance(tools.fault, RunStoppedError):
        raise tools.fault
    if output.waited is None and (own := uses.active_seconds()) is not None:
        output = replace(output, waited=max(0.0, time.perf_counter() - started - own))
    return with_tool_calls(output, tools)


async def _call(target: Target, case: Case, within: float | None) -> Output:
    started = time.perf_counter()
    try:
        return await _within(within, target(case))
    except TimeLimitError as late:
        return _failed(f"no answer within {late}", started)
    except asyncio.CancelledError as cancelled:
        if _is_cancelled_from_outside():
            raise
        return _failed(describe_error(cancelled), started, cancelled)
    except (GeneratorExit, RunStoppedError):
        raise
    except BaseException as error:  # foreign code: the target
        if _is_ctrl_c(error):
            raise
        return _failed(describe_error(error), started, error)


def _failed(message: str, started: float, error: BaseException | None = None) -> Output:
    """Return an output with an error and the time of the target; for a failed model call, the time of its last attempt."""
    elapsed = time.perf_counter() - started
    seconds, details = current_trial_context().active_seconds(elapsed), {} if error is None else error_details(error)
    waited = None
    if isinstance(error, ModelCallError) and current_trial_context().active_seconds() is None:
        seconds = error.attempts[-1].seconds if error.attempts else None
        waited = None if seconds is None else max(0.0, elapsed - seconds)
    return Output(error=message, seconds=seconds, waited=waited, metadata=details)


def with_tool_calls(output: Output, tools: TrialTools | None) -> Output:
    """Return the output with the tool calls of its target; an output with an error if a tool call was refused.

    The target may have continued: agents pass the error of a tool to their model as the output of the tool.
    """
    if tools is None:
        return output
    error = output.error if tools.fault is None else describe_error(tools.fault)
    calls = output.metadata.get("calls", [])
    if tools.used and isinstance(calls, list | tuple):  # otherwise the target uses the name for something else
        return replace(output, error=error, metadata={**output.metadata, "calls": [*calls, *dict.fromkeys(tools.used)]})
    return output if error == output.error else replace(output, error=error)


async def run_scorers(
    scorers: Sequence[Scorer], case: Case, output: Output, within: float | None = None
) -> tuple[Score, ...]:
    """Run every scorer on an output and return the scores, in the order of the scorers.

    An output with an error is not scored: its scores are `skipped`. An output with a masked secret is `unscored`.

    Raises:
        RunStoppedError: no further model call is possible in this run.
    """
    if output.error is not None:
        return tuple(Score(name=s.name, status="skipped", reason="the target gave no output") for s in scorers)
    if output.masked:
        return tuple(Score(name=s.name, status="unscored", reason=MASKED) for s in scorers)
    if len(scorers) == 1 or not any(map(may_wait, scorers)):  # a task for each would take longer than the scorers
        return tuple([score for scorer in scorers for score in await _run_scorer(scorer, case, output, within)])
    outcomes = await asyncio.gather(
        *(_run_scorer(scorer, case, output, within) for scorer in scorers), return_exceptions=True
    )
    for outcome in outcomes:  # only now, when none of them is running any more
        if isinstance(outcome, BaseException):
            raise outcome
    return tuple(score for scores in outcomes for score in cast(Sequence[Score], scores))


def may_wait(scorer: Scorer) -> bool:
    """Return whether a scorer may wait, for example for a model; it may unless it declares otherwise."""
    return bool(getattr(scorer, "may_block", True))


async def _run_scorer(scorer: Scorer, case: Case, output: Output, within: float | None) -> Sequence[Score]:
    try:
        return await _within(within if may_wait(scorer) else None, scorer(case, output))
    except TimeLimitError as timeout:
        reason = f"no score within {timeout}"
    except asyncio.CancelledError as cancelled:
        if _is_cancelled_from_outside():
            raise
        reason = describe_error(cancelled)
    except (GeneratorExit, RunStoppedError):
        raise
    except BaseException as error:  # foreign code: the scorer
        if _is_ctrl_c(error):
            raise
        return (Score(name=scorer.name, status="error", reason=describe_error(error), detail=error_details(error)),)
    return (Score(name=scorer.name, status="error", reason=reason),)


def error_details(error: BaseException) -> dict[str, Any]:
    """Return details of an error: where the user's code raised it, and the failed model call."""
    calls = {"calls": [error.key]} if isinstance(error, ModelCallError) and error.key else {}
    return {**calls, **tracebacks.user_traceback(error)}


class TimeLimitError(Exception):
    """Our own time limit, as opposed to a TimeoutError of foreign code."""


async def _within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Await work with a time limit.

    Raises:
        TimeLimitError: it was not done in time.
    """
    if seconds is None:
        return await work
    task = asyncio.create_task(_settled(work))
    try:
        if not await _is_done(task, seconds):
            raise TimeLimitError(f"{seconds:g} s")
    finally:
        if not task.done():
            await _cancel(task)
    found, error = task.result()
    if error is not None:
        raise error
    return cast(T, found)


async def _is_done(task: asyncio.Task[Any], seconds: float) -> bool:
    """Return whether a task finishes in time; time that its model calls spend in queues does not count."""
    clock, uses = asyncio.get_running_loop().time, current_trial_context()
    started, before, left = clock(), uses.waited(), seconds
    while left > 0:
        done, _ = await asyncio.wait({task}, timeout=left)
        if done:
            return True
        left = seconds + (uses.waited() - before) - (clock() - started)
    return False


async def _settled(work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Return what work returns or raises as values: a SystemExit that leaves a task ends the event loop."""
    try:
        return await work, None
    except GeneratorExit:
        raise
    except BaseException as error:  # foreign code: it is raised again by the caller
        if _is_ctrl_c(error):
            raise
        return None, error


async def _cancel(task: asyncio.Task[Any]) -> None:
    """Cancel foreign work; work that ignores the cancellation is abandoned."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=GRACE)
    if not done:
        asyncio._unregister_task(task)  # asyncio.run would wait for it for ever
        task._log_destroy_pending = False  # type: ignore[attr-defined]


def _is_ctrl_c(error: BaseException) -> bool:
    """Return whether an exception is Ctrl-C, which reaches the main thread alone, and not raised by foreign code."""
    return isinstance(error, KeyboardInterrupt) and current_thread() is main_thread()


def _is_cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def describe_error(error: BaseException) -> str:
    """Return an exception as one line: its type and its text, truncated if it is very long.

    >>> describe_error(ValueError("no such city"))
    'ValueError: no such city'
    """
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  foreign code: an exception whose text cannot be made
        text = "(its text cannot be shown)"
    if len(text) > LONGEST_REASON:
        text = f"{text[:LONGEST_REASON]}… ({len(text):,} characters)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
