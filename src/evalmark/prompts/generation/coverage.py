"""Reports which rules have tests, and which tests try to make the prompt break which rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.values.case import Case
from evalmark.core.values.run import Run
from evalmark.core.values.score import Score
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.documents.files import path_kind
from evalmark.prompts.specs.prompt_tests import file_of_tests, read_baseline, read_tests
from evalmark.prompts.specs.spec import PromptRule, PromptSpec, read_spec
from evalmark.stats.summary.collection import left_out

from .generation_record import GenerationRecord, read_record
from .stages import BASELINE_TESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCoverage:
    """The tests of one rule."""

    rule: PromptRule
    grounded: bool | None
    """Whether the prompt supports the rule; None if not checked, and for inverse rules."""
    tests: tuple[str, ...] = ()
    """Ids of the tests of this rule."""
    tempting: tuple[str, ...] = ()
    """Ids of the tests of its inverse rule, which try to make the prompt break it."""
    invalid: int = 0
    """How many of `tests` violate the input specification."""
    opposite: int | None = None
    """The number of the inverse rule, or of the rule that an inverse rule inverts; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The coverage of a prompt's rules by its tests."""

    path: Path | None
    """The file of tests; None where there is none."""
    rules: tuple[RuleCoverage, ...] = ()
    valid: int = 0
    invalid: int = 0
    unjudged: int = 0
    ungrounded: int = 0
    """Tests of rules that the prompt does not support."""
    counted: int = 0
    """Tests in the headline number: valid ones of supported rules."""
    loose: tuple[str, ...] = ()
    """Ids of tests that belong to no rule."""
    baseline: int = 0
    bad: tuple[str, ...] = ()
    """Invalid rows with their places."""
    notes: tuple[str, ...] = ()

    @property
    def uncovered(self) -> tuple[int, ...]:
        """The numbers of rules, inverse ones too, without a test."""
        return tuple(one.rule.number for one in self.rules if not one.tests)


class BrokenRules(NamedTuple):
    """Which tests broke which rule in a run, by a judge or a rule check."""

    run: str
    """Its id."""
    tests: Mapping[str, tuple[str, ...]]
    """Ids of tests by the text of the rule."""


def rules_broken_in(run: Run) -> BrokenRules:
    """Return which tests broke which rule on any model of a run."""
    found: dict[str, dict[str, None]] = {}
    for result in run.results:
        for row in (row for score in result.scores for row in _rules_of(score)):
            if row.get("verdict") == "err":
                found.setdefault(str(row.get("text")), {})[result.trial.case.id] = None
    return BrokenRules(run.id, {rule: tuple(ids) for rule, ids in found.items()})


def _rules_of(score: Score) -> list[Mapping[str, Any]]:
    """Return a score's verdicts per rule."""
    rows = score.detail.get("rules")
    if isinstance(rows, list):
        return [row for row in rows if isinstance(row, Mapping)]
    is_check = "check" in score.detail and score.passed is False
    return [{"text": score.detail.get("text"), "verdict": "err"}] if is_check else []


def read_coverage(prompt: Path) -> Coverage:
    """Return the coverage of the tests in a prompt's folder; no model is called.

    Raises:
        ConfigError: The prompt or a file cannot be read.
    """
    spec = read_spec(prompt)
    path = file_of_tests(spec)
    notes: list[str] = list(spec.notes)
    rows = [] if path is None else list(read_tests(path, spec, notes.append))
    cases = [row for row in rows if isinstance(row, Case)]
    plain = [case for case in cases if left_out(case) != "baseline"]
    record = read_record(spec.folder)
    by_rule = _by_rule(spec, plain)
    return Coverage(
        path=path,
        rules=tuple(_of_rule(spec, rule, by_rule, record) for rule in spec.numbered),
        valid=sum(case.metadata["valid"] is True for case in plain),
        invalid=sum(case.metadata["valid"] is False for case in plain),
        unjudged=sum(case.metadata["valid"] is None for case in plain),
        ungrounded=sum(case.metadata.get("grounded") is False for case in plain),
        counted=sum(left_out(case) is None for case in plain),
        loose=tuple(case.id for case in by_rule.get(None, ())),
        baseline=len(cases) - len(plain) + _baseline(spec),
        bad=tuple(f"{row.place}: {row.message}" for row in rows if isinstance(row, BadRow)),
        notes=tuple(notes),
    )


def _by_rule(spec: PromptSpec, cases: Sequence[Case]) -> dict[int | None, list[Case]]:
    """Return tests by the current number of their rule; under None those of no known rule."""
    numbers = {rule.text: rule.number for rule in reversed(spec.numbered)}
    found: dict[int | None, list[Case]] = {}
    for case in cases:
        found.setdefault(numbers.get(case.metadata["rule"]), []).append(case)
    return found


def _of_rule(
    spec: PromptSpec, rule: PromptRule, by_rule: Mapping[int | None, list[Case]], record: GenerationRecord
) -> RuleCoverage:
    paired = len(spec.rules) == len(spec.inverse_rules)
    step = -len(spec.rules) if rule.inverse else len(spec.rules)
    opposite = rule.number + step if paired else None
    mine = by_rule.get(rule.number, [])
    tempting = by_rule.get(opposite, []) if paired and not rule.inverse else []
    mark = record.marks.get(rule.text)
    return RuleCoverage(
        rule=rule,
        grounded=None if mark is None else mark.grounded,
        tests=tuple(case.id for case in mine),
        tempting=tuple(case.id for case in tempting),
        invalid=sum(case.metadata["valid"] is False for case in mine),
        opposite=opposite,
    )


def _baseline(spec: PromptSpec) -> int:
    found = 0
    for name, read in ((BASELINE_TESTS.file, read_tests), ("baseline_tests.txt", read_baseline)):
        path = spec.folder / name
        if path_kind(path) == "file" and path.stat().st_size:
            found += sum(isinstance(row, Case) for row in read(path, spec))
    return found
