"""Run as JSON or JSONL: version 3 of the format in `schemas`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalmark.core.values.case import Case, Output, ToolCall, Turn
from evalmark.core.values.plain_data import finite_number, plain
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summary import (
    JudgeAgreement,
    MetricSummary,
    RepeatFigures,
    Summary,
    TrialCounts,
    VarianceSplit,
)

from .comparison_json import comparison_values
from .json_values import field_values, json_line
from .options import DEFAULT_OPTIONS, ReportOptions

FORMAT = {"format": "evalmark-run", "version": 3}


def as_json(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield the run as one JSON document, with one result per line."""
    summary, verdict = summary_and_verdict(run, summary)
    head = FORMAT | {"run": _head(run, options), "summary": _summary(summary, options), "gate": _gate(verdict)}
    if options.comparison is not None:
        head["comparison"] = comparison_values(options.comparison)
    yield json_line(head)[:-1] + ',"results":['
    for index, result in enumerate(run.results):
        yield (",\n" if index else "\n") + json_line(_result(result, options))
    yield "\n]}\n"


def as_jsonl(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield a line for the run, one per result, and one for the summary."""
    yield json_line(FORMAT | {"kind": "run", "run": _head(run, options)}) + "\n"
    yield from result_lines(run.results, options)
    summary, verdict = summary_and_verdict(run, summary)
    yield json_line({"kind": "summary", "summary": _summary(summary, options), "gate": _gate(verdict)}) + "\n"


def result_lines(results: Iterable[Result], options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield a line for each result."""
    for result in results:
        yield json_line({"kind": "result"} | _result(result, options)) + "\n"


def _head(run: Run, options: ReportOptions) -> dict[str, Any]:
    times = {"id": run.id, "created": run.created, "finished": run.finished} if options.times else {}
    spent = {"spending": plain(run.spending)} if options.times else {}
    decided = _present({"until_decided": plain(run.until_decided), "sample": plain(run.sample)})
    decided |= _present({"given_name": run.given_name or None, "tags": list(run.tags) or None})
    return {
        **times,
        **field_values(run, "name", "status", "target", "suite", "plan", "embedder", "revision", "repeat"),
        "datasets": plain(run.datasets),
        "metrics": [_run_metric(metric) for metric in run.metrics],
        "gate": plain(run.gate),
        "versions": plain(run.versions),
        "notes": list(run.notes),
        **decided,
        **spent,
    }


def _result(result: Result, options: ReportOptions) -> dict[str, Any]:
    trial = result.trial
    return {
        "dataset": trial.dataset,
        "target": trial.target,
        "position": trial.position,
        "repeat": trial.repeat,
        "mode": trial.mode,
        "verdict": result.verdict,
        "case": _case(trial.case),
        "output": _output(result.output, options),
        "scores": [_score(score) for score in result.scores],
    }


def _case(case: Case) -> dict[str, Any]:
    given = None if case.given is None else _output(case.given, DEFAULT_OPTIONS)
    more = {
        "examples": plain(case.examples),
        "history": plain(case.history),
        "given": given,
        "tags": plain(case.tags),
        "metadata": plain(case.metadata),
        "place": case.place,
    }
    return {
        "id": plain(case.id),
        "input": plain(case.input),
        "expected": plain(case.expected),
        "contexts": plain(case.contexts),
    } | _present(more)


def _output(output: Output, options: ReportOptions) -> dict[str, Any]:
    times = {"seconds": finite_number(output.seconds)} if options.times else {}
    more = {
        "waited": finite_number(output.waited) if options.times else None,
        "tool_calls": [_tool_call(call, options) for call in output.tool_calls],
        "transcript": [_event(event, options) for event in output.transcript],
        "usage": plain(output.usage) if options.times else None,
        "metadata": plain(output.metadata),
        "masked": output.masked or None,
    }
    values = {"value": plain(output.value), "error": output.error, "contexts": plain(output.contexts)}
    return values | times | _present(more)


def _event(event: Turn | ToolCall, options: ReportOptions) -> dict[str, Any]:
    if isinstance(event, ToolCall):
        return {"kind": "tool call"} | _tool_call(event, options)
    return {"kind": "turn", "role": event.role, "content": plain(event.content)}


def _tool_call(call: ToolCall, options: ReportOptions) -> dict[str, Any]:
    values = {"name": call.name, "arguments": plain(call.arguments), "result": plain(call.result), "error": call.error}
    times = {"started": call.started, "seconds": finite_number(call.seconds)} if options.times else {}
    return values | _present({"id": call.id} | times)


def _score(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "status": score.status,
        "raw": plain(score.raw),
        "value": finite_number(score.value),
        "direction": score.direction,
        "passed": score.passed,
        "reason": score.reason,
    } | _present({"detail": plain(score.detail)})


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {}, "")}


def _summary(summary: Summary, options: ReportOptions) -> dict[str, Any]:
    return {
        "status": summary.status,
        "missing": summary.missing,
        "total": _tally(summary.total, options),
        **({"left_out": _tally(summary.left_out, options)} if summary.left_out else {}),
        "groups": [
            {
                "dataset": group.dataset,
                "target": group.target,
                "mode": group.mode,
                "tally": _tally(group.tally, options),
                "metrics": [_metric(metric) for metric in group.metrics],
            }
            | _present({"repeats": _repeats(group.repeats), "left_out": group.left_out})
            | _present({"variances": [_variance(split) for split in group.variances]})
            for group in summary.groups
        ],
        **(
            {"by_tag": {tag: _tally(tally, options) for tag, tally in summary.by_tag.items()}} if summary.by_tag else {}
        ),
        "agreements": [_agreement(agreement) for agreement in summary.agreements],
        "worst": [
            {"dataset": t.dataset, "target": t.target, "case": t.case.id, "repeat": t.repeat, "mode": t.mode}
            for t in (result.trial for result in summary.worst)
        ],
    }


def _repeats(repeats: RepeatFigures | None) -> dict[str, Any] | None:
    if repeats is None:
        return None
    rates = {"once": repeats.once, "any_of": repeats.any_of, "all_of": repeats.all_of}
    values = {name: field_values(rate, "value", "n", "left_out", "interval") for name, rate in rates.items()}
    return {"k": repeats.any_of.k} | values


def _variance(split: VarianceSplit) -> dict[str, Any]:
    changes = [field_values(one, "change", "half_width", "outputs", "verdicts") for one in split.projections]
    known = {
        "components": split.components,
        "shares": split.shares,
        "below_zero": list(split.below_zero),
        "half_width": split.interval.half_width,
        "projections": changes,
        "advice": split.advice.change if split.advice else None,
    }
    values = field_values(split, "metric", "unit", "outputs", "verdicts", "judges", "interval")
    return values | ({"reason": split.reason} if split.reason else _rounded(known))


def _rounded(value: Any) -> Any:
    """Round numbers to digits that are the same on every processor."""
    if isinstance(value, float):
        return float(f"{value:z.10g}")
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def _tally(tally: TrialCounts, options: ReportOptions) -> dict[str, Any]:
    counts = (
        "trials",
        "cases",
        "passed",
        "failed",
        "errors",
        "unscored",
        "ungated",
        "pass_rate",
        "flips",
        "judged_twice",
    )
    times = ("seconds_median", "seconds_p95", *(["waited_median"] if tally.waited_median is not None else []))
    return field_values(tally, *counts, *(times if options.times else ()))


def _run_metric(metric: Metric) -> dict[str, Any]:
    """Convert a metric of a run; files call its own limits `bars`."""
    return {"bars" if name == "own_thresholds" else name: value for name, value in plain(metric).items()}


def _metric(metric: MetricSummary) -> dict[str, Any]:
    steadiness = field_values(metric.steadiness, "flipped", "order_decided", "weighting")
    return {
        **field_values(metric, "name", "direction", "threshold", "scored", "unscored", "errors", "skipped", "missing"),
        **field_values(metric, "scale", "unit", "n", "mean", "interval", "raw_mean", "raw_unit", "raw_interval"),
        **field_values(metric, "truths", "choices", "bins", "low", "high", "pass_rate", "judge", "base"),
        **steadiness,
        "unscored_by_kind": dict(metric.steadiness.unscored),
        **({"skipped_because": dict(metric.skip_reasons)} if metric.skip_reasons else {}),
        **({"caution": metric.caution} if metric.caution else {}),
        "worst": [{name: value for name, value in plain(row).items() if name != "asked"} for row in metric.worst],
    }


def _agreement(agreement: JudgeAgreement) -> dict[str, Any]:
    pair_names = ("judges", "same", "kappa", "interval", "difference", "difference_interval")
    return {
        **field_values(agreement, "base", "judges", "level", "unit", "n", "alpha", "interval"),
        **field_values(agreement, "most_common", "prevalence", "mean", "mean_interval"),
        "pairs": [field_values(pair, *pair_names) for pair in agreement.pairs],
    }


def _gate(verdict: GateVerdict) -> dict[str, Any]:
    """Return the verdict as JSON; a run without metrics has no outcome."""
    outcome = {} if verdict.scored else {"outcome": None}
    return field_values(verdict, "outcome", "reasons", "exit_code") | outcome
