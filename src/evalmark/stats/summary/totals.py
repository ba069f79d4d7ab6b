"""The totals of a run for a list of runs."""

from evalmark.core.values.run import Run, RunTotals, TotalVerdict
from evalmark.stats.inference.argument_checks import check_arguments

from .gate import summary_and_verdict
from .summary import Summary


@check_arguments
def run_totals(run: Run, summary: Summary | None = None) -> RunTotals:
    """Return the totals of a run; `summary` saves reading its results again."""
    summary, verdict = summary_and_verdict(run, summary)
    rate = summary.total.pass_rate
    ungated: TotalVerdict = "not gated" if run.metrics else "not scored"
    return RunTotals(
        verdict=verdict.outcome if verdict.gated else ungated,
        trials=summary.trials,
        passed=rate.passed,
        judged=rate.n,
        rate=rate.value,
        low=rate.interval.low,
        high=rate.interval.high,
    )
