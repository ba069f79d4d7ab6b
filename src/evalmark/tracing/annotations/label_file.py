"""Read labels from a CSV, TSV or JSONL file; if rows are invalid, report all faults by line."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError, DataError, EvalmarkError
from evalmark.core.values.label import about_span, parse_thumb
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.core.values.session import Session, Span
from evalmark.inputs.datasets.csv_rows import csv_rows, tsv_rows
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.json_rows import jsonl_rows
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.datasets.rows import DatasetFile, DatasetRow, RowReader
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file

from .labels import (
    NO_SELECTOR,
    LabelSubject,
    NewLabel,
    OutputSelector,
    check_labels,
    find_labelled,
    result_subject,
    select_subject,
)

if TYPE_CHECKING:
    from evalmark.storage.store.store import Store

READERS: Mapping[str, RowReader] = {
    ".csv": csv_rows,
    ".tsv": tsv_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
}
COLUMNS = ("id", "label", "score", "comment", "by", "label_id")
ABOUT = ("id", "about")
"""Names of the column of ids."""
OF_RUN = ("case", "target", "repeat", "dataset", "metric")
"""Columns that select an output of a run, like the flags of the same names."""
FOR_PEOPLE = ("input", "output")
"""Columns of a file to label in, which are not read."""
TEXTS = (*ABOUT, "comment", "by", "label_id", *OF_RUN)
"""Columns with texts; numbers are converted to texts."""
_ID = 16
"""Digits of a complete span id."""


def read_labels(path: Path, store: "Store", by: str) -> list[tuple[LabelSubject, NewLabel]]:
    """Read labels from a CSV, TSV or JSONL file; `by` is the annotator of rows that name none.

    Each label has an id, the `label_id` of its row or one computed from its content, so that reading a file again adds only
    new labels.

    Raises:
        ConfigError: The file cannot be read, or rows are invalid; all faults are named.
    """
    faults = FaultList(str(path))
    rows = [(place, row) for place, row in _rows(path) if _is_sound(place, row, faults) and not _is_open(row)]
    finder = _SubjectFinder(store, {_id_of(row) for _, row in rows})
    labels: list[tuple[LabelSubject, NewLabel]] = []
    ids = _LabelIds()
    for place, row in rows:
        try:
            subject = finder.subject(_id_of(row), _selector(row))
            entry = (subject, ids.with_id(place, subject, _new_label(row, by), row))
        except (EvalmarkError, ValueError) as fault:
            faults.add(f"{place}: {str(fault).rstrip('.')}.")
            continue
        for sentence in check_labels(store, [entry]):
            faults.add(f"{place}: {sentence}")
        labels.append(entry)
    if lines := faults.lines():
        raise ConfigError.of(lines)
    return labels


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    regular_file(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: labels are read from {', '.join(READERS)}; found {path.suffix or 'no ending'!r}.")
    reading = DatasetFile(path=path, options=ReadOptions(), notes=lambda _: None, any_columns=True)
    rows: Iterator[DatasetRow] = reader(reading)
    while True:
        try:
            line, column, value = next(rows)
        except StopIteration:
            return
        except PlacedError as fault:
            yield fault.place, fault
            return
        yield (value.place if isinstance(value, PlacedError) else reading.place(line, column)), value


def _is_sound(place: str, row: Any, faults: FaultList) -> bool:
    if isinstance(row, PlacedError):
        faults.add(str(row))
    elif not isinstance(row, dict):
        faults.add(f"{place}: a row is an object with {', '.join(COLUMNS)}.")
    elif unknown := sorted(set(row) - {*COLUMNS, *ABOUT, *OF_RUN, *FOR_PEOPLE}):
        faults.add(
            f"{place}: there is no column {unknown[0]!r}; a row takes {', '.join(COLUMNS)}, "
            f"and of a run {', '.join(OF_RUN)}."
        )
    elif odd := [name for name in TEXTS if not isinstance(row.get(name), str | int | None)]:
        faults.add(f"{place}: `{odd[0]}` is {row[odd[0]]!r}; it takes a text.")
    elif len(ids := _ids_of(row)) > 1:
        faults.add(f"{place}: `id` is {ids[0]!r} and `about` is {ids[1]!r}; leave one of them out.")
    elif not _id_of(row):
        faults.add(f"{place}: the row has no id; fill in `id`.")
    else:
        return True
    return False


def _is_open(row: Mapping[str, Any]) -> bool:
    """Return whether it is a row of a file to label in that nobody has labelled yet."""
    return set(FOR_PEOPLE) <= set(row) and not any(row.get(name) for name in ("label", "score", "comment"))


def _id_of(row: Mapping[str, Any]) -> str:
    return next(iter(_ids_of(row)), "")


def _ids_of(row: Mapping[str, Any]) -> list[str]:
    """The ids of a row; several if its columns contradict each other."""
    texts = (str(row[name]).strip() for name in ABOUT if row.get(name) is not None)
    return [name for name in dict.fromkeys(texts) if name]


def _new_label(row: Mapping[str, Any], by: str) -> NewLabel:
    label, score, comment = row.get("label"), row.get("score"), row.get("comment")
    liked = label if isinstance(label, bool) else parse_thumb("" if label is None else str(label))
    new = NewLabel(
        by=str(row.get("by") or by).strip(), liked=liked, score=_number(score), comment=str(comment or "").strip()
    )
    if new.withdraws:
        raise ValueError("the row has no label; fill in label, score or comment")
    return new


class _LabelIds:
    """Assigns ids to the labels of a file."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    def with_id(self, place: str, about: LabelSubject, label: NewLabel, row: Mapping[str, Any]) -> NewLabel:
        """Return the label with its id: that of its row, or one computed from its content and its number among equal rows.

        Raises:
            ValueError: Another row has this id.
        """
        own_id = str(row.get("label_id") if row.get("label_id") is not None else "").strip()
        if own_id:
            first = self._places.setdefault(own_id, place)
            if first != place:
                raise ValueError(f"the label_id {own_id!r} is already in {first}; give each row its own")
            return replace(label, id=f"row:{own_id}")
        digest = fingerprint("label-id-1", about.about, label.liked, label.score, label.comment, label.by)
        self._times[digest] += 1
        return replace(label, id=f"{digest[:16]}-{self._times[digest]}")


def _selector(row: Mapping[str, Any]) -> OutputSelector:
    texts = {
        name: text for name in OF_RUN if (text := str(row.get(name, "") if row.get(name) is not None else "").strip())
    }
    repeat = texts.pop("repeat", None)
    if repeat is not None and not (repeat.isascii() and repeat.isdigit() and int(repeat)):
        raise ValueError(f"the repeat is {repeat!r}; it is a whole number from 1")
    return OutputSelector(**texts, repeat=None if repeat is None else int(repeat))


def _number(text: Any) -> float | None:
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    try:
        return float("" if isinstance(text, bool) else text)
    except (TypeError, ValueError):
        raise ValueError(f"the score is {text!r}; it is a number from 0 to 1") from None


class _RunResults:
    """The results of a run by trial and by case."""

    def __init__(self, run: Run) -> None:
        self.every = tuple(run.results)
        self.by_trial = {result.trial.id: result for result in self.every}
        self.by_case: dict[str, list[Result]] = {}
        for result in self.every:
            self.by_case.setdefault(result.trial.case.id, []).append(result)


@dataclass
class _SubjectFinder:
    """Finds the subjects of rows; complete span ids are looked up together."""

    store: "Store"
    ids: set[str]
    _known: dict[str, Run | Session | Span | EvalmarkError] = field(default_factory=dict)
    _results: dict[str, _RunResults] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = [name for name in (i.removeprefix(about_span()) for i in self.ids) if len(name) == _ID]
        for span in self.store.sessions.spans(whole):
            self._known[span.id] = span

    def subject(self, reference: str, which: OutputSelector = NO_SELECTOR) -> LabelSubject:
        """Find a subject. Raises ConfigError or StoreError if there is none, or several."""
        kind, _, rest = reference.partition(":")
        if kind in ("output", "score") and rest:
            return self._trial_subject(kind, rest, which)
        labelled = self._find(reference.removeprefix(about_span()))
        if isinstance(labelled, Run) and which.case is not None:
            results = self._run_results(labelled)
            labelled = replace(labelled, results=results.by_case.get(which.case, results.every))
        return select_subject(labelled, which)

    def _find(self, name: str) -> Run | Session | Span:
        if name not in self._known:
            try:
                self._known[name] = find_labelled(self.store, name)
            except EvalmarkError as fault:
                self._known[name] = fault
        labelled = self._known[name]
        if isinstance(labelled, EvalmarkError):
            raise labelled
        return labelled

    def _trial_subject(self, kind: str, rest: str, which: OutputSelector) -> LabelSubject:
        run, _, rest = rest.partition("/")
        trial, _, metric = rest.partition("/")
        if (kind == "score") != bool(metric) or not trial:
            raise ConfigError("an output is named output:RUN/TRIAL, a score score:RUN/TRIAL/METRIC")
        if which != NO_SELECTOR:
            raise ConfigError(f"output:RUN/TRIAL already selects the output; leave out {', '.join(OF_RUN)}")
        results = self._run_results(self.store.run(run)) if run not in self._results else self._results[run]
        if trial not in results.by_trial:
            raise ConfigError(f"{run} has no trial {trial!r}")
        return result_subject(run, results.by_trial[trial], metric or None)

    def _run_results(self, run: Run) -> "_RunResults":
        if run.id not in self._results:
            self._results[run.id] = _RunResults(run)
        return self._results[run.id]
