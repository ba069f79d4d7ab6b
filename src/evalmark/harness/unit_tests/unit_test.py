"""`UnitTest`: tests a function or a chain against labelled outputs, and raises where a case does not pass."""

import asyncio
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, environ, fspath
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.settings import Settings, load_settings
from evalmark.core.values.run import Run
from evalmark.reports.terminal.console import stdout_style
from evalmark.runs.engine.trial import describe_error
from evalmark.runs.session.run_store import MemoryRunStore, RunStore
from evalmark.storage.store.location import display_location
from evalmark.storage.store.store import Store, open_store

from .evaluation import CosineScoreEvaluationStrategy, EvaluationStrategyBase
from .labeled import TestCase
from .run import UnitTestRun
from .selection import Selection, Selector, of_file, of_list, of_project, of_template
from .session import UnitTestSession
from .summary import UnitTestSummary, failure_of, print_summary, summary_text

StoreLike = str | PathLike[str] | Literal["settings"] | None


class UnitTest:
    """A test of a function or a chain against outputs that people have labelled.

    Choose the cases with one of the `for_…` methods, and evaluate each of them inside of `with`:

        with UnitTest("support bot").for_project_sessions("demoChatGPT") as test:
            for test_case in test.test_cases():
                test_case.evaluate(my_chain)

    Args:
        test_name: Name of the test and of its run.
        evaluation: The strategy that judges results; by default the closest labelled output decides.
        api_key: Accepted for PromptWatch's sake, and unused.
        evaluator: Another name of `evaluation`.
        store: The store with the recorded sessions, in which the run is stored too; `"settings"` for the one in the
            settings; None stores no run.
        raise_on_failure: Whether a failed test raises at the end of `with`.

    Raises:
        ConfigError: the evaluator is invalid, or two are given.
        UnitTestFailedError: at the end of `with`, if a case did not pass or none was evaluated; an AssertionError.

    >>> from evalmark.unit_tests import TestCase, UnitTest
    >>> shouting = TestCase(inputs={"text": "a"}, outputs=[{"label": 1, "value": "A"}])
    >>> [case.id for case in UnitTest("shouts").for_test_cases([shouting]).get_all_test_cases()]
    [None]
    """

    def __init__(
        self,
        test_name: str,
        evaluation: EvaluationStrategyBase | None = None,
        api_key: str | None = None,
        *,
        evaluator: EvaluationStrategyBase | None = None,
        store: StoreLike = "settings",
        raise_on_failure: bool = True,
    ) -> None:
        if not isinstance(test_name, str) or not test_name.strip():
            raise ConfigError(f"UnitTest: the first argument is the name of the test; found {test_name!r:.100}.")
        self.test_name = test_name
        """Name of the test and of its run."""
        self.evaluation = _strategy(evaluation, evaluator)
        """The strategy that judges results."""
        self.run: Run | None = None
        """The run of the last `with`; None before its end."""
        self._store, self._raises = store, raise_on_failure
        self._select: Selector | None = None
        self._open: _OpenTest | None = None
        self._lock = Lock()

    def for_project_sessions(self, tracking_project: str | None = None) -> "UnitTest":
        """Test the labelled outputs of a recorded project.

        Args:
            tracking_project: Name of the project; None for that of EVALMARK_TRACKING_PROJECT.

        Returns:
            The test itself.

        Raises:
            ConfigError: no project is named. A project without labelled outputs is reported when the test begins.
        """
        self._select = of_project(tracking_project, environ)
        return self

    def for_prompt_template(self, name: str) -> "UnitTest":
        """Test the labelled outputs of a registered prompt; the tested function has to return text.

        Args:
            name: The registered name of the prompt.

        Returns:
            The test itself.

        Raises:
            ConfigError: the name is not a text.
        """
        self._select = of_template(name)
        return self

    def for_test_cases(self, test_cases: Iterable[TestCase | Mapping[str, Any]]) -> "UnitTest":
        """Test cases made in Python.

        Args:
            test_cases: `TestCase` objects, or mappings with their fields.

        Returns:
            The test itself.

        Raises:
            ConfigError: one of them is not a test case.
        """
        self._select = of_list(test_cases)
        return self

    def for_test_cases_in_file(self, path: str | PathLike[str]) -> "UnitTest":
        """Test the cases of a file; it is read when the test begins.

        Args:
            path: JSON Lines, a JSON list, or one JSON object.

        Returns:
            The test itself.
        """
        self._select = of_file(path)
        return self

    def get_all_test_cases(self) -> list[TestCase]:
        """Return the chosen cases without running the test.

        Returns:
            The cases in the order of the test.

        Raises:
            ConfigError: no `for_…` method was called, or it finds no case.
        """
        settings = load_settings(environ, Path.cwd())
        return [item.test_case for item in self._choose_cases(settings).items]

    def __enter__(self) -> UnitTestSession:
        __tracebackhide__ = True
        with self._lock:
            if self._open is not None:
                raise ConfigError(
                    f"{self.test_name}: this UnitTest is running already; create another one for a test inside of it, or "
                    "in another thread."
                )
            self._open = self._start()
        return self._open.unit_test_session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        opened, self._open = self._open, None
        if opened is None:
            return
        summary = None
        try:
            summary = opened.end(error)
        except EvalmarkError as fault:
            if error is None:
                raise
            error.add_note(f"The run of this unit test could not be stored: {fault}")
        finally:
            opened.close()
        if summary is not None:
            self.run = summary.run
            print_summary(summary_text(summary, stdout_style(summary.store, flags=summary.flag)))
            failed = failure_of(summary) if self._raises and error is None else None
            if failed is not None:
                raise failed

    async def __aenter__(self) -> UnitTestSession:
        __tracebackhide__ = True
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _choose_cases(self, settings: Settings) -> Selection:
        __tracebackhide__ = True
        if self._select is None:
            raise ConfigError(
                f"{self.test_name}: invalid use: no cases were chosen. Call for_project_sessions, "
                "for_prompt_template, for_test_cases or for_test_cases_in_file before `with`."
            )
        return self._select(_path(self._store, settings))

    def _start(self) -> "_OpenTest":
        settings = load_settings(environ, Path.cwd())
        selected = self._choose_cases(settings)
        run_store: Store | MemoryRunStore = (
            MemoryRunStore() if self._store is None else open_store(_path(self._store, settings))
        )
        try:
            test_run = UnitTestRun(self.test_name, self.evaluation, selected, run_store, settings)
        except BaseException:
            _close(run_store)
            raise
        unit_test_session = UnitTestSession(self.test_name, selected, test_run)
        location = "" if self._store is None else display_location(_path(self._store, settings))
        flag = "" if location in ("", display_location(settings.store)) else f" --store {shlex.quote(location)}"
        return _OpenTest(
            name=self.test_name,
            test_run=test_run,
            unit_test_session=unit_test_session,
            run_store=run_store,
            store=location,
            flag=flag,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenTest:
    """A test that is running."""

    name: str
    test_run: UnitTestRun
    unit_test_session: UnitTestSession
    run_store: RunStore
    store: str
    flag: str
    """The `--store` flag of commands; empty if the settings name the store."""
    started: float = field(default_factory=time.perf_counter)

    def end(self, error: BaseException | None) -> UnitTestSummary:
        """End the test: fail the case without a result, close the run, and return its summary."""
        why = "it has no result, since the test ended before" if error is None else describe_error(error)
        self.unit_test_session.fail_pending(why)
        is_whole = error is None and not self.unit_test_session.is_cut_short
        run = self.test_run.finish("complete" if is_whole else "interrupted", self.unit_test_session.notes())
        seconds = time.perf_counter() - self.started
        return UnitTestSummary(
            name=self.name,
            run=run,
            cases=self.test_run.judged_cases(),
            seconds=seconds,
            store=self.store,
            flag=self.flag,
        )

    def close(self) -> None:
        """Close the loop and the store."""
        self.test_run.close()
        _close(self.run_store)


def _strategy(evaluation: Any, evaluator: Any) -> EvaluationStrategyBase:
    if evaluation is not None and evaluator is not None and evaluation is not evaluator:
        raise ConfigError("UnitTest: `evaluation` and `evaluator` are two names of one argument; pass one of them.")
    strategy = evaluator if evaluation is None else evaluation
    if strategy is None:
        return CosineScoreEvaluationStrategy()
    if not isinstance(strategy, EvaluationStrategyBase):
        raise ConfigError(
            f"UnitTest: the evaluator is {strategy!r:.100}; give an object of EvaluationStrategyBase, such as "
            "CosineScoreEvaluationStrategy()."
        )
    return strategy


def _path(store: StoreLike, settings: Settings) -> str:
    return settings.store if store is None or store == "settings" else fspath(store)


def _close(run_store: RunStore) -> None:
    if isinstance(run_store, Store):
        run_store.close()
