"""Runs the tests of evals."""

from collections.abc import Sequence
from functools import cached_property

import pytest

from evalmark.core.errors import RunStoppedError
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Trial
from evalmark.harness.evals.failure import EvalFailedError, failure_message
from evalmark.runs.session.run_session import PreparedPlan

from .item_identity import record_scores
from .items import EvalItem
from .prefetch import Prefetch
from .result_store import Key, earlier_results, trial_key
from .state import PluginState


class Runner:
    """Runs the cases of evals: concurrently where that gives the same results, else one at a time."""

    def __init__(self, state: PluginState) -> None:
        self._state = state
        self._prefetches: dict[int, Prefetch | None] = {}

    def run(self, item: EvalItem) -> Result:
        """Return the result of a case; it is stored before it is reported.

        Raises:
            EvalFailedError: the case did not pass.
            EvalmarkError: the case could not be run, or its result could not be stored.
        """
        if item.bad is not None:
            part = bad_part(item)
            self._state.keeper.keep(part)
            return _require_pass(item, item.bad_result(), part.metrics)
        prepared, trial = item.group.prepare(), item.trial
        result = self._prefetched_result(item)
        if result is None:
            self._state.prepare_test()
            before = self._state.run_session.spending()
            result = self._recorded_results(prepared).get(trial_key(trial)) or self._state.loop.run(
                self._run_alone(prepared, trial)
            )
            self._state.keeper.keep(prepared.part([result], self._state.run_session.spent_since(before)))
        return _require_pass(item, result, prepared.metrics)

    async def _run_alone(self, prepared: PreparedPlan, trial: Trial) -> Result:
        try:
            return await self._state.run_session.run_one(prepared, trial)
        except RunStoppedError as error:
            raise RunStoppedError(f"The case was not run: {error}") from None

    def _prefetched_result(self, item: EvalItem) -> Result | None:
        """Return the prefetched result of a case, if there is one; the first test of an eval starts the prefetch."""
        group = id(item.group)
        if group not in self._prefetches:
            self._prefetches[group] = self._start_prefetch(item) if self._can_prefetch(item) else None
        prefetch = self._prefetches[group]
        return None if prefetch is None else prefetch.result(item.trial)

    def _can_prefetch(self, item: EvalItem) -> bool:
        """Whether cases may run before their tests: without fixtures of single tests, an early end of pytest, or xdist workers."""
        option = self._state.config.getoption
        ends_early = option("maxfail") or option("stepwise", False)
        return not (item.stands_alone or self._state.worker is not None or ends_early)

    def _start_prefetch(self, item: EvalItem) -> Prefetch | None:
        """Start all cases of an eval that have no result yet; None where that is one case or none."""
        state, group = self._state, item.group
        state.wait_for_prefetches()
        prepared = group.prepare()
        others = [other for other in item.session.items if isinstance(other, EvalItem) and other.group is group]
        trials = [other.trial for other in others if other.bad is None and _will_run(other)]
        open_trials = [trial for trial in trials if trial_key(trial) not in self._recorded_results(prepared)]
        state.keeper.add_part(prepared.part())
        if len(open_trials) <= 1:
            return None
        prefetch = Prefetch(state.run_session, state.keeper, prepared, open_trials, state.loop)
        state.prefetches.append(prefetch)
        return prefetch

    def _recorded_results(self, prepared: PreparedPlan) -> dict[Key, Result]:
        """Return the results of an interrupted run for an eval that has not changed since."""
        if self._state.config.getoption("evalmark_resume") is None:
            return {}
        return self._earlier_results.get(prepared.info.plan, {})

    @cached_property
    def _earlier_results(self) -> dict[str, dict[Key, Result]]:
        return earlier_results(self._state.settings.store, self._state.config.getoption("evalmark_resume"))


def _require_pass(item: pytest.Item, result: Result, metrics: Sequence[Metric]) -> Result:
    """Return the result if it passed; its scores go into pytest's reports either way."""
    record_scores(item, result, metrics)
    if (error := failure_message(result, metrics)) is not None:
        raise EvalFailedError(error, result)
    return result


def bad_part(item: EvalItem) -> Run:
    """Return the result of a row that is not a case, as a part of the run."""
    info = DatasetInfo(name=item.trial.dataset, path=item.group.eval_spec.place)
    return Run(id="", name="", created="", datasets=(info,), results=(item.bad_result(),))


def _will_run(item: EvalItem) -> bool:
    return not any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
