"""A running unit test: `UnitTestSession` returns the cases one by one, each as a `CaseUnderTest`."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from threading import Lock
from typing import Any

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ConfigError
from evalmark.core.foreign.copying import copy_value
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.text import count
from evalmark.core.values.case import Output
from evalmark.core.values.score import Score, Trial
from evalmark.runs.engine.trial import describe_error, error_details, with_tool_calls
from evalmark.runs.targets.function import run_and_time, target_name

from .function_call import add_hint, bound_call, output_of, wait_for
from .labeled import LabeledOutput, TestCase
from .memory import LangChainTools
from .results import PendingResult, TestCaseResult, score_of, validated_result
from .run import GIVEN, JudgedCase, UnitTestRun, failed_result
from .selection import SelectedCase, Selection


class CaseUnderTest:
    """The current case of a unit test; `UnitTestSession.test_cases` returns it, and the next one once this has a result.

    Example:
        with UnitTest("support bot").for_project_sessions("demoChatGPT") as test:
            for case in test.test_cases():
                case.evaluate(my_chain)
    """

    def __init__(self, unit_test: "UnitTestSession", test_run: UnitTestRun, item: SelectedCase, position: int) -> None:
        self._unit_test, self._test_run, self._item, self._position = unit_test, test_run, item, position

    @property
    def test_case(self) -> TestCase:
        """The whole test case."""
        return self._item.test_case

    @property
    def inputs(self) -> Any:
        """The arguments of the tested function."""
        return self.test_case.inputs

    @property
    def outputs(self) -> list[LabeledOutput]:
        """The labelled outputs of these inputs."""
        return list(self.test_case.outputs)

    def evaluate(self, function: Any, continue_on_error: bool = False) -> PendingResult:
        """Call a function or a chain with the inputs, and judge its result.

        The function gets a copy of the inputs, as one argument or by name if all its parameters are among them; a chain of
        LangChain is invoked. An exception fails the case.

        Args:
            function: The function or chain under test.
            continue_on_error: Whether an exception of it is only recorded; otherwise it is also raised.

        Returns:
            The result, judged in the background: reading a field waits for the judgement.

        Raises:
            ConfigError: the case has a result already, or is not the current one.
        """
        __tracebackhide__ = True
        self._unit_test.claim(self)
        target = target_name(function)
        context = self._context(target)
        clock = context.clock()
        try:
            call = bound_call(function, copy_value(self.inputs))
            with trial_context(context), clock:
                returned = wait_for(call())
            output = self._output(function, returned, context)
        except Exception as error:
            failed = self._fail_with(error, target, context)
            if not continue_on_error:
                raise
            return failed
        return self._judge(output, target, continue_on_error=continue_on_error)

    async def evaluate_async(self, function: Any, continue_on_error: bool = False) -> PendingResult:
        """Run `evaluate` on the caller's event loop: coroutines are awaited there, plain functions run in a thread.

        Args:
            function: As in `evaluate`.
            continue_on_error: As in `evaluate`.

        Returns:
            As `evaluate`.
        """
        __tracebackhide__ = True
        self._unit_test.claim(self)
        target, threads = target_name(function), self._unit_test.threads
        context = self._context(target)
        clock = context.clock()
        try:
            call = bound_call(function, copy_value(self.inputs), is_async=True)
            with trial_context(context):
                is_async = inspect.iscoroutinefunction(function) or hasattr(type(function), "ainvoke")
                returned = await run_and_time(call, clock, None if is_async else threads)
            output = self._output(function, returned, context)
        except Exception as error:
            failed = self._fail_with(error, target, context)
            if not continue_on_error:
                raise
            return failed
        pending: PendingResult = await threads.run(
            lambda _: self._judge(output, target, continue_on_error=continue_on_error)
        )
        return pending

    def evaluate_result(self, generated_result: Any) -> PendingResult:
        """Judge an existing result.

        Args:
            generated_result: The result of these inputs; also an `Output`.

        Returns:
            As `evaluate`.

        Raises:
            ConfigError: the case has a result already, or is not the current one.
        """
        __tracebackhide__ = True
        self._unit_test.claim(self)
        output = generated_result if isinstance(generated_result, Output) else Output(value=generated_result)
        return self._judge(output, GIVEN)

    async def evaluate_result_async(self, generated_result: Any) -> PendingResult:
        """Run `evaluate_result` without blocking the caller's event loop.

        Args:
            generated_result: As in `evaluate_result`.

        Returns:
            As `evaluate`.
        """
        __tracebackhide__ = True
        pending: PendingResult = await self._unit_test.threads.run(lambda _: self.evaluate_result(generated_result))
        return pending

    def mark_as_failed(self, error_description: object) -> PendingResult:
        """Fail the case.

        Args:
            error_description: The reason, shown in reports.

        Returns:
            The failed result.
        """
        __tracebackhide__ = True
        self._unit_test.claim(self)
        return self.fail(str(error_description))

    def skip(self) -> None:
        """Skip the case: it is not counted."""
        __tracebackhide__ = True
        self._unit_test.claim(self)
        self._unit_test.close_case(is_skipped=True)

    def fail(self, why: str) -> PendingResult:
        """Fail the case, even while it is being evaluated."""
        return self._fail(why, self._test_run.target)

    def _context(self, target: str) -> TrialContext:
        return self._test_run.run_session.context(self._trial(target))

    def _output(self, function: Any, returned: Any, context: TrialContext) -> Output:
        output = output_of(function, returned, context.active_seconds(), is_template=self._unit_test.is_template)
        return with_tool_calls(output, context.tools)

    def _fail_with(self, error: Exception, target: str, context: TrialContext) -> PendingResult:
        failed = self._fail(describe_error(error), target, context.active_seconds(), error_details(error))
        add_hint(error)
        return failed

    def _trial(self, target: str) -> Trial:
        return self._test_run.trial(self._item, self._position, target)

    def _fail(
        self, why: str, target: str, seconds: float | None = None, details: Mapping[str, Any] | None = None
    ) -> PendingResult:
        output = Output(error=why or "no reason was given", seconds=seconds, metadata=details or {})
        failed = failed_result(self.test_case, self._test_run.strategy.evaluation_method, output)
        return self._close(self._test_run.add_judged(failed, self._trial(target), output, None))

    def _judge(self, output: Output, target: str, *, continue_on_error: bool = False) -> PendingResult:
        __tracebackhide__ = True
        test_run, trial = self._test_run, self._trial(target)
        if output.error is not None:
            return self._fail(output.error, target, output.seconds, output.metadata)
        if test_run.rule is not None:
            return self._close(test_run.start_judging(self._item, trial, output))
        name = test_run.strategy.evaluation_method
        try:
            judgement: Any = wait_for(test_run.strategy.evaluate(output.value, self.test_case))
            score = score_of(judgement, name, self.test_case)
        except Exception as error:
            why = describe_error(error)
            failed = replace(failed_result(self.test_case, name, output), error_description=why)
            score = Score(name=name, status="error", reason=why, detail=error_details(error))
            pending = self._close(test_run.add_judged(failed, trial, output, score))
            if not continue_on_error:
                raise
            return pending
        result = judgement.generated_result if judgement.generated_result is not None else output.value
        judgement = replace(judgement, evaluation_method=judgement.evaluation_method or name, generated_result=result)
        return self._close(test_run.add_judged(validated_result(judgement, score), trial, output, score))

    def _close(self, future: "Future[JudgedCase]") -> PendingResult:
        self._unit_test.close_case()
        return PendingResult(lambda: future.result()[0])


class UnitTestSession:
    """A running unit test, as `with UnitTest(…) as test` returns it.

    Attributes:
        test_name: The name of the test.
        is_template: Whether the outputs are those of a prompt, and so texts.
        threads: The threads of plain functions that are tested on an event loop.

    Example:
        with UnitTest("support bot").for_project_sessions("demoChatGPT") as test:
            for case in test.test_cases():
                case.evaluate(my_chain)
    """

    def __init__(self, name: str, selected: Selection, test_run: UnitTestRun) -> None:
        self.test_name = name
        self.is_template = selected.is_template
        self.threads = DaemonThreads()
        self._items, self._test_run = selected.items, test_run
        self._next = self._skipped = 0
        self._pending: CaseUnderTest | None = None
        self._is_claimed = False
        self._lock = Lock()
        self._langchain = LangChainTools(self._inputs)

    def test_cases(self) -> "CaseIterator":
        """Return an iterator of the remaining cases, for `for` or `async for`.

        Each case needs a result before the next one is requested; otherwise the iterator raises ConfigError.
        """
        return CaseIterator(self)

    def skip(self, n: int = 1) -> list[TestCase]:
        """Skip cases, beginning with the current one; they are not counted.

        Args:
            n: The number of cases, at least 1.

        Returns:
            The skipped cases.

        Raises:
            ConfigError: `n` is not a whole number of at least 1, or the current case is being evaluated.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigError(f"skip: the number of cases is a whole number of at least 1; found {n!r}.")
        with self._lock:
            self._refuse_claimed()
            first = self._next - (self._pending is not None)
            self._pending = None
            self._next = min(first + n, len(self._items))
            self._skipped += self._next - first
            return [item.test_case for item in self._items[first : self._next]]

    @property
    def langchain(self) -> LangChainTools:
        """Helpers for chains of LangChain: `test.langchain.get_test_memory()`."""
        return self._langchain

    @property
    def results(self) -> list[TestCaseResult]:
        """The results so far, in the order of the cases; waits until all are judged."""
        return [result for result, _ in self._test_run.judged_cases()]

    # Called by `CaseUnderTest` and `UnitTest`.

    def next_case(self) -> CaseUnderTest | None:
        """Make the next case the current one and return it; None after the last one."""
        with self._lock:
            if self._pending is not None:
                raise ConfigError(
                    f"{self.test_name}: case {self._next} has no result yet; call its evaluate(), evaluate_result(), "
                    "mark_as_failed() or skip() before the next case."
                )
            if self._next >= len(self._items):
                return None
            item, position = self._items[self._next], self._next
            self._next += 1
            self._pending = CaseUnderTest(self, self._test_run, item, position)
            return self._pending

    def claim(self, case: CaseUnderTest) -> None:
        """Reserve the case for one caller.

        Raises:
            ConfigError: it is not the current case, or is being evaluated.
        """
        __tracebackhide__ = True
        with self._lock:
            if case is not self._pending:
                raise ConfigError(
                    f"{self.test_name}: this case has a result or was skipped, and a case has one result; take the next "
                    "one from test_cases()."
                )
            self._refuse_claimed()
            self._is_claimed = True

    def close_case(self, *, is_skipped: bool = False) -> None:
        """Note that the current case has a result or is skipped."""
        with self._lock:
            self._pending, self._is_claimed = None, False
            self._skipped += is_skipped

    def fail_pending(self, why: str) -> None:
        """Fail the case without a result, at the end of the test."""
        if self._pending is not None:
            self._pending.fail(why)

    @property
    def is_cut_short(self) -> bool:
        """Whether the test ended before its last case."""
        return self._next < len(self._items)

    def notes(self) -> list[str]:
        """Return notes on cases without a result."""
        left = len(self._items) - self._next
        skipped = [f"{_were(self._skipped)} skipped."] if self._skipped else []
        return skipped + ([f"{_were(left)} not evaluated, since the test ended before."] if left else [])

    def _inputs(self) -> Any:
        pending = self._pending
        if pending is None:
            raise ConfigError(
                f"{self.test_name}: the memory of the test has the inputs of the current case, and there is no "
                "current case; use the chain inside of `for test_case in test.test_cases()`."
            )
        return pending.inputs

    def _refuse_claimed(self) -> None:
        if self._is_claimed:
            raise ConfigError(f"{self.test_name}: case {self._next} is being evaluated already; a case has one result.")


class CaseIterator(Iterator[CaseUnderTest], AsyncIterator[CaseUnderTest]):
    """The cases of a test, for `for` or `async for`."""

    def __init__(self, unit_test: UnitTestSession) -> None:
        self._unit_test = unit_test

    def __iter__(self) -> "CaseIterator":
        return self

    def __next__(self) -> CaseUnderTest:
        __tracebackhide__ = True
        case = self._unit_test.next_case()
        if case is None:
            raise StopIteration
        return case

    def __aiter__(self) -> "CaseIterator":
        return self

    async def __anext__(self) -> CaseUnderTest:
        __tracebackhide__ = True
        await asyncio.sleep(0)  # lets other tasks of the event loop run between two cases
        case = self._unit_test.next_case()
        if case is None:
            raise StopAsyncIteration
        return case


def _were(number: int) -> str:
    return f"{count(number, 'case')} {'was' if number == 1 else 'were'}"
