"""`EvalPlugin`: collects evals as tests, and provides the cases of marked tests."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.score import Trial
from evalmark.harness.evals.eval_case import EvalCase
from evalmark.harness.evals.eval_plan import check_eval
from evalmark.harness.evals.eval_spec import EvalSpec
from evalmark.harness.evals.rows import read_rows

from .hooks import Hooks
from .item_identity import (
    CASE,
    IDENTIFIED_CASE,
    case_of,
    marker_of,
    owner_of,
    row_of,
    suite_of,
    target_of,
)
from .items import EvalGroup, items_of
from .marker import marked_rows, read_marker
from .result_store import RunKeeper
from .runner import Runner
from .skips import PLACE, check_names, node_name, skipped_item
from .state import POSITIONS_PER_TEST, PluginState
from .summary import EvalSummary


class EvalPlugin:
    """Collects the tests of evals and provides the cases of marked tests; one a process, created for its first eval."""

    def __init__(self, config: pytest.Config, running_test: Callable[[], pytest.Item | None]) -> None:
        self.state = PluginState(config, running_test)
        self.runner = Runner(self.state)
        self._groups: dict[str, str] = {}
        self._owners: dict[tuple[str, str, str], str] = {}
        """The first test with a case of this id, by suite, id and target."""
        self._places: defaultdict[str, dict[str, int]] = defaultdict(dict)
        config.pluginmanager.register(Hooks(self.state), "evalmark-hooks")
        if self.state.worker is None:
            config.pluginmanager.register(EvalSummary(self.state), "evalmark-ending")

    def items(self, collector: Any, evals: Sequence[EvalSpec]) -> list[pytest.Item]:
        """Check a module's evals without any model call, and return their tests.

        Raises:
            CollectError: an eval cannot be used; then pytest runs no test.
        """
        try:
            check_names(evals)
            return [item for eval_spec in evals for item in self._items(collector, eval_spec)]
        except EvalmarkError as error:
            raise collector.CollectError(str(error)) from None

    def _items(self, collector: Any, eval_spec: EvalSpec) -> Iterator[pytest.Item]:
        if eval_spec.skip_if:
            yield skipped_item(collector, eval_spec, "skip_if is true")
            return
        named = replace(eval_spec, name=self._dataset(eval_spec))
        target = check_eval(named, self.state.run_session)
        if isinstance(self.state.keeper, RunKeeper):
            _ = self.state.keeper.baseline  # a missing run is reported before any case is run
        rows = read_rows(eval_spec.data, eval_spec.place)
        group = EvalGroup(
            eval_spec=named,
            title=node_name(eval_spec.name),
            target=target,
            state=self.state,
            rows=rows,
            run=self.runner.run,
        )
        yield from items_of(collector, group)

    def _dataset(self, eval_spec: EvalSpec) -> str:
        """Return the dataset name of an eval: its name, with its file where another file has the same name."""
        first = self._groups.setdefault(eval_spec.name, eval_spec.file)
        return eval_spec.name if first == eval_spec.file else f"{eval_spec.name} ({eval_spec.place.rpartition(':')[0]})"

    def repeat(self, metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
        """Make a marked test one test for each case and repeat."""
        message = ""
        try:
            mark = read_marker(marker, metafunc.definition.nodeid)
            if "evalmark_case" not in metafunc.fixturenames:
                metafunc.fixturenames.append("evalmark_case")
            rows = [None] if mark.data is None else read_rows(mark.data, metafunc.definition.nodeid)
            turns = marked_rows(rows, mark.repeat)
            if len(turns) > 1 or mark.data is not None:
                metafunc.parametrize("evalmark_case", turns, indirect=True, ids=[turn.name for turn in turns])
        except EvalmarkError as error:
            message = str(error)
        if message:  # outside of `except`, since pytest would also print the exception
            pytest.fail(message, pytrace=False)

    def gather(self, items: Sequence[pytest.Item]) -> None:
        """Give marked tests their cases, and note which tests are repeats of one case."""
        for item in items:
            names = getattr(item, "fixturenames", None)
            if names is not None and "evalmark_case" not in names:
                names.append("evalmark_case")
            suite, case, owner = suite_of(item), case_of(item), owner_of(item)
            if self._owners.setdefault((suite, case.id, target_of(item)), owner) != owner:
                case = replace(case, id=f"{case.id} ({owner})")
            item.stash[IDENTIFIED_CASE] = case
            item.stash[PLACE] = self._places[suite].setdefault(case.id, item.stash[PLACE])

    def case(self, request: pytest.FixtureRequest) -> EvalCase:
        """Return the case of a marked test."""
        self.state.prepare_test()
        item: pytest.Item = request.node
        mark = marker_of(item)
        trial = Trial(
            case=case_of(item),
            dataset=suite_of(item),
            target=target_of(item),
            position=item.stash[PLACE] * POSITIONS_PER_TEST,
            repeat=row_of(item).repeat,
        )
        case = EvalCase(self.state, trial, mark.threshold, mark.scorers, mark.judge)
        item.stash[CASE] = case
        return case
