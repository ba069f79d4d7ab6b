"""A unit test while it runs: `UnitTestSession` gives out the cases one by one, `CaseUnderTest` is one of them."""

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
from evalmark.core.values.score import Score
from evalmark.runs.engine.trial import describe_error, error_details, with_tool_calls
from evalmark.runs.targets.function import run_and_time
from evalmark.runs.targets.identity import target_name

from .function_call import add_hint, bound_call, output_of, wait_for
from .labeled import LabeledOutput, TestCase
from .memory import LangChainTools
from .results import PendingResult, TestCaseResult, score_of, validated_result
from .run import GIVEN, JudgedCase, UnitTestRun, failed_result
from .selection import SelectedCase, Selection


class CaseUnderTest:
    """The current case of a unit test; the next one comes when this has a result."""

    def __init__(self, session: "UnitTestSession", test_run: UnitTestRun, item: SelectedCase, position: int) -> None:
        self._session, self._test_run, self._item, self._position = session, test_run, item, position

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

        It gets a copy of the inputs as one argument, or by name where it has several parameters that are all among them; a
        chain of LangChain is invoked. What it raises fails the case, and goes on to the caller unless `continue_on_error`.
        The judgement is made in the background; reading a field of the result waits for it.

        Raises:
            ConfigError: the case has its result already, or is not the one the test is about.
        """
        __tracebackhide__ = True
        self._session.claim(self)
        target = target_name(function)
        context = self._context(target)
        clock = context.clock()
        try:
            call = bound_call(function, copy_value(self.inputs))
            with trial_context(context), clock:
                returned = wait_for(call())
            output = self._output(function, returned, context)
        except Exception as error:
            found = self._broken(error, target, context)
            if not continue_on_error:
                raise
            return found
        return self._judge(output, target, go_on=continue_on_error)

    async def evaluate_async(self, function: Any, continue_on_error: bool = False) -> PendingResult:
        """Run `evaluate` on the caller's loop: coroutines are awaited there, plain functions run in a thread."""
        __tracebackhide__ = True
        self._session.claim(self)
        target, threads = target_name(function), self._session.threads
        context = self._context(target)
        clock = context.clock()
        try:
            call = bound_call(function, copy_value(self.inputs), is_async=True)
            with trial_context(context):
                is_async = inspect.iscoroutinefunction(function) or hasattr(type(function), "ainvoke")
                returned = await run_and_time(call, clock, None if is_async else threads)
            output = self._output(function, returned, context)
        except Exception as error:
            found = self._broken(error, target, context)
            if not continue_on_error:
                raise
            return found
        judging: PendingResult = await threads.run(lambda _: self._judge(output, target, go_on=continue_on_error))
        return judging

    def evaluate_result(self, generated_result: Any) -> PendingResult:
        """Judge a result that exists already.

        Raises:
            ConfigError: the case has its result already, or is not the one the test is about.
        """
        __tracebackhide__ = True
        self._session.claim(self)
        given = generated_result if isinstance(generated_result, Output) else Output(value=generated_result)
        return self._judge(given, GIVEN)

    async def evaluate_result_async(self, generated_result: Any) -> PendingResult:
        """Run `evaluate_result` without blocking the caller's loop."""
        __tracebackhide__ = True
        judging: PendingResult = await self._session.threads.run(lambda _: self.evaluate_result(generated_result))
        return judging

    def mark_as_failed(self, error_description: object) -> PendingResult:
        """Fail the case, with a reason."""
        __tracebackhide__ = True
        self._session.claim(self)
        return self._fail(str(error_description), self._test_run.target)

    def skip(self) -> None:
        """Skip the case: it is not counted, and the next one may come."""
        __tracebackhide__ = True
        self._session.claim(self)
        self._session.leave_out(self)

    # Inside.

    def give_up(self, why: str) -> None:
        """Fail the case at the end of the test."""
        self._fail(why, self._test_run.target)

    def _context(self, target: str) -> TrialContext:
        return self._test_run.run_session.context(self._test_run.trial(self._item, self._position, target))

    def _output(self, function: Any, returned: Any, context: TrialContext) -> Output:
        output = output_of(function, returned, context.active_seconds(), is_template=self._session.is_template)
        return with_tool_calls(output, context.tools)

    def _broken(self, error: Exception, target: str, context: TrialContext) -> PendingResult:
        found = self._fail(describe_error(error), target, context.active_seconds(), error_details(error))
        add_hint(error)
        return found

    def _fail(
        self, why: str, target: str, seconds: float | None = None, details: Mapping[str, Any] | None = None
    ) -> PendingResult:
        output = Output(error=why or "no reason was given", seconds=seconds, metadata=details or {})
        found = failed_result(self.test_case, self._test_run.strategy.evaluation_method, output)
        return self._keep(
            self._test_run.add_judged(found, self._test_run.trial(self._item, self._position, target), output, None)
        )

    def _judge(self, output: Output, target: str, *, go_on: bool = False) -> PendingResult:
        __tracebackhide__ = True
        test_run, trial = self._test_run, self._test_run.trial(self._item, self._position, target)
        if output.error is not None:
            return self._fail(output.error, target, output.seconds, output.metadata)
        if test_run.rule is not None:
            return self._keep(test_run.start_judging(self._item, trial, output))
        name = test_run.strategy.evaluation_method
        try:
            said: Any = wait_for(test_run.strategy.evaluate(output.value, self.test_case))
            score = score_of(said, name, self.test_case)
        except Exception as error:
            why = describe_error(error)
            found = replace(failed_result(self.test_case, name, output), error_description=why)
            broken = Score(name=name, status="error", reason=why, detail=error_details(error))
            judging = self._keep(test_run.add_judged(found, trial, output, broken))
            if not go_on:
                raise
            return judging
        given = said.generated_result if said.generated_result is not None else output.value
        said = replace(said, evaluation_method=said.evaluation_method or name, generated_result=given)
        return self._keep(test_run.add_judged(validated_result(said, score), trial, output, score))

    def _keep(self, future: "Future[JudgedCase]") -> PendingResult:
        self._session.answered(self)
        return PendingResult(lambda: future.result()[0])


class UnitTestSession:
    """What `with UnitTest(…) as test` returns."""

    def __init__(self, name: str, selected: Selection, test_run: UnitTestRun) -> None:
        self.test_name = name
        """What the test is called."""
        self.is_template = selected.is_template
        """Whether the outputs are those of a prompt, and so texts."""
        self.threads = DaemonThreads()
        """Where plain functions run that are tested on a loop."""
        self._items, self._test_run = selected.items, test_run
        self._next = self._skipped = 0
        self._pending: CaseUnderTest | None = None
        self._is_claimed = False
        self._lock = Lock()
        self._langchain = LangChainTools(self._inputs)

    def test_cases(self) -> "CaseIterator":
        """Return the remaining cases, for `for` or `async for`.

        Raises:
            ConfigError: the next case is asked for while this one has no result.
        """
        return CaseIterator(self)

    def skip(self, n: int = 1) -> list[TestCase]:
        """Skip `n` cases, beginning with the current one, and return them; they are not counted.

        Raises:
            ConfigError: `n` is no whole number from 1 on, or the case has its result already under way.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigError(f"skip: a whole number of cases from 1 on is expected; found {n!r}.")
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
        return [found for found, _ in self._test_run.judged_cases()]

    # For the cases and the unit_test.

    def next_case(self) -> CaseUnderTest | None:
        """Make the next case the current one and return it; None after the last one."""
        with self._lock:
            if self._pending is not None:
                raise ConfigError(
                    f"{self.test_name}: case {self._next} has no result yet, so there is no next one; call evaluate(), "
                    "evaluate_result(), mark_as_failed() or skip() of it first."
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
            ConfigError: it is not the case that the test is about, or has its result under way.
        """
        __tracebackhide__ = True
        with self._lock:
            if case is not self._pending:
                raise ConfigError(
                    f"{self.test_name}: this case has its result already, or was skipped, and a case has one result; take "
                    "the next one from test_cases()."
                )
            self._refuse_claimed()
            self._is_claimed = True

    def answered(self, case: CaseUnderTest) -> None:
        """Note that the case has its result; the next one may come."""
        with self._lock:
            self._pending, self._is_claimed = None, False

    def leave_out(self, case: CaseUnderTest) -> None:
        """Note that the case is skipped; the next one may come."""
        with self._lock:
            self._pending, self._is_claimed = None, False
            self._skipped += 1

    def give_up(self, why: str) -> None:
        """Fail the case without a result, at the end of the test."""
        if self._pending is not None:
            self._pending.give_up(why)

    @property
    def is_cut_short(self) -> bool:
        """Whether the test ended before its last case."""
        return self._next < len(self._items)

    def notes(self) -> list[str]:
        """Return notes on cases without a result."""
        left = len(self._items) - self._next
        skipped = [f"{_were(self._skipped)} skipped."] if self._skipped else []
        return skipped + ([f"{_were(left)} not asked for, since the test ended before."] if left else [])

    def _inputs(self) -> Any:
        pending = self._pending
        if pending is None:
            raise ConfigError(
                f"{self.test_name}: the memory of the test has the inputs of the case that the test is about, and there is "
                "none now; use the chain inside of `for test_case in test.test_cases()`."
            )
        return pending.inputs

    def _refuse_claimed(self) -> None:
        if self._is_claimed:
            raise ConfigError(f"{self.test_name}: case {self._next} is being evaluated already; a case has one result.")


class CaseIterator(Iterator[CaseUnderTest], AsyncIterator[CaseUnderTest]):
    """The cases of a test, for `for` or `async for`."""

    def __init__(self, session: UnitTestSession) -> None:
        self._session = session

    def __iter__(self) -> "CaseIterator":
        return self

    def __next__(self) -> CaseUnderTest:
        __tracebackhide__ = True
        found = self._session.next_case()
        if found is None:
            raise StopIteration
        return found

    def __aiter__(self) -> "CaseIterator":
        return self

    async def __anext__(self) -> CaseUnderTest:
        __tracebackhide__ = True
        await asyncio.sleep(0)  # others on the loop have their turn between two cases
        found = self._session.next_case()
        if found is None:
            raise StopAsyncIteration
        return found


def _were(number: int) -> str:
    return f"{count(number, 'case')} {'was' if number == 1 else 'were'}"
