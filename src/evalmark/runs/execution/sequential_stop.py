"""Sequential stopping: runs cases in random order, and stops as soon as the gate is decided."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from secrets import randbelow
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.money import money
from evalmark.core.text import count
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Run, UntilDecided
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending, total_spending
from evalmark.runs.engine.work import ResultCallback
from evalmark.runs.planning.plan import Plan
from evalmark.stats.comparison.scoring_rules import ScoringRules, rules_from_headers
from evalmark.stats.inference.differences import MARGIN
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.means import mean
from evalmark.stats.summary.collection import left_out
from evalmark.stats.summary.criteria import NotWorse
from evalmark.stats.summary.random_order import OrderedResults, random_order
from evalmark.stats.summary.sequential_gate import PlannedRun, SequentialGate

from .trial_source import PlannedRow, TrialSource

if TYPE_CHECKING:
    from evalmark.stats.summary.criteria import CriterionFactory
    from evalmark.stats.summary.random_order import CasePosition

SEEDS = 2**31
"""The number of possible random seeds."""
DRAWN = "Cases ran in random order"
"""The beginning of the note on the order of the cases."""
SAVED = "Saved: "
"""The beginning of the note on cases that did not run."""


def case_order(plan: Plan, earlier: UntilDecided | None = None) -> UntilDecided:
    """Return the random order of a run that stops early; a resumed run keeps its order.

    Raises:
        ConfigError: a metric scores conversations, whose turns have an order, or the resumed run has another seed.
    """
    if "conversation" in plan.modes:
        raise ConfigError("--until-decided runs cases in random order, but a metric here scores whole conversations.")
    if earlier is None:
        return UntilDecided(seed=randbelow(SEEDS) if plan.seed is None else plan.seed, level=LEVEL)
    if plan.seed not in (None, earlier.seed):
        raise ConfigError(f"the run uses the random order of seed {earlier.seed}; omit --seed {plan.seed}.")
    return UntilDecided(seed=earlier.seed, level=earlier.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialStop:
    """Reads the results of one run as they arrive, and stops the run once its gate is decided."""

    source: TrialSource
    header: UntilDecided
    order: "Sequence[CasePosition]"
    rows: "dict[CasePosition, PlannedRow]"
    gate: "SequentialGate"
    in_order: "OrderedResults"
    stop: asyncio.Event

    def trials(self) -> Iterator[Trial | Result]:
        """Yield trials that are not recorded yet, case by case in random order."""
        for place in self.order:
            yield from self.source.open_trials(self.rows[place])

    def watch(self, results: Sequence[Result]) -> None:
        """Take new results, and stop the run once nothing can change the verdict."""
        self.in_order.add(results)
        if self.gate.outcome is not None:
            self.stop.set()

    def watch_and(self, watch: ResultCallback | None) -> ResultCallback:
        """Return a callback that watches results and passes them to another callback."""

        def both(results: Sequence[Result]) -> None:
            self.watch(results)
            if watch is not None:
                watch(results)

        return both

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is known before every case has run."""
        return self.gate.outcome is not None and self.in_order.left > 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to run."""
        return self.gate.outcome is not None or self.in_order.left == 0

    @property
    def final_state(self) -> UntilDecided:
        """The final state, for the header of the run."""
        header = replace(self.header, cases=self.gate.cases)
        if not self.is_decided:
            return header
        found = self.gate
        return replace(header, after=found.after, outcome=found.outcome, reason=found.reason)

    def notes(self, spent: Sequence[Spending]) -> tuple[str, ...]:
        """Return notes on the random order, and on the calls and cost that stopping early has saved."""
        order = f"{DRAWN} (seed {self.header.seed}) until the gate was decided."
        all_of_them, left = len(self.order), len(self.order) - len(self.in_order.met)
        if not self.is_decided or not left:
            return (order,)
        used, share = total_spending(spent), left / max(1, len(self.in_order.met))
        more = [count(round(used.calls * share), "model call")] if used.calls else []
        more += [money(used.cost * share)] if used.cost else []
        worth = f", about {' and '.join(more)} at the average of the others" if more else ""
        return order, f"{SAVED}{left:,} of {count(all_of_them, 'case')} did not run{worth}."


def sequential_stop(source: TrialSource, run: Run, header: UntilDecided, stop: asyncio.Event | None) -> SequentialStop:
    """Return the sequential stop of a run, with the random order in `header`. Reads all datasets and recorded results."""
    plan = source.plan
    rows = {(row.source.info.name, row.position): row for row in source.selected_rows()}
    order = random_order(rows, header.seed)
    sizes = dict.fromkeys((source.info.name for source in plan.sources), 0)
    for (dataset, _), row in rows.items():
        sizes[dataset] += left_out(row.case) is None
    names = [target.name for target in plan.targets]
    whole = PlannedRun(sizes=sizes, metrics=run.metrics, targets=names, repeat=plan.repeat)
    gate = SequentialGate(
        plan.gate, whole, header.level, _not_worse_criteria(run, source.options.baseline, rows, names)
    )
    trials = {place: len(list(row.trials(plan))) for place, row in rows.items()}
    in_order = OrderedResults(trials, order, gate.add)
    found = SequentialStop(
        source=source,
        header=header,
        order=order,
        rows=rows,
        gate=gate,
        in_order=in_order,
        stop=stop or asyncio.Event(),
    )
    found.watch(_recorded(found, run) if source.options.resume is not None else ())
    return found


def _not_worse_criteria(
    run: Run, baseline: Run | None, rows: "Mapping[CasePosition, PlannedRow]", targets: Sequence[str]
) -> "list[CriterionFactory]":
    """Return criteria that no target has a lower pass rate than in an earlier run, over the cases of both runs."""
    if baseline is None:
        return []
    rules = rules_from_headers(run, baseline)
    _, baseline = rules.runs(run, baseline)
    before: dict[str, dict[str, list[Result]]] = {}
    for result in baseline.results:
        if left_out(result.trial.case) is None:
            before.setdefault(result.trial.target, {}).setdefault(
                _case(result.trial.dataset, result.trial.case), []
            ).append(result)
    alone = next(iter(before.values())) if len(before) == len(targets) == 1 else {}
    made: list[CriterionFactory] = []
    for target in targets:
        values = {case: _passing(results) for case, results in before.get(target, alone).items()}
        values_now = {place: values.get(_case(place[0], row.case)) for place, row in rows.items()}
        earlier = {place: value for place, value in values_now.items() if value is not None}
        if earlier:
            made.append(partial(NotWorse, earlier, partial(_passing, target=target, rules=rules), MARGIN))
    return made


def _passing(results: Iterable[Result], target: str | None = None, rules: ScoringRules | None = None) -> float | None:
    """Return the share of a case's trials that pass; None if one of them has no verdict."""
    wanted = (result for result in results if target in (None, result.trial.target))
    verdicts = [result.verdict if rules is None else rules.run(result).verdict for result in wanted]
    if any(verdict in ("error", "unscored") for verdict in verdicts):
        return None
    return mean([float(verdict == "pass") for verdict in verdicts if verdict in ("pass", "fail")])


def _recorded(found: SequentialStop, run: Run) -> Sequence[Result]:
    """Return the results of earlier passes for these cases, at their present positions."""
    source = found.source
    stored = {_key(result.trial): result for result in source.options.store.run(run.id).results}
    trials = (trial for place in found.order for trial in found.rows[place].trials(source.plan))
    results = ((trial, stored.get(_key(trial))) for trial in trials if source.is_recorded(trial))
    return [replace(result, trial=trial) for trial, result in results if result is not None]


def _key(trial: Trial) -> tuple[str, str, int]:
    return _case(trial.dataset, trial.case), trial.target, trial.repeat


def _case(dataset: str, case: Case) -> str:
    """Return a key of a case that is the same in every run."""
    return fingerprint(dataset, case.id, case.fingerprint)
