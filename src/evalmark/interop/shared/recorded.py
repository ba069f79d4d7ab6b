"""Make a run and suites of the cases, outputs and scores that another tool recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from evalmark.core.text import count
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result, Score

from .assertions import JUDGED, KEY
from .import_builder import ImportBuilder, MetricDraft, combine_imports
from .import_result import ImportResult, PartOutcome
from .items import is_number
from .results import native_score, result_data, result_from

Data = dict[str, Any]
Prepare = Callable[[str, ImportBuilder], None]
"""Adds to the suite of a dataset what the tool records about it: metrics, models, the outcomes of parts."""
_CHECKS = ("equals", "contains", "is_json")
"""Scorers that pass or fail by themselves."""
_SAME_CASE = ("input", "expected", "history", "contexts")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRow:
    """One case, with the output and the scores that were recorded for it."""

    place: str
    case: Data
    """The fields of the case."""
    output: Data | None = None
    """The fields of the output; None if there is none."""
    scores: Sequence[Data] = ()
    checks: Sequence[Data] = ()
    """The case's own checks, for a suite: `{scorer: settings}` each."""
    target: str = ""
    dataset: str = ""
    repeat: int | None = None
    """The number of the repeat, from 0; None: counted for each case and target."""
    rest: Any = None
    """What an export of evalmark added to the result, as `remainder_of` gives it."""


@dataclass(slots=True, kw_only=True)
class RecordedRun:
    """Everything that is known of a recorded run beside its results."""

    name: str
    path: Path
    header: Data = field(default_factory=dict)
    """Fields of the run, such as `created`."""
    metrics: dict[str, Data] = field(default_factory=dict)
    """Fields of the metrics by name, such as `threshold` and `direction`."""
    remarks: dict[str, None] = field(default_factory=dict)
    side: Run | None = None
    """The header of the run that evalmark exported, if it did."""
    is_run: bool = True
    """Whether outputs are results; False for a dataset, whose outputs only stand with its cases."""


def import_recorded(rows: Iterable[RecordedRow], recorded: RecordedRun, prepare: Prepare) -> ImportResult:
    """Make a run of the rows that have outputs, and a suite of the cases of each dataset.

    Rows with the same id and the same input are one case. If a suite names no models, its cases have the first recorded
    output of each, so that it can score them again.

    Raises:
        DataError: a field of a row is invalid.
    """
    created = str(recorded.header.get("created", ""))
    results = ImportBuilder(name=recorded.name, created=created, side=recorded.side)
    suites: dict[str, ImportBuilder] = {}
    numbers = _Numbers()
    first_rows: dict[tuple[str, str], RecordedRow] = {}
    for row in rows:
        case = numbers.named_case(row)
        if row.output is not None and recorded.is_run:
            result = _result(row, case, numbers)
            results.results.append(result)
            case = case if row.rest is None else result_data(result)["case"]
        first_rows.setdefault((row.dataset, case["id"]), replace(row, case=case))
    for name in dict.fromkeys(dataset for dataset, _ in first_rows):
        suites[name] = ImportBuilder(name=name or recorded.name)
        prepare(name, suites[name])
        _add_cases([row for (dataset, _), row in first_rows.items() if dataset == name], suites[name], recorded)
    _report(results, suites, recorded, len(first_rows))
    imported = combine_imports(suites, results)
    if imported.run is None or recorded.side is not None:
        return imported
    return replace(imported, run=_with_header(imported.run, recorded))


def _add_cases(rows: Sequence[RecordedRow], builder: ImportBuilder, recorded: RecordedRun) -> None:
    """Add the cases of a suite; a suite without models scores their outputs, so either all have one or none."""
    has_output = [(row.output or {}).get("value") is not None for row in rows]
    is_answered = all(has_output) and not builder.models
    is_mixed = any(has_output) and not all(has_output)
    for row in rows:
        case = suite_row(row, is_answered=is_answered)
        if is_mixed and row.output and not recorded.is_run:
            case["metadata"] = {"recorded_output": row.output.get("value"), **case.get("metadata", {})}
        builder.add(case)
    if is_mixed:
        where = "in the run" if recorded.is_run else "in the metadata"
        missing = has_output.count(False)
        lacking = f"{count(missing, 'case')} of the dataset {'has' if missing == 1 else 'have'} none"
        why = f"only {where}, because {lacking}; name a target to run the suite"
        builder.part(f"{builder.name}: outputs", "changed", why)
    if not is_answered and not builder.models:
        builder.remark(
            "A suite of these cases has no target: name one with --target, or as `target:` in the suite, to run it."
        )
    names = {name for row in rows for check in row.checks for name in check}
    if names - set(JUDGED):
        builder.metrics.append(MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"))
    if names & set(JUDGED):
        builder.metrics.append(MetricDraft(name="judged_assertions", scorer="evalmark.scorers:JudgedAssertions"))


@dataclass(slots=True, kw_only=True)
class _Numbers:
    """Counts cases and repeats in the order of the rows."""

    ids: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    positions: dict[tuple[str, str], int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    repeats: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def named_case(self, row: RecordedRow) -> Data:
        """Return the case with an id of its own: other inputs under a known id get a number."""
        if row.rest is not None:
            return {**row.case, "id": str(row.case["id"])}
        case, key = row.case, (row.dataset, str(row.case["id"]))
        same = fingerprint(*(case.get(name) for name in _SAME_CASE))
        seen = self.ids.setdefault(key, [])
        if same not in seen:
            seen.append(same)
        number = seen.index(same) + 1
        name = key[1] if number == 1 else f"{key[1]}-{number}"
        if (row.dataset, name) not in self.positions:
            self.positions[row.dataset, name] = self.sizes.get(row.dataset, 0)
            self.sizes[row.dataset] = self.sizes.get(row.dataset, 0) + 1
        return {**case, "id": name}

    def repeat_of(self, row: RecordedRow, case_id: str) -> int:
        if row.repeat is not None:
            return row.repeat
        key = (row.dataset, row.target, case_id)
        self.repeats[key] = self.repeats.get(key, -1) + 1
        return self.repeats[key]


def _result(row: RecordedRow, case: Data, numbers: _Numbers) -> Result:
    trial = {
        "dataset": row.dataset,
        "target": row.target,
        "position": numbers.positions.get((row.dataset, case["id"]), 0),
        "repeat": numbers.repeat_of(row, case["id"]),
        "mode": "single",
    }
    native = {"trial": trial, "case": case, "output": row.output or {}, "scores": list(row.scores)}
    return result_from(native, row.rest, row.place)


def suite_row(row: RecordedRow, *, is_answered: bool) -> Data:
    """Return the case as a row of a dataset, with its recorded output if `is_answered`."""
    output = row.output or {}
    given = {"answer": output.get("value"), "retrieved_contexts": output.get("contexts")}
    calls = [{key: call[key] for key in ("name", "arguments", "result") if key in call} for call in _calls(output)]
    more = {name: value for name, value in {**given, "tool_calls": calls or None}.items() if value is not None}
    checks = {"metadata": {**row.case.get("metadata", {}), KEY: [*row.checks]}} if row.checks else {}
    case = {name: value for name, value in row.case.items() if name != "place"}
    return {**case, **checks, **(more if is_answered and "answer" in more else {})}


def _calls(output: Data) -> list[Data]:
    return output.get("tool_calls") or [event for event in output.get("transcript") or () if "role" not in event]


def _report(
    results: ImportBuilder, suites: Mapping[str, ImportBuilder], recorded: RecordedRun, number_of_cases: int
) -> None:
    file = f"{recorded.path.name}: " if recorded.path.is_file() else ""
    if not results.results:
        results.part(f"{file}{count(number_of_cases, 'case')}", "kept", "cases of a dataset")
    else:
        results.part(f"{file}{count(len(results.results), 'result')}", "kept", "results of a run")
    answered = any("answer" in case for builder in suites.values() for case in builder.cases)
    if answered and len(results.results) > number_of_cases:
        results.part(
            "outputs of further targets and repeats",
            "changed",
            "only in the run; a suite has the first output of a case",
        )
    for remark in recorded.remarks:
        results.remark(remark)


def _with_header(run: Run, recorded: RecordedRun) -> Run:
    metrics = tuple(_metric(metric, recorded.metrics.get(metric.name, {}), run) for metric in run.metrics)
    return replace(run, metrics=metrics, **recorded.header)


def _metric(metric: Metric, known: Data, run: Run) -> Metric:
    """Return the metric with what the tool records of it; its threshold only if it explains every recorded verdict."""
    threshold = known.get("threshold")
    found = replace(metric, **known)
    if threshold is None:
        return found
    scores = [score for result in run.results for score in result.scores if score.name == metric.name]
    return found if all(_explains(found, score) for score in scores) else replace(found, threshold=None)


def _explains(metric: Metric, score: Score) -> bool:
    if score.value is None or score.passed is None or metric.threshold is None:
        return score.passed is None
    reached = score.value <= metric.threshold if metric.direction == "lower" else score.value >= metric.threshold
    return reached == score.passed


def recorded_score(name: str, value: Any, *, passed: Any = None, reason: Any = None, **more: Any) -> Data:
    """Return the fields of a recorded score under its own name.

    A boolean passes or fails; a number has a verdict only if the tool recorded one; a text is a label without a number.
    """
    if isinstance(value, bool):
        score = native_score(name, float(value), value if passed is None else passed, reason) | {"raw": value}
    elif is_number(value):
        score = native_score(name, value, passed, reason)
    elif value is None:
        score = native_score(name, None, passed, reason)
    else:
        score = native_score(name, None, passed, reason) | {"raw": value, "status": "scored"}
    return score | {key: item for key, item in more.items() if item not in (None, {}, "")}


class KnownMetric(NamedTuple):
    """What means the same here as a metric of another tool."""

    scorer: str
    outcome: PartOutcome = "kept"
    difference: str = ""
    """How it differs, if the outcome is `changed`."""
    settings: Mapping[str, Any] = MappingProxyType({})


def add_known_metrics(
    builder: ImportBuilder, names: Iterable[str], known: Mapping[str, KnownMetric], thresholds: Mapping[str, float]
) -> None:
    """Add to a suite what means the same as the metrics of a tool; the others are left out, but their scores are kept.

    Args:
        builder: the suite.
        names: the recorded names.
        known: the equivalents by name.
        thresholds: the least values that pass, for metrics that are better when higher.
    """
    for name in names:
        metric = known.get(name)
        if metric is None:
            why = "evalmark has no metric of the same meaning, or its definition is not in the file; its recorded scores are in the run"
            builder.part(f"metric {name}", "left out", why)
            continue
        threshold = None if metric.scorer in _CHECKS else thresholds.get(name)
        draft = MetricDraft(name=name, scorer=metric.scorer, settings=metric.settings, threshold=threshold)
        builder.metrics.append(draft)
        builder.part(f"metric {name}", metric.outcome, ", ".join(filter(None, (metric.scorer, metric.difference))))
