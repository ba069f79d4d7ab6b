"""The trials of a plan, read from its datasets as the run goes on."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TYPE_CHECKING

from evalmark.core.protocols import CompletedTrials
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import Run
from evalmark.core.values.score import Mode, Result, Trial
from evalmark.inputs.datasets.dealing import Deal
from evalmark.inputs.datasets.options import BadRow
from evalmark.runs.engine.pipeline import AnsweredTrial, AnsweredTurn, Conversation, EngineItem
from evalmark.runs.planning.plan import DatasetSource, Plan

if TYPE_CHECKING:
    from .execute import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSource:
    """What reading a plan's datasets needs and leaves behind."""

    plan: Plan
    recorded: CompletedTrials
    conduct: "RunOptions"
    said: dict[str, None]
    """Filled while reading: notes."""
    deal: Deal | None = None
    """Which rows are this run's; None: all are."""
    rows: Counter[str] = field(default_factory=Counter)
    """Filled while reading: rows per dataset."""
    met: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Filled while reading an earlier run: the places of the rows that count already."""

    def wants(self, row: Case | BadRow, dataset: str, position: int) -> bool:
        """Whether the row is among those to be run; what is recorded of others is kept."""
        conduct = self.conduct
        if not self.is_within(position):
            return False
        return conduct.only is None or (isinstance(row, Case) and conduct.only(row, dataset))

    def is_within(self, position: int) -> bool:
        """Whether the row is among the first so many that count."""
        return self.conduct.limit is None or position < self.conduct.limit

    @property
    def sources(self) -> Iterator[DatasetSource]:
        """The datasets of which any row may be this run's."""
        return (one for one in self.plan.sources if self.deal is None or self.deal.has(one.info.name))


def trials(reading: TrialSource) -> Iterator[EngineItem]:
    """Every trial that is not recorded yet, in order; rows that cannot be read come as results."""
    if reading.plan.kept is not None:
        yield from _kept(reading, reading.plan.kept)
        return
    for source in reading.sources:
        for mode in reading.plan.modes:
            if mode == "conversation":
                for target, repeat in product(reading.plan.targets, range(reading.plan.repeat)):
                    yield Conversation(target=target.name, turns=_turns(reading, source, target.name, repeat))
            else:
                yield from _singles(reading, source)


def _rows(
    reading: TrialSource, source: DatasetSource, mode: Mode, *, counted: bool = True
) -> Iterator[tuple[int, Case | BadRow, bool]]:
    """The rows with their places, and whether they are to be run; others may be recorded already.

    Rows of another shard are not among them.
    """
    name, conduct, deal = source.info.name, reading.conduct, reading.deal
    counts = mode == reading.plan.modes[0] and counted  # a dataset that is used both ways has its rows once
    rows = source.read(lambda note: reading.said.setdefault(note))
    for position, row in enumerate(rows if conduct.resume is not None else islice(rows, conduct.limit)):
        wanted = reading.wants(row, name, position)
        if deal is not None:
            if counts and reading.is_within(position):
                deal.note(name, row)
            if wanted and not deal.takes_next():
                continue
        reading.rows[name] += counts and wanted
        yield position, row, wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRow:
    """A row of a dataset, asked by itself."""

    source: DatasetSource
    row: Case | BadRow
    position: int

    @property
    def case(self) -> Case:
        """The case; where the row cannot be read, one that stands for it."""
        return _case(self.row, self.position)

    def trials(self, plan: Plan) -> Iterator[Trial]:
        """All that the plan asks of it: every repeat, and for each every target."""
        case, dataset, position = self.case, self.source.info.name, self.position
        for repeat in range(1 if isinstance(self.row, BadRow) else plan.repeat):
            for target in plan.targets:
                yield Trial(case=case, dataset=dataset, target=target.name, position=position, repeat=repeat)


def rows_of(reading: TrialSource) -> Iterator[DatasetRow]:
    """Every row that is to be run, of all datasets; what is recorded of others is kept."""
    for source in reading.plan.sources:
        for position, row, wanted in _rows(reading, source, "single"):
            this = DatasetRow(source=source, row=row, position=position)
            if wanted:
                yield this
            elif reading.conduct.resume is not None:
                for trial in this.trials(reading.plan):
                    reading.recorded(trial)


def trials_of(reading: TrialSource, row: DatasetRow) -> Iterator[Trial | Result]:
    """What of a row is not recorded yet."""
    for trial in row.trials(reading.plan):
        if not reading.recorded(trial):
            yield _item(trial, row.row)


def _singles(reading: TrialSource, source: DatasetSource) -> Iterator[Trial | Result]:
    """Row by row, each for every target, so that all models are asked from the beginning."""
    for position, row, wanted in _rows(reading, source, "single"):
        for trial in DatasetRow(source=source, row=row, position=position).trials(reading.plan):
            if not reading.recorded(trial) and wanted:
                yield _item(trial, row)


def _turns(
    reading: TrialSource, source: DatasetSource, target: str, repeat: int
) -> Iterator[Trial | Result | AnsweredTurn]:
    """The rows of a dataset as one conversation, read when its turn comes.

    Once a turn is asked anew, those after it are too: what they were answered with before rests on another history.
    """
    anew = False
    first = target == reading.plan.targets[0].name and not repeat
    for position, row, wanted in _rows(reading, source, "conversation", counted=first):
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
        if reading.recorded(trial) and not (anew and wanted):
            if (output := reading.recorded.output(trial)) is not None:
                yield AnsweredTurn(case=trial.case, output=output)
        elif wanted:
            anew = True
            yield _item(trial, row)


def _item(trial: Trial, row: Case | BadRow) -> Trial | Result:
    return Result(trial=trial, output=Output(error=str(row))) if isinstance(row, BadRow) else trial


def _case(row: Case | BadRow, position: int) -> Case:
    """The row as a case; where it cannot be read, one that stands for it."""
    if isinstance(row, BadRow):
        return Case(id=f"row {position + 1}", metadata={"fault": row.message}, place=row.place)
    return row


def _kept(reading: TrialSource, run: Run) -> Iterator[AnsweredTrial | Conversation]:
    """The outputs of an earlier run, to be judged anew."""
    targets: dict[str, None] = {}
    if "conversation" in reading.plan.modes:
        targets = dict.fromkeys(result.trial.target for result in run.results)
    for mode in reading.plan.modes:
        for dataset in run.datasets:
            if mode == "single":
                yield from (item for item in _of(reading, run, dataset.name, mode) if isinstance(item, AnsweredTrial))
            else:
                for target, repeat in product(targets, range(run.repeat)):
                    yield Conversation(target=target, turns=_of(reading, run, dataset.name, mode, (target, repeat)))


def _of(
    reading: TrialSource, run: Run, dataset: str, mode: Mode, which: tuple[str, int] | None = None
) -> Iterator[AnsweredTrial | AnsweredTurn]:
    """What a dataset's rows were answered, by one target for one repeat or by all.

    What is not to be judged is there for the turns that build on it.
    """
    for result in run.results:
        trial = result.trial
        if (trial.dataset, trial.mode) != (dataset, mode) or which not in (None, (trial.target, trial.repeat)):
            continue
        wanted = reading.wants(trial.case, dataset, trial.position)
        first = trial.repeat == 0 and mode == reading.plan.modes[0] and trial.position not in reading.met[dataset]
        if wanted and first:
            reading.met[dataset].add(trial.position)
            reading.rows[dataset] += 1
        if not reading.recorded(trial) and wanted:
            yield AnsweredTrial(trial=trial, output=result.output)
        else:
            yield AnsweredTurn(case=trial.case, output=result.output)
