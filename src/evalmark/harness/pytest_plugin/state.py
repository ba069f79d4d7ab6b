"""Where evals meet pytest: runs them, and passes on what they find."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from os import environ
from typing import Any

import pytest

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.settings import Settings, load_settings, resolve_location
from evalmark.core.sync import BackgroundLoop
from evalmark.core.values.case import Case
from evalmark.core.values.run import Gate, Run
from evalmark.core.values.score import Trial
from evalmark.harness.evals.definition import Eval
from evalmark.harness.evals.eval_case import EvalCase
from evalmark.harness.evals.eval_plan import check_eval
from evalmark.harness.evals.rows import read_rows
from evalmark.harness.evals.thresholds import Threshold
from evalmark.runs.session.run_session import RunSession

from .hooks import Hooks
from .item_identity import (
    CASE,
    EXPECTED,
    KNOWN,
    case_of,
    marker_of,
    owner_of,
    record_scores,
    row_of,
    suite_of,
    target_of,
)
from .items import EvalGroup, items_of
from .marker import marked_rows, read_marker
from .result_store import RunKeeper, RunLocation, WorkerResults
from .runner import Runner
from .sharing import share_of
from .skips import OFF, PLACE, check_names, node_name, skipped_item
from .summary import SessionSummary, print_line

GRACE = 12.0
"""Seconds that trials under way get to finish when pytest ends."""
EACH = 10_000
"""Places between two tests, for the expectations in them."""


class PluginState:
    """The host of expectations, and the hooks that evals need; one a process, made with its first eval."""

    def __init__(self, config: pytest.Config, running: Callable[[], pytest.Item | None]) -> None:
        self.config, self._running = config, running
        self.worker: Any = getattr(config, "workerinput", None)
        """What xdist has told this process, if it is one of its workers."""
        self._groups: dict[str, str] = {}
        self._owners: dict[tuple[str, str, str], str] = {}
        """Which test has a case of this id first, for each suite and target."""
        self._places: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.runner = Runner(self)
        """Runs the tests of evals."""
        config.pluginmanager.register(Hooks(self), "evalmark-hooks")
        if self.worker is None:
            config.pluginmanager.register(SessionSummary(self), "evalmark-ending")

    # What it works with, made when it is needed.

    @property
    def on(self) -> bool:
        """Whether evals are to run."""
        return bool(self.config.getoption("evalmark") or self.config.getini("evalmark_run"))

    @cached_property
    def settings(self) -> Settings:
        """The settings in force; a worker of xdist has its share of every limit.

        Raises:
            ConfigError: a setting cannot be read.
        """
        option, here = self.config.getoption, self.config.invocation_params.dir
        replay = option("evalmark_replay")
        found = load_settings(
            environ,
            here,
            {"store": option("evalmark_store"), "replay": "auto" if replay == "replay" else replay},
        )
        store = resolve_location(here, found.store)  # a test may change the working directory
        workers = 1 if self.worker is None else int(self.worker["workercount"])
        return share_of(replace(found, store=store), workers)

    @cached_property
    def gate(self) -> Gate | None:
        """The rule for the whole run; None: every trial has to pass."""
        option = self.config.getoption
        names = ("min_pass_rate", "min_score", "max_unscored", "max_errors")
        said = {name: value for name in names if (value := option(f"evalmark_{name}")) is not None}
        return Gate(**said) if said else None

    @cached_property
    def keeper(self) -> RunKeeper | WorkerResults:
        """Where results go: the store, or the process that leads."""
        if self.worker is not None:
            return WorkerResults(self._running)
        option = self.config.getoption
        place = RunLocation(
            store=self.settings.store,
            gate=self.gate,
            resume=option("evalmark_resume"),
            baseline=option("evalmark_baseline"),
        )
        return RunKeeper(place, self.loop, lambda text: print_line(self.config, text))

    @cached_property
    def loop(self) -> BackgroundLoop:
        """The loop on which models are asked."""
        return BackgroundLoop()

    @cached_property
    def run_session(self) -> RunSession:
        """Asks targets and scorers."""
        return RunSession(self.settings, self._ledger, self._journal, loop=lambda: self.loop.events)

    def _ledger(self) -> Any:
        return self.keeper.ledger(self.settings.store)

    def _journal(self) -> Any:
        return self.keeper.call_log(self.settings.store)

    def stop(self) -> None:
        """Begin nothing more, and wait a little for what is under way."""
        if "loop" in self.__dict__:
            self.loop.run(self._stopped())
            self.runner.stop(GRACE)

    async def _stopped(self) -> None:
        self.run_session.stop.set()

    def close(self) -> None:
        """Let go of connections, of the store and of the loop."""
        if "run_session" in self.__dict__ and "loop" in self.__dict__:
            self.loop.run(self.run_session.close())
        if "keeper" in self.__dict__:
            self.keeper.close()
        if "loop" in self.__dict__:
            self.loop.close()

    def notes(self) -> tuple[str, ...]:
        """What a reader of the run should know of its models."""
        return self.run_session.notes() if "run_session" in self.__dict__ else ()

    # Collecting.

    def items(self, collector: Any, evals: Sequence[Eval]) -> list[pytest.Item]:
        """The tests of the evals of a module, checked so far as that costs nothing.

        Raises:
            CollectError: an eval cannot be used; pytest runs no test then.
        """
        try:
            check_names(evals)
            return [item for described in evals for item in self._items(collector, described)]
        except EvalmarkError as fault:
            raise collector.CollectError(str(fault)) from None

    def _items(self, collector: Any, described: Eval) -> Iterator[pytest.Item]:
        if described.skip_if:
            yield skipped_item(collector, described, "skip_if is true")
            return
        named = replace(described, name=self._dataset(described))
        target = check_eval(named, self.run_session)
        if isinstance(self.keeper, RunKeeper):
            _ = self.keeper.baseline  # a run that is not there is said before anything is asked
        rows = read_rows(described.data, described.place)
        group = EvalGroup(described=named, title=node_name(described.name), target=target, state=self, rows=rows)
        yield from items_of(collector, group)

    def _dataset(self, described: Eval) -> str:
        """What the cases of an eval go by in the run: its name, and its file where another file has an eval of that name."""
        first = self._groups.setdefault(described.name, described.file)
        return described.name if first == described.file else f"{described.name} ({described.place.rpartition(':')[0]})"

    def repeat(self, metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
        """Make a marked test one test for each case and repeat."""
        why = ""
        try:
            mark = read_marker(marker, metafunc.definition.nodeid)
            if "evalmark_case" not in metafunc.fixturenames:
                metafunc.fixturenames.append("evalmark_case")
            rows = [None] if mark.data is None else read_rows(mark.data, metafunc.definition.nodeid)
            turns = marked_rows(rows, mark.repeat)
            if len(turns) > 1 or mark.data is not None:
                metafunc.parametrize("evalmark_case", turns, indirect=True, ids=[turn.name for turn in turns])
        except EvalmarkError as fault:
            why = str(fault)
        if why:  # said out here, since pytest tells of what it was said in the middle of
            pytest.fail(why, pytrace=False)

    def gather(self, items: Sequence[pytest.Item]) -> None:
        """Note which marked tests are repeats of one case; each has its case, whether it asks for it or not."""
        for item in items:
            names = getattr(item, "fixturenames", None)
            if names is not None and "evalmark_case" not in names:
                names.append("evalmark_case")
            suite, case, owner = suite_of(item), case_of(item), owner_of(item)
            if self._owners.setdefault((suite, case.id, target_of(item)), owner) != owner:
                case = replace(case, id=f"{case.id} ({owner})")
            item.stash[KNOWN] = case
            item.stash[PLACE] = self._places[suite].setdefault(case.id, item.stash[PLACE])

    # The host of expectations and of marked tests.

    @property
    def threshold(self) -> Threshold:
        """That of the running test's marker."""
        return marker_of(self._item()).threshold

    @property
    def tools(self) -> TrialTools | None:
        """Those of the running test's case."""
        item = self._running()
        case = None if item is None else item.stash.get(CASE, None)
        return None if case is None else case.context.tools

    def begin(self) -> None:
        """Skip the running test when evals are not to run."""
        if not self.on:
            pytest.skip(OFF)
        self._item()
        self._prepare()

    def trial(self, case: Case) -> Trial:
        """The next expectation of the running test: named after the test, counted where it has several."""
        item = self._item()
        number = item.stash.get(EXPECTED, 0)
        item.stash[EXPECTED] = number + 1
        known = case_of(item)
        suite = suite_of(item)
        name = known.id if number == 0 else f"{known.id} ({number + 1})"
        repeat = row_of(item).repeat
        position = item.stash[PLACE] * EACH + number
        return Trial(case=replace(case, id=name), dataset=suite, position=position, repeat=repeat)

    def keep(self, part: Run) -> None:
        """Take what an expectation has found."""
        self.keeper.take(part)
        for result in part.results:
            record_scores(self._item(), result)

    def case(self, request: pytest.FixtureRequest) -> EvalCase:
        """The case of a marked test."""
        self._prepare()
        item: pytest.Item = request.node
        mark = marker_of(item)
        trial = Trial(
            case=case_of(item),
            dataset=suite_of(item),
            target=target_of(item),
            position=item.stash[PLACE] * EACH,
            repeat=row_of(item).repeat,
        )
        found = EvalCase(self, trial, mark.threshold, mark.scorers, mark.judge)
        item.stash[CASE] = found
        return found

    def _prepare(self) -> None:
        """What a test does by itself has the meter and the store to itself."""
        self.runner.settle()
        self.keeper.ready()

    def _item(self) -> pytest.Item:
        item = self._running()
        if item is None:
            raise ConfigError("expect(...) stands where no test is running; put it into a test.")
        return item
