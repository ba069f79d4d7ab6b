"""Applies the gate to a summary: pass, fail or cannot tell."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from evalmark.core.text import count, distinct_from, percent_distinct_from, percent_limit
from evalmark.core.values.run import Gate, Run
from evalmark.stats.inference.argument_checks import check_arguments

from .metric_summary import scale_ends
from .missed_means import mean_reaches
from .summarise import summarise
from .summary import MetricSummary, Summary, SummaryGroup, TrialCounts, describe_left_out

Outcome = Literal["pass", "fail", "cannot tell"]
EXIT_CODES = {"pass": 0, "fail": 1, "cannot tell": 3}
NOTHING_GATED = "No score can pass or fail, so nothing was gated."
NOT_SCORED = "The run has no metrics, so no output was scored and nothing was gated."
GATED_LATER = "The gate judges all shards together, once they are merged."


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """The verdict of the gate, with one sentence for each reason."""

    outcome: Outcome
    reasons: tuple[str, ...]

    @property
    def gated(self) -> bool:
        """Whether anything could have failed."""
        return self.reasons not in ((NOTHING_GATED,), (NOT_SCORED,), (GATED_LATER,))

    @property
    def scored(self) -> bool:
        """Whether anything was scored: False if nothing was gated because the run has no metrics."""
        return self.reasons != (NOT_SCORED,)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


@dataclass(frozen=True, slots=True)
class _Finding:
    outcome: Outcome
    reason: str


@check_arguments
def summary_and_verdict(run: Run, summary: Summary | None = None) -> tuple[Summary, GateVerdict]:
    """Return the summary of a run and the verdict of its gate; `summary` saves computing it again."""
    summary = summary or summarise(run)
    return summary, apply_gate(summary, run.gate)


@check_arguments
def apply_gate(summary: Summary, gate: Gate | None) -> GateVerdict:
    """Apply a gate: fail only if no missing trial could change that, cannot tell while too much is missing, otherwise pass.

    Trials that `left_out` excludes from the headline neither fail nor count as missing. Errors and unscored
    trials within `max_errors` and `max_unscored` are left out of every rate and mean. For a run that stopped
    because its gate was decided, that decision stands, unless too much is missing for a pass. A shard is not
    gated; it is `cannot tell` if more is missing in it than the whole run may miss.

    Args:
        summary: The summary of a run.
        gate: The gate; None: every score that can pass has to.

    Returns:
        The verdict (`pass`, `fail` or `cannot tell`), its reasons and its exit code.

    >>> from evalmark import Gate, evaluate
    >>> from evalmark.stats import summarise
    >>> run = evaluate(["a", "b"], str.upper, [lambda output: output == "A"], store=None)
    >>> apply_gate(summarise(run), Gate(min_pass_rate=0.5)).outcome
    'pass'
    """
    gate = gate or Gate()
    if summary.shard is not None:
        gaps = tuple(finding.reason for finding in _gaps(summary, gate))
        return GateVerdict(outcome="cannot tell" if gaps else "pass", reasons=gaps or (GATED_LATER,))
    if summary.until_decided is not None and (decided := summary.until_decided.outcome):
        gaps = () if decided == "fail" else tuple(finding.reason for finding in _gaps(summary, gate))
        return GateVerdict(outcome="cannot tell" if gaps else decided, reasons=gaps or (summary.until_decided.reason,))
    means = [*_means(summary, gate), *_every_mean(summary, gate)]
    trials = [f for f in _trials(summary, gate) if not means or f.reason not in (NOTHING_GATED, NOT_SCORED)]
    findings = [*_nothing(summary), *trials, *means, *_gaps(summary, gate)]
    for outcome in ("fail", "cannot tell", "pass"):
        reasons = tuple(f.reason for f in findings if f.outcome == outcome)
        if reasons:
            break
    return GateVerdict(outcome=outcome, reasons=reasons)


def _nothing(summary: Summary) -> Iterable[_Finding]:
    metrics = [metric for group in summary.counted for metric in group.metrics]
    if not summary.trials:
        yield _Finding("cannot tell", "No cases ran.")
    elif not summary.total.trials:
        yield _Finding(
            "cannot tell", f"No trial counts; left out of the headline: {describe_left_out(summary.reasons)}."
        )
    elif summary.total.errors < summary.total.trials and metrics and all(map(_is_all_skipped, metrics)):
        yield _Finding("cannot tell", "Every score was skipped.")


def _is_all_skipped(metric: MetricSummary) -> bool:
    return bool(metric.skipped) and not metric.scored + metric.missing


def _gaps(summary: Summary, gate: Gate) -> Iterable[_Finding]:
    total = summary.total
    if total.errors > gate.max_errors:
        yield _Finding("cannot tell", _beyond(total.errors, "error", gate.max_errors))
    if total.unscored > gate.max_unscored:
        yield _Finding("cannot tell", _beyond(total.unscored, "unscored trial", gate.max_unscored))
    if summary.status == "running":
        known = "" if summary.missing is None else f"; {count(summary.missing, 'trial')} to come"
        yield _Finding("cannot tell", f"The run has not ended{known}.")
    elif summary.status != "complete":
        known = "" if summary.missing is None else f": {count(summary.missing, 'trial')} did not run"
        yield _Finding("cannot tell", f"The run is incomplete{known}.")


def _beyond(found: int, noun: str, most: int) -> str:
    return f"{count(found, noun)}; at most {most:,} {'is' if most == 1 else 'are'} allowed."


def _trials(summary: Summary, gate: Gate) -> Iterable[_Finding]:
    total = summary.total
    if gate.min_pass_rate is None:
        yield from _every_trial(total, NOTHING_GATED if summary.metrics else NOT_SCORED)
        return
    judged, needed = total.passed + total.failed, gate.min_pass_rate
    missing = _missing(summary)
    if not judged:
        if total.trials:
            yield _Finding(
                "cannot tell", f"A pass rate of {percent_limit(needed)} is required, but no trial passed or failed."
            )
        return
    rate = total.passed / judged
    text = f"{total.passed:,} of {count(judged, 'judged trial')} passed ({percent_distinct_from(rate, needed)})"
    if rate >= needed:
        yield _Finding("pass", f"{text}, at least {percent_limit(needed)}.")
    elif missing is not None and (total.passed + missing) / (judged + missing) < needed:
        yield _Finding("fail", f"{text}, less than {percent_limit(needed)}.")
    else:
        rest = "missing trials" if missing is None else f"the {count(missing, 'missing trial')}"
        yield _Finding(
            "cannot tell", f"{text}, less than {percent_limit(needed)}; {rest} could still raise it to the minimum."
        )


def trials_fail(summary: Summary, gate: Gate) -> bool:
    """Return whether failed trials make the gate fail, whatever the missing ones would have been."""
    return any(finding.outcome == "fail" for finding in _trials(summary, gate))


def _every_trial(total: TrialCounts, ungated: str) -> Iterable[_Finding]:
    judged = total.passed + total.failed
    if total.failed:
        yield _Finding("fail", f"{total.failed:,} of {count(judged, 'judged trial')} failed.")
    elif total.passed:
        yield _Finding("pass", f"{count(judged, 'judged trial')}: every one passed.")
    elif total.ungated:
        yield _Finding("pass", ungated)
    elif total.trials:
        yield _Finding("cannot tell", "No trial was judged.")


def _missing(summary: Summary) -> int | None:
    total = summary.total
    return None if summary.missing is None else total.errors + total.unscored + summary.missing


def _means(summary: Summary, gate: Gate) -> Iterable[_Finding]:
    """Check each threshold against the metric of its name, or against every judge of that metric."""
    targets = dict.fromkeys(group.target for group in summary.counted)
    metrics = [metric for group in summary.counted for metric in group.metrics]
    for wanted, needed in gate.thresholds.items():
        names = dict.fromkeys(m.name for m in metrics if wanted in (m.name, m.base)) or {wanted: None}
        for target, name in product(targets, names):
            parts = [m for g in summary.counted if g.target == target for m in g.metrics if m.name == name]
            where = f" on {target}" if len(targets) > 1 else ""
            over = f" over all {len(parts)} datasets" if len(parts) > 1 else ""
            yield _mean(f"{name}{where}{over}", needed, parts, summary.missing)


def _every_mean(summary: Summary, gate: Gate) -> Iterable[_Finding]:
    """Check the minimum mean for each metric of each group separately, so that a good mean does not make up for a bad one."""
    needed = gate.min_score
    if needed is None or not summary.counted:
        return
    metrics = [(group, metric) for group in summary.counted for metric in group.metrics if _is_held(metric)]
    if not metrics:
        yield _Finding("cannot tell", f"min_score is {needed:g}, but no metric has a mean.")
    for group, metric in metrics:
        name = metric.name + _where(group, summary)
        if metric.scale == "raw":
            yield _Finding("cannot tell", f"min_score is {needed:g}, but {name} has numbers outside 0 to 1.")
        else:
            yield _mean(name, needed, [metric], summary.missing)
    for group in summary.counted:
        if not group.metrics:
            yield _Finding("cannot tell", f"min_score is {needed:g}, but there is no score{_where(group, summary)}.")


def _is_held(metric: MetricSummary) -> bool:
    """Return whether a metric should have a mean from 0 to 1 that is better when higher.

    This excludes labels, numbers in an unbounded unit (edits, characters), and metrics whose scores were all
    skipped.
    """
    if metric.direction == "lower" or not metric.scored + metric.missing:
        return False
    labels = metric.scored > 0 and metric.scale is None
    own_unit = metric.scale == "raw" and metric.unit != "raw" and scale_ends(metric.unit) is None
    return not labels and not own_unit


def _where(group: SummaryGroup, summary: Summary) -> str:
    """Name the dataset and target of a group, where there are several."""
    datasets, targets = ({getattr(other, of) for other in summary.counted} for of in ("dataset", "target"))
    parts = [f" in {group.dataset}" if len(datasets) > 1 else "", f" on {group.target}" if len(targets) > 1 else ""]
    return "".join(parts) + (", turn by turn" if group.mode == "conversation" else "")


def _mean(name: str, needed: float, parts: Sequence[MetricSummary], not_run: int | None) -> _Finding:
    scored = [(m, m.mean) for m in parts if m.mean is not None]
    n = sum(m.n for m, _ in scored)
    if not n:
        return _Finding("cannot tell", f"{name} has a threshold of {needed:g}, but no score.")
    if len({m.scale for m, _ in scored}) > 1:
        return _Finding("cannot tell", f"{name} has values in one dataset and only raw numbers in another.")
    total = math.fsum(average * m.n for m, average in scored)
    lower = scored[0][0].direction == "lower"
    limit, relation = ("at most", "more than") if lower else ("at least", "less than")
    mean = distinct_from(total / n, [needed], lambda number, digits: f"{number:z.{digits}g}", 4)
    text = f"The mean of {name} is {mean} over {count(n, 'score')}"
    if mean_reaches(total / n, needed, lower=lower):
        return _Finding("pass", f"{text}, {limit} {needed:g}.")
    missing = None if not_run is None else not_run + sum(m.missing for m in parts)
    if missing == 0:
        return _Finding("fail", f"{text}, {relation} {needed:g}.")
    best = None if missing is None or scored[0][0].scale == "raw" else total + (0 if lower else missing)
    if best is not None and missing is not None and not mean_reaches(best / (n + missing), needed, lower=lower):
        return _Finding("fail", f"{text}, {relation} {needed:g}.")
    rest = "missing scores" if missing is None else f"the {count(missing, 'missing score')}"
    return _Finding("cannot tell", f"{text}, {relation} {needed:g}; {rest} could still change that.")
