"""Comparison of two runs as JSON: version 1 of the format in `schemas`."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalmark.core.values.plain_data import finite_number, plain
from evalmark.core.values.score import Result
from evalmark.stats.comparison.change import Comparison, Flip, MetricChange, Slice, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.comparison.scoring_rules import RuleChange
from evalmark.stats.inference.differences import Difference

from .json_values import field_values, json_line

FORMAT = {"format": "evalmark-comparison", "version": 1}


def comparison_as_json(comparison: Comparison, pairs: Sequence[FlipExample] = ()) -> Iterator[str]:
    """Yield the comparison as one JSON document; `pairs` adds the outputs."""
    document = FORMAT | comparison_values(comparison)
    if pairs:
        document["pairs"] = [_pair(pair) for pair in pairs]
    yield json_line(document) + "\n"


def comparison_values(comparison: Comparison) -> dict[str, Any]:
    """Convert the comparison to JSON values."""
    return {
        **field_values(comparison, "outcome", "exit_code", "warnings"),
        "rules": [_rule(change) for change in comparison.rules.changes],
        "rescore": comparison.rescore or None,
        "run": {"id": comparison.run, "name": comparison.names[0], "created": comparison.created[0]},
        "baseline": {"id": comparison.baseline, "name": comparison.names[1], "created": comparison.created[1]},
        **field_values(comparison, "level", "margin"),
        "targets": [_target(target) for target in comparison.targets],
    }


def _rule(change: RuleChange) -> dict[str, Any]:
    counted = change.rejudged
    return {
        **field_values(change, "metric", "dataset"),
        "only": change.only or None,
        **field_values(change, "was", "compared"),
        "baseline": None if counted is None else field_values(counted, "n", "then", "today"),
    }


def _target(target: TargetChange) -> dict[str, Any]:
    return {
        "target": target.target,
        "against": target.against,
        "matching": field_values(target.matching, "common", "renamed", "edited", "new", "gone"),
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


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        **field_values(difference, "outcome", "n", "alone", "clusters", "up", "down"),
        "value": finite_number(difference.value),
        **field_values(difference, "interval", "p", "adjusted", "test", "margin"),
        "within": finite_number(difference.within),
        "smallest": finite_number(difference.smallest),
        **field_values(difference, "needed", "needed_range", "missing"),
        "at_worst": _extreme(difference.worst),
        "at_best": _extreme(difference.best),
    }


def _extreme(difference: Difference | None) -> dict[str, Any] | None:
    """Convert a difference with every missing value at one extreme."""
    if difference is None:
        return None
    return {
        "outcome": difference.judged_outcome,
        "value": finite_number(difference.value),
        **field_values(difference, "interval", "p", "adjusted"),
    }


def _flip(flip: Flip) -> dict[str, Any]:
    dataset, case = flip.was
    return {
        **field_values(flip, "dataset", "case"),
        "was": {"dataset": dataset, "case": case},
        **field_values(flip, "before", "now", "gain"),
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
