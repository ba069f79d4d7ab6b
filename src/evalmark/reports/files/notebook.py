"""Runs, comparisons and results in notebooks: HTML fragments, single lines, and rows."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2

from evalmark.core.errors import MissingExtraError
from evalmark.core.text import display_text, one_line, unwrap_single_input
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result
from evalmark.reports.html.assets import fragment_stylesheet
from evalmark.reports.html.jinja import template_environment
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.numbers import number_text
from evalmark.reports.text.titles import run_facts, run_origin, trial_title
from evalmark.reports.text.verdicts import gate_outcome, score_kind, score_text, tally_text
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.summary.gate import summary_and_verdict

from .run_csv import SCORE_COLUMNS, score_cells, trial_cells
from .run_html import endings

_WORST = 5
_LONGEST = 4_000
"""Longest text of a fragment in characters."""
_FLIPS = 20


def html_of(value: Run | Comparison | Result) -> str:
    """Return a value as an HTML fragment: no script, nothing loaded, its styles apply to itself only."""
    if isinstance(value, Run):
        return _run_html(value)
    if isinstance(value, Result):
        return _render("result", result=value, title=trial_title(value.trial, None), rows=_result_rows(value, {}))
    return _render("comparison", comparison=value, most=_FLIPS)


def _run_html(run: Run) -> str:
    summary, verdict = summary_and_verdict(run, None)
    worst = [result for result in summary.worst[:_WORST] if result.verdict not in ("pass", "ungated")]
    return _render(
        "run",
        run=run,
        summary=summary,
        verdict=verdict,
        facts=[*run_facts(run, summary), *run_origin(run)],
        endings=endings(summary),
        cases=[
            (
                result,
                trial_title(result.trial, run),
                _result_rows(result, metrics_for(run.metrics, result.trial.dataset)),
            )
            for result in worst
        ],
    )


def _result_rows(result: Result, metrics: Mapping[str, Metric]) -> list[tuple[str, str, str]]:
    """Return label, text and kind of the parts of a result."""
    case, output = result.trial.case, result.output
    fields = [("Input", unwrap_single_input(case.input), ""), ("Expected", case.expected, "")]
    fields += [("Output", output.value, ""), ("Error", output.error, "error")]
    rows = [(label, _cut(display_text(value)), kind) for label, value, kind in fields if value is not None]
    for score in result.scores:
        text = score_text(score, metrics)
        reason = f": {score.reason}" if score.reason else ""
        rows.append((one_line(score.name, 60), _cut(f"{text}{reason}"), score_kind(score)))
    return rows


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _render(kind: str, **values: Any) -> str:
    return _templates().get_template("notebook.html").render(kind=kind, style=fragment_stylesheet(), **values)


@cache
def _templates() -> jinja2.Environment:
    return template_environment(Path(__file__).parent / "templates", {})


def line_of(value: Run | Comparison | Result) -> str:
    """Return a value as one line for people."""
    if isinstance(value, Comparison):
        sentence = comparison_text.verdict_sentence(value)
        return f"{value.run} against {value.baseline}: {comparison_text.outcome_text(value)}. {sentence}"
    if isinstance(value, Result):
        scores = (
            f"{score.name} {score.status if score.value is None else number_text(score.value)}"
            for score in value.scores
        )
        return f"{one_line(trial_title(value.trial, None), 80)}: {value.verdict} ({', '.join(scores) or 'no scores'})"
    summary, verdict = summary_and_verdict(value, None)
    parts = [
        gate_outcome(verdict),
        tally_text(summary.total, value.gate) or "no cases",
        f"run {value.id}" if value.id else "",
    ]
    parts += [] if value.status == "complete" else [value.status]
    return one_line(f"{value.name}: {'; '.join(filter(None, parts))}")


def records_of(value: Run | Comparison | Result) -> list[dict[str, Any]]:
    """Return the rows of a value: trials of a run, scores of a result, metrics of a comparison."""
    if isinstance(value, Result):
        return [
            {"score": score.name, **dict(zip(SCORE_COLUMNS, score_cells(score), strict=True))} for score in value.scores
        ]
    if isinstance(value, Comparison):
        return _comparison_records(value)
    results = list(value.results)
    names = list(dict.fromkeys(score.name for result in results for score in result.scores))
    return [_run_record(result, names) for result in results]


def _run_record(result: Result, names: Sequence[str]) -> dict[str, Any]:
    cells = trial_cells(result)
    record = {name: value for name, value in cells.items() if name not in ("waited", "raised_at")}
    scores = {score.name: score for score in result.scores}
    for name in names:
        values = score_cells(scores.get(name))
        record |= {f"{name} {part}": value for part, value in zip(SCORE_COLUMNS, values, strict=True)}
    return record


def _comparison_records(comparison: Comparison) -> list[dict[str, Any]]:
    rows = []
    for target in comparison.targets:
        for change in target.changes:
            difference = change.difference
            low, high = (None, None) if difference.interval is None else difference.interval.ends or (None, None)
            rows.append(
                {
                    "target": target.target,
                    "metric": comparison_text.metric_name(change),
                    "n": difference.n,
                    "before": change.before,
                    "now": change.now,
                    "difference": difference.value,
                    "low": low,
                    "high": high,
                    "p": difference.p,
                    "worse": change.moved[0],
                    "better": change.moved[1],
                    "verdict": target.outcome_of(change),
                }
            )
    return rows


def pandas_of(value: Run | Comparison | Result) -> Any:
    """Return the rows of a value as a DataFrame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as missing:
        if missing.name != "pandas":
            raise
        raise MissingExtraError("pandas is not installed. Run: pip install pandas, or use to_records().") from None
    return pandas.DataFrame(records_of(value))
