"""Convert the rows of PromptPex's tables to cases, trials and scores."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evalmark.core.errors import DataError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score, Trial
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.interop.shared.tables import RawRow

Notes = Callable[[str], None]
Key = tuple[str, str, bool]
"""The id, the rule, and whether it is a baseline test; one input may test several rules."""

COMPLIANCE = "compliance"
_VERDICTS = {"ok": True, "err": False}
_TRUE = {"1": True, "true": True, "": False, "0": False, "false": False}
_AVERAGE = " with average"
_OF_TESTS = {"ruleid", "testid", "expectedoutput", "reasoning", "testinput", "scenario", "generation", "baseline"} | {
    "rule", "inverse", "testuid", "testinputOriginal", "groundtruth", "groundtruthModel", "groundtruthScore"
}  # fmt: skip
"""The columns of a test that are not inputs of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTables:
    """The tables of a folder beside the results."""

    name: str
    tests: Sequence[RawRow] = ()
    verdicts: Sequence[RawRow] = ()
    groundings: Sequence[RawRow] = ()
    rules: tuple[str, ...] = ()
    inverse_rules: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class ImportedTrials:
    """The results of all rows, with their targets, metrics and datasets."""

    results: tuple[Result, ...] = ()
    targets: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    repeats: int = 1
    sizes: dict[str, int] = field(default_factory=dict)
    """The number of cases of each dataset."""


def trials_of(rows: Sequence[RawRow], tables: FolderTables, notes: Notes) -> ImportedTrials:
    """Make a result for each row, ordered by dataset, position and repeat; `notes` is called for anomalies."""
    cases = _CaseTable(tables, notes)
    placed_rows = [(placed_case, row) for row in rows if (placed_case := cases.of(row)) is not None]
    targets = tuple(dict.fromkeys(row.text("model") for _, row in placed_rows))
    turns = Counter[tuple[str, str]]()
    results: list[Result] = []
    # If no row has a verdict, the folder was never judged; a single row without one has an unusable verdict.
    judged = any(row.text(COMPLIANCE) or row.text("complianceText") for row in rows)
    metrics = {COMPLIANCE: Metric(name=COMPLIANCE)} if judged else {}
    for placed, row in placed_rows:
        model, repeat = row.text("model"), turns[placed.case.id, row.text("model")]
        turns[placed.case.id, model] += 1
        trial = Trial(case=placed.case, dataset=placed.dataset, target=model, position=placed.position, repeat=repeat)
        output, scores = _output(row), _scores(row, metrics)
        results.append(Result(trial=trial, output=output, scores=() if output.error is not None else scores))
    _note_totals(results, cases, targets, notes)
    order = {name: number for number, name in enumerate((tables.name, cases.baseline_name))}
    numbers = {target: number for number, target in enumerate(targets)}
    return ImportedTrials(
        results=tuple(sorted(results, key=lambda r: _place(r.trial, order, numbers))),
        targets=targets,
        metrics=_with_bases(metrics),
        repeats=max(turns.values(), default=1),
        sizes=cases.sizes,
    )


def _place(trial: Trial, order: Mapping[str, int], targets: Mapping[str, int]) -> tuple[int, int, int, int]:
    return order[trial.dataset], trial.position, trial.repeat, targets[trial.target]


def _note_totals(results: Sequence[Result], cases: "_CaseTable", targets: Sequence[str], notes: Notes) -> None:
    """Note repeated, missing and unused rows."""
    again = sum(result.trial.repeat > 0 for result in results)
    if again:
        notes(
            f"{count(again, 'row')} repeat a test that the same model has answered before; each counts as a repeat of it."
        )
    answered = Counter(target for target, _ in {(r.trial.target, r.trial.case.id) for r in results})
    total = sum(cases.sizes.values())
    for target in targets:
        if answered[target] < total:
            notes(f"{target} has no result for {total - answered[target]} of {count(total, 'test')}.")
    if unmet := cases.unmet():
        notes(f"{count(unmet, 'row')} of the tests have no result and are left out.")


class _PlacedCase(NamedTuple):
    """A case with its dataset and position."""

    dataset: str
    position: int
    case: Case


class _CaseTable:
    """The cases, each made from its first row."""

    def __init__(self, tables: FolderTables, notes: Notes) -> None:
        self._known = tables
        self._notes = notes
        self.baseline_name = f"{tables.name} baseline"
        self.sizes = {tables.name: 0, self.baseline_name: 0}
        self._made: dict[Key, _PlacedCase] = {}
        self._first: dict[Key, RawRow] = {}
        self._tests = _by(tables.tests, lambda row: (row.text("ruleid"), row.text("testinput")))
        self._met: set[tuple[str, str]] = set()
        self._verdicts = _by(tables.verdicts, lambda row: (row.text("id"), row.text("ruleid")))
        self._groundings = _by(tables.groundings, lambda row: row.text("ruleid"))
        numbered = enumerate((*tables.rules, *tables.inverse_rules), start=1)
        self._texts = {str(number): text for number, text in numbered}

    def of(self, row: RawRow) -> _PlacedCase | None:
        """Return the case of a row with its dataset and position; None if the row is inconsistent."""
        baseline = _TRUE.get(row.text("baseline").lower())
        if baseline is None:
            self._notes(
                f"{row.place}: `baseline` is {row.text('baseline')[:30]!r}, which is neither yes nor no; left out."
            )
            return None
        key = (row.text("id"), row.text("ruleid"), baseline)
        first = self._first.setdefault(key, row)
        if first.text("input") != row.text("input"):
            self._notes(f"{row.place}: the id {key[0]!r} has another input in {first.place}; the row is left out.")
            return None
        if key not in self._made:
            dataset = self.baseline_name if baseline else self._known.name
            self._made[key] = _PlacedCase(dataset, self.sizes[dataset], self._case(row, baseline))
            self.sizes[dataset] += 1
        return self._made[key]

    def unmet(self) -> int:
        """Return the number of tests without a result."""
        return sum(
            not _TRUE.get(row.text("baseline").lower()) for key, row in self._tests.items() if key not in self._met
        )

    def _case(self, row: RawRow, baseline: bool) -> Case:
        rule = row.text("ruleid")
        test_key = (rule, row.text("input"))
        test = self._tests.get(test_key)
        self._met.add(test_key)
        source = test or row
        inverse = None if baseline else self._inverse(row)
        truth = (test.text("groundtruth") if test else "") or row.text("groundtruth")
        return Case(
            id=f"{row.text('id')}-{rule}" if rule else row.text("id"),
            input=_input(row, test),
            expected=truth or None,
            tags=("baseline",) if baseline else {True: ("negative",), False: ("positive",), None: ()}[inverse],
            metadata={
                "promptid": row.text("promptid"),
                "rule": row.text("rule") or None,
                "ruleid": int(rule) if rule.isdecimal() else rule or None,
                "inverse": inverse,
                "scenario": row.text("scenario"),
                "baseline": baseline,
                **_of_test(test),
                **self._judged(row),
            },
            place=source.place,
        )

    def _inverse(self, row: RawRow) -> bool | None:
        """Tell whether a test is of an inverse rule: from the row, else from the rule's text, else from its number."""
        cell = row.cells.get("inverse")
        if cell is not None and (word := _TRUE.get(str(cell).strip().lower())) is not None:
            return word
        text, number, rules = row.text("rule"), row.text("ruleid"), self._known.rules
        if (text in rules) != (text in self._known.inverse_rules):
            return text not in rules
        if not number.isdecimal() or not rules:
            self._notes(f"{row.place}: it is unknown whether rule {number!r} is a rule or an inverse rule.")
            return None
        return int(number) > len(rules)

    def _judged(self, row: RawRow) -> Mapping[str, Any]:
        """Return the judges' verdicts on the test and its rule, if any."""
        verdict = self._verdicts.get((row.text("id"), row.text("ruleid")))
        ground = self._groundings.get(row.text("ruleid"))
        verdicts: dict[str, Any] = {"valid": None if verdict is None else _word(verdict, "validity")}
        if verdict is not None:
            verdicts |= {
                "valid_reason": verdict.text("validityText"),
                "agreement": _word(verdict, "coverage"),
                "agreement_reason": verdict.text("coverageEvalText"),
                "agreement_output": verdict.text("coverageText"),
                "judge": verdict.text("model"),
            }
        if ground is not None:
            verdicts |= {"grounded": _word(ground, "grounded"), "grounded_reason": ground.text("groundedText")}
        return verdicts


def _by(rows: Iterable[RawRow], key: Callable[[RawRow], Any]) -> dict[Any, RawRow]:
    """Index the rows by key; the first row of each key counts."""
    found: dict[Any, RawRow] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return found


def _word(row: RawRow, column: str) -> bool | None:
    """Read a judge's verdict on a test or rule; None if it is neither ok nor err."""
    return _VERDICTS.get(row.text(column).lower())


def _of_test(test: RawRow | None) -> Mapping[str, Any]:
    names = ("testid", "expectedoutput", "reasoning", "generation", "testinputOriginal")
    return {} if test is None else {name: test.cells[name] for name in names if test.cells.get(name) is not None}


def _input(row: RawRow, test: RawRow | None) -> Any:
    """Return the input text, or the values by name for a prompt with several inputs."""
    text = row.cells["input"]
    names = set() if test is None else set(test.cells) - _OF_TESTS
    if len(names) > 1 and isinstance(text, str) and text.startswith("{"):
        try:
            values = parse_json(text, row.place)
        except DataError:
            return text
        if isinstance(values, dict) and set(values) == names:
            return values
    return text


def _output(row: RawRow) -> Output:
    error = row.text("error")
    return Output(value=None, error=error.splitlines()[0]) if error else Output(value=row.cells.get("output"))


def _scores(row: RawRow, metrics: dict[str, Metric]) -> tuple[Score, ...]:
    """Return the scores of a row, and add their metrics to `metrics`."""
    scores = []
    if COMPLIANCE in metrics:
        scores.append(_verdict_score(COMPLIANCE, row.text("compliance"), row.text("complianceText")))
    cell = row.cells.get("metrics")
    for name, value in cell.items() if isinstance(cell, Mapping) else ():
        if isinstance(value, Mapping) and not name.endswith(_AVERAGE):
            scores.append(_metric_score(name, value, metrics))
    return tuple(scores)


def _verdict_score(name: str, word: str, reason: str) -> Score:
    passed = _VERDICTS.get(word.lower())
    if passed is None:
        return Score(name=name, status="unscored", reason=reason or "No verdict is recorded.")
    return Score(name=name, raw=passed, value=float(passed), passed=passed, reason=reason)


def _metric_score(name: str, value: Mapping[str, Any], metrics: dict[str, Metric]) -> Score:
    base, _, judge = name.rpartition(" with ")
    number, content = value.get("score"), str(value.get("content") or "")
    unit = "%" if type(number) in (int, float) else ""
    metrics.setdefault(name, Metric(name=name, unit=unit, judge=judge if base else "", base=base))
    detail = {key: value[key] for key in ("uncertainty", "perplexity") if value.get(key) is not None}
    if not isinstance(number, int | float) or isinstance(number, bool):
        return replace(_verdict_score(name, str(value.get("outcome") or ""), content), detail=detail)
    if not 0 <= number <= 100:
        reason = f"{number} is not from 0 to 100. {content}".strip()
        return Score(name=name, status="unscored", raw=number, reason=reason, detail=detail)
    return Score(name=name, raw=number, value=number / 100, reason=content, detail=detail)


def _with_bases(metrics: Mapping[str, Metric]) -> tuple[Metric, ...]:
    """Return the metrics; those with a single judge have no base name."""
    shared = Counter(metric.base for metric in metrics.values())
    return tuple(metric if shared[metric.base] > 1 else replace(metric, base="") for metric in metrics.values())
