"""`TrialSource`: the trials of a plan, read from its datasets while the run goes on."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product

from evalmark.core.protocols import CompletedTrials
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import Run
from evalmark.core.values.score import Mode, Result, Trial
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.sharding import ShardAssignment
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation, EngineItem
from evalmark.runs.planning.plan import DatasetSource, Plan

from .options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """A row of a dataset that runs as a single case."""

    source: DatasetSource
    row: Case | BadRow
    position: int

    @property
    def case(self) -> Case:
        """The case; for a row that cannot be read, a placeholder."""
        return _case(self.row, self.position)

    def trials(self, plan: Plan) -> Iterator[Trial]:
        """Yield every trial of the row: each repeat, and for each repeat every target."""
        case, dataset, position = self.case, self.source.info.name, self.position
        for repeat in range(1 if isinstance(self.row, BadRow) else plan.repeat):
            for target in plan.targets:
                yield Trial(case=case, dataset=dataset, target=target.name, position=position, repeat=repeat)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSource:
    """Reads the trials of a plan that are not recorded yet, and counts the rows."""

    plan: Plan
    options: RunOptions
    recorded: CompletedTrials | None = None
    """The trials of earlier passes of a resumed run; None for a new run."""
    notes: dict[str, None] = field(default_factory=dict)
    """Notes of the readers, each once; added to while reading."""
    assignment: ShardAssignment | None = None
    """Assigns rows to shards; None: every row belongs to this run."""
    sampled: Mapping[str, Collection[str]] | None = None
    """The ids of the sampled cases of each dataset; None: the run is not sampled."""
    rows: Counter[str] = field(default_factory=Counter)
    """Rows per dataset; counted while reading."""
    counted_positions: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """For each dataset of a run that is scored again, the positions that `rows` has counted."""

    def trials(self) -> Iterator[EngineItem]:
        """Yield every trial that is not recorded yet, in order; a row that cannot be read is yielded as a result with an error."""
        if self.plan.rescored is not None:
            yield from self._recorded_outputs(self.plan.rescored)
            return
        for source in self.plan.sources:
            if self.assignment is not None and not self.assignment.has(source.info.name):
                continue
            for mode in self.plan.modes:
                if mode == "conversation":
                    for target, repeat in product(self.plan.targets, range(self.plan.repeat)):
                        yield Conversation(target=target.name, turns=self._turns(source, target.name, repeat))
                else:
                    yield from self._single_trials(source)

    def selected_rows(self) -> Iterator[PlannedRow]:
        """Yield all selected rows of all datasets; recorded trials of other rows are confirmed, so that they stay in the run."""
        for source in self.plan.sources:
            for position, row, is_selected in self._rows(source, "single"):
                this = PlannedRow(source=source, row=row, position=position)
                if is_selected:
                    yield this
                elif self.recorded is not None:
                    for trial in this.trials(self.plan):
                        self.recorded(trial)

    def open_trials(self, row: PlannedRow) -> Iterator[Trial | Result]:
        """Yield the trials of a row that are not recorded yet."""
        for trial in row.trials(self.plan):
            if not self.is_recorded(trial):
                yield _item(trial, row.row)

    def is_recorded(self, trial: Trial) -> bool:
        """Return whether an earlier pass of a resumed run has the trial; it then belongs to this pass as well."""
        return self.recorded is not None and self.recorded(trial)

    def _selects(self, row: Case | BadRow, dataset: str, position: int) -> bool:
        """Return whether a row is to be run; recorded results of other rows are kept."""
        only = self.options.only
        if self.sampled is not None and not (isinstance(row, Case) and row.id in self.sampled[dataset]):
            return False
        return self._is_within_limit(position) and (only is None or (isinstance(row, Case) and only(row, dataset)))

    def _is_within_limit(self, position: int) -> bool:
        return self.options.limit is None or position < self.options.limit

    def _rows(
        self, source: DatasetSource, mode: Mode, *, is_counted: bool = True
    ) -> Iterator[tuple[int, Case | BadRow, bool]]:
        """Yield rows with their positions and whether they are selected; others may be recorded already.

        Rows of other shards are left out.
        """
        name, assignment = source.info.name, self.assignment
        counts = mode == self.plan.modes[0] and is_counted  # a dataset that runs in both modes is counted once
        rows = source.read(lambda note: self.notes.setdefault(note))
        for position, row in enumerate(rows if self.recorded is not None else islice(rows, self.options.limit)):
            is_selected = self._selects(row, name, position)
            if assignment is not None:
                if counts and self._is_within_limit(position):
                    assignment.note(name, row)
                if is_selected and not assignment.takes_next():
                    continue
            self.rows[name] += counts and is_selected
            yield position, row, is_selected

    def _single_trials(self, source: DatasetSource) -> Iterator[Trial | Result]:
        """Yield trials row by row, each for every target, so that all targets are called from the beginning."""
        for position, row, is_selected in self._rows(source, "single"):
            for trial in PlannedRow(source=source, row=row, position=position).trials(self.plan):
                if not self.is_recorded(trial) and is_selected:
                    yield _item(trial, row)

    def _turns(self, source: DatasetSource, target: str, repeat: int) -> Iterator[Trial | Result | AnsweredTurn]:
        """Yield the rows of a dataset as the turns of one conversation; rows are read as they are needed.

        Once a turn runs again, all later ones do too, since their recorded outputs follow another history.
        """
        runs_again = False
        is_counted = target == self.plan.targets[0].name and not repeat
        for position, row, is_selected in self._rows(source, "conversation", is_counted=is_counted):
            if isinstance(row, BadRow) and repeat:
                continue
            trial = Trial(
                case=_case(row, position),
                dataset=source.info.name,
                target=target,
                position=position,
                repeat=repeat,
                mode="conversation",
            )
            if self.recorded is not None and self.recorded(trial) and not (runs_again and is_selected):
                if (output := self.recorded.output(trial)) is not None:
                    yield AnsweredTurn(case=trial.case, output=output)
            elif is_selected:
                runs_again = True
                yield _item(trial, row)

    def _recorded_outputs(self, run: Run) -> Iterator[AnsweredTrial | Conversation]:
        """Yield the outputs of an earlier run that are scored again."""
        targets: dict[str, None] = {}
        if "conversation" in self.plan.modes:
            targets = dict.fromkeys(result.trial.target for result in run.results)
        for mode in self.plan.modes:
            for dataset in run.datasets:
                if mode == "single":
                    items = self._outputs_of(run, dataset.name, mode)
                    yield from (item for item in items if isinstance(item, AnsweredTrial))
                else:
                    for target, repeat in product(targets, range(run.repeat)):
                        turns = self._outputs_of(run, dataset.name, mode, (target, repeat))
                        yield Conversation(target=target, turns=turns)

    def _outputs_of(
        self, run: Run, dataset: str, mode: Mode, target_and_repeat: tuple[str, int] | None = None
    ) -> Iterator[AnsweredTrial | AnsweredTurn]:
        """Yield the outputs of a dataset, of one target and repeat or of all.

        Outputs that are not scored again are yielded as `AnsweredTurn`, since later turns need them as history.
        """
        for result in run.results:
            trial = result.trial
            if (trial.dataset, trial.mode) != (dataset, mode) or target_and_repeat not in (
                None,
                (trial.target, trial.repeat),
            ):
                continue
            is_selected = self._selects(trial.case, dataset, trial.position)
            is_first = (
                trial.repeat == 0
                and mode == self.plan.modes[0]
                and trial.position not in self.counted_positions[dataset]
            )
            if is_selected and is_first:
                self.counted_positions[dataset].add(trial.position)
                self.rows[dataset] += 1
            if not self.is_recorded(trial) and is_selected:
                yield AnsweredTrial(trial=trial, output=result.output)
            else:
                yield AnsweredTurn(case=trial.case, output=result.output)


def _item(trial: Trial, row: Case | BadRow) -> Trial | Result:
    return Result(trial=trial, output=Output(error=str(row))) if isinstance(row, BadRow) else trial


def _case(row: Case | BadRow, position: int) -> Case:
    """Return the row as a case; for a row that cannot be read, a placeholder."""
    if isinstance(row, BadRow):
        return Case(id=f"row {position + 1}", metadata={"fault": row.message}, place=row.place)
    return row
