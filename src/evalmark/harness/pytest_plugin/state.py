"""`PluginState`: what the parts of the plugin share."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import pytest

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.errors import ConfigError
from evalmark.core.settings import Settings, resolve_location
from evalmark.core.sync import BackgroundLoop
from evalmark.core.text import clean
from evalmark.core.values.case import Case
from evalmark.core.values.run import Gate, Run
from evalmark.core.values.score import Trial
from evalmark.harness.evals.thresholds import Threshold
from evalmark.inputs.secrets.env_file import settings_with_env_file
from evalmark.runs.session.run_session import RunSession

from .item_identity import (
    CASE,
    EXPECTED,
    case_of,
    marker_of,
    record_scores,
    row_of,
    suite_of,
)
from .prefetch import Prefetch
from .result_store import RunKeeper, WorkerResults
from .skips import OFF, PLACE

GRACE = 12.0
"""Seconds in which running trials may finish when pytest ends."""
POSITIONS_PER_TEST = 10_000
"""The distance between the positions of two tests, so that each expectation in a test gets its own position."""


class PluginState:
    """What the parts of the plugin share: settings, gate, results, loop and run session; one a process.

    It is the `PytestRun` of expectations.
    """

    def __init__(self, config: pytest.Config, running_test: Callable[[], pytest.Item | None]) -> None:
        self.config, self._running_test = config, running_test
        self.worker: Any = getattr(config, "workerinput", None)
        """The input of an xdist worker; None in the main process."""
        self.prefetches: list[Prefetch] = []
        """Evals whose cases run concurrently."""

    @property
    def on(self) -> bool:
        """Whether evals are to run."""
        return bool(self.config.getoption("evalmark") or self.config.getini("evalmark_run"))

    @cached_property
    def settings(self) -> Settings:
        """The settings; an xdist worker has its share of every limit.

        Raises:
            ConfigError: a setting cannot be read.
        """
        option, here = self.config.getoption, self.config.invocation_params.dir
        replay = option("evalmark_replay")
        flags = {
            "store": option("evalmark_store"),
            "judge": option("evalmark_judge"),
            "replay": "auto" if replay == "replay" else replay,
        }
        settings = settings_with_env_file(here, flags)
        store = resolve_location(here, settings.store)  # a test may change the working directory
        workers = 1 if self.worker is None else int(self.worker["workercount"])
        return worker_share(replace(settings, store=store), workers)

    @property
    def is_soft(self) -> bool:
        """Whether evals that do not pass leave the exit code unchanged."""
        return bool(self.config.getoption("evalmark_soft"))

    @cached_property
    def gate(self) -> Gate | None:
        """The rule for the whole run; None: every trial has to pass."""
        option = self.config.getoption
        names = ("min_pass_rate", "min_score", "max_unscored", "max_errors")
        limits = {name: value for name in names if (value := option(f"evalmark_{name}")) is not None}
        return Gate(**limits) if limits else None

    @cached_property
    def keeper(self) -> RunKeeper | WorkerResults:
        """Stores results, or sends them to the main process."""
        if self.worker is not None:
            return WorkerResults(self.settings.store, self._running_test)
        notify = partial(print_line, self.config)
        return RunKeeper(self.config, self.settings.store, self.gate, self.loop, notify)

    @cached_property
    def loop(self) -> BackgroundLoop:
        """The event loop of model calls."""
        return BackgroundLoop()

    @cached_property
    def run_session(self) -> RunSession:
        """The run session of all tests."""
        keeper = self.keeper
        return RunSession(self.settings, keeper.vector_store, keeper.call_log, loop=lambda: self.loop.events)

    def stop(self) -> None:
        """Start no further trial, and wait a little for those that are running."""
        if "loop" in self.__dict__:
            self.loop.run(self._set_stop())
            self.wait_for_prefetches(GRACE)

    async def _set_stop(self) -> None:
        self.run_session.stop.set()

    def close(self) -> None:
        """Close the connections, the store and the loop."""
        if "run_session" in self.__dict__ and "loop" in self.__dict__:
            self.loop.run(self.run_session.close())
        if "keeper" in self.__dict__:
            self.keeper.close()
        if "loop" in self.__dict__:
            self.loop.close()

    @property
    def is_busy(self) -> bool:
        """Whether prefetched cases are running."""
        return any(not prefetch.is_done for prefetch in self.prefetches)

    def wait_for_prefetches(self, seconds: float | None = None) -> None:
        """Wait for all prefetched cases, with a limit for each eval.

        The spending of a test is the difference of one meter before and after it, so other calls meanwhile would count twice.
        """
        for prefetch in self.prefetches:
            prefetch.wait(seconds)

    def notes(self) -> tuple[str, ...]:
        """Return the notes on models and tools."""
        return self.run_session.notes() if "run_session" in self.__dict__ else ()

    # `PytestRun`, for expectations and marked tests.

    @property
    def threshold(self) -> Threshold:
        """The threshold of the running test's marker."""
        return marker_of(self._item()).threshold

    @property
    def tools(self) -> TrialTools | None:
        """Tool replay of the running test's case."""
        item = self._running_test()
        case = None if item is None else item.stash.get(CASE, None)
        return None if case is None else case.context.tools

    def begin(self) -> None:
        """Skip the running test if evals are switched off."""
        if not self.on:
            pytest.skip(OFF)
        self._item()
        self.prepare_test()

    def trial(self, case: Case) -> Trial:
        """Return the trial of the next expectation, named after the test and numbered where it has several."""
        item = self._item()
        number = item.stash.get(EXPECTED, 0)
        item.stash[EXPECTED] = number + 1
        test_case = case_of(item)
        name = test_case.id if number == 0 else f"{test_case.id} ({number + 1})"
        position = item.stash[PLACE] * POSITIONS_PER_TEST + number
        return Trial(case=replace(case, id=name), dataset=suite_of(item), position=position, repeat=row_of(item).repeat)

    def keep(self, part: Run) -> None:
        """Store the result of an expectation."""
        self.keeper.keep(part)
        for result in part.results:
            record_scores(self._item(), result, part.metrics)

    def prepare_test(self) -> None:
        """Wait for prefetched cases, and start the run."""
        self.wait_for_prefetches()
        self.keeper.ready()

    def _item(self) -> pytest.Item:
        item = self._running_test()
        if item is None:
            raise ConfigError("expect(...) was called outside a test; move it into a test.")
        return item


def worker_share(settings: Settings, workers: int) -> Settings:
    """Return the settings of one of several processes: its share of each limit, and at least one.

    >>> worker_share(Settings(rpm=60, max_calls=9), 2).rpm, worker_share(Settings(rpm=60, max_calls=9), 2).max_calls
    (30.0, 4)
    """
    if workers <= 1:
        return settings
    return replace(
        settings,
        jobs=max(1, settings.jobs // workers),
        connections=None if settings.connections is None else max(1, settings.connections // workers),
        rpm=None if settings.rpm is None else settings.rpm / workers,
        tpm=None if settings.tpm is None else settings.tpm / workers,
        max_cost=None if settings.max_cost is None else settings.max_cost / workers,
        max_calls=None if settings.max_calls is None else settings.max_calls // workers,
        max_tokens=None if settings.max_tokens is None else settings.max_tokens // workers,
    )


def print_line(config: pytest.Config, text: str) -> None:
    """Print a line even while pytest captures output."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if reporter is not None:
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(clean(text))
