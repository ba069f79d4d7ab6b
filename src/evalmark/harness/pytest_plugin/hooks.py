"""The hooks of evals, registered with the first eval."""

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.text import clean, safe_for_ci
from evalmark.core.values.run import Run
from evalmark.harness.evals.eval_case import EvalCase
from evalmark.harness.evals.failure import EvalFailedError
from evalmark.inputs.datasets.options import BadRow

from .item_identity import CASE, EXPECTED, SHOWN_SCORES, VERDICT, case_of, record_scores, row_of
from .items import EvalItem
from .result_store import WorkerResults
from .runner import bad_part
from .state import PluginState

FAILED_BY_SCORES = pytest.StashKey[bool]()
"""Set if a marked test ended normally and failed by its scores, so that the report shows no line of code."""


class Hooks:
    """Runs marked tests in the context of the run, and adds their results to pytest's reports."""

    def __init__(self, state: PluginState) -> None:
        self._state = state

    def pytest_unconfigure(self) -> None:
        """Close the run session and the store."""
        self._state.close()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        """Send the notes of an xdist worker to the main process."""
        output = getattr(self._state.config, "workeroutput", None)
        if output is not None:
            output["evalmark_notes"] = list(self._state.notes())

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> None:
        """Notice fixtures that are set up for a single test."""
        if fixturedef.scope == "function" and isinstance(request.node, EvalItem):
            request.node.stands_alone = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let the code under test use the tools and models of the run."""
        case = item.stash.get(CASE, None)
        if case is None or not isinstance(item, pytest.Function):
            return (yield)
        tested = item.obj
        if inspect.iscoroutinefunction(tested):
            item.obj = _in_trial_context(tested, case.context)
        try:
            with trial_context(case.context):
                return (yield)
        finally:
            item.obj = tested

    @pytest.hookimpl(tryfirst=True, specname="pytest_pyfunc_call")
    def pytest_pyfunc_call_of_bad_rows(self, pyfuncitem: pytest.Function) -> None:
        """Fail the test of a row that is not a case, without calling it."""
        row = row_of(pyfuncitem).row
        if isinstance(row, BadRow):
            pyfuncitem.stash[FAILED_BY_SCORES] = True
            raise ConfigError(str(row))

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Close the case of a marked test when it ends, however it ends."""
        case = pyfuncitem.stash.get(CASE, None)
        if case is None:
            return (yield)
        try:
            done = yield
        except pytest.fail.Exception as failed:
            self._close(pyfuncitem, case, AssertionError(failed.msg))
            raise
        except (Exception, SystemExit) as error:
            self._close(pyfuncitem, case, error)
            raise
        self._close(pyfuncitem, case, None)
        return done

    def _close(self, item: pytest.Item, case: EvalCase, error: BaseException | None) -> None:
        if error is None and not case.is_used and item.stash.get(EXPECTED, 0):
            return  # the expectations in the test are its cases
        try:
            part, why = case.finish(error)
        except EvalmarkError as failure:
            if error is not None:
                raise
            self._close(item, case, failure)
            raise
        self._state.keeper.keep(part)
        for result in part.results:
            record_scores(item, result, part.metrics)
            if why is not None and error is None:
                item.stash[FAILED_BY_SCORES] = True
                raise EvalFailedError(why, result)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        """Add the verdict to each report, and in an xdist worker the results."""
        report: Any = yield
        if FAILED_BY_SCORES in item.stash and call.when == "call" and call.excinfo is not None:
            message = f"{call.excinfo.value}\n\n{case_of(item).place}: {type(call.excinfo.value).__name__}"
            report.longrepr = safe_for_ci(message)
        elif call.excinfo is not None and isinstance(call.excinfo.value, EvalFailedError):
            _set_short_message(report, str(call.excinfo.value))
        if call.when == "call" and VERDICT in item.stash:
            report.evalmark_verdict = item.stash[VERDICT]
            report.evalmark_scores = item.stash.get(SHOWN_SCORES, [])
            if self._state.is_soft and report.failed and item.stash[VERDICT] not in ("pass", "ungated"):
                _soften(report)
        if isinstance(self._state.keeper, WorkerResults):
            self._state.keeper.send(report, self._begun(item) if call.when == "setup" else None)
        return report

    def _begun(self, item: pytest.Item) -> Run | None:
        """Return the part of the run for a test in which the worker dies."""
        if isinstance(item, EvalItem):
            return bad_part(item)
        case = item.stash.get(CASE, None)
        return None if case is None else case.unfinished_part()


def first_line(longrepr: Any) -> str:
    """Return the first line of what pytest prints of a failed test."""
    crash = getattr(longrepr, "reprcrash", None)
    return clean(str(longrepr) if crash is None else crash.message).strip().partition("\n")[0]


def _set_short_message(report: Any, message: str) -> None:
    """Set the line of a failed test in pytest's short summary: the score, without the exception's name."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = safe_for_ci(message)


def _soften(report: Any) -> None:
    """Report a failed eval as pytest reports an expected failure: it is listed, and the exit code stays."""
    report.evalmark_soft = True
    report.outcome, report.wasxfail = "skipped", first_line(report.longrepr)


def _in_trial_context(
    tested: Callable[..., Coroutine[Any, Any, Any]], context: TrialContext
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Wrap an async test in its trial context: plugins run it in tasks created earlier."""

    @functools.wraps(tested)
    async def test(*args: Any, **kwargs: Any) -> Any:
        with trial_context(context):
            return await tested(*args, **kwargs)

    return test
