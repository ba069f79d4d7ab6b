"""A unit test while it goes on: hands out the cases one by one, each when the one before has its result."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from threading import Lock
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.values.words import count

from .labeled import TestCase
from .memory import LangChainTools
from .pending import CaseUnderTest
from .results import TestCaseResult
from .run import UnitTestRun
from .selection import Selection


class UnitTestSession:
    """What `with UnitTest(…) as test` gives; made by it."""

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
        """The cases that are still to come, for `for` or `async for`.

        Raises:
            ConfigError: the next case is asked for while this one has no result.
        """
        return CaseIterator(self)

    def skip(self, n: int = 1) -> list[TestCase]:
        """Leave out so many cases, the one the test is about first, and give them; they are not counted.

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
        """What the test has for chains of LangChain: `test.langchain.get_test_memory()`."""
        return self._langchain

    @property
    def results(self) -> list[TestCaseResult]:
        """What was found so far, in the order of the cases; waits until all of it is judged."""
        return [found for found, _ in self._test_run.settled()]

    # For the cases and the unit_test.

    def next_case(self) -> CaseUnderTest | None:
        """The next case, which the test is about from now on; None after the last one."""
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
        """Let one caller have the case.

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
        """The case has its result; the next one may come."""
        with self._lock:
            self._pending, self._is_claimed = None, False

    def leave_out(self, case: CaseUnderTest) -> None:
        """The case is left out; the next one may come."""
        with self._lock:
            self._pending, self._is_claimed = None, False
            self._skipped += 1

    def give_up(self, why: str) -> None:
        """Fail the case that has no result; the test is over."""
        if self._pending is not None:
            self._pending.give_up(why)

    @property
    def is_cut_short(self) -> bool:
        """Whether cases are left that nobody asked for."""
        return self._next < len(self._items)

    def notes(self) -> list[str]:
        """What a reader of the run should know of cases that have no result."""
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
