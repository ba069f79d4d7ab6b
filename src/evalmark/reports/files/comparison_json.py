"""Comparison of two runs as JSON: version 1 of the format in `schemas`."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalmark.core.values.plain_data import finite_number, plain
from evalmark.core.values.score import Result
from evalmark.stats.comparison.change import Comparison, Flip, MetricChange, Slice, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.comparison.scoring_rules import RuleChange
from evalmark.stats.inference.differences import Difference

from .json_values import interval_values, json_line

FORMAT = {"format": "evalmark-comparison", "version": 1}


def comparison_as_json(found: Comparison, pairs: Sequence[FlipExample] = ()) -> Iterator[str]:
    """Yield the comparison as one JSON document; `pairs` adds the outputs."""
    document = FORMAT | comparison_values(found)
    if pairs:
        document["pairs"] = [_pair(pair) for pair in pairs]
    yield json_line(document) + "\n"


def comparison_values(found: Comparison) -> dict[str, Any]:
    """Convert the comparison to JSON values."""
    return {
        "outcome": found.outcome,
        "exit_code": found.exit_code,
        "warnings": list(found.warnings),
        "rules": [_rule(change) for change in found.rules.changes],
        "rescore": found.rescore or None,
        "run": {"id": found.run, "name": found.names[0], "created": found.created[0]},
        "baseline": {"id": found.baseline, "name": found.names[1], "created": found.created[1]},
        "level": found.level,
        "margin": found.margin,
        "targets": [_target(target) for target in found.targets],
    }


def _rule(change: RuleChange) -> dict[str, Any]:
    counted = change.rejudged
    return {
        "metric": change.metric,
        "dataset": change.dataset,
        "only": change.only or None,
        "was": change.was,
        "compared": change.compared,
        "baseline": None if counted is None else {"n": counted.n, "then": counted.then, "today": counted.today},
    }


def _target(target: TargetChange) -> dict[str, Any]:
    return {
        "target": target.target,
        "against": target.against,
        "matching": plain(target.matching),
        "changes": [_change(change) for change in target.changes],
        "decided_by": target.deciding.name or None,
        "cases": [_flip(flip) for flip in target.moved],
        "flips": [_flip(flip) for flip in target.flips],
        "slices": [_slice(one) for one in target.slices],
        "identical": target.is_identical,
    }


def _change(change: MetricChange) -> dict[str, Any]:
    before, now = change.unjudged
    return {
        "metric": change.name or None,
        "direction": change.direction,
        "unit": change.unit,
        "before": finite_number(change.before),
        "now": finite_number(change.now),
        "unjudged": {"baseline": plain(before), "run": plain(now)},
        "cases": {"worse": change.moved[0], "same": change.stayed, "better": change.moved[1]},
        "difference": _difference(change.difference),
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "outcome": found.outcome,
        "n": found.n,
        "alone": found.alone,
        "up": found.up,
        "down": found.down,
        "value": finite_number(found.value),
        "interval": interval_values(found.interval),
        "p": found.p,
        "adjusted": found.adjusted,
        "test": found.test,
        "margin": found.margin,
        "within": finite_number(found.within),
        "smallest": finite_number(found.smallest),
        "needed": found.needed,
        "needed_range": found.needed_range,
        "missing": found.missing,
        "at_worst": _end(found.worst),
        "at_best": _end(found.best),
    }


def _end(found: Difference | None) -> dict[str, Any] | None:
    """Convert a difference with every missing value at one extreme."""
    if found is None:
        return None
    return {
        "outcome": found.judged_outcome,
        "value": finite_number(found.value),
        "interval": interval_values(found.interval),
        "p": found.p,
        "adjusted": found.adjusted,
    }


def _flip(flip: Flip) -> dict[str, Any]:
    dataset, case = flip.was
    return {
        "dataset": flip.dataset,
        "case": flip.case,
        "was": {"dataset": dataset, "case": case},
        "before": flip.before,
        "now": flip.now,
        "gain": flip.gain,
    }


def _slice(one: Slice) -> dict[str, Any]:
    return {"tag": one.tag, "difference": _difference(one.difference)}


def _pair(pair: FlipExample) -> dict[str, Any]:
    case = pair.now.trial.case
    return {
        "flip": _flip(pair.flip),
        "target": pair.flip.target,
        "input": plain(case.input),
        "expected": plain(case.expected),
        "before": _answer(pair.before),
        "now": _answer(pair.now),
    }


def _answer(result: Result) -> dict[str, Any]:
    return {"value": plain(result.output.value), "error": result.output.error, "verdict": result.verdict}
