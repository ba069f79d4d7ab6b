"""How the tests of evals run: side by side where that changes nothing, else one at a time."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from .state import PluginState


class Runner:
    """Finds what a case of an eval is worth."""

    def __init__(self, state: "PluginState") -> None:
        self._state = state
        self._aheads: dict[int, Prefetch | None] = {}

    def run(self, item: EvalItem) -> Result:
        """What is found for a case; kept before anybody hears of it.

        Raises:
            EvalFailedError: it did not pass.
            EvalmarkError: it could not be asked, or not be kept.
        """
        if item.bad is not None:
            part = bad_part(item)
            self._state.keeper.take(part)
            return _checked(item, item.bad_result(), part.metrics)
        prepared = item.group.prepare()
        trial = item.trial
        result = self._answered_ahead(item, trial)
        if result is None:
            self.settle()
            self._state.keeper.ready()
            before = self._state.run_session.spending()
            result = self._earlier(prepared, trial) or self._state.loop.run(self._alone(prepared, trial))
            part = prepared.part([result], self._state.run_session.spent_since(before))
            self._state.keeper.take(part)
        return _checked(item, result, prepared.metrics)

    async def _alone(self, prepared: PreparedPlan, trial: Trial) -> Result:
        try:
            return await self._state.run_session.run_one(prepared, trial)
        except RunStoppedError as why:
            raise RunStoppedError(f"Not answered: {why}") from None

    def _answered_ahead(self, item: EvalItem, trial: Trial) -> Result | None:
        """What was found while earlier cases were reported; starts that for the first test of an eval."""
        group = item.group
        if id(group) not in self._aheads:
            self._aheads[id(group)] = self._ahead(item) if self._may_hurry(item) else None
        ahead = self._aheads[id(group)]
        return None if ahead is None else ahead.result(trial)

    def _may_hurry(self, item: EvalItem) -> bool:
        """Not where a fixture is set up around each test, where a failure ends the run, or where others take some tests."""
        option = self._state.config.getoption
        ends_early = option("maxfail") or option("stepwise", False)
        return not (item.stands_alone or self._state.worker is not None or ends_early)

    def _ahead(self, item: EvalItem) -> Prefetch | None:
        self.settle()
        group = item.group
        prepared = group.prepare()
        others = [other for other in item.session.items if isinstance(other, EvalItem) and other.group is group]
        trials = [other.trial for other in others if other.bad is None and _will_run(other)]
        wanted = [trial for trial in trials if trial_key(trial) not in self._recorded(prepared)]
        self._state.keeper.meet(prepared.part())
        return (
            Prefetch(self._state.run_session, self._state.keeper, prepared, wanted, self._state.loop)
            if len(wanted) > 1
            else None
        )

    def _earlier(self, prepared: PreparedPlan, trial: Trial) -> Result | None:
        return self._recorded(prepared).get(trial_key(trial))

    def _recorded(self, prepared: PreparedPlan) -> dict[Key, Result]:
        """What an interrupted run knows of an eval that has not changed since."""
        resumed = self._state.config.getoption("evalmark_resume")
        if resumed is None:
            return {}
        return self._kept.get(prepared.info.plan, {})

    @cached_property
    def _kept(self) -> dict[str, dict[Key, Result]]:
        return earlier_results(self._state.settings.store, self._state.config.getoption("evalmark_resume"))

    @property
    def is_busy(self) -> bool:
        """Whether cases are being answered side by side."""
        return any(ahead is not None and not ahead.is_done for ahead in self._aheads.values())

    def settle(self) -> None:
        """Wait for all cases that are being answered side by side.

        What calls come to is read off one meter before and after: whatever else is asked meanwhile would count twice.
        """
        for ahead in self._aheads.values():
            if ahead is not None:
                ahead.wait()

    def stop(self, seconds: float) -> None:
        """Wait a little for what is under way, after a stop was asked for."""
        for ahead in self._aheads.values():
            if ahead is not None:
                ahead.wait(seconds)


def _checked(item: pytest.Item, result: Result, metrics: Sequence[Metric]) -> Result:
    """The result, if it passed; pytest is told of its scores either way."""
    record_scores(item, result)
    if (why := failure_message(result, metrics)) is not None:
        raise EvalFailedError(why, result)
    return result


def bad_part(item: EvalItem) -> Run:
    """What a test is worth that has no answer."""
    info = DatasetInfo(name=item.trial.dataset, path=item.group.described.place)
    return Run(id="", name="", created="", datasets=(info,), results=(item.bad_result(),))


def _will_run(item: EvalItem) -> bool:
    return not any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
