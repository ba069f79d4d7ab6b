"""Checks a plan before a run: reads the first rows of every dataset, and chooses the column with the reference."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.protocols import Target
from evalmark.core.suggestions import no_cluster_field
from evalmark.core.text import count
from evalmark.core.values.case import Case, cluster_value, content_hash
from evalmark.core.values.session import SESSION_FIELD
from evalmark.inputs.datasets.equal_rows import EqualRows
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.fields import JUDGED_ANSWER
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.rows import ignore_note
from evalmark.inputs.datasets.similar_names import LOOKS_KNOWN
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.scoring.binding.bound_scorer import BoundScorer

from .first_rows import CHECKED_ROWS, NoteHandler, RowSource
from .plan import DatasetSource, Plan, ScorerSpec

_EMPTY = Case(id="")
_WITH_REFERENCE = replace(_EMPTY, expected="x")
_EXAMPLE_ADVICE = (
    "their `output` is read as the output to score; add `expected_output`, or, if `output` is the expected output, "
    'add "config": {"example_outputs": true} beside `data`'
)
_ADVICE = (
    "Add it, or say which column holds it (`expected: NAME` beside the `path` in a suite), or leave the metric out"
)
_ADVICE_ON_CONTEXTS = (
    "Add them, say which column holds them (`contexts: NAME` beside the `path` in a suite), name a Python target that gives "
    "them with its answers, or leave the metric out"
)


def with_references(plan: Plan) -> Plan:
    """Read `answer` as the reference, where a target is called and the rows have no other reference.

    Otherwise the answers in the rows are not used once there is a target, and a note says so.
    """
    if plan.is_answered or plan.rescored is not None:
        return plan
    compares = any(map(_may_use_reference, plan.scorers))
    return replace(plan, sources=tuple(_with_target(one, plan.target_name, compares) for one in plan.sources))


def _may_use_reference(spec: ScorerSpec) -> bool:
    """Return whether a scorer uses the reference, as far as that is known."""
    if getattr(spec.scorer, "needs_example_output", False) or getattr(spec.scorer, "needs_expected", False):
        return True
    with suppress(ConfigError):
        bound = spec.bound(None)
        return bound.may_compare or bool(bound.lacks(_EMPTY) and not bound.lacks(_WITH_REFERENCE))
    return False


def _with_target(source: DatasetSource, target: str, compares: bool) -> DatasetSource:
    @cache
    def reader_and_note() -> tuple[RowSource, str]:
        """Decide by the first rows; a file that cannot be read is reported by the check."""
        first: list[Case] = []
        with suppress(DataError):
            first = [row for row in islice(source.read(ignore_note), CHECKED_ROWS) if isinstance(row, Case)]
        if not any(case.given is not None for case in first):
            return source.read, ""
        rows = source.read_references if compares and not any(case.liked or case.disliked for case in first) else None
        if rows is not None and _has_references(rows):
            return rows, (
                f"{source.info.name}: column `answer` is read as the expected answer, since no other column holds one and "
                f"{target} produces the outputs."
            )
        return (
            lambda note: source.read(lambda text: None if text.startswith(JUDGED_ANSWER) else note(text)),
            f"{source.info.name}: the answers in the rows are not scored, since {target} produces new ones.",
        )

    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        rows, remark = reader_and_note()
        if remark:
            note(remark)
        return rows(note)

    return replace(source, read=read, read_references=None)


def _has_references(rows: RowSource) -> bool:
    return any(isinstance(row, Case) and row.references for row in islice(rows(ignore_note), CHECKED_ROWS))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCheck:
    """The result of the check before a run."""

    rows: Mapping[str, int] = field(default_factory=dict)
    """Per dataset, how many rows it has; only for those that were read to their end."""
    faults: tuple[str, ...] = ()


def check(
    plan: Plan, most: int | None = CHECKED_ROWS, *, final: bool = True, notes: NoteHandler = ignore_note
) -> PlanCheck:
    """Bind every scorer and read the first rows of every dataset (`most`; None: all); spend nothing.

    If the plan is not `final`, a missing target or judge is not a fault, since a command line may still set it. `notes` is
    called with remarks on how the rows were read.
    """
    faults = _scorer_faults(plan)
    if not isinstance(plan.repeat, int) or plan.repeat < 1:
        faults.append(f"repeat has to be a whole number of at least 1; found {plan.repeat!r}.")
    without_judge = [scorer for scorer in _bound(plan) if scorer.needs_judge and scorer.judge is None]
    judged: set[str] = set()
    messages: list[str] = []
    rows: dict[str, int] = {}
    found_rows: list[_Rows] = []
    for source in plan.sources:
        found = _read(plan, source, most, without_judge)
        found_rows.append(found)
        for note in found.notes:
            notes(note)
        messages += found.all_faults(plan, final=final)
        if most is None or found.count < most:
            rows[source.info.name] = found.count
            judged |= found.need_judge
        else:  # later rows may need any of them
            judged |= {scorer.name for scorer in without_judge}
    if len(rows) == len(plan.sources):
        messages += _missing_in_all_rows(plan, found_rows)
    if final and (names := [scorer.name for scorer in without_judge if scorer.name in judged]):
        verb = "needs" if len(names) == 1 else "need"
        faults.append(
            f"{', '.join(names)} {verb} a judge; name one with --judge, EVALMARK_JUDGE or `judge:` in the suite."
        )
    return PlanCheck(rows=rows, faults=(*faults, *messages))


def _missing_in_all_rows(plan: Plan, datasets: Sequence["_Rows"]) -> list[str]:
    """Return a fault for each scorer that cannot score any row, since all rows lack something that it requires."""
    if plan.is_answered or plan.rescored is not None or not any(found.cases for found in datasets):
        return []
    places = ", ".join(found.where for found in datasets)
    hints = "".join(f" {note}" for found in datasets for note in found.notes if LOOKS_KNOWN in note)
    messages = [
        f"{places}: the metric {name!r} cannot score any row: in every row {one.lacks(_EMPTY)}. {_ADVICE}.{hints}"
        for name, one in datasets[0].never_scored.items()
        if all(name in found.never_scored for found in datasets)
    ]
    if any(getattr(target, "brings_contexts", True) for target in plan.targets):
        return messages
    lacking_contexts = [
        name for name in datasets[0].lacking_contexts if all(name in found.lacking_contexts for found in datasets)
    ]
    return messages + [
        f"{places}: the metric {name!r} cannot score any row: no row has contexts, and {plan.target_name} supplies none. "
        f"{_ADVICE_ON_CONTEXTS}.{hints}"
        for name in lacking_contexts
    ]


def _bound(plan: Plan) -> Iterator[BoundScorer]:
    """Yield the scorers of a plan that can be bound."""
    for spec in plan.scorers:
        with suppress(ConfigError):
            yield spec.bound(plan.embedder)


def _scorer_faults(plan: Plan) -> list[str]:
    faults: list[str] = []
    names: list[str] = []
    for spec in plan.scorers:
        try:
            scorer = spec.bound(plan.embedder)
        except ConfigError as fault:
            faults.append(str(fault))
        else:
            names.append(scorer.name)
    if not plan.scorers and plan.rescored is not None:
        faults.append(f"{plan.suite}: the suite has no metrics; add some under `metrics`, or name one with --metric.")
    targets = [target.name for target in plan.targets]
    faults += [
        f"{name} is named twice as a target; remove one of them, or give it another `name`."
        for name in sorted({n for n in targets if targets.count(n) > 1})
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    faults += [f"two scorers are called {name!r}; give one of them another `name`." for name in twice]
    metrics = {*names, *(spec.base for spec in plan.scorers if spec.base)}
    unknown = [name for name in (plan.gate.thresholds if plan.gate else {}) if name not in metrics]
    faults += [_unknown_metric_message(name, sorted(metrics), plan.suite) for name in unknown]
    return faults


def _unknown_metric_message(name: str, metrics: list[str], suite: str) -> str:
    """Return the message for a gate threshold of an unknown metric, with its line in the suite file if there is one."""
    close = get_close_matches(name, metrics, n=1)
    known = f"the metrics are {', '.join(metrics)}." if metrics else "the run has no metrics."
    advice = f"did you mean `{close[0]}`?" if close else known
    try:
        location = f"{load_document(Path(suite)).place_of(('gate', 'thresholds', name))}: " if suite else ""
    except DataError:  # the file has changed since
        location = f"{suite}: "
    return f"{location}the gate has a threshold for {name!r}, which is not a metric of this run; {advice}"


def raise_faults(faults: Iterable[str]) -> None:
    """Raise one error for all faults, if there are any.

    Raises:
        ConfigError: there was at least one.
    """
    if found := list(dict.fromkeys(faults)):  # the same judge may be named for several metrics
        raise ConfigError.of(found)


@dataclass(slots=True)
class _Rows:
    """The findings of the check in the rows of one dataset."""

    where: str
    faults: FaultList
    without_output: FaultList
    """Rows without an output; they are faults only if other rows have one."""
    without_judge: Sequence[BoundScorer] = ()
    """Scorers without their judge."""
    need_judge: set[str] = field(default_factory=set)
    """The names of scorers that need their judge for some case."""
    never_scored: dict[str, BoundScorer] = field(default_factory=dict)
    """Scorers, by name, that can score none of the cases so far."""
    lacking_contexts: dict[str, BoundScorer] = field(default_factory=dict)
    """Scorers, by name, that need contexts, while no case so far has any."""
    notes: dict[str, None] = field(default_factory=dict)
    count: int = 0
    cases: int = 0
    missing: int = 0
    """Cases without an answer."""
    have_examples: bool = False
    cluster: str = ""
    """The field by which cases depend on each other; empty: none."""
    clustered: int = 0
    """Cases with that field."""
    first: Case | None = None
    is_file: bool = False
    """Whether the cases come from a file, where none is a mistake."""
    is_recorded: bool = False
    """Whether the cases are of a recorded project, whose sessions may cluster none of them."""
    equal: EqualRows = field(default_factory=EqualRows)

    def add(self, row: Case | BadRow, targets: Sequence[Target]) -> None:
        self.count += 1
        if isinstance(row, BadRow):
            self.faults.add(row.message, row.place)
            return
        self.cases += 1
        self.first = self.first or row
        self.equal.add(row.id, row.place, content_hash(row))
        self.clustered += bool(self.cluster) and cluster_value(row, self.cluster) is not None
        self.have_examples = self.have_examples or bool(row.references)
        self.never_scored = {name: one for name, one in self.never_scored.items() if one.lacks(row)}
        self.lacking_contexts = {name: one for name, one in self.lacking_contexts.items() if one.lacks_contexts(row)}
        self.need_judge |= {
            one.name for one in self.without_judge if one.name not in self.need_judge and not one.skips(row)
        }
        for fault in dict.fromkeys(fault for target in targets if (fault := _unfit(target, row))):
            self.faults.add(fault, row.place or row.id)
        if row.given is None:
            self.missing += 1
            self.without_output.add(
                "the row has no `answer` and there is no target to produce one. "
                'Fill in `answer` (in JSON, "" is an empty one), or name a target.',
                row.place or row.id,
            )

    def all_faults(self, plan: Plan, *, final: bool) -> list[str]:
        """Return every fault of the dataset for this plan."""
        messages = self.faults.lines()
        if not self.count and not messages and self.is_file:
            messages.append(f"{self.where}: the dataset has no cases. Add at least one row, or leave the dataset out.")
        if self.cluster and self.first is not None and not self.clustered and not self.is_recorded:
            messages.append(f"{self.where}: no row has {no_cluster_field(self.cluster, '`cluster`', self.first)}")
        if plan.is_answered and plan.rescored is None and self.missing:
            if self.missing < self.cases:
                messages += self.without_output.lines()
            elif final:  # all of them wait for a target
                messages.append(
                    f"{self.where}: no row has an `answer`, and there is no target to produce one. "
                    "Name one with --target or `target:` in the suite, or fill in `answer`."
                )
        if self.cases and not self.have_examples:
            is_given = self.missing < self.cases  # an `output` without `config` is an answer that was given before
            advice = _EXAMPLE_ADVICE if is_given else "give its rows an `output`"
            messages += [
                f"{self.where}: the metric {spec.bound(plan.embedder).name!r} needs example outputs, "
                f"and no row of this dataset has one; {advice}, or remove this metric or this dataset."
                for spec in plan.scorers
                if _needs_examples(spec)
            ]
        return messages


def _read(plan: Plan, source: DatasetSource, most: int | None, without_judge: Sequence[BoundScorer]) -> _Rows:
    name = source.info.name
    never_scored = {one.name: one for one in _bound(plan) if one.lacks(_EMPTY)}
    lacking_contexts = {one.name: one for one in _bound(plan) if one.lacks_contexts(_EMPTY)}
    rows = _Rows(
        source.info.path or name,
        FaultList(name),
        FaultList(name),
        without_judge,
        never_scored=never_scored,
        lacking_contexts=lacking_contexts,
        cluster=source.info.cluster,
        is_file=bool(source.info.path) and Path(source.info.path).is_file(),
        is_recorded=source.info.path.startswith(SESSIONS_PREFIX) and source.info.cluster == SESSION_FIELD,
    )
    try:
        for row in islice(source.read(rows.notes.setdefault), most):
            rows.add(row, plan.targets if plan.rescored is None else ())
    except DataError as fault:
        rows.faults.add(str(fault))
    if rows.equal.count:
        rows.notes.setdefault(rows.equal.note(rows.where))
    if rows.cluster and 0 < rows.clustered < rows.cases:
        without = count(rows.cases - rows.clustered, "case")
        rows.notes.setdefault(f"{rows.where}: {without} without `{rows.cluster}`; each counts as a cluster of its own.")
    return rows


def _unfit(target: Target, case: Case) -> str | None:
    """Return why a target cannot run a case, if that is known before the run."""
    unfit = getattr(target, "unfit", None)
    return unfit(case) if callable(unfit) else None


def _needs_examples(spec: ScorerSpec) -> bool:
    return bool(getattr(spec.scorer, "needs_example_output", False))
